/* SPDX-License-Identifier: Apache-2.0 */
/* What the recorder refuses before anything is opened, how it makes windows, and what it makes of the virtual PMU's
 * options and events. */
#include "recorder_set.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

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
		{ "--activity is for counters", WINDOW_PLAIN },
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
			.wish = WINDOW_ASKED,
			.how = rows[i].how,
			.burst = rows[i].burst,
			.jitter_given = rows[i].jitter,
			.jitter = rows[i].jitter,
		};
		assert_int_equal(recorder_plan_windows(&p.r), rows[i].text ? ERR_USAGE : 0);
		assert_true(says(&p, rows[i].text ? rows[i].text : "as asked for"));
		assert_int_equal(p.r.window_how, rows[i].text ? WINDOW_AUTO : rows[i].how);
		plan_end(&p);
	}
}

/* What nobody has chosen works, whatever the kernel can do; what was chosen works only where the kernel can do it. */
static void test_windows_chosen(void **state)
{
	for (u32 bursts = 0; bursts < 2; bursts++) {
		struct plan p;
		bool native;

		(void)state;
		plan_begin(&p, GROUP);
		p.o.window = (struct window_opts){ .wish = WINDOW_ASKED, .burst = bursts ? 3 : 0 };
		assert_int_equal(recorder_plan_windows(&p.r), 0);
		native = p.r.window_how == WINDOW_NATIVE;
		if (!native)
			assert_int_equal(p.r.window_how, bursts ? WINDOW_REFRESH : WINDOW_TWIN);
		plan_end(&p);
		plan_begin(&p, GROUP);
		p.o.window = (struct window_opts){ .wish = WINDOW_ASKED, .how = WINDOW_NATIVE };
		assert_int_equal(recorder_plan_windows(&p.r), native ? 0 : ERR_UNSUPPORTED);
		assert_int_equal(p.r.window_how, native ? WINDOW_NATIVE : WINDOW_AUTO);
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
	/* Its periods differ, and none of them is a window. */
	plan_begin(&p, "{cpu-clock/period=1000000,period-jitter=1000/u,page-faults/freq=0/u}:S");
	assert_int_equal(recorder_plan_windows(&p.r), 0);
	assert_int_equal(p.r.window_how, WINDOW_AUTO);
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

/* The nth option that it does not take. */
static void set_refused(struct record_opts *o, u32 i)
{
	static char *const command[] = { "true", NULL };
	struct target_opts *t = &o->target;
	struct attr_opts *a = &o->attr;

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
	o->control = i == 11 ? "fd:3" : NULL;
	a->overwrite = i == 12;
	a->activity = i == 13;
	a->raw = i == 14;
	a->transaction = i == 15;
	a->namespaces = i == 16;
	a->cgroup_events = i == 17;
	a->switch_events = i == 18;
	o->sim.v.cpus = i > 18 ? 2 : 0;
	a->no_inherit = i == 19;
	t->per_thread = i == 20;
}

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

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(texts); i++) {
		struct plan p;

		plan_begin(&p, NULL);
		set_refused(&p.o, i);
		assert_int_equal(recorder_sim_open(&p.r), ERR_USAGE);
		assert_null(p.r.sim);
		assert_true(says(&p, texts[i]));
		plan_end(&p);
	}
}

/* What cannot be run ends with a shell's status for it. */
static void test_sim_no_command(void **state)
{
	static char *const command[] = { "./no-such-command", NULL };
	struct plan p;

	(void)state;
	plan_begin(&p, NULL);
	p.o.target.command = command;
	assert_int_equal(recorder_sim_open(&p.r), ERR_NOTFOUND);
	assert_true(p.result.has_status);
	assert_int_equal(p.result.status, 127);
	recorder_sim_close(&p.r);
	plan_end(&p);
}

/* --- its events */

static void sim_begin(struct plan *p, const char *events, enum sim_guest guest)
{
	const struct event_env env = { .simulated = true };

	plan_begin(p, NULL);
	if (events)
		assert_int_equal(event_specs_parse(&p->specs, events, &env, NULL), 0);
	p->r.sim = sim_new(guest);
	p->r.sim->notify = &p->notify;
	assert_int_equal(sim_opts_parse(&p->r.sim->opts, "sim", NULL), 0);
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
		u32 kind;
	} rows[] = {
		{ PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY, NULL },
		{ PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK, NULL },
		{ PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_ANY, "k, hv" },
		{ PERF_SAMPLE_BRANCH_HV | PERF_SAMPLE_BRANCH_ANY, "k, hv" },
		{ PERF_SAMPLE_BRANCH_IN_TX, "in_tx" },
		{ PERF_SAMPLE_BRANCH_ABORT_TX, "in_tx" },
		{ PERF_SAMPLE_BRANCH_ANY | BRANCH_COUNTERS, NULL },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY_CALL, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_ANY_RETURN, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_IND_CALL, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_IND_JUMP, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_COND, "not both" },
		{ PERF_SAMPLE_BRANCH_CALL_STACK | PERF_SAMPLE_BRANCH_CALL, "not both" },
		{ PERF_SAMPLE_BRANCH_ANY, NULL, VPMU_BRBE },
		{ PERF_SAMPLE_BRANCH_ANY | BRANCH_COUNTERS, "counter", VPMU_BRBE },
		{ PERF_SAMPLE_BRANCH_CALL_STACK, "call stack", VPMU_BRBE },
		{ PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_HW_INDEX, "hw_index", VPMU_BRBE },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct plan p;

		sim_begin(&p, "cycles", SIM_X86_64);
		p.o.attr.branch_type = rows[i].filter;
		p.r.sim->opts.v.branch_kind = rows[i].kind;
		assert_int_equal(recorder_sim_events(&p.r), rows[i].text ? ERR_USAGE : 0);
		if (rows[i].text)
			assert_true(says(&p, rows[i].text));
		sim_end(&p);
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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_windows_refused),
		cmocka_unit_test(test_windows_in_pipe),
		cmocka_unit_test(test_windows_of_fixed_periods),
		cmocka_unit_test(test_windows_chosen),
		cmocka_unit_test(test_interval),
		cmocka_unit_test(test_no_windows),
		cmocka_unit_test(test_sim_refuses),
		cmocka_unit_test(test_sim_no_command),
		cmocka_unit_test(test_sim_events),
		cmocka_unit_test(test_sim_whose_events),
		cmocka_unit_test(test_sim_ids),
		cmocka_unit_test(test_sim_default),
		cmocka_unit_test(test_sim_windows),
		cmocka_unit_test(test_sim_branches),
		cmocka_unit_test(test_sim_close),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
