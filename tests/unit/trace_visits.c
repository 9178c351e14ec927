/* SPDX-License-Identifier: Apache-2.0 */
/* When threads work for traces, and what that says of two clocks. */
#include "agg/trace_visits.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static const u8 one[TRACE_ID] = { 1 }, two[TRACE_ID] = { 2 }, three[TRACE_ID] = { 3 };

/* Two threads work for a trace; one of them is seen before and after that. */
static void test_visits(void **state)
{
	struct trace_visits t = { 0 };
	const struct trace_visit *v;

	(void)state;
	trace_visits_sample(&t, 10, 7, NULL);
	trace_visits_sample(&t, 20, 7, two);
	trace_visits_sample(&t, 25, 7, two);
	trace_visits_sample(&t, 30, 7, one);
	trace_visits_sample(&t, 33, 8, one);
	trace_visits_sample(&t, 40, 7, NULL);
	trace_visits_end(&t);
	assert_int_equal(t.v.n, 2);
	v = trace_visits_find(&t, two);
	assert_ptr_equal(v, &t.v.v[0]);
	assert_int_equal(v->before, 10);
	assert_int_equal(v->first, 20);
	assert_int_equal(v->last, 25);
	assert_int_equal(v->after, 30);
	v = trace_visits_find(&t, one);
	assert_int_equal(v->before, 0); /* the other thread may have done so before */
	assert_int_equal(v->first, 30);
	assert_int_equal(v->last, 33);
	assert_int_equal(v->after, VISIT_OPEN_END); /* and go on */
	assert_null(trace_visits_find(&t, three));
	trace_visits_free(&t);
}

static void visit(struct trace_visits *t, u64 before, const u8 *trace, u64 first, u64 last, u64 after)
{
	trace_visits_sample(t, before, 7, NULL);
	trace_visits_sample(t, first, 7, trace);
	trace_visits_sample(t, last, 7, trace);
	trace_visits_sample(t, after, 7, NULL);
}

/* The other clock is ahead by 1000. Each trace bounds that from both sides. */
static void test_clocks(void **state)
{
	struct trace_visits a = { 0 }, b = { 0 };
	struct clock_bounds bounds;

	(void)state;
	visit(&a, 100, one, 110, 190, 200);
	visit(&a, 300, two, 310, 390, 400);
	trace_visits_end(&a);
	visit(&b, 1105, one, 1120, 1196, 1199);
	visit(&b, 1301, two, 1303, 1350, 1360);
	visit(&b, 1400, three, 1401, 1402, 1403);
	trace_visits_end(&b);
	clock_bounds_find(&a, &b, &bounds);
	assert_int_equal(bounds.traces, 2);
	assert_true(clock_bounds_good(&bounds));
	assert_int_equal(bounds.low, 1196 - 200);
	assert_int_equal(bounds.high, 1303 - 300);
	trace_visits_free(&b);
	/* Behind the first one's clock, and only one side is known. */
	trace_visits_sample(&b, 50, 9, two);
	trace_visits_end(&b);
	clock_bounds_find(&a, &b, &bounds);
	assert_true(clock_bounds_good(&bounds));
	assert_true(bounds.low == 50 - 400 && bounds.high == 50 - 300);
	clock_bounds_find(&b, &a, &bounds);
	assert_false(bounds.has_low || bounds.has_high);
	assert_false(clock_bounds_good(&bounds));
	trace_visits_free(&a);
	trace_visits_free(&b);
}

/* Traces that cannot be within the others' times. */
static void test_contradiction(void **state)
{
	struct trace_visits a = { 0 }, b = { 0 };
	struct clock_bounds bounds;

	(void)state;
	visit(&a, 100, one, 110, 120, 130);
	visit(&a, 200, two, 210, 220, 230);
	trace_visits_end(&a);
	visit(&b, 1000, one, 1110, 1120, 1130);
	visit(&b, 2000, two, 2210, 2220, 2230);
	trace_visits_end(&b);
	clock_bounds_find(&a, &b, &bounds);
	assert_true(bounds.has_low && bounds.has_high);
	assert_false(clock_bounds_good(&bounds));
	trace_visits_free(&a);
	trace_visits_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_visits),
		cmocka_unit_test(test_clocks),
		cmocka_unit_test(test_contradiction),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
