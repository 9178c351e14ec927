/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder refuses before anything is opened, how it makes windows, and what it makes of the virtual PMU's
 * options, events and chunks. */
#include "recorder_set.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "read/source.h"
#include "sys/sim_find.h"

static const struct event_env nowhere = { .sysfs = "/nonexistent",
					  .tracefs = "/nonexistent",
					  .procfs = "/nonexistent" };

struct plan {
	struct record_opts o;
	struct record_result result;
	struct event_specs specs;
	struct notify notify;
	struct bytes notes;
	struct recorder r;
};

static void take_note(void *ctx, const struct note *n)
{
	struct plan *p = ctx;

	bytes_printf(&p->notes, "%s\n", n->text);
}

static void plan_begin(struct plan *p, const char *events)
{
	*p = (struct plan){ 0 };
	p->notify = (struct notify){ take_note, p };
	p->o.attr.freq = p->o.attr.period = RECORD_UNSET;
	p->r = (struct recorder){ .o = &p->o,
				  .notify = &p->notify,
				  .result = &p->result,
				  .specs = &p->specs,
				  .path = "r.data",
				  .signal_fd = -1,
				  .epoll_fd = -1 };
	if (events)
		assert_int_equal(event_specs_parse(&p->specs, events, &nowhere, NULL), 0);
}

static bool says(struct plan *p, const char *text)
{
	bytes_u8(&p->notes, 0);
	p->notes.len--;
	return strstr((const char *)p->notes.p, text);
}

static void plan_end(struct plan *p)
{
	event_set_free(&p->r.set);
	event_specs_free(&p->specs);
	bytes_free(&p->notes);
}

/* --- windows on this machine: which are refused, before anything is opened */

#define GROUP "{cpu-clock/period=1000000,alt-period=100000/u,page-faults/freq=0/u}:S"

static void test_windows_refused(void **state)
{
	static const struct {
		const char *text;
		enum window_how how;
	} rows[] = {
		{ "-n takes no samples", WINDOW_TWIN },
		{ "--overwrite looks at samples at the end only", WINDOW_TWIN },
		{ "-G counts cgroups", WINDOW_TWIN },
		{ "--control does not switch", WINDOW_REFRESH },
		{ "--activity has its BPF program", WINDOW_PLAIN },
		{ "with -D -1", WINDOW_TWIN },
		{ "in a pipe", WINDOW_TWIN },
		{ "too small for copies of stacks", WINDOW_TWIN },
		{ "branch records", WINDOW_TWIN },
		{ "branch records", WINDOW_TWIN },
		{ "mode=sim needs --pmu=sim", WINDOW_SIM },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan p;

		plan_begin(&p, GROUP);
		p.o.window.how = rows[i].how;
		p.o.attr.no_samples = i == 0;
		p.o.attr.overwrite = i == 1;
		if (i == 2)
			vec_push(&p.r.target.cgroups, ((struct target_cgroup){ .fd = -1 }));
		p.o.control = i == 3 ? "fd:3" : NULL;
		p.o.attr.activity = i == 4;
		p.o.attr.delay_ms = i == 5 ? -1 : 0;
		p.r.path = i == 6 ? "-" : "r.data";
		p.o.attr.callgraph = i == 7 ? CALLGRAPH_UNWIND : i == 8 ? CALLGRAPH_LBR : CALLGRAPH_FP;
		p.o.attr.branch_type = i == 9 ? 1 : 0;
		assert_int_equal(recorder_plan_windows(&p.r), ERR_USAGE);
		assert_true(says(&p, rows[i].text));
		vec_free(&p.r.target.cgroups);
		plan_end(&p);
	}
}

/* Threads that come later have counters of their own only where all threads are followed: not with -a, -t, -i or
 * --per-thread, where pipes and copies of stacks go together with windows. */
static void test_windows_in_pipe(void **state)
{
	(void)state;
	for (u32 i = 0; i < 5; i++) {
		struct plan p;

		plan_begin(&p, GROUP);
		p.o.window.how = WINDOW_TWIN;
		p.r.path = "-";
		p.o.attr.callgraph = CALLGRAPH_UNWIND;
		p.r.target.system_wide = i == 1;
		p.o.attr.no_inherit = i == 2;
		p.o.target.tids = i == 3 ? "1" : NULL;
		p.o.target.per_thread = i == 4;
		assert_int_equal(recorder_plan_windows(&p.r), i ? 0 : ERR_USAGE);
		assert_int_equal(p.r.window_how, i ? WINDOW_TWIN : WINDOW_AUTO);
		plan_end(&p);
	}
}

/* Windows of one fixed period have neither bursts nor jitter. */
static void test_windows_of_fixed_periods(void **state)
{
	static const struct {
		enum window_how how;
		u32 burst;
		u64 jitter;
		const char *text; /* NULL: fine */
	} rows[] = {
		{ WINDOW_TWIN, 0, 0, NULL },	    { WINDOW_PLAIN, 0, 0, NULL },
		{ WINDOW_REFRESH, 3, 500, NULL },   { WINDOW_TWIN, 3, 0, "burst=" },
		{ WINDOW_PLAIN, 3, 0, "burst=" },   { WINDOW_TWIN, 0, 500, "jitter" },
		{ WINDOW_PLAIN, 0, 500, "jitter" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan p;

		plan_begin(&p, GROUP);
		p.o.window = (struct window_opts){
			.wish = WINDOW_ASKED, .how = rows[i].how, .burst = rows[i].burst, .jitter = rows[i].jitter
		};
		assert_int_equal(recorder_plan_windows(&p.r), rows[i].text ? ERR_USAGE : 0);
		assert_true(says(&p, rows[i].text ? rows[i].text : "as asked for"));
		assert_int_equal(p.r.window_how, rows[i].text ? WINDOW_AUTO : rows[i].how);
		plan_end(&p);
	}
}

/* Bursts come as often as the leader's periods ask for them, but not too often. */
static void test_interval(void **state)
{
	static const struct {
		const char *events;
		u64 ns;
	} rows[] = {
		{ "{cpu-clock/period=5000000,alt-period=100000/u,page-faults/freq=0/u}:S", 5100000 },
		{ "{cpu-clock/period=20000,alt-period=1000/u,page-faults/freq=0/u}:S", 100000 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan p;

		plan_begin(&p, rows[i].events);
		p.o.window.how = WINDOW_REFRESH;
		assert_int_equal(recorder_plan_windows(&p.r), 0);
		assert_in_range(p.r.window_interval_ns, rows[i].ns * 9 / 10, rows[i].ns);
		plan_end(&p);
	}
}

/* Without windows nothing hinders; a default leader is for where there is no -e. */
static void test_no_windows(void **state)
{
	struct plan p;

	(void)state;
	plan_begin(&p, "cpu-clock");
	p.o.attr.no_samples = true;
	assert_int_equal(recorder_plan_windows(&p.r), 0);
	assert_int_equal(p.r.window_how, WINDOW_AUTO);
	assert_int_equal(p.specs.v.n, 1);
	p.o.window.leader_given = true;
	assert_int_equal(recorder_plan_windows(&p.r), ERR_USAGE);
	assert_true(says(&p, "(here cpu-clock)"));
	plan_end(&p);
	plan_begin(&p, NULL);
	p.o.window.wish = WINDOW_REFUSED;
	assert_int_equal(recorder_plan_windows(&p.r), 0);
	assert_int_equal(p.specs.v.n, 0);
	plan_end(&p);
	plan_begin(&p, "{page-faults/alt-period=50/u,cpu-clock:u}:S"); /* each of which is sampled */
	p.o.window.how = WINDOW_TWIN;
	assert_int_equal(recorder_plan_windows(&p.r), ERR_USAGE);
	assert_true(says(&p, "cannot lead windows"));
	plan_end(&p);
}

/* --- the virtual PMU: options */

static void test_sim_refuses(void **state)
{
	static const char *const texts[] = {
		"-p, -t, -u:",
		"-p, -t, -u:",
		"-p, -t, -u:",
		"-a:",
		"-C:",
		"--cgroup:",
		"needs a command",
		"user code only",
		"user code only",
		"-F max",
		"-D -1",
		"--control:",
		"--overwrite:",
		"--activity:",
		"-R:",
		"--transaction:",
		"--switch-events",
		"--switch-events",
		"--switch-events",
		"-i, --per-thread",
		"-i, --per-thread",
	};
	static char *const command[] = { "true", NULL };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(texts); i++) {
		struct plan p;
		struct target_opts *t = &p.o.target;
		struct attr_opts *a = &p.o.attr;

		plan_begin(&p, NULL);
		t->command = i == 6 ? NULL : command;
		t->pids = i == 0 ? "1" : NULL;
		t->tids = i == 1 ? "1" : NULL;
		t->uid = i == 2 ? "1" : NULL;
		t->system_wide = i == 3;
		t->cpus = i == 4 ? "0" : NULL;
		t->cgroups = i == 5 ? "a" : NULL;
		a->all_kernel = i == 7;
		a->kernel_callchains = i == 8;
		a->freq_max = i == 9;
		a->delay_ms = i == 10 ? -1 : 0;
		p.o.control = i == 11 ? "fd:3" : NULL;
		a->overwrite = i == 12;
		a->activity = i == 13;
		a->raw = i == 14;
		a->transaction = i == 15;
		a->namespaces = i == 16;
		a->cgroup_events = i == 17;
		a->switch_events = i == 18;
		p.o.sim.v.cpus = i > 18 ? 2 : 0;
		a->no_inherit = i == 19;
		t->per_thread = i == 20;
		assert_int_equal(recorder_sim_open(&p.r), ERR_USAGE);
		assert_null(p.r.sim);
		assert_true(says(&p, texts[i]));
		plan_end(&p);
	}
}

/* --- its events */

static struct sim *sim_new(enum sim_guest guest)
{
	struct sim *s = mem_zalloc(sizeof(*s));

	*s = (struct sim){ .fd = -1 };
	s->size = sizeof(struct vpmu_control) + (u64)VPMU_CHUNKS * VPMU_CHUNK_SIZE;
	s->control = mmap(NULL, s->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	assert_ptr_not_equal(s->control, MAP_FAILED);
	s->data = (u8 *)(s->control + 1);
	s->program.guest = guest;
	s->opts.v.core = guest == SIM_AARCH64 ? VPMU_NEOVERSE_N1 : VPMU_GENERIC_X86;
	s->opts.v.models = VPMU_MODEL_ALL;
	return s;
}

static void sim_begin(struct plan *p, const char *events, enum sim_guest guest)
{
	const struct event_env env = { .simulated = true };

	plan_begin(p, NULL);
	if (events)
		assert_int_equal(event_specs_parse(&p->specs, events, &env, NULL), 0);
	p->r.sim = sim_new(guest);
	p->r.sim->notify = &p->notify;
	p->o.sim.v = p->r.sim->control->options = p->r.sim->opts.v;
}

static void sim_end(struct plan *p)
{
	recorder_sim_close(&p->r);
	assert_null(p->r.sim);
	plan_end(p);
}

/* User code alone, in the threads of the command. */
static void test_sim_events(void **state)
{
	struct plan p;

	(void)state;
	sim_begin(&p, "cycles,instructions/freq=0/", SIM_X86_64);
	p.o.window.wish = WINDOW_REFUSED;
	p.o.attr.delay_ms = 5;
	assert_int_equal(recorder_sim_events(&p.r), 0);
	assert_true(p.r.target_is_workload);
	assert_int_equal(p.r.set.events.n, 2);
	assert_int_equal(p.r.sim->control->nr_events, 2);
	for (u32 i = 0; i < 2; i++) {
		const struct attr *a = &p.r.sim->control->events[i].attr;

		assert_int_equal(a->flags & (ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV),
				 ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV);
		assert_true(a->flags & ATTR_INHERIT);
		assert_false(a->sample_type & PERF_SAMPLE_CPU);
		assert_int_equal(p.r.set.events.v[i].on.n, 1);
	}
	assert_int_equal(p.r.set.ring_pages * (u64)sysconf(_SC_PAGESIZE), VPMU_CHUNK_SIZE);
	sim_end(&p);
}

/* One thread's only with -i and with --per-thread; on virtual CPUs all that run there, where one CPU has a number. */
static void test_sim_whose_events(void **state)
{
	(void)state;
	for (u32 i = 0; i < 4; i++) {
		struct plan p;

		sim_begin(&p, "cycles", SIM_X86_64);
		p.o.attr.no_inherit = i == 1;
		p.o.target.per_thread = i == 2;
		p.o.sim.v.cpus = p.r.sim->opts.v.cpus = i == 3 ? 2 : 0;
		assert_int_equal(recorder_sim_events(&p.r), 0);
		assert_int_equal(!(p.r.set.events.v[0].attr.flags & ATTR_INHERIT), i > 0);
		assert_int_equal(p.r.set.events.v[0].attr.flags & ATTR_INHERIT_STAT, 0);
		assert_int_equal(!(p.r.set.events.v[0].attr.sample_type & PERF_SAMPLE_CPU), i < 3);
		assert_int_equal(p.r.set.events.v[0].on.n, i == 3 ? 2 : 1);
		sim_end(&p);
	}
	for (u32 cpus = 0; cpus < 2; cpus++) {
		struct plan p;

		sim_begin(&p, "cycles/no-inherit/", SIM_X86_64);
		p.o.sim.v.cpus = p.r.sim->opts.v.cpus = cpus;
		assert_int_equal(recorder_sim_events(&p.r), cpus ? ERR_USAGE : 0);
		assert_int_equal(says(&p, "no-inherit"), cpus);
		sim_end(&p);
	}
}

/* A stream cannot be looked through for which event a record is of. */
static void test_sim_ids(void **state)
{
	static const struct {
		const char *events, *path;
		bool id;
	} rows[] = { { "cycles", "r.data", false }, { "cycles", "-", true }, { "arm_spe_0//", "r.data", true } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan p;

		sim_begin(&p, rows[i].events, SIM_AARCH64);
		p.o.attr.period = 1000;
		p.r.path = rows[i].path;
		assert_int_equal(recorder_sim_events(&p.r), 0);
		assert_int_equal((p.r.set.events.v[0].attr.sample_type & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER)) !=
					 0,
				 rows[i].id);
		sim_end(&p);
	}
}

/* What is recorded when nobody says: windows and their samples, half as often as without; and cycles where that is
 * not wanted, or where branches or no samples at all are. */
static void test_sim_default(void **state)
{
	(void)state;
	for (u32 i = 0; i < 5; i++) {
		struct plan p;
		u32 windowed = 0;

		sim_begin(&p, NULL, SIM_X86_64);
		p.o.window.wish = i == 1 ? WINDOW_REFUSED : WINDOW_BY_DEFAULT;
		p.o.attr.branch_type = i == 2 ? PERF_SAMPLE_BRANCH_ANY : 0;
		p.o.attr.callgraph = i == 3 ? CALLGRAPH_LBR : CALLGRAPH_NONE;
		p.o.attr.no_samples = i == 4;
		assert_int_equal(recorder_sim_events(&p.r), 0);
		for (size_t e = 0; e < p.specs.v.n; e++)
			windowed += p.specs.v.v[e].windowed;
		if (i)
			assert_true(p.specs.v.n == 1 && !windowed && !strcmp(p.specs.v.v[0].name, "cycles:u"));
		else
			assert_true(p.specs.v.n > 3 && windowed > 0 && says(&p, "alternates periods"));
		sim_end(&p);
	}
}

/* It alternates periods by itself: any other way is for others. */
static void test_sim_windows(void **state)
{
	(void)state;
	for (u32 how = WINDOW_AUTO; how < NR_WINDOW_HOWS; how++) {
		const bool fine = how == WINDOW_AUTO || how == WINDOW_SIM;
		struct plan p;

		sim_begin(&p, "{cycles/period=1000,alt-period=50/,instructions}:S", SIM_X86_64);
		p.o.window.how = how;
		assert_int_equal(recorder_sim_events(&p.r), fine ? 0 : ERR_USAGE);
		assert_int_equal(says(&p, "leave it out"), !fine);
		assert_int_equal(p.r.window_how, WINDOW_AUTO); /* nothing is to be switched */
		if (fine)
			assert_int_equal(p.r.sim->control->events[0].schedule.period_short, 50);
		sim_end(&p);
	}
}

static void test_sim_branches(void **state)
{
	static const struct {
		u64 filter;
		const char *text; /* NULL: fine */
	} rows[] = {
		{ PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY, NULL },
		{ PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK, NULL },
		{ PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY, "k, hv" },
		{ PERF_SAMPLE_BRANCH_HV | PERF_SAMPLE_BRANCH_ANY, "k, hv" },
		{ PERF_SAMPLE_BRANCH_IN_TX, "in_tx" },
		{ PERF_SAMPLE_BRANCH_ABORT_TX, "in_tx" },
		{ PERF_SAMPLE_BRANCH_ANY | 1u << 19, "counter" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY_CALL, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY_RETURN, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_IND_CALL, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_IND_JUMP, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_COND, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_CALL, "not both" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan p;

		sim_begin(&p, "cycles", SIM_X86_64);
		p.o.attr.branch_type = rows[i].filter;
		assert_int_equal(recorder_sim_events(&p.r), rows[i].text ? ERR_USAGE : 0);
		if (rows[i].text)
			assert_true(says(&p, rows[i].text));
		sim_end(&p);
	}
}

/* --- what its chunks hold */

static char *const program[] = { "program", NULL };

static void put_in_chunk(struct recorder_set *s, struct record *r, u64 time)
{
	struct vpmu_chunk *c = &s->r.sim->control->chunks[0];
	struct bytes b = { 0 };

	r->sid = (struct sample_id){ .time = time, .id = 100, .pid = 7, .tid = 7, .cpu = 4 };
	assert_int_equal(record_encode(r, &s->r.events.trailer, &b), 0);
	memcpy(s->r.sim->data + c->used, b.p, b.len);
	c->used += (u32)b.len;
	bytes_free(&b);
}

/* Closed by its thread, whose process is this one, so it lives. */
static void close_chunk(struct recorder_set *s)
{
	s->r.sim->control->turn++;
	s->r.sim->control->chunks[0].turn = s->r.sim->control->turn;
	s->r.sim->control->chunks[0].owner = getpid();
	s->r.sim->control->chunks[0].state = VPMU_CHUNK_CLOSED;
}

static void put_tasks(struct recorder_set *s)
{
	struct record fork = { .h.type = PERF_RECORD_FORK, .task = { .pid = 9, .ppid = 7, .tid = 9, .ptid = 7 } };
	struct record comm = { .h.type = PERF_RECORD_COMM };
	struct record map = { .h.type = PERF_RECORD_MMAP2 };
	struct record slow = { .h.type = PERF_RECORD_THROTTLE };
	struct record exit = { .h.type = PERF_RECORD_EXIT, .task = { .pid = 9, .ppid = 7, .tid = 9, .ptid = 7 } };
	struct sample sample = {
		.has = SET_SAMPLE, .id = 100, .ip = 0x1000, .pid = 7, .tid = 7, .time = 60, .cpu = 4
	};
	struct vpmu_chunk *c = &s->r.sim->control->chunks[0];
	struct bytes b = { 0 };

	comm.comm.pid = comm.comm.tid = 7;
	comm.comm.comm = (struct str){ "name", 4 };
	map.mmap.pid = map.mmap.tid = 7;
	map.mmap.len = 0x1000;
	map.mmap.filename = (struct str){ "/program", 8 };
	put_in_chunk(s, &comm, 10);
	put_in_chunk(s, &map, 20);
	put_in_chunk(s, &fork, 30);
	put_in_chunk(s, &slow, 40);
	put_in_chunk(s, &exit, 50);
	assert_int_equal(sample_encode(&s->r.events.events.v[0].layout, &sample, &b), 0);
	memcpy(s->r.sim->data + c->used, b.p, b.len);
	c->used += (u32)b.len;
	bytes_free(&b);
	close_chunk(s);
}

static u32 number_of(const struct source *src, u32 type)
{
	struct source_record r;
	u64 offset = 0, bad;
	u32 n = 0;

	while (source_next(src, &offset, &r, &bad))
		n += r.h.type == type;
	return n;
}

/* The next file of --switch-output begins with all side-band of those before it, and nothing else of them. Where there
 * is one file, nothing is kept. */
static void test_side_band_is_kept(void **state)
{
	static const u32 types[] = { PERF_RECORD_COMM, PERF_RECORD_MMAP2, PERF_RECORD_FORK, PERF_RECORD_EXIT };
	char paths[16][320];

	(void)state;
	for (u32 switches = 0; switches < 2; switches++) {
		struct recorder_set s;
		struct source *src = NULL;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(SIM_X86_64);
		s.o.target.command = program;
		s.o.output.build_ids = BUILDID_NONE;
		s.o.output.switch_on = switches ? SWITCH_SIGNAL : SWITCH_NEVER;
		s.r.workload.pid = getpid();
		assert_int_equal(recorder_begin_file(&s.r), 0);
		put_tasks(&s);
		assert_int_equal(recorder_drain(&s.r, false), 0);
		assert_int_equal(s.r.flow.samples, 1);
		assert_int_equal(s.r.flow.throttled, 1);
		assert_true(s.result.events_bytes > 0 && s.result.events_bytes == s.r.round_bytes);
		assert_int_equal(s.r.side_band.len > 0, switches);
		if (switches) {
			assert_int_equal(recorder_switch_file(&s.r, false), 0);
			assert_int_equal(recorder_switch_file(&s.r, true), 0);
			assert_int_equal(files_of(&s, paths, 16), 2);
			for (u32 i = 0; i < 2; i++) {
				assert_int_equal(source_open(&src, paths[i], NULL), 0);
				for (u32 t = 0; t < ARRAY_LEN(types); t++)
					assert_int_equal(number_of(src, types[t]), 1);
				assert_int_equal(number_of(src, PERF_RECORD_SAMPLE), !i);
				assert_int_equal(number_of(src, PERF_RECORD_THROTTLE), !i);
				source_close(src);
			}
		} else {
			assert_int_equal(recorder_end_file(&s.r), 0);
		}
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* A task that was killed has its end all the same, by the event that carries side-band, with that event's id on the
 * task's CPU. Where nothing has ever run under the plugin there are no tasks. */
static void test_killed_tasks_end(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct record comm = { .h.type = PERF_RECORD_COMM };
		struct recorder_set s;
		struct source *src = NULL;
		struct source_record r;
		struct record exit;
		u64 offset = 0, bad;
		u32 exits = 0;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(SIM_X86_64);
		s.r.sim->control->started = i < 2;
		s.o.target.command = program;
		s.o.output.build_ids = BUILDID_NONE;
		s.r.set.events.v[0].tracking = false;
		s.r.set.events.v[1].tracking = true;
		s.r.workload.pid = fork();
		if (!s.r.workload.pid)
			_exit(0);
		assert_int_equal(waitpid(s.r.workload.pid, NULL, 0),
				 s.r.workload.pid); /* nobody has this number now */
		assert_int_equal(recorder_begin_file(&s.r), 0);
		comm.comm.pid = comm.comm.tid = 1;
		comm.comm.comm = (struct str){ "name", 4 };
		put_in_chunk(&s, &comm, 10);
		close_chunk(&s);
		assert_int_equal(recorder_drain(&s.r, i != 1), 0); /* only the last one ends them */
		assert_int_equal(recorder_end_file(&s.r), 0);
		assert_int_equal(source_open(&src, s.path, NULL), 0);
		while (source_next(src, &offset, &r, &bad))
			if (r.h.type == PERF_RECORD_EXIT) {
				assert_int_equal(record_decode(cursor_over(r.p, r.h.size, false), 0,
							       &src->events.trailer, &exit),
						 0);
				assert_true(exit.sid.id == 200 || exit.sid.id == 201);
				exits++;
			}
		assert_int_equal(exits > 0, i == 0);
		source_close(src);
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* --- what its recordings say of themselves */

static bool has(const struct features *f, u32 id)
{
	return f->present[id / 64] >> id % 64 & 1;
}

static void test_sim_features(void **state)
{
	(void)state;
	for (u32 i = 0; i < 4; i++) {
		struct features f = { 0 };
		struct arena arena = { 0 };
		struct recorder_set s;

		recorder_set_begin(&s, 0, 4096);
		s.r.sim = sim_new(i == 1 ? SIM_AARCH64 : SIM_X86_64);
		s.r.sim->control->options.cpus = i == 2 ? 3 : 0;
		s.r.sim->control->options.memory = i == 3;
		s.r.sim->control->options.branch_depth = 32;
		s.r.set.events.v[1].attr.branch_sample_type = i == 1 ? PERF_SAMPLE_BRANCH_ANY : 0;
		s.o.target.command = program;
		recorder_sim_features(&s.r, &f, &arena);
		assert_string_equal(f.arch, i == 1 ? "aarch64" : "x86_64");
		assert_string_equal(f.cpuid,
				    i == 1 ? "reticle-sim:neoverse-n1,1,0,0" : "reticle-sim:generic-x86,1,0,0");
		assert_non_null(strstr(f.cpudesc, "simulated"));
		assert_true(has(&f, FEAT_CPUID) && has(&f, FEAT_CPUDESC) && has(&f, FEAT_NRCPUS));
		assert_int_equal(f.nr_cpus_online, i == 2 ? 3 : i == 3 ? VPMU_MEMORY_CORES : 1);
		assert_int_equal(f.nr_cpus_avail, f.nr_cpus_online);
		assert_int_equal(has(&f, FEAT_NUMA_TOPOLOGY), i == 3);
		if (i == 3)
			assert_string_equal(f.numa.v[0].cpus, "0-63");
		assert_int_equal(has(&f, FEAT_CPU_PMU_CAPS), i == 1);
		if (i == 1)
			assert_true(!strcmp(f.caps.v[0].names[0], "branches") && !strcmp(f.caps.v[0].values[0], "32"));
		features_free(&f);
		arena_free(&arena);
		recorder_sim_close(&s.r);
		recorder_set_end(&s);
	}
}

/* Prints the command line as the recording would have it; the last `words` of it are the command. */
static int print_command_line(char **argv, u32 argc, u32 words)
{
	struct features f = { 0 };
	struct arena arena = { 0 };
	struct recorder_set s;

	recorder_set_begin(&s, 0, 4096);
	s.r.sim = sim_new(SIM_X86_64);
	s.o.target.command = argv + argc - words;
	recorder_sim_features(&s.r, &f, &arena);
	for (u32 i = 1; i < f.nr_cmdline; i++)
		printf("%s ", f.cmdline[i]);
	fflush(stdout);
	features_free(&f);
	arena_free(&arena);
	recorder_sim_close(&s.r);
	recorder_set_end(&s);
	return 0;
}

/* The same program recorded into another file is the same recording: words that name files of the recorder are left
 * out, in all their forms, and those of the command stay. */
static void test_command_line(void **state)
{
	char *const rows[][14] = {
		{ "--", "cat", "-o", "x", NULL },
		{ "-o", "y", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "-oy", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--output", "y", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--output=y", "--out=z", "--ou", "w", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--truth=t", "--tr", "u", "-F", "99", "--", "cat", "-o", "x", NULL },
		{ "--outputs", "--trust", "--", "cat", "-o", "x", NULL },
		{ "-F", "99", "-o", "cat", "-o", "x", NULL }, /* without "--" */
	};
	static const char *const expected[] = {
		"-- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"-F 99 -- cat -o x ",
		"--outputs --trust -- cat -o x ",
		"-F 99 cat -o x ",
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char *argv[16] = { "recorder_plan" }, got[256] = "";
		int out[2], status;
		ssize_t n;
		pid_t pid;

		for (u32 k = 0; rows[i][k]; k++)
			argv[k + 1] = rows[i][k];
		assert_int_equal(pipe2(out, O_CLOEXEC), 0);
		pid = fork();
		if (!pid) {
			dup2(out[1], STDOUT_FILENO);
			execv("/proc/self/exe", argv);
			_exit(127);
		}
		close(out[1]);
		for (size_t at = 0; (n = read(out[0], got + at, sizeof(got) - 1 - at)) > 0;)
			at += (size_t)n;
		close(out[0]);
		assert_int_equal(waitpid(pid, &status, 0), pid);
		assert_int_equal(status, 0);
		assert_string_equal(got, expected[i]);
	}
}

/* What went wrong is told with the result. */
static void test_sim_close(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct plan p;

		sim_begin(&p, NULL, SIM_X86_64);
		p.result.lost = 2;
		p.result.has_status = i > 0;
		p.r.sim->control->started = i > 1;
		p.r.sim->control->escaped = 3;
		p.r.sim->control->lost = 4;
		p.r.sim->damaged = i == 2;
		sim_end(&p);
		assert_int_equal(p.result.escaped, 3);
		assert_int_equal(p.result.lost, 6);
		assert_int_equal(p.result.never_simulated, i == 1);
	}
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_refused),
		cmocka_unit_test(test_windows_in_pipe),
		cmocka_unit_test(test_windows_of_fixed_periods),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_no_windows),
		cmocka_unit_test(test_sim_refuses),
		cmocka_unit_test(test_sim_events),
		cmocka_unit_test(test_sim_whose_events),
		cmocka_unit_test(test_sim_ids),
		cmocka_unit_test(test_sim_default),
		cmocka_unit_test(test_sim_windows),
		cmocka_unit_test(test_sim_branches),
		cmocka_unit_test(test_side_band_is_kept),
		cmocka_unit_test(test_killed_tasks_end),
		cmocka_unit_test(test_sim_features),
		cmocka_unit_test(test_command_line),
		cmocka_unit_test(test_sim_close),
	};

	if (argc > 1)
		return print_command_line(argv, (u32)argc, 3);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
