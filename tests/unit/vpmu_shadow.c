/* SPDX-License-Identifier: Apache-2.0 */
/* Shadow stacks: each test walks a thread through transfers and compares the chain with what a debugger would show. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>

#include "vpmu/shadow.h"

#define X86 8
#define ARM 0
#define STACK 0x7fff0000ull

static void expect(const struct callstack *s, u32 n, const u64 *want)
{
	u64 got[64];

	assert_int_equal(shadow_chain(s, got, ARRAY_LEN(got)), n);
	for (u32 i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
}
#define EXPECT(s, ...) expect(s, ARRAY_LEN(((u64[]){ __VA_ARGS__ })), (u64[]){ __VA_ARGS__ })
#define EXPECT_NONE(s) expect(s, 0, NULL)

static void test_nested(void **state)
{
	struct callstack *s = shadow_new(X86);
	u64 one;

	(void)state;
	shadow_call(s, STACK, 0x100);
	shadow_call(s, STACK - 32, 0x200);
	shadow_call(s, STACK - 64, 0x300);
	EXPECT(s, 0x300, 0x200, 0x100);
	assert_int_equal(shadow_chain(s, &one, 1), 1);
	assert_int_equal(one, 0x300);
	shadow_return(s, STACK - 64 + 8, 0x300);
	EXPECT(s, 0x200, 0x100);
	/* A return that frees 16 bytes of arguments. */
	shadow_return(s, STACK - 32 + 8 + 16, 0x200);
	EXPECT(s, 0x100);
	shadow_return(s, STACK + 8, 0x100);
	EXPECT_NONE(s);
	/* Out of what called it first: there is nothing to take away. */
	shadow_return(s, STACK + 64, 0x50);
	EXPECT_NONE(s);
	shadow_free(s);
}

static void test_tail_calls(void **state)
{
	(void)state;
	for (u32 call_size = 0; call_size <= 8; call_size += 8) {
		struct callstack *s = shadow_new(call_size);

		shadow_call(s, STACK, 0x100);
		shadow_call(s, STACK - 64, 0x200);
		shadow_jump(s, STACK - 64, 0x5000, 0x900000, false); /* through a table of function pointers */
		EXPECT(s, 0x200, 0x100);
		shadow_jump(s, STACK - 96, 0x900040, 0x900080, false);	     /* a switch, deeper in its frame */
		shadow_jump(s, STACK - 0x500000, 0x900040, 0x900080, false); /* with large locals */
		EXPECT(s, 0x200, 0x100);
		shadow_return(s, STACK - 64 + call_size, 0x200);
		EXPECT(s, 0x100);
		shadow_free(s);
	}
}

static void test_longjmp_x86(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);	   /* main, whose body runs at STACK - 40 */
	shadow_call(s, STACK - 48, 0x200); /* setjmp */
	shadow_return(s, STACK - 40, 0x200);
	for (u64 i = 0; i < 5; i++)
		shadow_call(s, STACK - 48 - i * 64, 0x300 + i);
	shadow_jump(s, STACK - 40, 0x8000, 0x200, false);
	EXPECT(s, 0x100);
	shadow_free(s);
}

static void test_longjmp_arm(void **state)
{
	struct callstack *s = shadow_new(ARM);

	(void)state;
	shadow_call(s, STACK, 0x100);	   /* main, whose body runs at STACK - 48 */
	shadow_call(s, STACK - 48, 0x200); /* setjmp */
	shadow_return(s, STACK - 48, 0x200);
	/* From deep within: the function that main called has main's own stack pointer as its tag. */
	shadow_call(s, STACK - 48, 0x300);
	shadow_call(s, STACK - 96, 0x400);
	shadow_jump(s, STACK - 48, 0x8000, 0x200, true);
	EXPECT(s, 0x100);
	/* From the function itself. */
	shadow_call(s, STACK - 48, 0x500);
	shadow_jump(s, STACK - 48, 0x8000, 0x200, true);
	EXPECT(s, 0x100);
	/* An exception: by another register, over two frames. */
	shadow_call(s, STACK - 48, 0x300);
	shadow_call(s, STACK - 96, 0x400);
	shadow_jump(s, STACK - 48, 0x8000, 0x260, false);
	EXPECT(s, 0x100);
	shadow_free(s);
}

static void test_exception_by_return(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);
	shadow_call(s, STACK - 64, 0x200);
	shadow_call(s, STACK - 128, 0x300);
	shadow_call(s, STACK - 192, 0x400);
	shadow_return(s, STACK - 100, 0x2f0); /* a landing pad in the function that was called from 0x200 */
	EXPECT(s, 0x200, 0x100);
	shadow_return(s, STACK - 56, 0x200);
	EXPECT(s, 0x100);
	shadow_free(s);
}

static void test_call_then_overwritten_return(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);
	shadow_call(s, STACK - 64, 0x210); /* a retpoline: its return address is overwritten by the jump's target */
	shadow_return(s, STACK - 56, 0x9000);
	EXPECT(s, 0x100);
	/* An address that is pushed and returned to. */
	shadow_return(s, STACK - 24, 0x9100);
	EXPECT(s, 0x100);
	shadow_free(s);
}

#define OTHER 0x10000000ull
#define THIRD 0x20000000ull

static void test_swapcontext(void **state)
{
	(void)state;
	for (u32 size = 0; size <= 8; size += 8) {
		struct callstack *s = shadow_new(size);

		shadow_call(s, STACK, 0x100);
		shadow_call(s, STACK - 64, 0x200);
		shadow_call(s, STACK - 128, 0x210); /* swapcontext */
		shadow_return(s, OTHER, 0x7000);    /* the coroutine's first instruction */
		EXPECT_NONE(s);
		shadow_call(s, OTHER - 32, 0x7010);
		EXPECT(s, 0x7010);
		shadow_call(s, OTHER - 64, 0x7020); /* swapcontext, to a third, which lies higher */
		shadow_jump(s, THIRD, 0x100000, 0x7100, false);
		EXPECT_NONE(s);
		shadow_call(s, THIRD - 32, 0x7110);
		shadow_call(s, THIRD - 64, 0x7120); /* back to main */
		shadow_return(s, STACK - 128 + size, 0x210);
		EXPECT(s, 0x200, 0x100);
		shadow_call(s, STACK - 128, 0x220); /* to the second */
		shadow_return(s, OTHER - 64 + size, 0x7020);
		EXPECT(s, 0x7010);
		shadow_return(s, OTHER - 32 + size, 0x7010);
		EXPECT_NONE(s);
		shadow_jump(s, STACK - 128 + size, 0x100000, 0x220, false); /* its end: it is forgotten */
		EXPECT(s, 0x200, 0x100);
		shadow_free(s);
	}
}

static void test_longjmp_between_stacks(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);
	shadow_call(s, STACK - 64, 0x200);
	shadow_call(s, STACK - 160, 0x210); /* longjmp, from a function whose body runs at STACK - 152 */
	shadow_jump(s, OTHER, 0x100000, 0x7000, false);
	EXPECT_NONE(s);
	shadow_call(s, OTHER - 32, 0x7010);
	shadow_call(s, OTHER - 64, 0x7020);
	shadow_jump(s, STACK - 152, 0x100000, 0x20c, false);
	EXPECT(s, 0x200, 0x100);
	shadow_free(s);
}

static void test_signal(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);
	shadow_call(s, STACK - 64, 0x200);
	shadow_signal(s, STACK - 1000, 0xaaa0, STACK - 100, 0x2345);
	EXPECT(s, 0xaaa0, 0x2345, 0x200, 0x100);
	shadow_call(s, STACK - 1064, 0x300);
	shadow_return(s, STACK - 1056, 0x300);
	shadow_return(s, STACK - 992, 0xaaa0);
	EXPECT(s, 0x2345, 0x200, 0x100);
	shadow_sigreturn(s);
	EXPECT(s, 0x200, 0x100);
	shadow_sigreturn(s); /* none is there: it does no harm */
	EXPECT(s, 0x200, 0x100);
	/* On an alternate stack, nested, and left by longjmp over both. */
	shadow_signal(s, OTHER, 0xaaa0, STACK - 100, 0x2346);
	shadow_call(s, OTHER - 64, 0x300);
	shadow_signal(s, OTHER - 1000, 0xaaa0, OTHER - 100, 0x3456);
	EXPECT(s, 0xaaa0, 0x3456, 0x300, 0xaaa0, 0x2346, 0x200, 0x100);
	shadow_jump(s, STACK - 40, 0x8000, 0x180, false);
	EXPECT(s, 0x100);
	/* By longjmp to the very function that it interrupted. */
	shadow_signal(s, STACK - 1000, 0xaaa0, STACK - 72, 0x2347);
	shadow_jump(s, STACK - 72, 0x800000, 0x2350, false);
	EXPECT(s, 0x100);
	shadow_free(s);
}

static void test_without_stack_pointer(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, 0, 0x100);
	shadow_call(s, 0, 0x200);
	shadow_call(s, 0, 0x300);
	shadow_jump(s, 0, 0x1000, 0x2000, false);
	shadow_return(s, 0, 0x999);
	EXPECT(s, 0x300, 0x200, 0x100);
	shadow_return(s, 0, 0x200);
	EXPECT(s, 0x100);
	shadow_free(s);
}

static void test_deep(void **state)
{
	struct callstack *s = shadow_new(X86);
	u64 sp = STACK << 16;
	u32 nr = SHADOW_FRAMES_MAX + 1000;
	u64 *chain = malloc(sizeof(*chain) * nr);

	(void)state;
	for (u32 i = 0; i < nr; i++)
		shadow_call(s, sp - 16ull * i, 0x100 + i);
	assert_int_equal(shadow_chain(s, chain, nr), SHADOW_FRAMES_MAX);
	for (u32 i = nr; i-- > 1000;)
		shadow_return(s, sp - 16ull * i + 8, 0x100 + i);
	assert_int_equal(shadow_chain(s, chain, nr), 1000);
	assert_int_equal(chain[0], 0x100 + 999);
	/* And one longjmp out of it. */
	for (u32 i = 1000; i < nr; i++)
		shadow_call(s, sp - 16ull * i, 0x100 + i);
	shadow_jump(s, sp - 24, 0x10, 0x20, false);
	assert_int_equal(shadow_chain(s, chain, nr), 2);
	shadow_call(s, sp - 32, 0x777);
	assert_int_equal(shadow_chain(s, chain, nr), 3);
	free(chain);
	shadow_free(s);
}

/* Coroutines that are left for good do not pile up. */
static void test_forgotten_stacks(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	for (u32 i = 0; i < 3 * SHADOW_PARKED_MAX; i++) {
		shadow_call(s, OTHER + i * 0x100000ull - 64, 0x100 + i);
		shadow_return(s, OTHER + (i + 1) * 0x100000ull, 0x7000);
		EXPECT_NONE(s);
	}
	/* The newest is known, the oldest is not. */
	shadow_call(s, THIRD << 8, 0x55);
	shadow_return(s, OTHER - 56, 0x100);
	EXPECT_NONE(s);
	shadow_return(s, (THIRD << 8) + 8, 0x55);
	EXPECT_NONE(s);
	shadow_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nested),
		cmocka_unit_test(test_tail_calls),
		cmocka_unit_test(test_longjmp_x86),
		cmocka_unit_test(test_longjmp_arm),
		cmocka_unit_test(test_exception_by_return),
		cmocka_unit_test(test_call_then_overwritten_return),
		cmocka_unit_test(test_swapcontext),
		cmocka_unit_test(test_longjmp_between_stacks),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_without_stack_pointer),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_forgotten_stacks),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
