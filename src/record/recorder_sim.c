/* SPDX-License-Identifier: Apache-2.0 */
/* Recording with the virtual PMU: its options, its events, and its chunks instead of rings. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "record/recorder_impl.h"
#include "sys/machine.h"

#define ONE_THREAD "%s: virtual CPUs (--pmu=sim,cpus=N) count whatever runs on them"

/* What the virtual PMU cannot do: options, and why. */
static int refuse_options(const struct record_opts *o, const struct notify *to)
{
	const struct target_opts *t = &o->target;
	const struct attr_opts *a = &o->attr;
	const struct {
		bool given;
		const char *text;
	} rows[] = {
		{ t->pids || t->tids || t->uid,
		  "-p, -t, -u: the virtual PMU records only what it starts: name a command" },
		{ t->system_wide, "-a: the virtual PMU records a command, not the machine" },
		{ t->cpus, "-C: the virtual PMU has CPUs of its own (--pmu=sim,cpus=N)" },
		{ t->cgroups, "--cgroup: the virtual PMU records a command, not cgroups" },
		{ !t->command, "the virtual PMU needs a command: reticle record --pmu=sim -- COMMAND" },
		{ a->all_kernel || a->kernel_callchains, "the virtual PMU sees user code only" },
		{ a->freq_max, "-F max: the virtual PMU has no highest frequency" },
		{ a->delay_ms < 0, "-D -1: nothing could start the events; give a time" },
		{ o->control, "--control: the virtual PMU's events cannot be switched while it runs (-D delays "
			      "their start)" },
		{ a->overwrite, "--overwrite: the virtual PMU never overwrites records (--switch-output with "
				"--switch-max-files keeps only the last part)" },
		{ a->activity, "--activity: the virtual PMU does not say which activity a thread works for" },
		{ a->raw, "-R: the virtual PMU has no raw data" },
		{ a->transaction, "--transaction: the virtual PMU has no transactional memory" },
		{ a->namespaces || a->cgroup_events || a->switch_events,
		  "--namespaces, --all-cgroups, --switch-events: the virtual PMU has none of these records" },
	};

	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].given)
			return notify_error(to, ERR_USAGE, "%s", rows[i].text);
	if (o->sim.v.cpus && (a->no_inherit || t->per_thread))
		return notify_error(to, ERR_USAGE, ONE_THREAD, "-i, --per-thread");
	if (a->use_clockid)
		notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET,
			  "-k %s: the virtual PMU has its own clock, which is used instead", a->clock_name);
	return 0;
}

int recorder_sim_open(struct recorder *r)
{
	const struct record_opts *o = r->o;
	int err = refuse_options(o, r->notify);

	if (err)
		return err;
	r->sim = mem_zalloc(sizeof(*r->sim));
	err = sim_open(r->sim, &o->sim, o->target.command, r->notify);
	if (err && r->sim->program.status) {
		r->result->has_status = true;
		r->result->status = r->sim->program.status;
	}
	if (err)
		return err;
	r->sim->control->options.delay_ns = (u64)o->attr.delay_ms * 1000000;
	return 0;
}

static void set_flags(struct attr *a, bool cpus)
{
	/* User code is all there is, and readers who know that miss no kernel symbols. */
	a->flags |= ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV;
	/* A CPU's counter has one value for all threads, as those of a whole system; no thread has its own. */
	if (cpus)
		a->flags &= ~(ATTR_INHERIT | ATTR_INHERIT_STAT);
}

int recorder_sim_events(struct recorder *r)
{
	struct attr_opts attr = r->o->attr;
	const struct event_env env = { .simulated = true };
	int err;

	attr.simulated = true;
	/* As in perf: events of one thread only. */
	attr.no_inherit |= r->o->target.per_thread;
	attr.regs = regs_arch_of(sim_arch(r->sim));
	attr.id |= !strcmp(r->path, "-");
	attr.cpu |= r->o->sim.v.cpus != 0;
	attr.no_bpf_event = true;
	attr.use_clockid = false;
	attr.delay_ms = 0; /* the plugin's matter: no event must be enabled later */
	r->target_is_workload = true;
	err = recorder_plan_windows(r);
	if (!err && !r->specs->v.n)
		err = event_specs_parse(r->specs, "cycles:u", &env, r->notify);
	/* perf wants to know of each record which event it is of, once it has added those that it makes of AUX data.
	 */
	for (size_t i = 0; i < r->specs->v.n; i++)
		if (vpmu_is_spe(&r->specs->v.v[i].attr))
			attr.id = attr.cpu = true;
	if (!err)
		err = event_set_configure(&r->set, r->specs, &attr, &r->target, true, r->notify);
	if (err)
		return err;
	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct event_spec *s = r->set.events.v[e].spec;

		if (r->o->sim.v.cpus && s && s->has_inherit && !s->inherit)
			return notify_error(r->notify, ERR_USAGE, ONE_THREAD, "no-inherit");
		set_flags(&r->set.events.v[e].attr, r->o->sim.v.cpus);
	}
	err = sim_check_branches(r->sim, &r->set);
	if (err)
		return err;
	r->set.ring_pages = VPMU_CHUNK_SIZE / (u32)sysconf(_SC_PAGESIZE); /* the most that is packed at once */
	return sim_set_events(r->sim, &r->set);
}

/* Side-band is kept for the files of --switch-output, each of which begins with what the ones before it had. */
static void keep_side_band(struct recorder *r, const struct iovec *whole)
{
	const u8 *p = whole->iov_base, *end = p + whole->iov_len;
	struct perf_event_header h;

	for (; p < end; p += h.size) {
		memcpy(&h, p, sizeof(h));
		if (h.type == PERF_RECORD_MMAP2 || h.type == PERF_RECORD_COMM || h.type == PERF_RECORD_FORK ||
		    h.type == PERF_RECORD_EXIT)
			bytes_put(&r->side_band, p, h.size);
	}
}

static int put_records(void *ctx, const struct iovec *whole)
{
	struct recorder *r = ctx;

	if (r->o->output.switch_on != SWITCH_NEVER)
		keep_side_band(r, whole);
	flow_look(&r->flow, whole, 1);
	sim_tasks_look(&r->tasks, &r->events, whole);
	r->round_bytes += whole->iov_len;
	return writer_put_data(&r->writer, whole, 1);
}

static void put_truth(void *ctx, const u8 *record, u16 size)
{
	struct recorder *r = ctx;

	if (r->tell && r->tell->truth)
		r->tell->truth(r->tell->ctx, record, size);
}

static void put_task(void *ctx, u32 type, u32 pid, u32 of)
{
	struct recorder *r = ctx;

	sim_tasks_told(&r->tasks, type, pid, of);
}

/* By the event that carries the side-band. */
static int put_exit(void *ctx, struct record *record)
{
	struct recorder *r = ctx;
	struct trailer_layout trailer = { 0 };
	struct bytes b = { 0 };
	struct iovec whole;
	int err;

	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];

		if (!event->tracking)
			continue;
		trailer = trailer_layout(&event->attr);
		record->sid.id = event->on.v[record->sid.cpu < event->on.n ? record->sid.cpu : 0].id;
	}
	record->sid.stream_id = record->sid.id;
	err = record_encode(record, &trailer, &b);
	whole = (struct iovec){ b.p, b.len };
	err = err ? err : put_records(r, &whole);
	bytes_free(&b);
	return err;
}

/* The packets follow their record. */
static void put_aux(void *ctx, const struct rec_auxtrace *a, const u8 *data)
{
	struct recorder *r = ctx;
	struct iovec whole = { (void *)data, a->size };

	(void)recorder_put_aux(r, a, &whole, 1); /* the writer keeps what failed */
}

/* Before AUX data: what they are, and that a tick of their clock is a nanosecond. */
static void put_aux_head(struct recorder *r)
{
	struct record record = { .h.type = PERF_RECORD_TIME_CONV };
	struct bytes b = { 0 }, words = { 0 };
	struct aux_pmu pmu = { .type = VPMU_SPE_TYPE };
	const struct aux_pmus pmus = { { &pmu, 1, 1 } };

	record.time_conv = (struct rec_time_conv){ .mult = 1, .mask = UINT64_MAX, .cap_zero = true };
	record_encode(&record, NULL, &b);
	recorder_aux_info(&record, &words, &pmus, false, r->notify);
	record_encode(&record, NULL, &b);
	writer_put_bytes(&r->writer, &b);
	bytes_free(&words);
	bytes_free(&b);
}

int recorder_sim_drain(struct recorder *r, bool last)
{
	struct sim_sink sink = {
		.records = put_records, .truth = put_truth, .task = put_task, .aux = put_aux, .ctx = r
	};
	bool real = r->o->sim.v.real_ids;
	int err;

	sim_tasks_begin(&r->tasks, real ? (u32)r->workload.pid : 1, real ? (u32)getpid() : 0, r->workload.pid);
	err = sim_drain(r->sim, &sink, last);
	if (last && !err && atomic_load(&r->sim->control->started))
		err = sim_tasks_end(&r->tasks, put_exit, r);
	flow_settle(&r->flow);
	return err;
}

/* The file is finished, the command not: what it still says is not wanted, but it must not wait for room to say it. */
void recorder_sim_discard(struct recorder *r)
{
	sim_done(r->sim);
	sim_drain(r->sim, &(struct sim_sink){ 0 }, false);
}

int recorder_sim_synthesize(struct recorder *r)
{
	struct iovec part = { r->side_band.p, r->side_band.len };

	if (r->sim->spe)
		put_aux_head(r);
	if (!part.iov_len)
		return 0;
	flow_look(&r->flow, &part, 1);
	return writer_put(&r->writer, &part, 1);
}

/* Is the word an option that names a file, -o or a --output or --truth that may be cut short? */
static bool names_output(const char *w, size_t len)
{
	return !strcmp(w, "-o") || (len > 3 && (!strncmp("--output", w, len) || !strncmp("--truth", w, len)));
}

/* How many of the words, 0, 1 or 2 of them, say where what is recorded goes. */
static u32 output_words(const char *w, const char *next)
{
	const char *value = strchr(w, '=');

	if (w[0] == '-' && w[1] == 'o' && w[2])
		return 1;
	if (!names_output(w, value ? (size_t)(value - w) : strlen(w)))
		return 0;
	return value || !next ? 1 : 2;
}

/* The words of the command line without those that say where the recording goes: the same recording in another file is
 * the same recording. */
static void drop_output(struct features *f, u32 command_words)
{
	const char **words = (const char **)f->cmdline;
	u32 n = 0, options = f->nr_cmdline > command_words ? f->nr_cmdline - command_words : 0;

	for (u32 i = 0, skip; i < f->nr_cmdline; i += skip ? skip : 1) {
		skip = i && i < options ? output_words(words[i], i + 1 < options ? words[i + 1] : NULL) : 0;
		if (!skip)
			words[n++] = words[i];
	}
	f->nr_cmdline = n;
}

static const char *text(struct arena *a, char *made)
{
	const char *kept = arena_strndup(a, made, strlen(made));

	free(made);
	return kept;
}

static bool has_branches(const struct event_set *set)
{
	for (size_t e = 0; e < set->events.n; e++)
		if (set->events.v[e].attr.branch_sample_type)
			return true;
	return false;
}

/* Whoever stitches call stacks has to know how many registers there are, and who shows counters how wide they are. */
static void branch_caps(const struct recorder *r, struct features *f, struct arena *arena)
{
	static const char *const all[] = { "branches", "branch_counter_nr", "branch_counter_width" };
	const struct vpmu_options *o = &r->sim->control->options;
	const u32 numbers[] = { o->branch_depth, VPMU_BRANCH_COUNTERS, VPMU_BRANCH_COUNTER_BITS };
	bool lbr = o->branch_kind == VPMU_LBR;
	struct feat_caps caps = { .pmu = lbr ? "cpu" : "armv8_pmuv3_0", .nr = lbr ? ARRAY_LEN(all) : 1 };
	const char **names = arena_array(arena, const char *, caps.nr);
	const char **values = arena_array(arena, const char *, caps.nr);

	for (u32 i = 0; i < caps.nr; i++) {
		names[i] = all[i];
		values[i] = text(arena, mem_printf("%u", numbers[i]));
	}
	caps.names = names;
	caps.values = values;
	vec_push(&f->caps, caps);
	feature_mark(f, lbr ? FEAT_CPU_PMU_CAPS : FEAT_PMU_CAPS);
}

void recorder_sim_features(struct recorder *r, struct features *f, struct arena *arena)
{
	const struct vpmu_options *o = &r->sim->control->options;
	u32 command_words = 0, cpus = o->cpus ? o->cpus : o->memory ? VPMU_MEMORY_CORES : 1;

	while (r->o->target.command[command_words])
		command_words++;
	machine_software_features(f, arena);
	drop_output(f, command_words);
	f->arch = sim_arch(r->sim);
	f->nr_cpus_online = f->nr_cpus_avail = cpus;
	/* perf annotate wants vendor, family, model, stepping. */
	f->cpuid = text(arena, mem_printf(VPMU_CPUID_PREFIX ":%s,1,0,0", sim_core(r->sim)));
	f->cpudesc = text(arena, mem_printf("%s, simulated by reticle's virtual PMU", sim_core(r->sim)));
	feature_mark(f, FEAT_NRCPUS);
	feature_mark(f, FEAT_CPUID);
	feature_mark(f, FEAT_CPUDESC);
	if (has_branches(&r->set))
		branch_caps(r, f, arena);
	/* perf c2c wants to know which node each core is of. */
	if (o->memory) {
		vec_push(&f->numa, (struct feat_numa_node){ .cpus = text(arena, mem_printf("0-%u", cpus - 1)) });
		feature_mark(f, FEAT_NUMA_TOPOLOGY);
	}
}

void recorder_sim_close(struct recorder *r)
{
	struct vpmu_control *c;

	if (!r->sim)
		return;
	c = r->sim->control;
	if (c) {
		r->result->escaped = atomic_load(&c->escaped);
		r->result->lost += atomic_load(&c->lost);
		r->result->never_simulated = r->result->has_status && !atomic_load(&c->started);
	}
	if (r->sim->damaged)
		notify_warn(r->notify,
			    "the program has written into the virtual PMU's memory: some records are missing");
	sim_close(r->sim);
	free(r->sim);
	r->sim = NULL;
	bytes_free(&r->side_band);
	sim_tasks_free(&r->tasks);
}
