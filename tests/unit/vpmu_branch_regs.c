/* SPDX-License-Identifier: Apache-2.0 */
/* Branch registers of the virtual PMU: what each filter keeps, and calls as a stack. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdio.h>
#include <stdlib.h>

#include "base/mem.h"
#include "vpmu/branch_regs.h"
#include "vpmu/decode.h"

#define DEPTH 4

static struct branch_regs *regs_for(const u64 *filters, u32 n)
{
	struct vpmu_control *c = mem_zalloc(sizeof(*c));
	struct branch_regs *r;

	c->options.branch_depth = DEPTH;
	c->nr_events = n;
	for (u32 i = 0; i < n; i++) {
		c->events[i].attr.sample_type = filters[i] ? PERF_SAMPLE_BRANCH_STACK : 0;
		c->events[i].attr.branch_sample_type = filters[i];
	}
	r = branch_regs_new(c);
	free(c);
	return r;
}

static void put(struct branch_regs *r, u8 kind, u64 from)
{
	branch_regs_put(r, &(struct branch_taken){
				   .from = from, .to = from + 0x100, .kind = kind, .judged = true, .cycles = from });
}

/* What an event sees, its addresses newest first, in text. */
static const char *seen(const struct branch_regs *r, u32 event, char text[64], u64 *hw_idx)
{
	u64 words[3 * DEPTH];
	u32 n = branch_regs_read(r, event, words, hw_idx), len = 0;

	text[0] = 0;
	for (u32 i = 0; i < n; i++) {
		assert_int_equal(words[3 * i + 1], words[3 * i] + 0x100);
		len += (u32)snprintf(text + len, 64 - len, "%s%x", i ? " " : "", (unsigned)words[3 * i]);
	}
	return text;
}

static void test_filters(void **state)
{
	const u64 filters[] = { PERF_SAMPLE_BRANCH_ANY,
				PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_USER,
				PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP,
				PERF_SAMPLE_BRANCH_CALL,
				PERF_SAMPLE_BRANCH_IND_CALL,
				PERF_SAMPLE_BRANCH_ANY_RETURN };
	static const char *const want[] = { "6 5 4 3", "5 4", "3 1", "4", "5", "6" };
	struct branch_regs *r = regs_for(filters, ARRAY_LEN(filters));
	char text[64];
	u64 at;

	(void)state;
	for (u8 kind = OP_COND; kind <= OP_RETURN; kind++)
		put(r, kind, 1 + kind - OP_COND);
	for (u32 i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(seen(r, i, text, &at), want[i]);
	branch_regs_clear(r, 9);
	assert_string_equal(seen(r, 0, text, &at), "");
	branch_regs_free(r);
}

static void test_nobody_asks(void **state)
{
	(void)state;
	assert_null(regs_for((const u64[]){ 0 }, 1));
}

static void test_call_stack(void **state)
{
	struct branch_regs *r = regs_for((const u64[]){ PERF_SAMPLE_BRANCH_CALL_STACK }, 1);
	char text[64];
	u64 at;

	(void)state;
	put(r, OP_CALL, 1);
	put(r, OP_CALL_INDIRECT, 2);
	put(r, OP_COND, 9);
	put(r, OP_JUMP, 9);
	assert_string_equal(seen(r, 0, text, &at), "2 1");
	assert_int_equal(at, 2);
	put(r, OP_RETURN, 9);
	assert_string_equal(seen(r, 0, text, &at), "1");
	assert_int_equal(at, 1);
	/* Deeper than there are registers: the oldest ones are overwritten, and do not come back. */
	for (u64 i = 2; i < 7; i++)
		put(r, OP_CALL, i);
	assert_string_equal(seen(r, 0, text, &at), "6 5 4 3");
	put(r, OP_RETURN, 9);
	put(r, OP_RETURN, 9);
	assert_string_equal(seen(r, 0, text, &at), "4 3");
	assert_int_equal(at, 0);
	for (u32 i = 0; i < 3; i++)
		put(r, OP_RETURN, 9);
	assert_string_equal(seen(r, 0, text, &at), "");
	/* It has stepped back all the way: the next call's register is that of its depth. */
	put(r, OP_CALL, 2);
	assert_int_equal(at, 1);
	assert_string_equal(seen(r, 0, text, &at), "2");
	assert_int_equal(at, 2);
	branch_regs_free(r);
}

static void test_flags(void **state)
{
	const u64 filters[] = { PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_TYPE_SAVE | PERF_SAMPLE_BRANCH_PRIV_SAVE,
				PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_CYCLES,
				PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_NO_FLAGS };
	struct branch_regs *r = regs_for(filters, ARRAY_LEN(filters));
	struct branch_taken b = { .from = 1, .to = 2, .kind = OP_CALL, .judged = true, .wrong = true, .cycles = 5 };
	u64 words[3 * DEPTH], at;

	(void)state;
	branch_regs_put(r, &b);
	assert_int_equal(branch_regs_read(r, 0, words, &at), 1);
	assert_int_equal(words[2], 1 | 5 << 4 | PERF_BR_CALL << 20 | (u64)PERF_BR_PRIV_USER << 30);
	branch_regs_read(r, 1, words, &at);
	assert_int_equal(words[2], 1);
	branch_regs_read(r, 2, words, &at);
	assert_int_equal(words[2], 5 << 4);
	b.wrong = false;
	b.cycles = 5 + 70000;
	branch_regs_put(r, &b);
	branch_regs_read(r, 0, words, &at);
	assert_int_equal(words[2], 2 | 0xffff << 4 | PERF_BR_CALL << 20 | (u64)PERF_BR_PRIV_USER << 30);
	b.judged = false;
	branch_regs_put(r, &b);
	branch_regs_read(r, 1, words, &at);
	assert_int_equal(words[2], 0);
	/* A thread that begins at a count has its own cycles only. */
	branch_regs_clear(r, 100000);
	b.cycles = 100007;
	branch_regs_put(r, &b);
	assert_int_equal(branch_regs_read(r, 2, words, &at), 1);
	assert_int_equal(words[2], 7 << 4);
	branch_regs_free(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters),
		cmocka_unit_test(test_nobody_asks),
		cmocka_unit_test(test_call_stack),
		cmocka_unit_test(test_flags),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
