/* SPDX-License-Identifier: Apache-2.0 */
/* Branch registers of the virtual PMU: what each filter keeps, calls as a stack, counters, and BRBE. */
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

static const u64 no_counts[NR_VPMU_COUNTS];

static struct branch_regs *regs_of_kind(u32 kind, const u64 *filters, u32 n)
{
	struct vpmu_control *c = mem_zalloc(sizeof(*c));
	struct branch_regs *r;

	c->options.branch_depth = DEPTH;
	c->options.branch_kind = kind;
	c->nr_events = n;
	for (u32 i = 0; i < n; i++) {
		c->events[i].attr.sample_type = filters[i] ? PERF_SAMPLE_BRANCH_STACK : 0;
		c->events[i].attr.branch_sample_type = filters[i];
	}
	r = branch_regs_new(c);
	free(c);
	return r;
}

static struct branch_regs *regs_for(const u64 *filters, u32 n)
{
	return regs_of_kind(VPMU_LBR, filters, n);
}

/* Of an event that has no counters. */
static u32 read_words(const struct branch_regs *r, u32 event, u64 *words, u64 *hw_idx)
{
	return branch_regs_read(r, event, words, NULL, hw_idx);
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
	u32 n = read_words(r, event, words, hw_idx), len = 0;

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
	branch_regs_clear(r, 9, no_counts);
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
	assert_int_equal(read_words(r, 0, words, &at), 1);
	assert_int_equal(words[2], 1 | 5 << 4 | PERF_BR_CALL << 20 | (u64)PERF_BR_PRIV_USER << 30);
	read_words(r, 1, words, &at);
	assert_int_equal(words[2], 1);
	read_words(r, 2, words, &at);
	assert_int_equal(words[2], 5 << 4);
	b.wrong = false;
	b.cycles = 5 + 70000;
	branch_regs_put(r, &b);
	read_words(r, 0, words, &at);
	assert_int_equal(words[2], 2 | 0xffff << 4 | PERF_BR_CALL << 20 | (u64)PERF_BR_PRIV_USER << 30);
	b.judged = false;
	branch_regs_put(r, &b);
	read_words(r, 1, words, &at);
	assert_int_equal(words[2], 0);
	/* A thread that begins at a count has its own cycles only. */
	branch_regs_clear(r, 100000, no_counts);
	b.cycles = 100007;
	branch_regs_put(r, &b);
	assert_int_equal(read_words(r, 2, words, &at), 1);
	assert_int_equal(words[2], 7 << 4);
	branch_regs_free(r);
}

/* A branch of an event that has counted that much by now. */
static void put_counted(struct branch_regs *r, u64 from, u64 instructions, u64 branches, u64 misses)
{
	u64 counts[NR_VPMU_COUNTS] = {
		[VC_INSTRUCTIONS] = instructions, [VC_BRANCHES] = branches, [VC_BRANCH_MISSES] = misses
	};

	branch_regs_put(r,
			&(struct branch_taken){ .from = from, .to = from + 0x100, .kind = OP_JUMP, .counts = counts });
}

static void expect_counters(const struct branch_regs *r, u32 event, u32 n, const u64 *want)
{
	u64 words[3 * DEPTH], counters[DEPTH], at;

	assert_int_equal(branch_regs_read(r, event, words, counters, &at), n);
	for (u32 i = 0; i < n; i++)
		assert_int_equal(counters[i], want[i]);
}

/* Two groups: {branches, misses (not logged), instructions} and {misses}. */
static void test_counters(void **state)
{
	const u64 any = PERF_SAMPLE_BRANCH_ANY | BRANCH_COUNTERS;
	struct vpmu_control *c = mem_zalloc(sizeof(*c));
	struct branch_regs *r;

	(void)state;
	c->options.branch_depth = DEPTH;
	c->nr_events = 4;
	c->events[0] = (struct vpmu_event){ .count = VC_BRANCHES, .attr.branch_sample_type = any };
	c->events[1] = (struct vpmu_event){ .count = VC_BRANCH_MISSES, .attr.branch_sample_type = 8 };
	c->events[2] = (struct vpmu_event){ .count = VC_INSTRUCTIONS, .attr.branch_sample_type = any };
	c->events[3] = (struct vpmu_event){ .count = VC_BRANCH_MISSES, .attr.branch_sample_type = any, .leader = 3 };
	for (u32 i = 0; i < c->nr_events; i++)
		c->events[i].attr.sample_type = PERF_SAMPLE_BRANCH_STACK;
	r = branch_regs_new(c);
	free(c);
	assert_true(branch_regs_log(r));
	put_counted(r, 0x10, 2, 1, 0);
	put_counted(r, 0x20, 100, 1, 1); /* more than two bits hold */
	put_counted(r, 0x30, 103, 3, 1);
	put_counted(r, 0x40, 103, 7, 6);
	expect_counters(r, 0, 4, (const u64[]){ 3, 2 | 3 << 2, 3 << 2, 1 | 2 << 2 });
	expect_counters(r, 2, 4, (const u64[]){ 3, 2 | 3 << 2, 3 << 2, 1 | 2 << 2 });
	expect_counters(r, 3, 4, (const u64[]){ 3, 0, 1, 0 });
	/* Emptied by a thread that has counted something already. */
	branch_regs_clear(r, 0, (const u64[NR_VPMU_COUNTS]){ [VC_BRANCHES] = 50, [VC_INSTRUCTIONS] = 200 });
	put_counted(r, 0x50, 201, 52, 0);
	expect_counters(r, 0, 1, (const u64[]){ 2 | 1 << 2 });
	branch_regs_free(r);
	r = regs_for((const u64[]){ PERF_SAMPLE_BRANCH_ANY }, 1);
	assert_false(branch_regs_log(r));
	branch_regs_free(r);
}

static void put_at(struct branch_regs *r, u64 from, u64 cycles)
{
	branch_regs_put(r,
			&(struct branch_taken){
				.from = from, .to = from + 0x100, .kind = OP_CALL, .judged = true, .cycles = cycles });
}

/* The flags of the newest entry. */
static u64 newest(const struct branch_regs *r)
{
	u64 words[3 * DEPTH], at;

	assert_true(read_words(r, 0, words, &at) > 0);
	return words[2];
}

static void test_brbe_flags(void **state)
{
	const u64 always = 2 | PERF_BR_CALL << 20 | (u64)PERF_BR_PRIV_USER << 30;
	const struct {
		u64 cycles, shown;
	} rows[] = { { 0, 0 },	     { 511, 511 },	{ 512, 512 },	   { 513, 512 },       { 1023, 1022 },
		     { 1027, 1024 }, { 65535, 0xff80 }, { 70000, 0xffff }, { 1000000, 0xffff } };
	struct branch_regs *r = regs_of_kind(VPMU_BRBE, (const u64[]){ PERF_SAMPLE_BRANCH_ANY }, 1);
	u64 cycles = 1000;

	(void)state;
	put_at(r, 1, cycles); /* since when? */
	assert_int_equal(newest(r), always);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		cycles += rows[i].cycles;
		put_at(r, 1, cycles);
		assert_int_equal(newest(r), always | rows[i].shown << 4);
	}
	branch_regs_kernel(r);
	put_at(r, 1, cycles + 5);
	assert_int_equal(newest(r), always);
	put_at(r, 1, cycles + 12);
	assert_int_equal(newest(r), always | 7 << 4);
	branch_regs_free(r);
}

static void test_brbe_interrupts(void **state)
{
	const u64 filters[] = { PERF_SAMPLE_BRANCH_ANY, PERF_SAMPLE_BRANCH_ANY_CALL };
	struct branch_regs *r = regs_of_kind(VPMU_BRBE, filters, 2);
	char text[64];
	u64 at;

	(void)state;
	put(r, OP_CALL, 1);
	put(r, OP_COND, 2);
	branch_regs_interrupt(r, 100);
	assert_string_equal(seen(r, 0, text, &at), "2 1");
	/* Of another event, at the same operation. */
	branch_regs_interrupt(r, 100);
	assert_string_equal(seen(r, 1, text, &at), "1");
	branch_regs_interrupt(r, 104);
	assert_string_equal(seen(r, 0, text, &at), "");
	put(r, OP_CALL, 3);
	put(r, OP_CALL, 4);
	branch_regs_interrupt(r, 200);
	assert_string_equal(seen(r, 0, text, &at), "4 3");
	put(r, OP_CALL, 5);
	branch_regs_interrupt(r, 300);
	assert_string_equal(seen(r, 1, text, &at), "5");
	branch_regs_free(r);
	/* LBR keeps its records. */
	r = regs_for(filters, 2);
	put(r, OP_CALL, 1);
	branch_regs_interrupt(r, 100);
	branch_regs_interrupt(r, 104);
	branch_regs_kernel(r);
	put(r, OP_CALL, 2);
	assert_string_equal(seen(r, 0, text, &at), "2 1");
	assert_int_equal(newest(r) >> 4 & 0xffff, 1);
	branch_regs_free(r);
}

static void test_depths(void **state)
{
	(void)state;
	for (u32 depth = 0; depth < 1024; depth++) {
		bool arm = depth == 8 || depth == 16 || depth == 32 || depth == 64;

		assert_int_equal(vpmu_branch_depth_fits(VPMU_BRBE, depth), arm);
		assert_int_equal(vpmu_branch_depth_fits(VPMU_LBR, depth), depth && depth <= 512);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_filters),		cmocka_unit_test(test_nobody_asks),
		cmocka_unit_test(test_call_stack),	cmocka_unit_test(test_flags),
		cmocka_unit_test(test_counters),	cmocka_unit_test(test_brbe_flags),
		cmocka_unit_test(test_brbe_interrupts), cmocka_unit_test(test_depths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
