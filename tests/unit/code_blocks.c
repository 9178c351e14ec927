/* SPDX-License-Identifier: Apache-2.0 */
/* Which traces of branches are blocks of code whose time is known, and the time of all of them. */
#include "agg/code_blocks.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

static void check(const struct code_block *b, u32 dso, u64 from, u64 to, u64 cycles, u64 times)
{
	assert_int_equal(b->dso, dso);
	assert_int_equal(b->from, from);
	assert_int_equal(b->to, to);
	assert_int_equal(b->cycles, cycles);
	assert_int_equal(b->times, times);
}

/* What was entered in two ways is one block; blocks differ by either end and by file; without cycles there is none. */
static void test_blocks(void **state)
{
	struct branch_traces t = { .cycles = 1000 };
	struct code_blocks b;

	(void)state;
	vec_push(&t.v, ((struct branch_trace){ 1, TRACE_BRANCH, 0x10, 0x20, 9, .cycles = 77, .timed = 7 }));
	vec_push(&t.v, ((struct branch_trace){ 1, TRACE_THROUGH, 0x10, 0x20, 8, .cycles = 30, .timed = 3 }));
	vec_push(&t.v, ((struct branch_trace){ 1, TRACE_THROUGH, 0x10, 0x28, 8, .cycles = 50, .timed = 10 }));
	vec_push(&t.v, ((struct branch_trace){ 1, TRACE_THROUGH, 0x18, 0x28, 8, .cycles = 70, .timed = 2 }));
	vec_push(&t.v, ((struct branch_trace){ 1, TRACE_THROUGH, 0x40, 0x48, 8 }));
	vec_push(&t.v, ((struct branch_trace){ 1, TRACE_THROUGH_ENTRY, 0x10, 0x20, 5, .cycles = 60, .timed = 6 }));
	vec_push(&t.v, ((struct branch_trace){ 2, TRACE_THROUGH, 0x10, 0x20, 8, .cycles = 20, .timed = 5 }));
	vec_push(&t.v, ((struct branch_trace){ 2, TRACE_THROUGH_ENTRY, 0x10, 0x28, 8, .cycles = 20, .timed = 1 }));
	code_blocks_make(&b, &t);
	assert_int_equal(b.v.n, 5);
	check(&b.v.v[0], 1, 0x10, 0x20, 90, 9);
	check(&b.v.v[1], 1, 0x18, 0x28, 70, 2);
	check(&b.v.v[2], 1, 0x10, 0x28, 50, 10);
	check(&b.v.v[3], 2, 0x10, 0x20, 20, 5); /* equal ones by place */
	check(&b.v.v[4], 2, 0x10, 0x28, 20, 1);
	assert_int_equal(b.cycles, 1000);
	assert_int_equal(b.known, 90 + 70 + 50 + 20 + 20);
	assert_true(b.averages == 10 + 35 + 5 + 4 + 20);
	code_blocks_free(&b);
	t.v.n = 1;
	code_blocks_make(&b, &t); /* a branch alone is no block */
	assert_int_equal(b.v.n, 0);
	assert_int_equal(b.cycles, 1000);
	assert_int_equal(b.known, 0);
	code_blocks_free(&b);
	vec_free(&t.v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
