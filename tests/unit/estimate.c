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

/* Which metric has the name; one does. */
static u32 index_of(const struct fixture *f, const char *name)
{
	u32 i = 0;

	while (i < f->t.nr_metrics && strcmp(f->t.metrics[i].name, name))
		i++;
	assert_true(i < f->t.nr_metrics);
	return i;
}

static struct metric_value value(const struct fixture *f, const char *name, const double *block)
{
	struct metric_value v;

	metric_value(&f->t, index_of(f, name), block, &v);
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

/* Weights are inverse variances, and so is what the average knows. */
static void weights_are_inverse_variances(void **state)
{
	struct metric_value by_samples, by_windows, both;
	double wa, wb;

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct fixture *f = make(i != 1); /* by samples, by windows, by both */
		double *b = row(f, 0, 0.2, 950, 800);

		if (i)
			keep(f, b, 10, 300, 150, 3);
		if (i)
			keep(f, b, 10, 300, 450, 3);
		*(i == 2 ? &both : i ? &by_windows : &by_samples) = value(f, "CPI", b);
		drop(f);
	}
	wa = 1 / by_samples.variance;
	wb = 1 / by_windows.variance;
	near(both.value, (by_samples.value * wa + by_windows.value * wb) / (wa + wb), 1e-9);
	near(both.variance * (wa + wb), 1, 1e-9);
}

/* Where either has too little to say, samples alone count. */
static void few_of_either_are_not_weighed(void **state)
{
	struct fixture *f = make(true);
	double *few = row(f, 0, 0.2, 9, 800), *rare = row(f, 1, 0.2, 1000, 800);
	double cpi = value(f, "CPI", few).value, misses = value(f, "BM/KI", rare).value;

	(void)state;
	keep(f, few, 10, 300, 1, 3);
	near(value(f, "CPI", few).value, cpi, 1e-12);
	for (u32 i = 0; i < 100; i++)
		window_block_add(rare, MEMBERS, (u64[]){ 300, 300, i < 4 }, 1);
	near(value(f, "BM/KI", rare).value, misses, 1e-12);
	for (u32 i = 0; i < 100; i++)
		window_block_add(rare, MEMBERS, (u64[]){ 300, 300, i < 4 }, 1);
	assert_true(fabs(value(f, "BM/KI", rare).value - misses) > 1e-6);
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
	near(v.high, 3.0 * sqrt(1 - 4000 / 10196.) / 4000 * 1e4 / 0.8e6 * 1000, 0.001);
	assert_false(v.doubtful);
	rare = value(f, "BM/KI", row(f, 1, 0.001, 10, 0));
	assert_true(rare.doubtful && rare.high > 2);
	drop(f);
}

/* Without long windows each sample ends a window, and those of a batch say as much as one. */
static void samples_of_a_batch_count_as_one(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 0, 0), alone;

	(void)state;
	f->w.group.nr_long = 0;
	alone = value(f, "%CY", b).half;
	near(alone, 100 * 1.96 * sqrt(0.2 * 0.8 / 10000), 0.02);
	f->w.group.schedule.batch_count = 4;
	near(value(f, "%CY", b).half, 2 * alone, 0.05);
	drop(f);
}

/* Where short windows are missing, there are fewer of them in slow code: the samples' weights alone tell its share. */
static void missing_windows_are_no_measure(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 4000, 400);

	(void)state;
	b[WINDOWS_SHORT] = 1000;
	near(value(f, "%CY", b).value, 15, 0.01);
	f->w.group.nr_short = 9000;
	near(value(f, "%CY", b).value, 15, 0.01);
	f->w.group.nr_short = 8999;
	near(value(f, "%CY", b).value, 20, 1e-9);
	near(value(f, "%CY", b).half, 100 * 1.96 * sqrt(0.2 * 0.8 / 10000), 0.02);
	f->w.group.schedule.batch_count = 4; /* of each long period */
	f->w.group.nr_short = 36000;
	near(value(f, "%CY", b).value, 15, 0.01);
	drop(f);
}

/* By which part operations of Arm SPE stand for another number than was counted: it may be of any function. */
static void unlike_operations_widen(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 4000, 400), exact = value(f, "%I", b).half, misses = value(f, "%BM", b).half;

	(void)state;
	f->w.unlike[INSTRUCTIONS] = 0.05;
	near(value(f, "%I", b).value, 40, 1e-9);
	near(value(f, "%I", b).half, hypot(exact, 1.96 * 0.05 * 40), 1e-6);
	near(value(f, "%BM", b).half, misses, 1e-12);
	assert_false(value(f, "BM/KI", b).doubtful);
	f->w.unlike[INSTRUCTIONS] = 0.2;
	assert_true(value(f, "BM/KI", b).doubtful);
	drop(f);
}

#define COUNTS 120

/* The chance that h events are seen where so many are to be expected. */
static double chance_of(double h, double expected)
{
	return exp(h * log(expected) - expected - lgamma(h + 1));
}

/* How often the interval of a ratio holds the truth, exactly: of rare events, and of about 400 samples of
 * instructions.
 */
static void ratios_of_few_events_are_held(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 0, 0), least = 1, sum = 0, steps = 0;
	static double low[COUNTS][161], high[COUNTS][161];

	(void)state;
	f->w.samples[INSTRUCTIONS] = f->w.samples[BRANCH_MISSES] = 1e6;
	f->w.nodes.counted[INSTRUCTIONS] = f->w.nodes.counted[BRANCH_MISSES] = 1e9;
	for (u32 h = 0; h < COUNTS; h++)
		for (u32 k = 0; k <= 160; k++) {
			struct metric_value v;

			b[window_samples_at(MEMBERS, BRANCH_MISSES)] = h;
			b[window_samples_at(MEMBERS, INSTRUCTIONS)] = 320 + k;
			v = value(f, "BM/KI", b);
			low[h][k] = v.low;
			high[h][k] = v.high;
		}
	for (double expected = 0.1; expected < 50; expected *= 1.1, steps++) {
		double held = 0, truth = expected / 400 * 1000;

		for (u32 h = 0; h < COUNTS; h++)
			for (u32 k = 0; k <= 160; k++)
				if (low[h][k] <= truth && truth <= high[h][k])
					held += chance_of(h, expected) * chance_of(320 + k, 400);
		least = fmin(least, held);
		sum += held;
	}
	assert_true(least > 0.91);
	assert_true(sum / steps > 0.94 && sum / steps < 0.975);
	drop(f);
}

static double log_choose(double n, double k)
{
	return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1);
}

/* A part of a thousand events was sampled: of those nothing is uncertain. Of each number that a row may have of them
 * the interval holds, exactly, as often as it says, and of all that were sampled it is narrow. */
static void what_was_sampled_is_certain(void **state)
{
	static const double parts[] = { 0.02, 0.3, 0.5, 0.8, 0.95 };
	const double n = 1000;
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 4000, 0);

	(void)state;
	f->w.nodes.counted[BRANCH_MISSES] = n;
	for (u32 i = 0; i < ARRAY_LEN(parts); i++) {
		double sampled = parts[i] * n, sum = 0;

		f->w.samples[BRANCH_MISSES] = sampled;
		for (u32 x = 1; x <= 50; x++) {
			double held = 0;

			for (u32 h = 0; h <= x && h <= sampled; h++) {
				struct metric_value v;

				b[window_samples_at(MEMBERS, BRANCH_MISSES)] = h;
				v = value(f, "%BM", b);
				if (n - x >= sampled - h && v.low <= x / n * 100 && x / n * 100 <= v.high)
					held += exp(log_choose(x, h) + log_choose(n - x, sampled - h) -
						    log_choose(n, sampled));
			}
			sum += held / 50;
		}
		/* What may not have been counted counts as not sampled, so that the last holds more often. */
		assert_true(sum > 0.95 && sum < (parts[i] < 0.9 ? 0.976 : 0.994));
	}
	f->w.samples[BRANCH_MISSES] = n;
	near(value(f, "%BM", b).value, 5, 1e-9);
	assert_true(value(f, "%BM", b).half < 100 * 0.3 * 1.96 * sqrt(50) / n);
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

/* Samples are of whole functions: of some code there are windows alone, and all that may be foreign in them. What is
 * counted of everything stays what it is. */
static void of_some_code_windows_tell(void **state)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.2, 250, 0), *lost = row(f, 1, 0.2, 250, 0);
	struct metric_value v;

	(void)state;
	f->w.range.end = 1;
	f->w.whole = mem_zalloc(window_stride(MEMBERS) * sizeof(double));
	window_block_add(f->w.whole, MEMBERS, (u64[]){ 3000000, 6000000, 30000 }, 1);
	keep(f, b, 400, 300, 600, 3);
	b[WINDOWS_OUTSIDE] = 1590;
	keep(f, lost, 400, 300, 600, 3);
	lost[WINDOWS_BACK] = 1; /* of the function, not of this code */
	v = value(f, "CPI", b);
	near(v.value, 0.5, 0.001);
	assert_false(v.doubtful);
	near(value(f, "%CY", b).value, 4.1, 1e-9);
	assert_true(value(f, "CPI", lost).doubtful && value(f, "CPI", lost).half > 4 * v.half);
	/* What ended there is known; what instructions it had is not, when most windows are those of others. */
	near(value(f, "%CY", lost).value, 20, 1e-9);
	assert_false(value(f, "%CY", lost).doubtful);
	assert_true(value(f, "%I", lost).doubtful && !value(f, "%I", b).doubtful);
	/* Windows of one burst are neighbours: four of them say of the share what one says. */
	v = value(f, "%CY", lost);
	f->w.group.schedule.batch_count = 4;
	near(value(f, "%CY", lost).value, 20, 1e-9);
	near(value(f, "%CY", lost).half, 2 * v.half, 0.1 * v.half);
	f->w.group.schedule.batch_count = 0;
	near(value(f, "CPI", f->w.total).value, 0.5, 1e-12);
	near(value(f, "CPI", f->w.total).half, 0.5 * hypot(97.0 / 2 / 1e6, 1.96 / 1000), 1e-9);
	free(f->w.whole);
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

/* A row of 6000 of 10000 windows of which this many were kept: chance alone keeps 3600. The windows agree with each
 * other and with the samples, so that intervals are narrow. */
static struct metric_value of_kept(bool late, const char *metric, u32 kept)
{
	struct fixture *f = make(true);
	double *b = row(f, 0, 0.6, 6000, 2400);
	struct metric_value v;

	f->w.exact = !late;
	keep(f, b, kept, 300, 599, 3);
	v = value(f, metric, b);
	drop(f);
	return v;
}

/* Where the leader's addresses are late, windows that are lost as if by chance say nothing about a function that is
 * most of the program, though fewer than half of them are lost. */
static void windows_kept_by_chance_are_marked(void **state)
{
	(void)state;
	assert_true(of_kept(true, "CPI", 3600).doubtful);
	assert_true(of_kept(true, "CPI", 3600).half < 0.25 * 0.5);
	assert_true(of_kept(true, "CPI", 4400).doubtful); /* 1600 lost, of the 2400 that chance loses */
	assert_false(of_kept(true, "CPI", 5000).doubtful);
	/* Samples of instructions and misses are exact. */
	assert_false(of_kept(true, "BM/KI", 3600).doubtful);
	assert_false(of_kept(false, "CPI", 3600).doubtful);
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
	u32 cpi = index_of(f, "CPI");

	(void)state;
	keep(f, b, 1, 300, 150, 3);
	metric_value(&f->t, cpi, b, &v);
	assert_true(v.doubtful && isnan(v.low));
	near(v.value, 2, 0.001);
	metric_shown_value(&f->t, cpi, b, &v);
	assert_true(isnan(v.value));
	drop(f);
}

/* A doubtful value is shown if its interval is no wider than itself, however small it is. */
static void a_small_value_says_something(void **state)
{
	struct fixture *f = make(false);
	double *b = row(f, 0, 0.2, 0, 0);
	struct metric_value v;
	u32 cpi = index_of(f, "CPI");

	(void)state;
	keep(f, b, 1700, 300, 600, 3); /* of 2000 */
	keep(f, row(f, 1, 0.2, 0, 0), 1900, 300, 60, 0);
	metric_shown_value(&f->t, cpi, b, &v);
	assert_true(v.doubtful && v.half > 0 && v.half < 0.5);
	near(v.value, 0.5, 0.001);
	drop(f);
}

/* A row of `kept` windows, each tenth of which counts `many` instructions and the others `few`. */
static double *windows_of(struct fixture *f, u32 kept, u64 few, u64 many)
{
	double *b = row(f, 0, 0.02, 0, 0);

	f->w.exact = true; /* the leader's samples are where they seem to be */
	for (u32 i = 0; i < kept; i++) {
		const u64 counts[MEMBERS] = { 300, i % 10 ? few : many, 0 };

		window_block_add(b, MEMBERS, counts, 1);
		window_block_add(f->w.nodes.every, MEMBERS, counts, 1);
	}
	return b;
}

/* How far up the interval of the row's share of the instructions goes, beside what the leader's own samples give it,
 * as a part of the share. */
static double up_of_share(const struct fixture *f, const double *b, double wanted)
{
	const struct metric_value cycles = value(f, "%CY", b), v = value(f, "%I", b);

	near(v.value, wanted, 0.01);
	return sqrt(pow((v.high - v.value) / v.value, 2) - pow((cycles.high - cycles.value) / cycles.value, 2));
}

/* Of an event without samples: what it counts in a row follows from the windows, each part of the interval by its
 * reason. */
static void a_member_without_samples_goes_by_windows(void **state)
{
	struct fixture *f = make(false);
	double *b = windows_of(f, 200, 0, 3000); /* three times the mean is their standard deviation */

	(void)state;
	near(up_of_share(f, b, 1), 1.972 * 3 / sqrt(200), 0.01);
	drop(f);
	f = make(false); /* half of the windows are lost: what is kept may be foreign as far as windows differ */
	b = windows_of(f, 100, 270, 570);
	near(up_of_share(f, b, 1), hypot(1.984 * 0.3 / sqrt(100), 1.96 * 2 * 0.5 * 0.3), 0.01);
	b[WINDOWS_BACK] = 1.1; /* few of those that leave come back */
	near(up_of_share(f, b, 1), hypot(1.984 * 0.3 / sqrt(100), 1.96 * 2 * 0.5 * 0.6 * 0.3), 0.01);
	drop(f);
	f = make(false); /* nothing differs, but half as much again was discarded */
	b = windows_of(f, 200, 300, 300);
	near(up_of_share(f, b, 1), 2. / 60000, 0.01);
	b[window_discarded_at(MEMBERS, INSTRUCTIONS)] = 30000;
	near(up_of_share(f, b, 1), 1.96 * 0.5, 0.01);
	drop(f);
	f = make(false); /* none was seen: two might have been */
	b = windows_of(f, 4, 0, 0);
	near(value(f, "%I", b).high, 2 / 1200. * value(f, "%CY", b).value / 2, 1e-4);
	near(value(f, "%I", b).low, 0, 1e-9);
	drop(f);
}

/* Neither end of a share is beyond what was counted, and of windows without the leader's events nothing follows. */
static void a_member_without_samples_has_its_limits(void **state)
{
	struct fixture *f = make(false);
	double *b = windows_of(f, 200, 0, 3000);

	(void)state;
	f->w.nodes.counted[INSTRUCTIONS] = 22000;
	near(value(f, "%I", b).high, 100, 1e-9);
	assert_true(value(f, "%I", b).low > 10);
	f->w.nodes.counted[INSTRUCTIONS] = 10000;
	near(value(f, "%I", b).value, 100, 1e-9);
	drop(f);
	f = make(false);
	b = row(f, 0, 0.02, 0, 0);
	for (u32 i = 0; i < 2; i++)
		window_block_add(b, MEMBERS, (u64[]){ 0, 300, 0 }, 1);
	assert_true(isnan(value(f, "%I", b).value));
	near(value(f, "%I", b).num, 600, 1e-9);
	drop(f);
	f = make(false); /* nor of a single one */
	b = windows_of(f, 1, 300, 300);
	assert_true(isnan(value(f, "%I", b).value));
	drop(f);
}

static double certain_part(const struct fixture *f, u32 metric, size_t rows, double times)
{
	const double asked[] = { 0.5, times };
	double parts[2];

	metric_certain_parts(&f->t, metric, rows, asked, 2, parts);
	assert_true(parts[0] == 0); /* what is not marked needs the samples that there are */
	return parts[1];
}

/* Half of the cycles are in a row of many samples; three tenths in one of few, whose interval shrinks with the root of
 * their number; of the rest nothing is known. */
static void more_samples_make_more_certain(void **state)
{
	struct fixture *f = make(true);
	struct metric_value v;
	double times, *lost;
	u32 cpi = index_of(f, "CPI");

	(void)state;
	row(f, 0, 0.5, 5000, 0);
	row(f, 1, 0.3, 30, 0);
	lost = row(f, 2, 0.2, 0, 0);
	metric_value(&f->t, cpi, f->w.rows + window_stride(MEMBERS), &v);
	assert_true(v.doubtful);
	times = pow(v.half / (0.25 * v.value), 2);
	assert_true(times > 2 && times < 6);
	near(certain_part(f, cpi, ROWS, 1), 0.5, 1e-9);
	near(certain_part(f, cpi, ROWS, times * 0.99), 0.5, 1e-9);
	near(certain_part(f, cpi, ROWS, times * 1.01), 0.8, 1e-9);
	near(certain_part(f, cpi, ROWS - 2, 100), 0.5, 1e-9);
	/* Nor do samples mend that most windows were lost, be the interval of the others ever so narrow. */
	keep(f, lost, 400, 300, 600, 3);
	metric_value(&f->t, cpi, lost, &v);
	assert_true(v.doubtful && v.half < 0.05 * v.value);
	near(certain_part(f, cpi, ROWS, 1), 0.5, 1e-9);
	near(certain_part(f, cpi, ROWS, 100), 0.8, 1e-9);
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

/* The leader's weights in two rows, each with one long period, of 100 and 150, and a short one of 3 behind it. */
static void samples_of_the_leader(bool frequency, bool lost, bool plain, double out[2])
{
	struct fixture *f = make(true);
	u64 keys[] = { 7, 8 };
	struct profile p = { .evlist = &f->l, .nr_sort = 1 };
	struct profile_event e = { .weight = 256, .samples = 4, .exact = 4, .squares = 1e4 + 22500 + 2 * 9 };
	double squares = frequency || lost || plain ? 32518 : 2 * 125 * 125 + 2 * 9;

	f->l.events.v[0].attr.flags = frequency ? ATTR_FREQ : 0;
	f->w.total[WINDOWS_SHORT] = 2;
	f->w.total[WINDOWS_EXCLUDED + WINDOW_LOST] = lost;
	f->w.group.nr_long = plain ? 0 : 10000;
	for (u32 i = 0; i < 2; i++) {
		struct row r = { .self = i ? 153 : 103, .samples = 2, .keys = &keys[i], .frame = ID_NONE };

		vec_push(&e.rows, r);
		f->w.rows[i * window_stride(MEMBERS) + WINDOWS_SHORT] = 1;
	}
	e.measured[MEASURE_WINDOWS] = &f->w;
	vec_push(&p.events, e);
	profile_window_samples(&p, &p.events.v[0]);
	for (u32 i = 0; i < 2; i++)
		out[i] = profile_window_row(&f->w, i)[WINDOWS_SELF];
	near(f->w.samples[CYCLES], 256 * 256 / squares, 1e-9);
	vec_free(&p.events.v[0].rows);
	vec_free(&p.events);
	drop(f);
}

static void drawn_periods_of_the_leader_count_alike(void **state)
{
	double rows[2];

	(void)state;
	samples_of_the_leader(false, false, false, rows);
	near(rows[0], 128, 1e-9);
	near(rows[1], 128, 1e-9);
	samples_of_the_leader(true, false, false, rows);
	near(rows[0], 103, 1e-9);
	samples_of_the_leader(false, true, false, rows); /* nobody knows which samples were lost */
	near(rows[1], 153, 1e-9);
	samples_of_the_leader(false, false, true, rows); /* one period all the time */
	near(rows[0], 103, 1e-9);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_functions_go_by_samples),
		cmocka_unit_test(long_functions_go_by_windows),
		cmocka_unit_test(both_are_weighed),
		cmocka_unit_test(none_has_an_upper_end),
		cmocka_unit_test(ratios_of_few_events_are_held),
		cmocka_unit_test(what_was_sampled_is_certain),
		cmocka_unit_test(weights_are_inverse_variances),
		cmocka_unit_test(few_of_either_are_not_weighed),
		cmocka_unit_test(unlike_operations_widen),
		cmocka_unit_test(missing_windows_are_no_measure),
		cmocka_unit_test(all_of_few_is_not_certain),
		cmocka_unit_test(samples_of_a_batch_count_as_one),
		cmocka_unit_test(all_is_what_was_counted),
		cmocka_unit_test(of_some_code_windows_tell),
		cmocka_unit_test(without_samples_bias_is_in_the_interval),
		cmocka_unit_test(windows_kept_by_chance_are_marked),
		cmocka_unit_test(lost_work_is_in_the_interval),
		cmocka_unit_test(an_interval_without_end_says_nothing),
		cmocka_unit_test(a_small_value_says_something),
		cmocka_unit_test(more_samples_make_more_certain),
		cmocka_unit_test(drawn_periods_count_alike),
		cmocka_unit_test(a_member_without_samples_goes_by_windows),
		cmocka_unit_test(a_member_without_samples_has_its_limits),
		cmocka_unit_test(drawn_periods_of_the_leader_count_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
