/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chunks are taken in the order in which they were closed. For a program with one thread this order is the same in
 * each run, so its recordings are the same, byte by byte. It is nearly the same if processes follow one another (a
 * fork closes the parent's chunk, but both run until the parent waits). Open chunks are left alone until the end, or
 * until their process has ended. But as long as there has been only one thread, its records are taken from the open
 * chunk now and then, which does not change the order, so that a recorder that is killed has them in its file.
 */
#include "sim/sim.h"
#include "base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#define PAGE 4096
#define COMM_MAX 15

const char *sim_core(const struct sim *s)
{
	return vpmu_core_names[s->opts.v.core];
}

u64 sim_cycles_per_second(const struct sim *s)
{
	return vpmu_core_mhz[s->opts.v.core] * 1000000ull;
}

const char *sim_arch(const struct sim *s)
{
	return sim_guests[s->program.guest].name;
}

static char *keep(struct sim *s, char *text)
{
	vec_push(&s->made, text);
	return text;
}

static bool fits(char field[VPMU_PATH], const char *path)
{
	return snprintf(field, VPMU_PATH, "%s", path ? path : "") < VPMU_PATH;
}

static int find_parts(struct sim *s)
{
	const struct sim_guest_kind *kind = &sim_guests[s->program.guest];
	char *plugin = sim_find_plugin(), *qemu[NR_SIM_GUESTS];
	struct vpmu_control *c = s->control;
	bool fit = fits(c->plugin, plugin);
	int err = 0;

	for (u32 g = 0; g < NR_SIM_GUESTS; g++)
		qemu[g] = sim_find_qemu((enum sim_guest)g);
	fit &= fits(c->qemu_x86_64, qemu[SIM_X86_64]) && fits(c->qemu_aarch64, qemu[SIM_AARCH64]);
	if (!plugin && access("/proc/self/exe", F_OK))
		err = notify_error(s->notify, ERR_NOTFOUND, "the virtual PMU needs /proc, which is not mounted here");
	else if (!plugin)
		err = notify_error(
			s->notify, ERR_NOTFOUND,
			"this installation has no plugin for QEMU (reticle-vpmu.so): build reticle completely, "
			"or see 'reticle check'");
	else if (!qemu[s->program.guest])
		err = notify_error(s->notify, ERR_NOTFOUND,
				   "cannot find %s, which the virtual PMU runs %s programs with: install the package "
				   "%s (qemu-user-static has no plugins)",
				   kind->qemu, kind->name, SIM_PACKAGE);
	else if (!fit)
		err = notify_error(s->notify, ERR_LIMIT, "the path of QEMU or of its plugin is too long");
	for (u32 g = 0; g < NR_SIM_GUESTS; g++)
		free(qemu[g]);
	free(plugin);
	return err;
}

/*
 * The program maps the memory through /proc/PID/fd, which the kernel allows to those who have all our capabilities. A
 * recorder that was given some by its file (setcap) needs none of them here.
 */
static void be_readable(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	const struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = { 0 };

	if (!geteuid())
		return;
	syscall(SYS_capset, &head, none);
	prctl(PR_SET_DUMPABLE, 1);
}

static int make_memory(struct sim *s)
{
	u64 head = (sizeof(struct vpmu_control) + PAGE - 1) & ~(u64)(PAGE - 1);
	u64 cpus = head + (u64)VPMU_CHUNKS * VPMU_CHUNK_SIZE, size = cpus + s->opts.v.cpus * sizeof(struct vpmu_cpu);
	void *p;

	be_readable();
	s->fd = memfd_create("reticle-vpmu", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (s->fd < 0 || ftruncate(s->fd, (off_t)size))
		return notify_error(s->notify, ERR_IO, "cannot make shared memory: %s", strerror(errno));
	/* Nobody who opens it can take it away below us. */
	fcntl(s->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, s->fd, 0);
	if (p == MAP_FAILED)
		return notify_error(s->notify, ERR_IO, "cannot map shared memory: %s", strerror(errno));
	s->control = p;
	s->size = size;
	s->data = (u8 *)p + head;
	s->control->data_offset = head;
	s->control->cpus_offset = cpus;
	s->control->size = size;
	s->control->chunk_size = VPMU_CHUNK_SIZE;
	s->control->nr_chunks = VPMU_CHUNKS;
	s->control->version = VPMU_VERSION;
	s->control->magic = VPMU_MAGIC;
	snprintf(s->control->control_path, VPMU_PATH, "/proc/%d/fd/%d", getpid(), s->fd);
	return 0;
}

static void set_options(struct sim *s)
{
	const struct sim_guest_kind *kind = &sim_guests[s->program.guest];

	if (!s->opts.core_given)
		s->opts.v.core = s->program.guest == SIM_X86_64 ? VPMU_GENERIC_X86 : VPMU_NEOVERSE_N1;
	if (!s->opts.kind_given)
		s->opts.v.branch_kind = s->program.guest == SIM_X86_64 ? VPMU_LBR : VPMU_BRBE;
	s->control->options = s->opts.v;
	if (*s->opts.sysroot)
		fits(s->control->sysroot, s->opts.sysroot);
	else if (kind->sysroot && !access(kind->sysroot, X_OK))
		fits(s->control->sysroot, kind->sysroot);
}

/*
 * QEMU turns the order of the environment round, so it gets it turned round. The loader's variables are for the
 * program, not for QEMU, and go by -E; which splits values at commas, so one with a comma reaches both.
 */
static void split_environment(struct sim *s)
{
	size_t n = 0;

	while (environ[n])
		n++;
	while (n--) {
		char *e = environ[n];

		if (strncmp(e, "LD_", 3) || strchr(e, ',')) {
			vec_push(&s->env, e);
			continue;
		}
		vec_push(&s->argv, "-E");
		vec_push(&s->argv, e);
	}
	vec_push(&s->env, NULL);
}

/* QEMU wants a comma doubled that is part of a value. */
static char *plugin_argument(const char *plugin, const char *control, const char *name)
{
	struct bytes b = { 0 };

	for (const char *p = plugin; *p; p++) {
		bytes_char(&b, *p);
		if (*p == ',')
			bytes_char(&b, ',');
	}
	bytes_printf(&b, ",control=%s", control);
	/* As the kernel names it: a script by its own name, not by its interpreter's. */
	if (name) {
		bytes_str(&b, ",comm=");
		for (u32 i = 0; name[i] && i < COMM_MAX; i++)
			bytes_hex_pad(&b, (u8)name[i], 2, '0');
	}
	bytes_char(&b, 0);
	return (char *)b.p;
}

static void make_command(struct sim *s)
{
	struct vpmu_control *c = s->control;

	vec_push(&s->argv, s->program.guest == SIM_X86_64 ? c->qemu_x86_64 : c->qemu_aarch64);
	vec_push(&s->argv, "-plugin");
	vec_push(&s->argv, keep(s, plugin_argument(c->plugin, c->control_path, s->program.name)));
	vec_push(&s->argv, "-seed");
	vec_push(&s->argv, keep(s, mem_printf("%llu", (unsigned long long)s->opts.v.seed)));
	if (s->program.guest == SIM_AARCH64 && *c->sysroot) {
		vec_push(&s->argv, "-L");
		vec_push(&s->argv, c->sysroot);
	}
	split_environment(s);
	vec_push(&s->argv, "-0");
	vec_push(&s->argv, s->program.argv.v[0]);
	vec_push(&s->argv, s->program.path);
	for (size_t i = 1; i < s->program.argv.n; i++)
		vec_push(&s->argv, s->program.argv.v[i]);
	vec_push(&s->argv, NULL);
}

int sim_open(struct sim *s, const struct sim_opts *o, char *const command[], const struct notify *to)
{
	int err;

	*s = (struct sim){ .opts = *o, .fd = -1, .notify = to };
	err = sim_program_find(&s->program, command, to);
	if (!err)
		err = make_memory(s);
	if (!err)
		err = find_parts(s);
	if (err)
		return err;
	set_options(s);
	make_command(s);
	return 0;
}

static int no_such_event(const struct sim *s, const struct open_event *e)
{
	return notify_error(s->notify, ERR_USAGE,
			    "the virtual PMU has no event '%s'%s ('reticle list sim' shows those that it has)",
			    e->name, e->attr.flags & ATTR_EXCLUDE_USER ? ": it sees user code only" : "");
}

/* Loads and stores are sampled. What a load has to take is one number for all events: each core counts them once. */
static int add_memory(struct sim *s, const struct open_event *e, struct vpmu_event *v)
{
	struct vpmu_options *o = &s->control->options;
	u32 ldlat = (u32)MIN(e->attr.config1, (u64)UINT32_MAX);

	o->memory = true;
	if (v->count != VC_SLOW_LOADS)
		return 0;
	if (ldlat <= VPMU_L1_CYCLES) {
		v->count = VC_L1D_LOADS;
		return 0;
	}
	if (o->ldlat && o->ldlat != ldlat)
		return notify_error(s->notify, ERR_USAGE, "the virtual PMU takes one ldlat at a time, not %u and %u",
				    o->ldlat, ldlat);
	o->ldlat = ldlat;
	return 0;
}

/* Operations are sampled: which cores do, and how. */
static int add_spe(struct sim *s, const struct open_event *e, struct vpmu_event *v)
{
	struct vpmu_options *o = &s->control->options;

	if (s->program.guest != SIM_AARCH64)
		return notify_error(s->notify, ERR_USAGE,
				    "arm_spe_0 is Arm's: the virtual PMU has it for aarch64 programs only (for this "
				    "program use mem-loads and mem-stores)");
	if (o->cpus || e->attr.flags & ATTR_FREQ || o->models != VPMU_MODEL_ALL || s->spe)
		return notify_error(s->notify, ERR_USAGE, "the virtual PMU's arm_spe_0 %s",
				    o->cpus		      ? "is per thread: leave out cpus=" :
				    e->attr.flags & ATTR_FREQ ? "takes an interval (-c), and no frequency" :
				    s->spe		      ? "can be recorded once" :
								"needs all models");
	s->spe = o->memory = true;
	if (e->attr.config >> VPMU_SPE_JITTER & 1 && v->schedule.period_long)
		v->schedule.jitter_long = MIN(v->schedule.period_long - 1, (u64)VPMU_SPE_JITTER_RANGE);
	return 0;
}

int sim_set_events(struct sim *s, struct event_set *set)
{
	struct vpmu_control *c = s->control;
	u32 n = (u32)set->events.n, cpus = s->opts.v.cpus;

	if (n > VPMU_EVENTS_MAX)
		return notify_error(s->notify, ERR_LIMIT, "the virtual PMU takes %u events at once, not %u",
				    VPMU_EVENTS_MAX, n);
	for (u32 i = 0; i < n; i++) {
		struct open_event *e = &set->events.v[i];
		int count = vpmu_count_of(&e->attr), err;

		if (count < 0)
			return no_such_event(s, e);
		if (!vpmu_is_modelled((u32)count, s->opts.v.models))
			return notify_error(s->notify, ERR_USAGE,
					    "models= leaves out the model that counts %s: add it, or use all",
					    e->name);
		c->events[i] = (struct vpmu_event){
			.attr = e->attr, .schedule = e->schedule, .id = i + 1, .leader = e->leader, .count = (u32)count
		};
		c->events[i].limit = e->spec ? e->spec->nr : 0;
		if (vpmu_is_memory(&e->attr)) {
			err = add_memory(s, e, &c->events[i]);
			if (err)
				return err;
		}
		if (!e->schedule.period_long && !(e->attr.flags & ATTR_FREQ))
			c->events[i].schedule.period_long = e->attr.sample_period;
		if (vpmu_is_spe(&e->attr)) {
			err = add_spe(s, e, &c->events[i]);
			if (err)
				return err;
		}
		if (e->tracking)
			c->tracking = i;
		for (u32 cpu = 0; cpu < MAX(cpus, 1u); cpu++)
			vec_push(&e->on,
				 (struct opened){ .fd = -1, .cpu = cpus ? (s32)cpu : -1, .id = i + 1 + cpu * n });
	}
	c->nr_events = n;
	return 0;
}

static bool is_gone(s32 pid)
{
	return pid > 0 && kill(pid, 0) && errno == ESRCH;
}

static void take_aux(struct sim *s, const struct sim_sink *sink, const u8 *p, u16 size)
{
	struct cursor c = cursor_over(p, size, false);
	struct rec_auxtrace a = { 0 };

	cursor_skip(&c, sizeof(struct perf_event_header));
	a.cpu = cursor_u32(&c);
	a.idx = a.tid = cursor_u32(&c);
	a.offset = cursor_u64(&c);
	a.size = cursor_left(&c);
	c.bad |= a.size % 8 != 0;
	s->damaged |= c.bad;
	if (!c.bad && sink->aux)
		sink->aux(sink->ctx, &a, p + (size - a.size));
}

/* One of the private records. */
static void take_private(struct sim *s, const struct sim_sink *sink, const u8 *p, const struct perf_event_header *h,
			 bool finished)
{
	struct cursor c = cursor_over(p, h->size, false);
	bool is_truth = h->type >= VPMU_RECORD_TRUTH_PC && h->type <= VPMU_RECORD_TRUTH_END;
	u64 counts[NR_VPMU_COUNTS];
	u32 pid, tid;

	if (is_truth) {
		if (sink->truth)
			sink->truth(sink->ctx, p, h->size);
		return;
	}
	cursor_skip(&c, sizeof(*h));
	pid = cursor_u32(&c);
	tid = cursor_u32(&c);
	if (h->type == VPMU_RECORD_AUX) {
		take_aux(s, sink, p, h->size);
		return;
	}
	if (h->type != VPMU_RECORD_TOTALS) {
		s->damaged |= c.bad;
		if (!c.bad && sink->task)
			sink->task(sink->ctx, h->type, pid, tid);
		return;
	}
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		counts[i] = cursor_u64(&c);
	s->damaged |= c.bad;
	if (c.bad)
		return;
	s->unfinished += !finished;
	for (u32 i = 0; i < NR_VPMU_COUNTS; i++)
		s->counts[i] += counts[i];
	if (sink->totals)
		sink->totals(sink->ctx, pid, tid, counts);
}

static int pass_run(const struct sim_sink *sink, const u8 *from, const u8 *to)
{
	struct iovec run = { (void *)from, (size_t)(to - from) };

	return run.iov_len && sink->records ? sink->records(sink->ctx, &run) : 0;
}

/* What is in s->copy: runs of the kernel's records to the sink, private ones one by one. */
static int sort_out(struct sim *s, const struct sim_sink *sink, bool finished)
{
	const u8 *p = s->copy.p, *end = p + s->copy.len, *run = p;
	struct perf_event_header h;
	int err = 0;

	for (; (size_t)(end - p) >= sizeof(h); p += h.size) {
		memcpy(&h, p, sizeof(h));
		if (h.size < sizeof(h) || h.size > end - p)
			break;
		if (h.type < PERF_RECORD_MAX)
			continue;
		if (!err)
			err = pass_run(sink, run, p);
		run = p + h.size;
		if (h.type >= VPMU_RECORD_TOTALS && h.type <= VPMU_RECORD_AUX)
			take_private(s, sink, p, &h, finished);
		else
			s->damaged = true;
	}
	s->damaged |= p != end;
	return err ? err : pass_run(sink, run, p);
}

static void free_chunk(struct sim *s, u32 i)
{
	struct vpmu_chunk *c = &s->control->chunks[i];

	s->taken[i] = 0;
	atomic_store_explicit(&c->used, 0, memory_order_relaxed);
	/* Whoever opens it says later who it is; until then it is nobody's, and not a dead process's. */
	atomic_store_explicit(&c->owner, 0, memory_order_relaxed);
	atomic_store_explicit(&c->state, VPMU_CHUNK_FREE, memory_order_release);
}

static int take_chunk(struct sim *s, const struct sim_sink *sink, u32 i, bool give_back, bool finished)
{
	u32 used = atomic_load_explicit(&s->control->chunks[i].used, memory_order_acquire), from = s->taken[i];

	used = MIN(used, (u32)VPMU_CHUNK_SIZE);
	s->copy.len = 0;
	if (used > from)
		bytes_put(&s->copy, s->data + (u64)i * VPMU_CHUNK_SIZE + from, used - from);
	s->taken[i] = used;
	if (give_back)
		free_chunk(s, i);
	return s->copy.len ? sort_out(s, sink, finished) : 0;
}

struct ripe { /* a chunk that is to be taken */
	u64 turn;
	u32 chunk;
	bool closed;   /* by its thread, or because its process is gone */
	bool finished; /* by its thread */
};

static int by_turn(const void *a, const void *b)
{
	const struct ripe *x = a, *y = b;

	if (x->closed != y->closed)
		return x->closed ? -1 : 1;
	return (x->turn > y->turn) - (x->turn < y->turn);
}

/* Ids are given from 1 on: no second thread or process has been asked for. With the system's ids, order is none. */
static bool one_thread_only(const struct sim *s)
{
	return s->opts.v.real_ids || atomic_load(&s->control->next_id) <= 1;
}

static bool take_open_ones(struct sim *s)
{
	u64 now = clock_ms() / 1000;

	if (s->opts.v.totals_only) /* these grow in place */
		return false;
	if (now == s->taken_at || !one_thread_only(s))
		return false;
	s->taken_at = now;
	return true;
}

int sim_drain(struct sim *s, const struct sim_sink *sink, bool last)
{
	struct ripe ripe[VPMU_CHUNKS];
	bool open_ones = last || take_open_ones(s);
	/* While we look, one that was passed may be closed, and then another one further on: that one waits. */
	u64 newest = last ? UINT64_MAX : atomic_load(&s->control->turn);
	u32 n = 0, nr_free = 0;
	int err = 0;

	for (u32 i = 0; i < VPMU_CHUNKS; i++) {
		struct vpmu_chunk *c = &s->control->chunks[i];
		u32 state = atomic_load_explicit(&c->state, memory_order_acquire);
		bool closed =
			state == VPMU_CHUNK_CLOSED || (state == VPMU_CHUNK_OPEN && is_gone(atomic_load(&c->owner)));

		nr_free += state == VPMU_CHUNK_FREE;
		if (state == VPMU_CHUNK_CLOSED && atomic_load(&c->turn) > newest)
			continue;
		if (closed || (open_ones && state == VPMU_CHUNK_OPEN))
			ripe[n++] = (struct ripe){ atomic_load(&c->turn), i, closed, state == VPMU_CHUNK_CLOSED };
	}
	/* Threads close theirs when they leave a virtual CPU, and all may be full soon. */
	s->short_of_room = n && (s->opts.v.cpus || nr_free < VPMU_CHUNKS / 4);
	qsort(ripe, n, sizeof(*ripe), by_turn);
	for (u32 i = 0; i < n; i++) {
		int failed = take_chunk(s, err ? &(struct sim_sink){ 0 } : sink, ripe[i].chunk, ripe[i].closed,
					ripe[i].finished);

		err = err ? err : failed;
	}
	return err;
}

void sim_done(struct sim *s)
{
	if (s->control)
		atomic_store(&s->control->done, 1);
}

void sim_close(struct sim *s)
{
	sim_done(s);
	if (s->control)
		munmap(s->control, s->size);
	if (s->fd >= 0)
		close(s->fd);
	for (size_t i = 0; i < s->made.n; i++)
		free(s->made.v[i]);
	vec_free(&s->made);
	vec_free(&s->argv);
	vec_free(&s->env);
	bytes_free(&s->copy);
	sim_program_free(&s->program);
	*s = (struct sim){ .fd = -1 };
}
