/* SPDX-License-Identifier: Apache-2.0 */
/* Estimates from samples and windows: a short function whose windows are its caller's, one whose windows are its own,
 * what all counted, and what is marked. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "metric/metrics.h"

enum { CYCLES, INSTRUCTIONS, BRANCH_MISSES, MEMBERS };
#define ROWS 3

struct fixture {
	struct evlist l;
	struct profile_windows w;
	struct metric_table t;
};

/* A program of a million cycles and two million instructions, of which 10000 branches were mispredicted. */
static struct fixture *make(bool sampled)
{
	static const u64 configs[] = { PERF_COUNT_HW_CPU_CYCLES, PERF_COUNT_HW_INSTRUCTIONS,
				       PERF_COUNT_HW_BRANCH_MISSES };
	static const char *const names[] = { "cycles/alt-period=300/u", "instructions:u", "branch-misses:u" };
	struct fixture *f = mem_zalloc(sizeof(*f));

	f->w.attribution = ATTRIBUTION_ESTIMATE;
	f->w.group = (struct window_group){ .nr = MEMBERS,
					    .schedule = { .batch_count = 1 },
					    .nr_long = 10000,
					    .nr_short = 10000,
					    .sum_long = 970000,
					    .sum_short = 30000 };
	for (u32 i = 0; i < MEMBERS; i++) {
		struct attr a = { .size = 128, .config = configs[i] };

		evlist_add(&f->l, &a, names[i], NULL);
		f->w.group.events[i] = i;
		f->w.group.roles[i] = (u8)event_role_of(&a, names[i], MACHINE_OTHER);
	}
	f->w.total = mem_zalloc(window_stride(MEMBERS) * sizeof(double));
	f->w.shown = f->w.total;
	f->w.rows = mem_zalloc(ROWS * window_stride(MEMBERS) * sizeof(double));
	f->w.nodes.members = MEMBERS;
	f->w.nodes.every = mem_zalloc(window_stride(MEMBERS) * sizeof(double));
	f->w.nodes.counted[CYCLES] = 1e6;
	f->w.nodes.counted[INSTRUCTIONS] = 2e6;
	f->w.nodes.counted[BRANCH_MISSES] = 1e4;
	f->w.total[WINDOWS_SELF] = 1e6;
	f->w.total[WINDOWS_EXCLUDED + WINDOW_FIRST] = 1;
	f->w.samples[CYCLES] = 10000;
	f->w.exact = sampled;
	for (u32 m = INSTRUCTIONS; m < MEMBERS && sampled; m++)
		f->w.samples[m] = f->w.total[window_samples_at(MEMBERS, m)] = m == INSTRUCTIONS ? 10000 : 4000;
	assert_int_equal(metric_table_make(&f->t, &f->l, &f->w, &(struct metrics_opts){ 0 }, NULL), 0);
	return f;
}

static void drop(struct fixture *f)
{
	evlist_free(&f->l);
	free(f->w.nodes.every);
	free(f->w.total);
	free(f->w.rows);
	free(f);
}

/* A row with this share of the cycles and these samples of the others. */
static double *row(struct fixture *f, u32 i, double share, double instructions, double misses)
{
	double *b = f->w.rows + i * window_stride(MEMBERS);

	b[WINDOWS_SELF] = share * 1e6;
	b[WINDOWS_SHORT] = share * 10000;
	f->w.total[WINDOWS_SHORT] = 10000;
	b[window_samples_at(MEMBERS, INSTRUCTIONS)] = instructions;
	b[window_samples_at(MEMBERS, BRANCH_MISSES)] = misses;
	return b;
}

/* n kept windows of these counts, with a little noise. */
static void keep(struct fixture *f, double *block, u32 n, u64 cycles, u64 instructions, u64 misses)
{
	for (u32 i = 0; i < n; i++) {
		u64 counts[MEMBERS] = { cycles, instructions + i % 3, misses + i % 2 };

		window_block_add(block, MEMBERS, counts, 1);
		window_block_add(f->w.nodes.every, MEMBERS, counts, 1);
	}
}

static struct metric_value value(const struct fixture *f, const char *name, const double *block)
{
	struct metric_value v = { NAN };

	for (u32 i = 0; i < f->t.nr_metrics; i++)
		if (!strcmp(f->t.metrics[i].name, name))
			metric_value(&f->t, i, block, &v);
	return v;
}

static void near(double got, double want, double by)
{
	if (!(fabs(got - want) <= by))
		fail_msg("%.9g is not within %g of %.9g", got, by, want);
}

/* A fifth of the cycles, a fortieth of the instructions: CPI 4, though most windows that were kept are the caller's.
 */
static void short_functions_go_by_samples(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 250, 0);
	struct metric_value v;

	(void)state;
	keep(f, b, 400, 300, 600, 3); /* of 2000: CPI 0.5 */
	v = value(f, "CPI", b);
	near(v.value, 4, 0.02);
	assert_true(v.low < 3.7 && v.low > 3 && v.high > 4.3 && v.high < 5);
	assert_false(v.doubtful);
	near(value(f, "%CY", b).value, 20, 0.01);
	near(value(f, "%I", b).value, 2.5, 0.01);
	drop(f);
}

/* Calls are long, nearly no window was lost: the interval is that of windows, far below what samples alone can say. */
static void long_functions_go_by_windows(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 1000, 800);
	struct metric_value v;

	(void)state;
	keep(f, b, 2000, 300, 299, 3);
	v = value(f, "CPI", b);
	near(v.value, 1, 0.01);
	assert_true(v.half < 0.02);
	drop(f);
}

/* Where both say something, and agree, each counts for as much as it knows: windows of which the counts differ much
 * move what the samples say a little. */
static void both_are_weighed(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 950, 800);
	double alone = value(f, "CPI", b).value, both;

	(void)state;
	near(alone, 1 / 0.95, 1e-4);
	keep(f, b, 10, 300, 150, 3);
	keep(f, b, 10, 300, 450, 3);
	both = value(f, "CPI", b).value;
	assert_true(both < alone - 1e-5 && both > 1.03);
	drop(f);
}

/* None of 4000 samples is no proof of none, but tells that there are few; beside the program's rate it is little. */
static void none_has_an_upper_end(void **state)
{
	struct fixture *f = make(true);
	struct metric_value v = value(f, "BM/KI", row(f, 0, 0.2, 4000, 0)), rare;

	(void)state;
	near(v.value, 0, 1e-12);
	near(v.low, 0, 1e-12);
	near(v.high, 3.7 / 4000 * 1e4 / 0.8e6 * 1000, 0.002);
	assert_false(v.doubtful);
	rare = value(f, "BM/KI", row(f, 1, 0.001, 10, 0));
	assert_true(rare.doubtful && rare.high > 2);
	drop(f);
}

/* That all of a few samples lie in one function does not prove that nothing else is counted elsewhere. */
static void all_of_few_is_not_certain(void **state)
{
	struct fixture *f = make(true);
	struct metric_value v;

	(void)state;
	f->w.samples[BRANCH_MISSES] = 4;
	v = value(f, "%BM", row(f, 0, 0.2, 4000, 4));
	near(v.value, 100, 1e-9);
	assert_true(v.low < 70 && v.high <= 100 && v.doubtful);
	f->w.samples[BRANCH_MISSES] = 4000;
	v = value(f, "%BM", row(f, 0, 0.2, 4000, 4000));
	assert_true(v.low > 99 && !v.doubtful);
	drop(f);
}

/* The counters have seen everything. */
static void all_is_what_was_counted(void **state)
{
	struct fixture *f = make(true);

	(void)state;
	near(value(f, "CPI", f->w.total).value, 0.5, 1e-12);
	near(value(f, "BM/KI", f->w.total).value, 5, 1e-12);
	near(value(f, "%CY", f->w.total).value, 100, 1e-12);
	/* Half a long window of one thread, and the root of a million. */
	near(value(f, "CPI", f->w.total).half, 0.5 * hypot(97.0 / 2 / 1e6, 1.96 / 1000), 1e-9);
	drop(f);
}

/* Without exact samples there are windows alone: what they may be off by is in the interval, and many lost are a mark.
 */
static void without_samples_bias_is_in_the_interval(void **state)
{
	struct fixture *f = make(false);
	double *few = row(f, 0, 0.2, 0, 0), *most = row(f, 1, 0.2, 0, 0);
	struct metric_value a, b;

	(void)state;
	keep(f, few, 500, 300, 600, 3);
	keep(f, most, 1990, 300, 600, 3);
	keep(f, row(f, 2, 0.2, 0, 0), 1900, 300, 60, 0);
	a = value(f, "CPI", few);
	b = value(f, "CPI", most);
	near(a.value, b.value, 0.001);
	assert_true(a.half > 20 * b.half);
	assert_true(a.doubtful && !b.doubtful);
	drop(f);
}

/* A hundredth of the windows was discarded, but those count ten times as many instructions: some are the row's own. */
static void lost_work_is_in_the_interval(void **state)
{
	struct fixture *f = make(false);
	double *b = row(f, 0, 0.2, 0, 0), *alike = row(f, 1, 0.2, 0, 0);
	struct metric_value v;

	(void)state;
	keep(f, b, 1980, 300, 299, 3);
	b[window_discarded_at(MEMBERS, CYCLES)] = 20 * 300;
	b[window_discarded_at(MEMBERS, INSTRUCTIONS)] = 20 * 3000;
	keep(f, alike, 1980, 300, 299, 3);
	alike[window_discarded_at(MEMBERS, CYCLES)] = 20 * 300;
	alike[window_discarded_at(MEMBERS, INSTRUCTIONS)] = 20 * 300;
	v = value(f, "CPI", b);
	near(v.value, 1, 0.001);
	assert_true(v.low < 2000.0 * 300 / (1980 * 300 + 20 * 3000));
	assert_true(value(f, "CPI", alike).half < v.half / 5);
	drop(f);
}

/* Of one window a value is known, but not how certain it is: the table does not show it. */
static void an_interval_without_end_says_nothing(void **state)
{
	struct fixture *f = make(false);
	double *b = row(f, 0, 0.2, 0, 0);
	struct metric_value v;
	u32 cpi = 0;

	(void)state;
	keep(f, b, 1, 300, 150, 3);
	while (strcmp(f->t.metrics[cpi].name, "CPI"))
		cpi++;
	metric_value(&f->t, cpi, b, &v);
	assert_true(v.doubtful && isnan(v.low));
	near(v.value, 2, 0.001);
	metric_shown_value(&f->t, cpi, b, &v);
	assert_true(isnan(v.value));
	drop(f);
}

/* Two rows have a sample of `instructions` each, one of which ended a period so many times as long. */
static void samples_of_instructions(bool frequency, u64 times, double out[2])
{
	struct fixture *f = make(true);
	u64 keys[] = { 7, 8 };
	struct attr a = { .size = 128,
			  .config = PERF_COUNT_HW_INSTRUCTIONS,
			  .sample_period = 100,
			  .flags = frequency ? ATTR_FREQ : 0 };
	struct profile p = { .evlist = &f->l, .nr_sort = 1 };

	evlist_add(&f->l, &a, "instructions/period-jitter=full/upp", NULL);
	for (u32 e = 0; e < 2; e++)
		vec_push(&p.events, (struct profile_event){ .event = e ? MEMBERS : 0,
							    .weight = 100 + 100 * times,
							    .samples = 2,
							    .exact = 2,
							    .squares = 1e4 + 1e4 * (double)(times * times) });
	for (u32 e = 0; e < 2; e++)
		for (u32 i = 0; i < 2; i++)
			vec_push(&p.events.v[e].rows, (struct row){ .self = i ? 100 * times : 100,
								    .samples = 1,
								    .keys = &keys[i],
								    .frame = ID_NONE });
	p.events.v[0].measured[MEASURE_WINDOWS] = &f->w;
	memset(f->w.samples, 0, sizeof(f->w.samples));
	profile_window_samples(&p, &p.events.v[0]);
	for (u32 i = 0; i < 2; i++)
		out[i] = profile_window_row(&f->w, i)[window_samples_at(MEMBERS, INSTRUCTIONS)];
	for (u32 e = 0; e < 2; e++)
		vec_free(&p.events.v[e].rows);
	vec_free(&p.events);
	drop(f);
}

/* How long a period was that the recorder drew says nothing about where it ended. */
static void drawn_periods_count_alike(void **state)
{
	double rows[2];

	(void)state;
	samples_of_instructions(false, 3, rows);
	near(rows[0], 1, 1e-9);
	near(rows[1], 1, 1e-9);
	samples_of_instructions(true, 3, rows); /* worth 1.6 samples of equal weight */
	near(rows[0], 0.4, 1e-9);
	near(rows[1], 1.2, 1e-9);
	samples_of_instructions(false, 9, rows); /* long and short ones in turn: worth 1.22 */
	near(rows[0], 10 / 82., 1e-9);
	near(rows[1], 90 / 82., 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_functions_go_by_samples),
		cmocka_unit_test(long_functions_go_by_windows),
		cmocka_unit_test(both_are_weighed),
		cmocka_unit_test(none_has_an_upper_end),
		cmocka_unit_test(all_of_few_is_not_certain),
		cmocka_unit_test(all_is_what_was_counted),
		cmocka_unit_test(without_samples_bias_is_in_the_interval),
		cmocka_unit_test(lost_work_is_in_the_interval),
		cmocka_unit_test(an_interval_without_end_says_nothing),
		cmocka_unit_test(drawn_periods_count_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
