/* SPDX-License-Identifier: Apache-2.0 */
/* Where stacks end: names, and counts. */
#include "attrib/stack_ends.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

/* Each has a name of its own, by which it is found, and a text. */
static void test_names(void **state)
{
	(void)state;
	for (u32 i = 0; i < STACK_ENDS; i++) {
		assert_int_equal(stack_end_named(stack_end_name(i)), i);
		assert_true(*stack_end_text(i));
	}
	assert_int_equal(stack_end_named("too_little_copied"), STACK_SHORT);
	assert_int_equal(stack_end_named("branch_records"), STACK_LBR);
	assert_int_equal(stack_end_named("nobody"), STACK_ENDS);
	/* A recording with rules for each piece of code needs no frame pointers and no branch records. */
	assert_string_equal(stack_end_way_out(STACK_NO_FP), "--call-graph unwind");
	assert_string_equal(stack_end_way_out(STACK_LBR), "--call-graph unwind");
	assert_null(stack_end_way_out(STACK_WHOLE));
	assert_null(stack_end_way_out(STACK_SHORT));
}

static void test_counts(void **state)
{
	struct {
		struct stack_counts c;
		u64 behind;
	} a = { .c = { .stacks = 1, .frames = 2, .guessed = 3 }, .behind = 99 };
	struct stack_counts b = { .stacks = 10, .frames = 20, .guessed = 30 };

	(void)state;
	for (u32 i = 0; i < STACK_ENDS; i++) {
		a.c.ends[i] = i;
		b.ends[i] = 100;
	}
	stack_counts_add(&a.c, &b);
	assert_int_equal(a.c.stacks, 11);
	assert_int_equal(a.c.frames, 22);
	assert_int_equal(a.c.guessed, 33);
	for (u32 i = 0; i < STACK_ENDS; i++) {
		assert_int_equal(a.c.ends[i], 100 + i);
		assert_int_equal(b.ends[i], 100);
	}
	assert_int_equal(a.behind, 99);
}

static u64 cuts(const struct stack_cuts *c, u32 file, u32 end)
{
	u64 sum = 0;

	for (size_t i = 0; i < c->v.n; i++)
		sum += c->v.v[i].file == file && c->v.v[i].end == end ? c->v.v[i].stacks : 0;
	return sum;
}

/* By file and reason; whole stacks are cut nowhere. */
static void test_cuts(void **state)
{
	struct stack_cuts c = { 0 };

	(void)state;
	stack_cuts_count(&c, 1, STACK_WHOLE, 1000);
	stack_cuts_count(&c, 1, STACK_SHORT, 0);
	assert_int_equal(c.v.n, 0);
	stack_cuts_count(&c, 1, STACK_SHORT, 5);
	stack_cuts_count(&c, 2, STACK_SHORT, 7);
	stack_cuts_count(&c, 1, STACK_LBR, 9);
	stack_cuts_count(&c, 1, STACK_SHORT, 20);
	assert_int_equal(c.v.n, 3);
	assert_int_equal(cuts(&c, 1, STACK_SHORT), 25);
	assert_int_equal(cuts(&c, 2, STACK_SHORT), 7);
	assert_int_equal(cuts(&c, 1, STACK_LBR), 9);
	stack_cuts_free(&c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_cuts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
