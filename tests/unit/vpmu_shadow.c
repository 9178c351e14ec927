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

/* Two coroutines on stacks side by side, below the one that they were begun from; all code is near. */
static void test_adjacent_stacks(void **state)
{
	const u64 high = OTHER, low = OTHER - 0x4000;

	(void)state;
	for (u32 size = 0; size <= 8; size += 8) {
		struct callstack *s = shadow_new(size);

		shadow_call(s, STACK, 0x100);
		shadow_call(s, STACK - 64, 0x200);
		shadow_call(s, STACK - 128, 0x210); /* the switch */
		shadow_leap(s, STACK - 128);
		assert_true(shadow_jump(s, high, 0x5000, 0x7000, false));
		EXPECT_NONE(s);
		shadow_call(s, high - 32, 0x7010);
		shadow_call(s, high - 64, 0x7020);
		shadow_leap(s, high - 64);
		assert_true(shadow_jump(s, low, 0x5000, 0x7100, false));
		EXPECT_NONE(s);
		shadow_call(s, low - 32, 0x7110);
		shadow_call(s, low - 64, 0x7120);
		shadow_leap(s, low - 64);
		assert_false(shadow_return(s, high - 64 + size, 0x7020));
		EXPECT(s, 0x7010);
		/* Both stand behind the same call: what tells them apart is where. */
		shadow_call(s, high - 64, 0x7120);
		shadow_leap(s, high - 64);
		assert_false(shadow_return(s, low - 64 + size, 0x7120));
		EXPECT(s, 0x7110);
		shadow_call(s, low - 64, 0x7130);
		shadow_leap(s, low - 64);
		assert_false(shadow_jump(s, high - 64 + size, 0x5000, 0x7120, size == 0));
		EXPECT(s, 0x7010);
		shadow_leap(s, high - 40);
		assert_false(shadow_jump(s, STACK - 128 + size, 0x5000, 0x210, false));
		EXPECT(s, 0x200, 0x100);
		shadow_free(s);
	}
}

/* A switch in line: what is left, and comes back, is deeper than the frame's tag. */
static void test_switch_in_line(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);
	shadow_call(s, STACK - 64, 0x200);
	shadow_leap(s, STACK - 4000);
	assert_true(shadow_jump(s, OTHER, 0x5000, 0x5100, false));
	shadow_leap(s, OTHER - 16); /* without a call in between */
	assert_false(shadow_jump(s, STACK - 4000, 0x5100, 0x5004, false));
	EXPECT(s, 0x200, 0x100);
	shadow_leap(s, STACK - 4000);
	assert_false(shadow_jump(s, OTHER - 16, 0x5000, 0x5104, false));
	EXPECT_NONE(s);
	shadow_leap(s, OTHER - 16);
	assert_false(shadow_jump(s, STACK - 4008, 0x5100, 0x5004, false)); /* the block has pushed before it */
	EXPECT(s, 0x200, 0x100);
	shadow_free(s);
}

static void test_leap_within(void **state)
{
	(void)state;
	for (u32 size = 0; size <= 8; size += 8) {
		struct callstack *s = shadow_new(size);

		shadow_call(s, STACK, 0x100);
		shadow_call(s, STACK - 64, 0x200);
		/* The end of a large variable-length array, and a computed jump. */
		shadow_leap(s, STACK - 0x500000);
		assert_false(shadow_jump(s, STACK - 0x1000, 0x5000, 0x5100, false));
		EXPECT(s, 0x200, 0x100);
		/* What came before a call has no part in what follows it: locals of megabytes. */
		shadow_leap(s, STACK - 0x1000);
		shadow_call(s, STACK - 0x1000, 0x300);
		shadow_return(s, STACK - 0x1000 + size, 0x300);
		assert_false(shadow_jump(s, STACK - 0x500000, 0x5000, 0x5100, false));
		EXPECT(s, 0x200, 0x100);
		/* The end of a function that has aligned its frame. */
		shadow_leap(s, STACK - 0x1000);
		assert_false(shadow_return(s, STACK - 64 + size, 0x200));
		EXPECT(s, 0x100);
		/* longjmp */
		shadow_call(s, STACK - 64, 0x210);
		shadow_call(s, STACK - 128, 0x220);
		shadow_leap(s, STACK - 160);
		assert_false(shadow_jump(s, STACK - 40, 0x5000, 0x150, true));
		EXPECT(s, 0x100);
		shadow_free(s);
	}
}

/* A signal comes upon a switch, between the leap and the jump; its handler is left for another stack, and comes back.
 */
static void test_signals_and_stacks(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);
	shadow_call(s, STACK - 64, 0x200);
	shadow_leap(s, STACK - 64);
	shadow_jump(s, OTHER, 0x5000, 0x5010, false);
	shadow_signal(s, OTHER - 1000, 0xaaa0, OTHER, 0x5010);
	EXPECT(s, 0xaaa0, 0x5010);
	shadow_call(s, OTHER - 1064, 0x300);
	shadow_leap(s, OTHER - 1064);
	assert_false(shadow_return(s, STACK - 56, 0x200));
	EXPECT(s, 0x100);
	shadow_call(s, STACK - 64, 0x210);
	shadow_leap(s, STACK - 64);
	assert_false(shadow_return(s, OTHER - 1056, 0x300));
	EXPECT(s, 0xaaa0, 0x5010);
	shadow_sigreturn(s);
	EXPECT_NONE(s);
	shadow_call(s, OTHER - 8, 0x7010);
	EXPECT(s, 0x7010);
	shadow_free(s);
}

/* A stack that is used again begins again. */
static void test_used_again(void **state)
{
	struct callstack *s = shadow_new(X86);

	(void)state;
	shadow_call(s, STACK, 0x100);
	for (u32 i = 0; i < 3; i++) {
		shadow_call(s, STACK - 64, 0x200);
		shadow_leap(s, STACK - 64);
		assert_true(shadow_return(s, OTHER, 0x7000));
		shadow_call(s, OTHER, 0x1); /* what it would return to */
		shadow_call(s, OTHER - 32, 0x7010);
		EXPECT(s, 0x7010, 0x1);
		shadow_leap(s, OTHER - 32);
		assert_false(shadow_return(s, STACK - 56, 0x200));
		EXPECT(s, 0x100);
	}
	shadow_free(s);
}

/* A stack that is entered by a call: its chain goes on with the caller's until it is left by another way than back. */
static void test_called_stacks(void **state)
{
	(void)state;
	for (u32 size = 0; size <= 8; size += 8) {
		struct callstack *s = shadow_new(size);

		shadow_call(s, STACK, 0x100);
		shadow_call(s, STACK - 64, 0x200);
		shadow_leap(s, STACK - 100);
		shadow_call(s, THIRD, 0x210);
		shadow_call(s, THIRD - 32, 0x310);
		EXPECT(s, 0x310, 0x210, 0x200, 0x100);
		shadow_leap(s, THIRD - 64);
		shadow_call(s, OTHER, 0x320);
		shadow_return(s, OTHER + size, 0x320);
		EXPECT(s, 0x310, 0x210, 0x200, 0x100);
		/* By longjmp to the one that called. */
		shadow_leap(s, THIRD - 64);
		shadow_jump(s, STACK - 40, 0x5000, 0x150, false);
		EXPECT(s, 0x100);
		shadow_call(s, STACK - 64, 0x220);
		/* Again, and a signal comes upon it. */
		shadow_leap(s, STACK - 100);
		shadow_call(s, THIRD, 0x230);
		shadow_signal(s, THIRD - 1000, 0xaaa0, THIRD - 100, 0x2345);
		shadow_leap(s, THIRD - 1000);
		shadow_call(s, OTHER, 0x500);
		EXPECT(s, 0x500, 0xaaa0, 0x2345, 0x230, 0x220, 0x100);
		shadow_sigreturn(s);
		EXPECT(s, 0x230, 0x220, 0x100);
		/* It yields, is come back to, and calls its caller's stack. */
		shadow_call(s, THIRD - 32, 0x330);
		shadow_leap(s, THIRD - 32);
		shadow_jump(s, STACK - 100, 0x5000, 0x240, false);
		EXPECT(s, 0x220, 0x100);
		shadow_call(s, STACK - 128, 0x250);
		shadow_leap(s, STACK - 128);
		shadow_return(s, THIRD - 32 + size, 0x330);
		EXPECT(s, 0x230);
		shadow_leap(s, THIRD - 16);
		shadow_return(s, STACK - 128 + size, 0x250);
		EXPECT(s, 0x220, 0x100);
		shadow_return(s, STACK - 64 + size, 0x220);
		EXPECT(s, 0x100);
		shadow_free(s);
	}
}

/* Calls from stack to stack without end take no more than frames do. */
static void test_many_called_stacks(void **state)
{
	struct callstack *s = shadow_new(X86);
	u64 *chain = malloc(sizeof(*chain) * 20000);

	(void)state;
	for (u64 i = 0; i < 10000; i++) {
		shadow_call(s, OTHER + i * 0x10000, 0x100 + i);
		shadow_leap(s, OTHER + i * 0x10000 - 32);
	}
	assert_int_equal(shadow_chain(s, chain, 20000), 10000);
	for (u64 i = 10000; i-- > 0;) {
		assert_int_equal(chain[9999 - i], 0x100 + i);
		shadow_return(s, OTHER + i * 0x10000 + 8, 0x100 + i);
	}
	EXPECT_NONE(s);
	free(chain);
	shadow_free(s);
}

/* Nor do deep ones. */
static void test_forgotten_frames(void **state)
{
	const u32 nr = 2 + SHADOW_WAITING_MAX / SHADOW_FRAMES_MAX;
	struct callstack *s = shadow_new(ARM);

	(void)state;
	for (u32 i = 0; i < nr; i++) {
		u64 base = THIRD + i * 0x100000ull;

		for (u32 k = 0; k < SHADOW_FRAMES_MAX; k++)
			shadow_call(s, base, 0x100 + i);
		shadow_leap(s, base);
		assert_true(shadow_return(s, base + 0x100000, 0x7000));
	}
	/* Those that were left last are known. */
	shadow_leap(s, THIRD + nr * 0x100000ull);
	assert_true(shadow_return(s, THIRD + 0x100000, 0x101));
	EXPECT_NONE(s);
	shadow_leap(s, THIRD + 0x100000);
	assert_false(shadow_return(s, THIRD + (nr - 1) * 0x100000ull, 0x100 + nr - 1));
	assert_int_equal(shadow_chain(s, (u64[4]){ 0 }, 4), 4);
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
		cmocka_unit_test(test_adjacent_stacks),
		cmocka_unit_test(test_switch_in_line),
		cmocka_unit_test(test_leap_within),
		cmocka_unit_test(test_signals_and_stacks),
		cmocka_unit_test(test_used_again),
		cmocka_unit_test(test_called_stacks),
		cmocka_unit_test(test_many_called_stacks),
		cmocka_unit_test(test_signal),
		cmocka_unit_test(test_without_stack_pointer),
		cmocka_unit_test(test_deep),
		cmocka_unit_test(test_forgotten_stacks),
		cmocka_unit_test(test_forgotten_frames),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
