/* SPDX-License-Identifier: Apache-2.0 */
/* Metrics: formulas, their variances against closed forms, and intervals against simulated functions whose truth is
 * known. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "metric/metrics.h"
#include "metric/student.h"
#include "notes.h"

#define EVENTS 5
enum { CYCLES, INSTRUCTIONS, BRANCH_MISSES, CACHE_REFERENCES, CACHE_MISSES };

struct fixture {
	struct evlist l;
	struct profile_windows w;
	struct metric_table t;
};

#define ROWS 4

static struct fixture *make(u32 members)
{
	static const u64 configs[EVENTS] = { PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
					     PERF_COUNT_HW_BRANCH_MISSES, PERF_COUNT_HW_CACHE_REFERENCES,
					     PERF_COUNT_HW_CACHE_MISSES };
	static const char *const names[EVENTS] = { "cycles/period=1000,alt-period=300/u", "instructions:u",
						   "branch-misses:u", "cache-references:u", "cache-misses:u" };
	struct fixture *f = mem_zalloc(sizeof(*f));

	f->w.attribution = ATTRIBUTION_DISCARD;
	f->w.group.nr = members;
	for (u32 i = 0; i < members; i++) {
		struct attr a = { .size = 128, .config = configs[i] };

		evlist_add(&f->l, &a, names[i], NULL);
		f->w.group.events[i] = i;
		f->w.group.roles[i] = (u8)event_role_of(&a, names[i], MACHINE_OTHER);
	}
	f->w.total = mem_zalloc(window_stride(members) * sizeof(double));
	f->w.rows = mem_zalloc(ROWS * window_stride(members) * sizeof(double));
	return f;
}

static void drop(struct fixture *f)
{
	evlist_free(&f->l);
	free(f->w.total);
	free(f->w.whole);
	free(f->w.rows);
	free(f);
}

static double *row_of(struct fixture *f, u32 row)
{
	return f->w.rows + row * window_stride(f->w.group.nr);
}

static void add(struct fixture *f, u32 row, const u64 *counts)
{
	window_block_add(row_of(f, row), f->w.group.nr, counts, 1);
	window_block_add(f->w.total, f->w.group.nr, counts, 1);
}

static void table(struct fixture *f, const struct metrics_opts *o)
{
	assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, o, NULL), 0);
}

static u32 metric(const struct fixture *f, const char *name)
{
	for (u32 i = 0; i < f->t.nr_metrics; i++)
		if (!strcmp(f->t.metrics[i].name, name))
			return i;
	fail_msg("no metric %s", name);
	return 0;
}

static struct metric_value value(const struct fixture *f, const char *name, const double *block)
{
	struct metric_value v;

	metric_value(&f->t, metric(f, name), block, &v);
	return v;
}

static void near(double x, double wanted, double within)
{
	if (!(fabs(x - wanted) <= within))
		fail_msg("%.9g is not %.9g", x, wanted);
}

static void quantiles_of_student(void **state)
{
	static const double table_26_10[][2] = { { 1, 12.706 }, { 2, 4.303 },  { 5, 2.571 },   { 10, 2.228 },
						 { 11, 2.201 }, { 12, 2.179 }, { 15, 2.131 },  { 20, 2.086 },
						 { 30, 2.042 }, { 60, 2.000 }, { 120, 1.980 }, { 1e9, 1.960 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(table_26_10); i++)
		near(student_95(table_26_10[i][0]), table_26_10[i][1], 0.0006);
	near(student_95(0.5), 12.706, 0.0006); /* not wider than that */
}

/* A mean is a ratio whose denominator does not vary: its variance is that of the mean, s^2 / n. */
static void variance_of_a_mean(void **state)
{
	struct fixture *f = make(2);
	const u64 cycles[] = { 290, 310, 300, 305, 295 };
	struct metric_value v;

	(void)state;
	for (u32 i = 0; i < 5; i++)
		add(f, 0, (u64[]){ cycles[i], 100 });
	table(f, &(struct metrics_opts){ 0 });
	v = value(f, "CPI", row_of(f, 0));
	near(v.value, 3, 1e-12);
	near(v.num, 1500, 0);
	near(v.den, 500, 0);
	/* s^2 = (100 + 100 + 0 + 25 + 25) / 4; of the mean s^2 / 5; per 100 instructions */
	near(v.variance, 62.5 / 5 / 1e4, 1e-12);
	near(v.half, 2.7764 * sqrt(v.variance), 1e-9);
	drop(f);
}

/* The residuals' form: n / (n - 1) * sum (y - R x)^2 / (sum x)^2. */
static void variance_of_a_ratio(void **state)
{
	struct fixture *f = make(2);
	double sx = 0, sy = 0, residuals = 0;
	u64 x[40], y[40];
	struct metric_value v;

	(void)state;
	for (u32 i = 0; i < 40; i++) {
		x[i] = 80 + i * 7 % 31;
		y[i] = 300 + i * 13 % 17;
		add(f, 0, (u64[]){ y[i], x[i] });
		sx += (double)x[i];
		sy += (double)y[i];
	}
	for (u32 i = 0; i < 40; i++)
		residuals += pow((double)y[i] - sy / sx * (double)x[i], 2);
	table(f, &(struct metrics_opts){ 0 });
	v = value(f, "CPI", row_of(f, 0));
	near(v.value, sy / sx, 1e-12);
	near(v.variance, 40.0 / 39 * residuals / (sx * sx), 1e-12);
	drop(f);
}

/* Of the first function half of the windows are lost, of the second none: both have half of the cycles all the same.
 */
static void lost_windows_have_their_share(void **state)
{
	static const u64 one[EVENTS] = { 300, 100 }, other[EVENTS] = { 300, 300 };
	struct fixture *f = make(2);
	struct metric_value before, v;

	(void)state;
	for (u32 i = 0; i < 100; i++) {
		if (i < 50)
			add(f, 0, one);
		add(f, 1, other);
	}
	row_of(f, 0)[WINDOWS_SHORT] = row_of(f, 1)[WINDOWS_SHORT] = 100;
	table(f, &(struct metrics_opts){ 0 });
	before = value(f, "%CY", row_of(f, 0));
	near(before.value, 100.0 / 3, 1e-9);
	profile_window_whole(&f->w, 2);
	v = value(f, "%CY", row_of(f, 0));
	near(v.value, 50, 1e-9);
	/* Fewer windows than those that it stands for: not as sure as if all 100 had been kept. */
	assert_true(v.half > value(f, "%CY", row_of(f, 1)).half * 0.9);
	assert_true(v.half > 100 * 1.96 * sqrt(0.25 / 200));
	near(value(f, "%I", row_of(f, 0)).value, 25, 1e-9);
	near(value(f, "%CY", f->w.total).value, 100, 1e-9);
	/* Ratios are as they were. */
	near(value(f, "CPI", row_of(f, 0)).value, 3, 1e-9);
	near(value(f, "CPI", f->w.total).value, 150.0 * 300 / (50 * 100 + 100 * 300), 1e-9);
	drop(f);
}

/* A share of windows that all count the same is a proportion: p (1 - p) / (N - 1). */
static void variance_of_a_share(void **state)
{
	struct fixture *f = make(2);
	struct metric_value v;

	(void)state;
	for (u32 i = 0; i < 200; i++)
		add(f, i % 4 ? 1 : 0, (u64[]){ 300, 100 });
	table(f, &(struct metrics_opts){ 0 });
	v = value(f, "%CY", row_of(f, 0));
	near(v.value, 25, 1e-12);
	near(v.variance, 1e4 * 0.25 * 0.75 / 199, 1e-9);
	v = value(f, "%CY", f->w.total);
	near(v.value, 100, 1e-12);
	near(v.half, 0, 1e-9);
	drop(f);
}

static void nothing_seen_is_not_nothing(void **state)
{
	struct fixture *f = make(5);
	struct metric_value v;

	(void)state;
	for (u32 i = 0; i < 100; i++)
		add(f, 0, (u64[]){ 300, 100, 0, 20, 0 });
	table(f, &(struct metrics_opts){ 0 });
	v = value(f, "BM/KI", row_of(f, 0));
	near(v.value, 0, 0);
	assert_true(v.half > 0.2 && v.half < 0.4); /* two or three in 10000 instructions */
	v = value(f, "LLC%", row_of(f, 0));
	assert_true(v.half > 2 && v.half < 6);
	assert_true(isnan(value(f, "CPI", row_of(f, 1)).value));
	drop(f);
}

/* Nor is it in formulas of several events: a sum is one event, of which none was seen. */
static void nothing_seen_in_formulas(void **state)
{
	static const char *const own[] = { "one='branch-misses'/instructions*1000",
					   "sum=('branch-misses'+cache-misses)/instructions*1000",
					   "front=1000*('branch-misses' + cache-misses)/instructions",
					   "parts='branch-misses'/instructions*1000 + cache-misses/instructions*1000",
					   "less=(cache-misses - branch-misses)/instructions*1000",
					   "twice=(cache-misses + 2*branch-misses)/instructions*1000",
					   "mixed=(cache-references + 50*branch-misses)/instructions*1000",
					   "share=('branch-misses'+cache-misses)/cache-references*100",
					   "of=cache-misses/(cache-misses+cache-references)*100" };
	struct fixture *f = make(5);
	struct metrics_opts o = { .own = { own, ARRAY_LEN(own) } };
	double one, mixed;
	struct metric_value v;

	(void)state;
	for (u32 i = 0; i < 100; i++)
		add(f, 0, (u64[]){ 300, 100, 0, 19 + i % 2 * 2, 0 });
	table(f, &o);
	one = value(f, "one", row_of(f, 0)).variance;
	near(one, 1e6 * 2 / 1e8, 1e-12); /* two counts in 10000 instructions */
	for (u32 i = 1; i < 5; i++) {
		v = value(f, (const char *[]){ "sum", "front", "parts", "less" }[i - 1], row_of(f, 0));
		near(v.value, 0, 0);
		near(v.variance, one, 1e-12);
	}
	near(value(f, "twice", row_of(f, 0)).variance, 4 * one, 1e-12);
	/* Of an event that is common, and one of which none was seen: what was found, and two of the other. */
	mixed = 1e6 * 100.0 / 99 * (100 * 401 - 2000.0 * 2000 / 100) / 1e8;
	near(value(f, "mixed", row_of(f, 0)).variance, mixed + 2500 * one, 1e-9);
	near(value(f, "share", row_of(f, 0)).variance, value(f, "LLC%", row_of(f, 0)).variance, 1e-12);
	near(value(f, "of", row_of(f, 0)).variance, value(f, "LLC%", row_of(f, 0)).variance, 1e-12);
	/* Three clusters have one of the first, three of the second: as with six of one event. */
	for (u32 i = 0; i < 100; i++)
		add(f, 1, (u64[]){ 300, 100, i % 40 == 1, 20, i % 40 == 2 });
	near(value(f, "sum", row_of(f, 1)).variance, 1e6 * (6 + 2) / 1e8, 1e-9);
	drop(f);
}

/* As many of the same as one likes do not prove that there is nothing else. */
static void all_alike_is_not_certain(void **state)
{
	struct fixture *f = make(5);
	struct metric_value v;

	(void)state;
	for (u32 i = 0; i < 100; i++)
		add(f, 0, (u64[]){ 300, 100, 0, 20, 20 });
	table(f, &(struct metrics_opts){ 0 });
	v = value(f, "CPI", row_of(f, 0));
	near(v.value, 3, 1e-12);
	near(v.variance, 2.0 * 300 / 1e8, 1e-15); /* two windows, off by the root of 300 cycles */
	v = value(f, "LLC%", row_of(f, 0));
	near(v.value, 100, 1e-12);
	assert_true(v.half > 2 && v.half < 6);
	drop(f);
}

static void put_cell(struct fixture *f, u32 column, u32 row, bool bare, struct bytes *out)
{
	struct metric_value v;

	metric_shown_value(&f->t, column, row_of(f, row), &v);
	metric_put(&v, f->t.metrics[column].decimals, bare, out);
}

static const char *cell(struct fixture *f, const char *name, u32 row, bool bare, struct bytes *out)
{
	out->len = 0;
	put_cell(f, metric(f, name), row, bare, out);
	bytes_char(out, 0);
	return (const char *)out->p;
}

static bool has(const struct fixture *f, const char *name)
{
	for (u32 i = 0; i < f->t.nr_metrics; i++)
		if (!strcmp(f->t.metrics[i].name, name))
			return true;
	return false;
}

/* Sets by name: what of each the events give, and nothing else. */
static void sets_are_chosen(void **state)
{
	static const char *const ipc[] = { "IPC" }, *const two[] = { "branch", "ipc" }, *const all[] = { "All" };
	static const char *const wrong[] = { "ipc", "nothing" };
	struct fixture *f = make(5);

	(void)state;
	table(f, &(struct metrics_opts){ .sets = { ipc, 1 } });
	assert_int_equal(f->t.nr_metrics, 1);
	assert_string_equal(f->t.metrics[0].name, "IPC");
	assert_true(metric_table_has_set(&f->t, "ipc") && metric_table_has_set(&f->t, "all"));
	assert_false(metric_table_has_set(&f->t, "basic"));
	table(f, &(struct metrics_opts){ .sets = { two, 2 } });
	assert_int_equal(f->t.nr_metrics, 1); /* branches are not counted */
	table(f, &(struct metrics_opts){ .sets = { all, 1 } });
	assert_true(has(f, "CPI") && has(f, "IPC") && has(f, "LLC%"));
	assert_false(has(f, "BR/KI"));
	assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &(struct metrics_opts){ .sets = { wrong, 2 } }, NULL),
			 ERR_USAGE);
	drop(f);
}

/* What an option may name, before it is known what was recorded. */
static void names_that_are_possible(void **state)
{
	static const char *const own[] = { "mine=cycles" };
	const struct metrics_opts o = { .own = { own, 1 } };

	(void)state;
	assert_true(metric_name_possible("cpi", &o) && metric_name_possible("mine", &o));
	assert_true(metric_name_possible("kept", &o) && metric_name_possible("faults/ms", &o));
	assert_false(metric_name_possible("min", &o) || metric_name_possible("faults", &o));
}

/* What cannot be is told with what there is instead. */
static void mistakes_are_told(void **state)
{
	static const char *const unknown[] = { "x=cycles/nothing" }, *const torn[] = { "x=cycles/" },
				 *const twice[] = { "CPI=cycles" };
	static const char *const column[] = { "discardde" }, *const set[] = { "brnach" };
	const struct {
		struct metrics_opts o;
		const char *says[3];
	} rows[] = {
		{ { .own = { unknown, 1 } }, { "'nothing'", "instructions:u, branch-misses:u", "a minus sign" } },
		{ { .own = { torn, 1 } }, { "'cycles/' is not understood", "", "" } },
		{ { .own = { twice, 1 } }, { "one metric too many, or its name is already used", "", "" } },
		{ { .columns = { column, 1 } }, { "--columns", "'discarded'", "windows, kept, discarded, calls" } },
		{ { .sets = { set, 1 } }, { "'branch'", "basic, ipc, branch, calls, cache, tlb", ", all" } },
	};
	struct fixture *f = make(3);

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char text[NOTE_ROOM] = "";
		struct notify to = { keep_note, text };

		assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &rows[i].o, &to), ERR_USAGE);
		for (u32 k = 0; k < 3; k++)
			if (!strstr(text, rows[i].says[k]))
				fail_msg("'%s' is not in: %s", rows[i].says[k], text);
	}
	drop(f);
}

/* Percentages have one decimal, those of branches and of the TLB, which are small, two. */
static void percentages_are_alike(void **state)
{
	(void)state;
	for (u32 i = 0; i < nr_metric_defs; i++) {
		const struct metric_def *d = &metric_defs[i];
		bool small = !strcmp(d->set, "branch") || !strcmp(d->set, "tlb");

		if (!strncmp(d->help, "percent ", 8))
			assert_int_equal(d->decimals, small ? 2 : 1);
	}
}

/* The one cluster that has an event has ten of it at once: two more like it may not have been seen. */
static void rare_ones_that_come_together(void **state)
{
	static const char *const own[] = { "x=branch-misses/cycles" };
	struct fixture *f = make(3);
	struct metrics_opts o = { .own = { own, 1 } };

	(void)state;
	for (u32 i = 0; i < 100; i++)
		add(f, 0, (u64[]){ 300, 300, i ? 0 : 10 });
	table(f, &o);
	near(value(f, "x", row_of(f, 0)).variance, 300 / pow(30000, 2), 1e-12);
	drop(f);
}

/* The usual columns have the counts of windows around the metrics. */
static void names_of_columns(void **state)
{
	struct fixture *f = make(2);
	u32 n;

	(void)state;
	table(f, &(struct metrics_opts){ 0 });
	n = f->t.nr_columns;
	assert_int_equal(n, f->t.nr_metrics + 3);
	assert_string_equal(metric_column_name(&f->t, f->t.columns[0]), "#");
	assert_string_equal(metric_column_name(&f->t, f->t.columns[1]), "CPI");
	assert_string_equal(metric_column_name(&f->t, f->t.columns[n - 2]), "kept");
	assert_string_equal(metric_column_name(&f->t, f->t.columns[n - 1]), "disc%");
	f->w.calls = true;
	table(f, &(struct metrics_opts){ 0 });
	assert_string_equal(metric_column_name(&f->t, f->t.columns[1]), "calls");
	drop(f);
}

/* A group of software events, which formulas do not know; the first one leads. */
static struct fixture *make_software(u32 n, const u64 *configs, const char *const *names)
{
	struct fixture *f = make(0);

	f->w.group.nr = n;
	for (u32 i = 0; i < n; i++) {
		struct attr a = { .size = 128, .type = PERF_TYPE_SOFTWARE, .config = configs[i] };

		evlist_add(&f->l, &a, names[i], NULL);
		f->w.group.events[i] = i;
		f->w.group.roles[i] = (u8)event_role_of(&a, names[i], MACHINE_OTHER);
	}
	return f;
}

/* Events that no formula knows are compared with the leader; one that a formula speaks of is not. */
static void rates_of_other_events(void **state)
{
	static const u64 configs[] = { PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS, PERF_COUNT_SW_CPU_CLOCK,
				       PERF_COUNT_SW_PAGE_FAULTS_MIN };
	static const char *const by_time[] = { "task-clock:u", "page-faults:u", "cpu-clock:u", "minor-faults/x/u" };
	static const u64 others[] = { PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS,
				      PERF_COUNT_SW_PAGE_FAULTS_MAJ, PERF_COUNT_SW_PAGE_FAULTS_MIN };
	static const char *const by_event[] = { "major-faults:u", "page-faults", "major-faults:k", "it's" };
	struct fixture *f = make_software(4, configs, by_time);

	(void)state;
	table(f, &(struct metrics_opts){ 0 });
	assert_int_equal(f->t.nr_metrics, 3);
	assert_string_equal(f->t.metrics[0].name, "page-faults/ms");
	assert_string_equal(f->t.metrics[1].name, "cpu-clock%");
	assert_string_equal(f->t.metrics[2].name, "minor-faults/ms");
	drop(f);
	f = make_software(4, others, by_event); /* the leader's own event again, and a name that no formula can have */
	table(f, &(struct metrics_opts){ 0 });
	assert_int_equal(f->t.nr_metrics, 1);
	assert_string_equal(f->t.metrics[0].name, "page-faults/Kmajor-faults");
	drop(f);
	f = make(5); /* what only the first metric speaks of */
	f->w.group.nr = 2;
	for (u32 i = 0; i < 2; i++) {
		f->w.group.events[i] = CACHE_MISSES - i;
		f->w.group.roles[i] = f->w.group.roles[CACHE_MISSES - i];
	}
	f->w.group.leader = CACHE_MISSES;
	table(f, &(struct metrics_opts){ 0 });
	assert_int_equal(f->t.nr_metrics, 2);
	assert_true(has(f, "LLC%") && has(f, "%LLCM"));
	drop(f);
}

/* What another group's events may give is left out where that is asked for, else it is an error; what stands behind a
 * group's members is none of them. */
static void other_groups_metrics(void **state)
{
	static const char *const own[] = { "x=cycles/instructions", "y=branch-misses/instructions" };
	struct fixture *f = make(3);
	struct metrics_opts o = { .own = { own, ARRAY_LEN(own) } };

	(void)state;
	f->w.group.nr = 2; /* without cycles, whose role the place behind them still has */
	for (u32 i = 0; i < 2; i++) {
		f->w.group.events[i] = i + 1;
		f->w.group.roles[i] = f->w.group.roles[i + 1];
	}
	f->w.group.roles[2] = (u8)event_role_find("cycles", 6);
	assert_int_not_equal(metric_table_make(&f->t, &f->l, &f->w, &o, NULL), 0);
	o.lenient = true;
	assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &o, NULL), 0);
	metric(f, "y");
	for (u32 i = 0; i < f->t.nr_metrics; i++)
		assert_string_not_equal(f->t.metrics[i].name, "x");
	drop(f);
}

/* However little is known of a row, its cells are not wide. */
static void cells_are_short(void **state)
{
	static const char *const own[] = { "a=instructions/cycles*123456",  "b=instructions/cycles*9999",
					   "c=instructions/cycles*9.9e21",  "d=instructions/cycles*1234567",
					   "e=0 - instructions/cycles*1e9", "f=instructions/cycles*99999.6",
					   "g=instructions/cycles",	    "h=instructions/cycles*999500",
					   "i=instructions/cycles*9.995e20" };
	struct fixture *f = make(2);
	struct metrics_opts o = { .own = { own, ARRAY_LEN(own) } };
	struct bytes out = { 0 };

	(void)state;
	for (u32 i = 0; i < 40; i++)
		add(f, 0, (u64[]){ 300, 300 });
	add(f, 1, (u64[]){ 300, 1 });
	add(f, 1, (u64[]){ 300, 300000 });
	table(f, &o);
	assert_string_equal(cell(f, "CPI", 0, true, &out), "1.00");
	assert_string_equal(cell(f, "CPI", 0, false, &out), "1.00±0.00");
	assert_string_equal(cell(f, "a", 0, true, &out), "123K");
	assert_string_equal(cell(f, "b", 0, true, &out), "9999");
	assert_string_equal(cell(f, "c", 0, true, &out), ">999E");
	assert_string_equal(cell(f, "d", 0, true, &out), "1.2M");
	assert_string_equal(cell(f, "e", 0, true, &out), "-1.0G");
	assert_string_equal(cell(f, "f", 0, true, &out), "100K");
	assert_string_equal(cell(f, "h", 0, true, &out), "1.0M");
	assert_string_equal(cell(f, "i", 0, true, &out), ">999E"); /* to three digits it is 1000 */
	assert_string_equal(cell(f, "d", 1, true, &out), "~617M");
	assert_string_equal(cell(f, "g", 1, false, &out), "~500.002±6353");
	assert_true(strlen(cell(f, "c", 1, false, &out)) < 16);
	bytes_free(&out);
	drop(f);
}

static void calls_tell_what_one_takes(void **state)
{
	struct fixture *f = make(2);
	double *row = row_of(f, 0);
	struct metric_value v;

	(void)state;
	add(f, 0, (u64[]){ 300, 100 });
	row[WINDOWS_SHORT] = 100; /* the other 99 were discarded */
	table(f, &(struct metrics_opts){ 0 });
	for (u32 i = 0; i < f->t.nr_metrics; i++)
		assert_string_not_equal(f->t.metrics[i].name, "PerCall");
	f->w.calls = true;
	table(f, &(struct metrics_opts){ 0 });
	assert_true(isnan(value(f, "PerCall", row).value));
	row[WINDOWS_WEIGHT] = 1e6;
	row[WINDOWS_CALLS] = 2000;
	v = value(f, "PerCall", row);
	near(v.value, 500, 1e-9);
	near(v.variance, 500.0 * 500 / 100, 1e-9);
	row[WINDOWS_CALL_SAMPLES] = 20; /* every hundredth call */
	near(value(f, "PerCall", row).variance, 500.0 * 500 * (1.0 / 100 + 1.0 / 20), 1e-9);
	assert_false(value(f, "PerCall", row).doubtful);
	assert_true(value(f, "CPI", row).doubtful);
	drop(f);
}

static void formulas(void **state)
{
	static const char *const own[] = { "a=cycles/instructions*2", "b=(cycles - instructions)/total:cycles",
					   "c='branch-misses:u' + 1", "d=2*(3+4)-1 - 1" };
	static const char *const wrong[] = { "x=",	  "x=cycles/",	     "x=cycles-1", "=cycles",
					     "x=(cycles", "x=cycles cycles", "x=nothing",  "cycles" };
	struct fixture *f = make(5);
	struct metrics_opts o = { .own = { own, 4 } };

	(void)state;
	add(f, 0, (u64[]){ 300, 100, 7, 0, 0 });
	add(f, 1, (u64[]){ 100, 100, 0, 0, 0 });
	table(f, &o);
	near(value(f, "a", row_of(f, 0)).value, 6, 1e-12);
	near(value(f, "a", row_of(f, 0)).num, 300, 0);
	near(value(f, "b", row_of(f, 0)).value, 0.5, 1e-12);
	near(value(f, "c", row_of(f, 0)).value, 8, 1e-12);
	near(value(f, "d", row_of(f, 0)).value, 12, 1e-12);
	for (u32 i = 0; i < ARRAY_LEN(wrong); i++) {
		o.own = (struct name_list){ &wrong[i], 1 };
		assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &o, NULL), ERR_USAGE);
	}
	drop(f);
}

static void columns_and_order(void **state)
{
	static const char *const columns[] = { "ipc", "windows", "BM/KI" }, *const missing[] = { "DTLB%" };
	static const char *const sort[] = { "CPI" }, *const sorts[] = { "#", "CPI" }, *const calls[] = { "calls" };
	struct fixture *f = make(5);
	struct metrics_opts o = { .columns = { columns, 3 }, .sort = { sort, 1 } };
	struct bytes out = { 0 };
	u32 *order;

	(void)state;
	for (u32 i = 0; i < 40; i++) {
		add(f, 0, (u64[]){ 300, 300, 0, 0, 0 });
		add(f, 2, (u64[]){ 300, 100, 1, 0, 0 });
	}
	add(f, 3, (u64[]){ 300, 200, 1, 0, 0 });
	table(f, &o);
	assert_int_equal(f->t.nr_columns, 3);
	assert_string_equal(metric_column_name(&f->t, f->t.columns[0]), "IPC");
	order = metric_order(&f->t, ROWS);
	assert_memory_equal(order, ((u32[]){ 2, 0, 3, 1 }), ROWS * sizeof(u32)); /* 3 has one window, 1 none */
	free(order);
	put_cell(f, f->t.columns[0], 2, false, &out);
	bytes_char(&out, '|');
	put_cell(f, f->t.columns[0], 3, false, &out); /* one window: no interval */
	bytes_char(&out, '|');
	put_cell(f, f->t.columns[0], 1, false, &out);
	bytes_char(&out, 0);
	assert_string_equal((char *)out.p, "0.33±0.00|~0.67|-");
	bytes_free(&out);
	/* Of rows that are equal in one the next decides: row 1 has no value, 3 few windows, and 0 and 2 as many. */
	o = (struct metrics_opts){ .sort = { sorts, 2 } };
	table(f, &o);
	order = metric_order(&f->t, ROWS);
	assert_memory_equal(order, ((u32[]){ 2, 0, 3, 1 }), ROWS * sizeof(u32));
	free(order);
	row_of(f, 0)[WINDOWS_SHORT] = 50;
	order = metric_order(&f->t, ROWS);
	assert_memory_equal(order, ((u32[]){ 0, 2, 3, 1 }), ROWS * sizeof(u32));
	free(order);
	o = (struct metrics_opts){ .columns = { missing, 1 } };
	assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &o, NULL), ERR_USAGE);
	o = (struct metrics_opts){ .sort = { calls, 1 } };
	assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &o, NULL), ERR_USAGE);
	f->w.calls = true;
	assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &o, NULL), 0);
	drop(f);
}

static u64 random_state;

static double uniform(void)
{
	random_state = random_state * 6364136223846793005u + 1442695040888963407u;
	return (double)(random_state >> 11) / 9007199254740992.0;
}

static double normal(void)
{
	return sqrt(-2 * log(1 - uniform())) * cos(6.283185307179586 * uniform());
}

static u64 poisson(double mean)
{
	double left = exp(-mean), p = uniform();
	u64 n = 0;

	for (; p > left; n++)
		p *= uniform();
	return n;
}

/* A function: how often windows fall into it, its instructions per 300 cycles with their spread, what comes per
 * window. */
struct function {
	double share, instructions, spread, branch_misses, references, miss_ratio;
};
static const struct function functions[ROWS] = {
	{ 0.50, 60, 5, 0.02, 4, 0.01 },
	{ 0.30, 270, 40, 2, 60, 0.002 },
	{ 0.15, 85, 30, 0.2, 15, 0.5 },
	{ 0.05, 600, 90, 0.005, 1, 0.05 },
};

static void simulate(struct fixture *f, u64 seed, u32 windows)
{
	random_state = seed * 0x9e3779b97f4a7c15u;
	for (u32 i = 0; i < windows; i++) {
		double u = uniform(), instructions;
		u32 k = 0;
		u64 c[EVENTS] = { 300 + (u64)(uniform() * 21) };

		while (k + 1 < ROWS && u >= functions[k].share)
			u -= functions[k++].share;
		instructions = functions[k].instructions + functions[k].spread * normal();
		c[INSTRUCTIONS] = (u64)MAX(1.0, instructions + uniform());
		c[BRANCH_MISSES] = poisson(functions[k].branch_misses);
		c[CACHE_REFERENCES] = poisson(functions[k].references);
		for (u64 r = 0; r < c[CACHE_REFERENCES]; r++)
			c[CACHE_MISSES] += uniform() < functions[k].miss_ratio;
		add(f, k, c);
	}
}

/* What the metrics tend to: taken from as many windows as nobody records. */
static void truth_of(struct fixture *f)
{
	simulate(f, 12345, 1000000);
	table(f, &(struct metrics_opts){ 0 });
}

static void intervals_hold_the_truth(void **state)
{
	struct fixture *truth = make(5);
	u32 held = 0, cases = 0;

	(void)state;
	truth_of(truth);
	for (u64 seed = 1; seed <= 200; seed++) {
		struct fixture *f = make(5);

		simulate(f, seed, 1500);
		table(f, &(struct metrics_opts){ 0 });
		for (u32 row = 0; row < ROWS; row++)
			for (u32 m = 0; m < f->t.nr_metrics && row_of(f, row)[WINDOWS_KEPT] >= 50; m++) {
				struct metric_value v, t;

				metric_value(&f->t, m, row_of(f, row), &v);
				metric_value(&truth->t, m, row_of(truth, row), &t);
				cases++;
				held += fabs(v.value - t.value) <= v.half;
			}
		drop(f);
	}
	print_message("%u of %u intervals hold the truth: %.2f%%\n", held, cases, 100.0 * held / cases);
	assert_true(cases > 6000);
	assert_true(held >= 0.92 * cases && held <= 0.98 * cases);
	drop(truth);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(quantiles_of_student),
		cmocka_unit_test(variance_of_a_mean),
		cmocka_unit_test(variance_of_a_ratio),
		cmocka_unit_test(variance_of_a_share),
		cmocka_unit_test(nothing_seen_is_not_nothing),
		cmocka_unit_test(formulas),
		cmocka_unit_test(calls_tell_what_one_takes),
		cmocka_unit_test(cells_are_short),
		cmocka_unit_test(columns_and_order),
		cmocka_unit_test(intervals_hold_the_truth),
		cmocka_unit_test(all_alike_is_not_certain),
		cmocka_unit_test(lost_windows_have_their_share),
		cmocka_unit_test(other_groups_metrics),
		cmocka_unit_test(nothing_seen_in_formulas),
		cmocka_unit_test(sets_are_chosen),
		cmocka_unit_test(mistakes_are_told),
		cmocka_unit_test(percentages_are_alike),
		cmocka_unit_test(rare_ones_that_come_together),
		cmocka_unit_test(names_of_columns),
		cmocka_unit_test(names_that_are_possible),
		cmocka_unit_test(rates_of_other_events),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
