/* SPDX-License-Identifier: Apache-2.0 */
/* How often branches are taken and mispredicted, from traces of branch stacks. */
#include "agg/branch_ratios.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void add(struct branch_traces *t, u32 dso, u32 kind, u64 from, u64 to, u64 count, u64 mispredicted, u64 samples)
{
	vec_push(&t->v, (struct branch_trace){ .dso = dso,
					       .kind = kind,
					       .from = from,
					       .to = to,
					       .count = count,
					       .mispredicted = mispredicted,
					       .samples = samples });
}

static bool near(double a, double b)
{
	return fabs(a - b) < 0.0005;
}

/* A loop from 0x140 to 0x100 that is left behind it; a jump within at 0x120 to two targets, which is mostly passed. */
static void test_ratios(void **state)
{
	struct branch_traces t = { 0 };
	struct branch_ratios r = { 0 };
	const struct branch_ratio *b;

	(void)state;
	add(&t, 1, TRACE_BRANCH, 0x120, 0x130, 30, 15, 20);
	add(&t, 1, TRACE_BRANCH, 0x120, 0x138, 10, 5, 10);
	add(&t, 1, TRACE_BRANCH, 0x140, 0x100, 900, 9, 100);
	add(&t, 1, TRACE_BRANCH, 0x180, TRACE_OUTSIDE, 50, 0, 50);
	add(&t, 1, TRACE_BRANCH, TRACE_OUTSIDE, 0x100, 40, 0, 40);
	add(&t, 1, TRACE_THROUGH, 0x100, 0x120, 40, 0, 30);  /* ends with the branch: it was taken */
	add(&t, 1, TRACE_THROUGH, 0x100, 0x140, 860, 0, 90); /* passes the jump */
	add(&t, 1, TRACE_THROUGH, 0x120, 0x140, 5, 0, 5);    /* begins with it */
	add(&t, 1, TRACE_THROUGH, 0x130, 0x180, 100, 0, 50); /* leaves the loop */
	add(&t, 2, TRACE_BRANCH, 0x120, 0x130, 7, 7, 7);     /* of another binary */
	add(&t, 2, TRACE_THROUGH, 0x100, 0x200, 7, 0, 7);
	branch_traces_sort(&t);
	branch_ratios_make(&r, &t, 1);
	assert_int_equal(r.v.n, 3);
	b = &r.v.v[0];
	assert_int_equal(b->from, 0x140);
	assert_int_equal(b->taken, 900);
	assert_int_equal(b->passed, 100);
	assert_int_equal(b->targets, 1);
	assert_true(near(b->taken_ratio.value, 0.9));
	/* Wilson's of 135 of 150: samples in which it was taken, and passed. */
	assert_true(near(b->taken_ratio.low, 0.8415) && near(b->taken_ratio.high, 0.9385));
	assert_true(near(b->mispredict_ratio.value, 0.01));
	b = &r.v.v[1];
	assert_int_equal(b->from, 0x120);
	assert_int_equal(b->targets, 2);
	assert_int_equal(b->to, 0x130);
	assert_int_equal(b->passed, 865);
	assert_true(near(b->mispredict_ratio.value, 0.5));
	assert_true(near(b->mispredict_ratio.low, 0.3315) && near(b->mispredict_ratio.high, 0.6685));
	b = &r.v.v[2];
	assert_int_equal(b->from, 0x180);
	assert_true(b->to == TRACE_OUTSIDE);
	assert_int_equal(b->passed, 0);
	assert_true(near(b->taken_ratio.high, 1) && b->taken_ratio.low < 0.95);
	branch_ratios_free(&r);
	branch_traces_free(&t);
}

/* Code that was entered from elsewhere is counted with that which its own function led to, whichever begins first. */
static void test_entered(void **state)
{
	struct branch_traces t = { 0 };
	struct branch_ratios r = { 0 };

	(void)state;
	add(&t, 1, TRACE_BRANCH, 0x120, 0x300, 5, 0, 5);
	add(&t, 1, TRACE_BRANCH, 0x220, 0x300, 5, 0, 5);
	for (u32 kind = TRACE_BRANCH; kind <= TRACE_THROUGH_ENTRY; kind++) {
		if (kind == TRACE_BRANCH)
			continue;
		add(&t, 1, kind, 0x100, 0x140, 100 * kind, 0, kind);
		add(&t, 1, kind, 0x200, 0x240, 1000 * kind, 0, 10 * kind);
		add(&t, 1, kind, 0x110, 0x118, 7, 0, 7); /* too short */
	}
	branch_traces_sort(&t);
	branch_ratios_make(&r, &t, 1);
	assert_int_equal(r.v.n, 2);
	assert_int_equal(r.v.v[0].from, 0x220);
	assert_int_equal(r.v.v[0].passed, 1000 * (TRACE_THROUGH + TRACE_THROUGH_ENTRY));
	assert_int_equal(r.v.v[0].passed_in, 10 * (TRACE_THROUGH + TRACE_THROUGH_ENTRY));
	assert_int_equal(r.v.v[1].from, 0x120);
	assert_int_equal(r.v.v[1].passed, 100 * (TRACE_THROUGH + TRACE_THROUGH_ENTRY));
	assert_int_equal(r.v.v[1].passed_in, TRACE_THROUGH + TRACE_THROUGH_ENTRY);
	branch_ratios_free(&r);
	branch_traces_free(&t);
}

/* The target that a branch led to most often, be it the only one, once. */
static void test_targets(void **state)
{
	static const u64 counts[][3] = { { 1, 0, 0 }, { 5, 1, 2 }, { 1, 2, 2 }, { 1, 1, 3 }, { 1, 1, 1 } };
	static const u32 most[] = { 0, 0, 1, 2, 0 };
	struct branch_traces t = { 0 };
	struct branch_ratios r = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(counts); i++)
		for (u32 k = 0; k < 3; k++)
			if (counts[i][k])
				add(&t, 1, TRACE_BRANCH, 0x100 * (i + 1), 0x1000 + k, counts[i][k], 0, 1);
	branch_traces_sort(&t);
	branch_ratios_make(&r, &t, 1);
	assert_int_equal(r.v.n, ARRAY_LEN(counts));
	for (u32 i = 0; i < r.v.n; i++) {
		u32 which = (u32)(r.v.v[i].from / 0x100) - 1;

		assert_int_equal(r.v.v[i].to, 0x1000 + most[which]);
		assert_int_equal(r.v.v[i].targets, which ? 3 : 1);
	}
	branch_ratios_free(&r);
	branch_traces_free(&t);
}

static void test_none(void **state)
{
	struct branch_traces t = { 0 };
	struct branch_ratios r = { 0 };

	(void)state;
	branch_ratios_make(&r, &t, 1);
	assert_int_equal(r.v.n, 0);
	branch_ratios_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ratios),
		cmocka_unit_test(test_entered),
		cmocka_unit_test(test_targets),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
