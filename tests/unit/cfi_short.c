/* SPDX-License-Identifier: Apache-2.0 */
/* Rules in short form: which have one, and that a step by it is the same as one by the rules. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/cfi.h"

#define STACK 0x10000
#define SIZE 0x20000
#define ANY 12 /* a register without a part of its own */

/* The word at an address is made of it; some are not there. */
static bool memory(void *ctx, u64 addr, u32 size, u64 *out)
{
	const u64 *missing = ctx;

	assert_int_equal(size, 8);
	*out = addr * 3 + 1;
	return addr != *missing && addr >= STACK && addr + size <= STACK + SIZE;
}

static struct cfi_machine machine_without(u64 *missing)
{
	return (struct cfi_machine){ CFI_X86_SP, CFI_X86_FP, CFI_X86_PC, memory, missing };
}

/* A function that has pushed n registers: the frame's address is 16 above the stack pointer. */
static struct cfi_rules pushed(u32 n)
{
	static const u8 registers[] = { CFI_X86_FP, 3, 12, 13, 14, 15, 0 };
	struct cfi_rules r = { .cfa = 16, .cfa_how = CFI_OFFSET, .cfa_reg = CFI_X86_SP, .return_reg = CFI_X86_PC };

	r.how[CFI_X86_PC] = CFI_SAVED;
	r.value[CFI_X86_PC] = -8;
	for (u32 i = 0; i < n; i++) {
		r.how[registers[i]] = CFI_SAVED;
		r.value[registers[i]] = -16 - 8 * (s32)i;
	}
	return r;
}

static struct cfi_short shorten(const struct cfi_rules *r)
{
	const struct cfi c = { .is64 = true };
	u64 none = 0;
	const struct cfi_machine m = machine_without(&none);

	return cfi_shorten(&c, r, &m);
}

static bool is_short(const struct cfi_rules *r)
{
	return shorten(r).n != CFI_NOT_SHORT;
}

/* What cannot be said in few words is not said in them. */
static void test_what_is_short(void **state)
{
	u64 none = 0;
	const struct cfi_machine m = machine_without(&none);
	const struct cfi small = { .is64 = false }, swapped = { .is64 = true, .swap = true };
	struct cfi_rules r;

	(void)state;
	for (u32 n = 0; n <= CFI_SHORT_SAVED; n++) {
		r = pushed(n);
		assert_int_equal(shorten(&r).n, n);
	}
	r = pushed(CFI_SHORT_SAVED + 1);
	assert_false(is_short(&r));
	r = pushed(2);
	assert_int_equal(cfi_shorten(&small, &r, &m).n, CFI_NOT_SHORT);
	assert_int_equal(cfi_shorten(&swapped, &r, &m).n, CFI_NOT_SHORT);
	r.signal = 1;
	assert_false(is_short(&r));
	r = pushed(2), r.cfa_how = CFI_EXPR;
	assert_false(is_short(&r));
	r = pushed(2), r.how[CFI_X86_SP] = CFI_SAVED;
	assert_false(is_short(&r));
	r = pushed(2), r.how[CFI_X86_PC] = CFI_OFFSET;
	assert_false(is_short(&r));
	r = pushed(2), r.how[ANY] = CFI_UNDEFINED;
	assert_false(is_short(&r));
}

/* Places are kept in 16 bits. */
static void test_far_places(void **state)
{
	static const struct {
		s32 at;
		bool is_short;
	} rows[] = { { INT16_MIN, true }, { INT16_MIN - 1, false }, { INT16_MAX, true }, { INT16_MAX + 1, false } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct cfi_rules r = pushed(2);

		r.value[CFI_X86_PC] = rows[i].at;
		assert_int_equal(is_short(&r), rows[i].is_short);
		r = pushed(2);
		r.value[CFI_X86_FP] = rows[i].at;
		assert_int_equal(is_short(&r), rows[i].is_short);
	}
}

static void expect_equal_steps(const struct cfi_rules *r, u64 known, u64 missing)
{
	const struct cfi c = { .is64 = true };
	const struct cfi_machine m = machine_without(&missing);
	const struct cfi_short quick = cfi_shorten(&c, r, &m);
	struct cfi_frame by_rules = { .known = known }, by_short;

	assert_int_not_equal(quick.n, CFI_NOT_SHORT);
	for (u32 i = 0; i < CFI_REGS; i++)
		by_rules.reg[i] = STACK + SIZE / 2 + i * 0x100;
	by_short = by_rules;
	assert_int_equal(cfi_short_step(&quick, &m, &by_short), cfi_step(&c, r, &m, &by_rules));
	assert_int_equal(by_short.known, by_rules.known);
	for (u32 i = 0; i < CFI_REGS; i++)
		if (by_rules.known >> i & 1)
			assert_int_equal(by_short.reg[i], by_rules.reg[i]);
}

/* Whatever is known before, and whatever of the stack is missing. */
static void test_steps(void **state)
{
	const u64 cfa = STACK + SIZE / 2 + CFI_X86_SP * 0x100 + 16, all = (1ull << CFI_REGS) - 1;

	(void)state;
	for (u32 n = 0; n <= CFI_SHORT_SAVED; n++) {
		struct cfi_rules r = pushed(n);

		for (u64 slot = 0; slot <= n + 1; slot++)
			expect_equal_steps(&r, all, cfa - 8 * slot);
		for (u32 reg = 0; reg < CFI_REGS; reg++)
			expect_equal_steps(&r, all & ~(1ull << reg), 0);
		r.cfa_reg = CFI_X86_FP;
		r.cfa = -24;
		expect_equal_steps(&r, all, 0);
		expect_equal_steps(&r, 1ull << CFI_X86_FP, 0);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_what_is_short),
		cmocka_unit_test(test_far_places),
		cmocka_unit_test(test_steps),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
