/* SPDX-License-Identifier: Apache-2.0 */
/* What stat makes of counts: sums by place, scaling, means and errors of runs, ratios, formulas, where CPUs are. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "cmd/stat.h"
#include "own_dir.h"

#define MS 1000000ull

/* Two sockets of two cores each, CPU 3 in another die of the second one. */
static const struct cpu_place places[] = {
	{ .socket = 0, .core = 0 },
	{ .socket = 0, .core = 1, .node = 1 },
	{ .socket = 1, .core = 0 },
	{ .socket = 1, .die = 1, .core = 0, .node = 1 },
};

struct fixture {
	struct counter_result r;
	struct target_opts target;
	struct stat_view v;
	struct stat_table t;
	struct bytes text;
};

static struct fixture *make(enum count_by by)
{
	struct fixture *x = mem_zalloc(sizeof(*x));

	x->r.runs = 1;
	vec_push(&x->r.seconds, 0.5);
	x->target.system_wide = true;
	x->v = (struct stat_view){ .r = &x->r, .target = &x->target, .by = by, .places = places };
	return x;
}

static void add_event(struct fixture *x, const char *name, u32 type, u64 config)
{
	struct counted e = { .name = mem_strdup(name), .attr = { .type = type, .config = config } };

	vec_push(&x->r.events, e);
}

/* What an event counted on a CPU: value, and of 100 ms the part that it ran. */
static void add_cell(struct fixture *x, size_t event, s32 cpu, u64 value, u64 running_ms)
{
	struct count_cell c = { .cpu = cpu, .pid = -1, .tid = -1, .now = { value, 100 * MS, running_ms * MS } };

	if (!event)
		vec_push(&x->r.places, c);
	vec_push(&x->r.events.v[event].cells, c);
}

/* What all runs are told: the sum of the cells. */
static void end_run(struct fixture *x)
{
	for (size_t i = 0; i < x->r.events.n; i++) {
		struct counted *e = &x->r.events.v[i];
		struct count_sum sum;

		count_add_all(&sum, e, false);
		e->enabled_ns += sum.all.enabled_ns;
		e->running_ns += sum.all.running_ns;
		vec_push(&e->values, sum.value);
	}
}

static void drop(struct fixture *x)
{
	stat_table_free(&x->t);
	bytes_free(&x->text);
	counter_free(&x->r);
	free(x);
}

static void four_cpus(struct fixture *x)
{
	add_event(x, "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	add_event(x, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	for (s32 cpu = 0; cpu < 4; cpu++) {
		add_cell(x, 0, cpu, 100 * MS, 100);
		add_cell(x, 1, cpu, 1000u << 4 * cpu, cpu == 3 ? 25 : 100);
	}
	end_run(x);
}

static void test_scaled(void **state)
{
	(void)state;
	assert_int_equal(count_scaled(&(struct count_reading){ 1000, 100, 100 }), 1000);
	assert_int_equal(count_scaled(&(struct count_reading){ 1000, 100, 25 }), 4000);
	assert_int_equal(count_scaled(&(struct count_reading){ 1000, 300, 200 }), 1500);
	assert_int_equal(count_scaled(&(struct count_reading){ 0, 100, 0 }), 0);
	/* A clock may run a little longer than it was asked to. */
	assert_int_equal(count_scaled(&(struct count_reading){ 1000, 100, 101 }), 1000);
}

static void test_places(void **state)
{
	static const struct {
		enum count_by by;
		u64 values[4];
		u32 cells[4];
		const char *names[4];
	} rows[] = {
		{ COUNT_BY_CPU,
		  { 1000, 16000, 256000, 16384000 },
		  { 1, 1, 1, 1 },
		  { "CPU0", "CPU1", "CPU2", "CPU3" } },
		{ COUNT_BY_CORE,
		  { 1000, 16000, 256000, 16384000 },
		  { 1, 1, 1, 1 },
		  { "S0-D0-C0", "S0-D0-C1", "S1-D0-C0", "S1-D1-C0" } },
		{ COUNT_BY_DIE, { 17000, 256000, 16384000 }, { 2, 1, 1 }, { "S0-D0", "S1-D0", "S1-D1" } },
		/* (256000 + 4096000) in 125 of 200 ms */
		{ COUNT_BY_SOCKET, { 17000, 6963200 }, { 2, 2 }, { "S0", "S1" } },
		{ COUNT_BY_NODE, { 257000, 6579200 }, { 2, 2 }, { "N0", "N1" } },
	};

	(void)state;
	for (u32 row = 0; row < ARRAY_LEN(rows); row++) {
		struct fixture *x = make(rows[row].by);
		u32 n = 0;

		four_cpus(x);
		stat_table_make(&x->t, &x->v);
		for (; n < 4 && rows[row].names[n]; n++) {
			const struct stat_cell *c = stat_table_cell(&x->t, n, 1);
			char name[64];

			stat_key_name(&x->t, &x->t.keys.v[n], name, sizeof(name));
			assert_string_equal(name, rows[row].names[n]);
			assert_int_equal((u64)c->value, rows[row].values[n]);
			assert_int_equal(c->cells, rows[row].cells[n]);
		}
		assert_int_equal(x->t.keys.n, n);
		drop(x);
	}
}

/* An interval is what came since the last one; its parts of the time, too. */
static void test_interval(void **state)
{
	struct fixture *x = make(COUNT_BY_ALL);
	const struct stat_cell *c;

	(void)state;
	four_cpus(x);
	for (size_t i = 0; i < 4; i++)
		x->r.events.v[1].cells.v[i].base = (struct count_reading){ 1000, 90 * MS, 20 * MS };
	x->v.interval = 0.01;
	stat_table_make(&x->t, &x->v);
	c = stat_table_cell(&x->t, 0, 1);
	/* 4369000 - 4000 in 245 of 40 ms is more than all of the time: not scaled */
	assert_int_equal((u64)c->value, 4365000);
	assert_int_equal(c->running_ns, 245 * MS);
	drop(x);
}

static void test_runs(void **state)
{
	struct fixture *x = make(COUNT_BY_ALL);
	const struct stat_cell *c;

	(void)state;
	add_event(x, "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	for (u32 i = 0; i < 4; i++)
		vec_push(&x->r.events.v[0].values, 90 + 10 * (i % 3)); /* 90, 100, 110, 90 */
	x->r.events.v[0].enabled_ns = 400 * MS;
	x->r.events.v[0].running_ns = 100 * MS;
	x->r.runs = 4;
	stat_table_make(&x->t, &x->v);
	c = stat_table_cell(&x->t, 0, 0);
	assert_true(c->value > 97.499 && c->value < 97.501);
	/* Standard deviation 9.5743, of the mean 4.7871, which is 4.9099 % */
	assert_true(c->error > 4.9098 && c->error < 4.9100);
	assert_true(c->percent == 25 && c->running_ns == 25 * MS);
	drop(x);
}

static void assert_line(const struct fixture *x, const char *want)
{
	char *all = mem_printf("%.*s", (int)x->text.len, (const char *)x->text.p);

	if (!strstr(all, want))
		fail_msg("no line '%s' in:\n%s", want, all);
	free(all);
}

/* An event that shared its counter says so, as perf does; one that never had it was not counted. */
static void test_multiplexed(void **state)
{
	struct fixture *x = make(COUNT_BY_ALL);

	(void)state;
	add_event(x, "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	add_event(x, "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	add_event(x, "instructions", PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS);
	add_event(x, "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	add_cell(x, 0, 0, 100 * MS, 100);
	add_cell(x, 1, 0, 1000000, 50);
	add_cell(x, 2, 0, 1000000, 25);
	add_cell(x, 3, 0, 0, 0);
	end_run(x);
	x->r.events.v[3].state = COUNT_NONE;
	stat_text(&x->v, &x->text);
	assert_line(x, "         2,000,000      cycles                           #    0.020 GHz"
		       "                      (50.00%)\n");
	assert_line(x, "         4,000,000      instructions                     #    2.00  insn per cycle"
		       "           (25.00%)\n");
	assert_line(x, "     <not counted>      branches\n");
	drop(x);
}

static double ratio(const struct fixture *x, size_t event, const char *unit)
{
	struct stat_metric m;

	stat_metric(&x->t, 0, event, &m);
	assert_non_null(m.unit);
	assert_string_equal(m.unit, unit);
	return m.value;
}

static void test_ratios(void **state)
{
	struct fixture *x = make(COUNT_BY_ALL);

	(void)state;
	add_event(x, "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);
	add_event(x, "branches", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS);
	add_event(x, "branch-misses", PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES);
	add_event(x, "faults", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_PAGE_FAULTS);
	add_cell(x, 0, 0, 100 * MS, 100);
	add_cell(x, 1, 0, 5000000, 100);
	add_cell(x, 2, 0, 250000, 100);
	add_cell(x, 3, 0, 7, 100);
	end_run(x);
	stat_table_make(&x->t, &x->v);
	assert_true(ratio(x, 0, "CPUs utilized") == 0.2);
	assert_true(ratio(x, 1, "M/sec") == 50);
	assert_true(ratio(x, 2, "of all branches") == 5);
	assert_true(ratio(x, 3, "/sec") == 70);
	drop(x);
}

/* A metric's events are a group, which another one with the same events shares; what was not counted gives none. */
static void test_formulas(void **state)
{
	struct fixture *x = make(COUNT_BY_ALL);
	struct event_env env = { .sysfs = "/nowhere", .tracefs = "/nowhere", .procfs = "/nowhere" };
	struct stat_formulas f = { 0 };
	struct event_specs specs = { 0 };
	struct stat_formula_value v;
	static const u64 counts[] = { 1000, 2500, 50, 10 };
	size_t at = 0;

	(void)state;
	assert_int_equal(stat_formulas_choose(&f, "cpi,IPC,BM%", &env, &specs, NULL), 0);
	assert_int_equal(f.v.n, 3);
	assert_int_equal(specs.v.n, 4);
	assert_int_equal(specs.v.v[1].leader, 0);
	assert_int_equal(specs.v.v[3].leader, 2);
	assert_true(specs.v.v[0].weak);
	for (size_t i = 0; i < specs.v.n; i++) {
		add_event(x, specs.v.v[i].name, specs.v.v[i].attr.type, specs.v.v[i].attr.config);
		add_cell(x, i, 0, counts[i], 100);
	}
	end_run(x);
	x->v.formulas = &f;
	stat_table_make(&x->t, &x->v);
	assert_true(stat_formula_at(&x->t, 0, 0, &at, &v));
	assert_string_equal(v.name, "CPI");
	assert_true(v.value == 0.4);
	assert_true(stat_formula_at(&x->t, 0, 0, &at, &v));
	assert_string_equal(v.name, "IPC");
	assert_true(v.value == 2.5);
	assert_false(stat_formula_at(&x->t, 0, 0, &at, &v));
	at = 0;
	assert_true(stat_formula_at(&x->t, 0, 2, &at, &v));
	assert_true(v.value == 20);
	x->t.cells.v[3].state = COUNT_UNSUPPORTED;
	at = 0;
	assert_false(stat_formula_at(&x->t, 0, 2, &at, &v));
	assert_int_equal(stat_formulas_choose(&f, "PerCall", &env, &specs, NULL), ERR_USAGE);
	assert_int_equal(stat_formulas_choose(&f, "nonsense", &env, &specs, NULL), ERR_USAGE);
	stat_formulas_free(&f);
	event_specs_free(&specs);
	drop(x);
}

static void put_file(const char *root, const char *name, const char *text)
{
	char path[256];
	FILE *f;

	snprintf(path, sizeof(path), "%s/devices/system/cpu/cpu7/topology/%s", root, name);
	f = fopen(path, "w");
	assert_non_null(f);
	fputs(text, f);
	fclose(f);
}

static void test_topology(void **state)
{
	static const char *const dirs[] = { "/devices",
					    "/devices/system",
					    "/devices/system/cpu",
					    "/devices/system/cpu/cpu7",
					    "/devices/system/cpu/cpu7/node3",
					    "/devices/system/cpu/cpu7/topology" };
	static const char *const files[] = { "physical_package_id", "die_id", "core_id" };
	char root[OWN_DIR_PATH], path[256];
	struct cpu_place p;

	(void)state;
	own_dir_make(root);
	topology_of(root, 7, &p);
	assert_true(!p.socket && !p.die && !p.core && !p.node);
	for (u32 i = 0; i < ARRAY_LEN(dirs); i++) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		assert_int_equal(mkdir(path, 0700), 0);
	}
	put_file(root, files[0], "2\n");
	put_file(root, files[1], "-1\n"); /* as kernels say that know none */
	put_file(root, files[2], "14\n");
	topology_of(root, 7, &p);
	assert_true(p.socket == 2 && !p.die && p.core == 14 && p.node == 3);
	for (u32 i = 0; i < ARRAY_LEN(files); i++) {
		snprintf(path, sizeof(path), "%s%s/%s", root, dirs[ARRAY_LEN(dirs) - 1], files[i]);
		unlink(path);
	}
	for (u32 i = ARRAY_LEN(dirs); i--;) {
		snprintf(path, sizeof(path), "%s%s", root, dirs[i]);
		rmdir(path);
	}
	assert_int_equal(rmdir(root), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scaled),	 cmocka_unit_test(test_places),	     cmocka_unit_test(test_interval),
		cmocka_unit_test(test_runs),	 cmocka_unit_test(test_multiplexed), cmocka_unit_test(test_ratios),
		cmocka_unit_test(test_formulas), cmocka_unit_test(test_topology),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
