/* SPDX-License-Identifier: Apache-2.0 */
/* Which events tell how often a function was called, and what they tell. */
#include "agg/window_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/perf_abi.h"

#define RETURNS 0x0e /* the virtual PMU's and Arm's */

static const u64 key_of[] = { 100, 101, 102 };

struct other {
	const char *name;
	struct attr attr;
	u64 self[3]; /* weights of the rows with these keys */
	u64 samples[3];
};

struct fixture {
	struct evlist l;
	struct profile p;
	struct profile_windows w;
};

/* Event 0 has windows and rows 100 and 101; the others come behind it. */
static struct fixture *make(const struct other *others, u32 n, bool simulated)
{
	struct fixture *f = calloc(1, sizeof(*f));
	struct profile_event e = { .event = 0 };

	vec_push(&f->l.events, (struct event){ .name = (char *)"cycles" });
	f->w.group.nr = 1;
	f->w.rows = calloc(2 * window_stride(1), sizeof(double));
	e.measured[MEASURE_WINDOWS] = &f->w;
	for (u32 i = 0; i < 2; i++)
		vec_push(&e.rows, (struct row){ .self = 1000 + i, .keys = &key_of[i] });
	vec_push(&f->p.events, e);
	for (u32 i = 0; i < n; i++) {
		struct profile_event other = { .event = i + 1 };

		vec_push(&f->l.events, (struct event){ .name = (char *)others[i].name, .attr = others[i].attr });
		for (u32 k = 0; k < 3; k++)
			vec_push(&other.rows, (struct row){ .self = others[i].self[k],
							    .samples = others[i].samples[k],
							    .keys = &key_of[k] });
		vec_push(&f->p.events, other);
	}
	f->p.evlist = &f->l;
	f->p.nr_sort = 1;
	if (simulated)
		f->p.simulated = (struct str){ "generic-x86", 11 };
	profile_window_calls(&f->p, &f->p.events.v[0]);
	return f;
}

static double calls(const struct fixture *f, u32 row)
{
	return f->w.rows[row * window_stride(1) + WINDOWS_CALLS];
}

static double samples(const struct fixture *f, u32 row)
{
	return f->w.rows[row * window_stride(1) + WINDOWS_CALL_SAMPLES];
}

static void drop(struct fixture *f)
{
	for (u32 i = 0; i < f->p.events.n; i++)
		vec_free(&f->p.events.v[i].rows);
	vec_free(&f->p.events);
	vec_free(&f->l.events);
	free(f->w.rows);
	free(f);
}

static void test_which_events(void **state)
{
	static const struct {
		const char *name;
		u32 type;
		u64 config, flags;
		bool simulated, tells;
	} rows[] = {
		{ "probe:work", PERF_TYPE_TRACEPOINT, 7, 0, false, true },
		{ "probe_app:work", PERF_TYPE_TRACEPOINT, 7, 0, false, true },
		{ "uprobes:work", PERF_TYPE_TRACEPOINT, 7, 0, false, true },
		{ "kprobes:work", PERF_TYPE_TRACEPOINT, 7, 0, false, true },
		{ "probe_app:work__return", PERF_TYPE_TRACEPOINT, 7, 0, false, false },
		{ "uprobes:work__return", PERF_TYPE_TRACEPOINT, 7, 0, false, false },
		{ "__return:work", PERF_TYPE_TRACEPOINT, 7, 0, false, false },
		{ "uprobe:work", PERF_TYPE_TRACEPOINT, 7, 0, false, false },
		{ "sched:sched_switch", PERF_TYPE_TRACEPOINT, 7, 0, false, false },
		{ "probe", PERF_TYPE_TRACEPOINT, 7, 0, false, false },
		{ "probe:work", PERF_TYPE_RAW, 7, 0, false, false },
		{ "uprobe/path=a/", 9, 0, 0, false, true },
		{ "uprobe/path=a,retprobe/", 9, 1, 0, false, false },
		{ "kprobe/func=a/", 8, 0, 0, false, true },
		/* Returns, if their addresses are exact: at the second level of precision, or simulated. */
		{ "re", PERF_TYPE_RAW, RETURNS, 0, true, true },
		{ "re", PERF_TYPE_RAW, RETURNS, 0, false, false },
		{ "r10002", PERF_TYPE_RAW, 0x10002, 0, true, false }, /* calls are in the caller */
		{ "cycles", PERF_TYPE_HARDWARE, 0, 0, true, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct other other = {
			rows[i].name,
			{ .type = rows[i].type, .config = rows[i].config, .flags = rows[i].flags },
			{ 5, 0, 0 },
			{ 5, 0, 0 }
		};
		struct fixture *f = make(&other, 1, rows[i].simulated);

		assert_int_equal(f->w.calls, rows[i].tells);
		assert_true(calls(f, 0) == (rows[i].tells ? 5 : 0));
		drop(f);
	}
}

/* By rows of the same keys; of two probes in one function the first counts. */
static void test_rows(void **state)
{
	static const struct other others[] = {
		{ "sched:sched_switch", { .type = PERF_TYPE_TRACEPOINT }, { 77, 77, 77 }, { 7, 7, 7 } },
		{ "probe:one", { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1 }, { 0, 20, 30 }, { 0, 2, 3 } },
		{ "probe:two", { .type = PERF_TYPE_TRACEPOINT, .sample_period = 10 }, { 40, 50, 0 }, { 4, 5, 0 } },
	};
	struct fixture *f = make(others, 3, false);

	(void)state;
	assert_true(f->w.calls);
	assert_true(calls(f, 0) == 40 && calls(f, 1) == 20);
	/* Where each call is a sample of its own, their number is no estimate. */
	assert_true(samples(f, 0) == 4 && samples(f, 1) == 0);
	assert_true(f->w.rows[WINDOWS_WEIGHT] == 1000 && f->w.rows[window_stride(1) + WINDOWS_WEIGHT] == 1001);
	drop(f);
}

static void test_by_frequency(void **state)
{
	static const struct other other = { "probe:one",
					    { .type = PERF_TYPE_TRACEPOINT, .sample_period = 1, .flags = ATTR_FREQ },
					    { 40, 0, 0 },
					    { 4, 0, 0 } };
	struct fixture *f = make(&other, 1, false);

	(void)state;
	assert_true(samples(f, 0) == 4);
	drop(f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_which_events),
		cmocka_unit_test(test_rows),
		cmocka_unit_test(test_by_frequency),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
