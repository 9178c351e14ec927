/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks by what a thread's registers and memory say: handlers that the system has entered, stacks that somebody
 * has prepared. Frames of signals are laid out here as Linux does. Memory is this program's own.
 */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "vpmu/callstack.h"
#include "vpmu/regs.h"

#define CALLER 0x401000ull
#define CALLEE 0x402000ull
#define HANDLER 0x403050ull
#define RESTORER 0x404000ull

enum { RDX = 2, RSP = 4, RSI = 6, RDI = 7, X0 = 0, LINK = 30 };

struct rig {
	struct vprocess process;
	struct vthread t;
	u64 sp, regs[32];
	bool available;
	u8 regs_of_qemu;
	_Alignas(16) u64 memory[1024]; /* the stack */
};

static struct rig *rig_of(const struct vthread *t)
{
	return (struct rig *)((u8 *)t - offsetof(struct rig, t));
}

bool regs_available(const struct vprocess *p)
{
	return ((struct rig *)((u8 *)p - offsetof(struct rig, process)))->available;
}
u64 regs_stack_pointer(const struct vthread *t)
{
	return rig_of(t)->sp;
}
u64 regs_get(const struct vthread *t, u32 number)
{
	return rig_of(t)->regs[number];
}
void regs_add(struct vthread *t, u32 number, s64 add)
{
	rig_of(t)->regs[number] += (u64)add;
}

static struct rig *rig_new(bool arm64)
{
	struct rig *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	r->process.arm64 = arm64;
	r->available = true;
	r->t.process = &r->process;
	r->t.regs = &r->regs_of_qemu;
	callstack_start(&r->t);
	return r;
}

static void rig_free(struct rig *r)
{
	callstack_stop(&r->t);
	assert_null(r->t.stack);
	free(r);
}

/* The address of the nth word of the stack. */
static u64 at(const struct rig *r, u32 n)
{
	return (u64)(uintptr_t)&r->memory[n];
}

static void expect(const struct rig *r, u32 n, const u64 *want)
{
	u64 got[64];

	assert_int_equal(callstack_chain(&r->t, got, ARRAY_LEN(got)), n);
	for (u32 i = 0; i < n; i++)
		assert_int_equal(got[i], want[i]);
}
#define EXPECT(r, ...) expect(r, ARRAY_LEN(((u64[]){ __VA_ARGS__ })), (u64[]){ __VA_ARGS__ })
#define EXPECT_NONE(r) expect(r, 0, NULL)

/* The call at `from`, of 5 bytes on x86_64 and 4 on aarch64, has led to `to`; x86_64 has pushed its return address. */
static struct frame_event call_of(const struct rig *r, u64 from, u64 to)
{
	return (struct frame_event){ .from = from, .expect = from + (r->process.arm64 ? 4 : 5), .to = to };
}

static void call(struct rig *r, u32 word, u64 from, u64 to)
{
	struct frame_event e = call_of(r, from, to);

	r->sp = at(r, word);
	if (r->process.arm64)
		r->regs[LINK] = e.expect;
	else
		r->memory[word] = e.expect;
	callstack_call(&r->t, &e);
}

/* Linux, arch/x86: struct rt_sigframe up to where the thread was. */
struct x86_frame {
	u64 restorer, flags, link, stack[3], r8_to_r15[8], di, si, bp, bx, dx, ax, cx, sp, pc;
};

/* arch/arm64: siginfo, ucontext with 128 bytes for signal masks, and sigcontext, which is aligned to 16. */
struct arm64_frame {
	u8 info[128];
	u64 flags, link, stack[3];
	u8 masks[128];
	u64 unused, fault_address, x[31], sp, pc, pstate;
};

/* __kernel_rt_sigreturn */
static const u32 arm64_restorer[] = { 0xd2801168, 0xd4000001 };

/* The system enters the handler upon a thread that was at old_pc with the stack pointer at the nth word. */
static void signal_comes(struct rig *r, u32 sig, u32 word, u64 old_pc)
{
	u64 old_sp = at(r, word);

	if (r->process.arm64) {
		struct arm64_frame f = { .sp = old_sp, .pc = old_pc };

		f.x[30] = r->regs[LINK];
		r->sp = (old_sp - sizeof(f)) & ~15ull;
		memcpy((void *)(uintptr_t)r->sp, &f, sizeof(f));
		r->regs[X0] = sig;
		r->regs[LINK] = (u64)(uintptr_t)arm64_restorer;
	} else {
		struct x86_frame f = { .restorer = RESTORER, .sp = old_sp, .pc = old_pc };

		r->sp = ((old_sp - 128 - sizeof(f)) & ~15ull) - 8; /* below the red zone */
		memcpy((void *)(uintptr_t)r->sp, &f, sizeof(f));
		r->regs[RDI] = sig;
		r->regs[RDX] = r->sp + 8;
	}
}

static u64 restorer_of(const struct rig *r)
{
	return r->process.arm64 ? (u64)(uintptr_t)arm64_restorer : RESTORER;
}

/* A signal comes just after a call, a return or a jump: what that did is done, then the handler begins above it. */
static void test_signals(void **state)
{
	(void)state;
	for (u32 arm64 = 0; arm64 < 2; arm64++) {
		struct rig *r = rig_new(arm64);
		u64 first = CALLER + (arm64 ? 4 : 5), second = CALLEE + (arm64 ? 4 : 5);
		struct frame_event e;

		callstack_handler(&r->process, HANDLER);
		call(r, 900, CALLER, CALLEE);
		EXPECT(r, first);
		/* Upon a call's callee. */
		e = call_of(r, CALLEE, HANDLER);
		r->regs[LINK] = e.expect;
		r->memory[880] = e.expect;
		signal_comes(r, SIGUSR1, 880, 0x405000);
		callstack_call(&r->t, &e);
		EXPECT(r, restorer_of(r), 0x405000, second, first);
		callstack_sigreturn(&r->t);
		EXPECT(r, second, first);
		/* Upon where a return has led. */
		e = (struct frame_event){ .from = 0x405010, .to = HANDLER };
		signal_comes(r, SIGUSR1, arm64 ? 880 : 881, second);
		callstack_return(&r->t, &e);
		EXPECT(r, restorer_of(r), second, first);
		callstack_sigreturn(&r->t);
		EXPECT(r, first);
		/* Upon a jump's target, and behind a syscall. */
		signal_comes(r, SIGUSR1, 890, 0x402080);
		callstack_jump(&r->t, &(struct frame_event){ .from = 0x402070, .to = HANDLER });
		EXPECT(r, restorer_of(r), 0x402080, first);
		callstack_sigreturn(&r->t);
		signal_comes(r, SIGUSR1, 890, 0x402090);
		callstack_resume(&r->t, HANDLER);
		EXPECT(r, restorer_of(r), 0x402090, first);
		callstack_sigreturn(&r->t);
		EXPECT(r, first);
		rig_free(r);
	}
}

/* A fault upon an instruction before the call: there was no call. The same where nothing can be read at the old stack
 * pointer, as when the stack has overflowed. */
static void test_fault_before_call(void **state)
{
	(void)state;
	for (u32 i = 0; i < 3; i++) {
		struct rig *r = rig_new(i == 2);
		u64 first = CALLER + (i == 2 ? 4 : 5);
		struct frame_event e;

		callstack_handler(&r->process, HANDLER);
		call(r, 900, CALLER, CALLEE);
		e = call_of(r, CALLEE + 8, HANDLER);
		r->memory[880] = 0x1234; /* and no return address */
		signal_comes(r, SIGSEGV, 880, CALLEE + 4);
		if (i == 1)
			((struct x86_frame *)(uintptr_t)r->sp)->sp = 8; /* nobody's */
		callstack_call(&r->t, &e);
		EXPECT(r, restorer_of(r), CALLEE + 4, first);
		rig_free(r);
	}
}

/* A program may call its handler itself, and what is no handler may begin with a context in its third argument. */
static void test_no_signal(void **state)
{
	(void)state;
	for (u32 arm64 = 0; arm64 < 2; arm64++) {
		struct rig *r = rig_new(arm64);
		u64 first = CALLER + (arm64 ? 4 : 5);
		bool fault = true;

		callstack_handler(&r->process, HANDLER);
		r->regs[RDI] = r->regs[X0] = SIGSEGV;
		r->regs[RDX] = 0x1234;
		call(r, 900, CALLER, HANDLER);
		EXPECT(r, first);
		assert_int_equal(callstack_interrupted(&r->t, HANDLER, &fault), 0);
		assert_false(fault);
		rig_free(r);

		r = rig_new(arm64);
		callstack_handler(&r->process, HANDLER);
		signal_comes(r, SIGSEGV, 880, CALLEE);
		/* The same bit, another function. */
		assert_int_equal(handler_bit(HANDLER + 1024), handler_bit(HANDLER));
		assert_int_equal(callstack_interrupted(&r->t, HANDLER + 1024, &fault), 0);
		assert_int_equal(callstack_interrupted(&r->t, HANDLER, &fault), CALLEE);
		/* Without registers nobody knows. */
		r->available = false;
		assert_int_equal(callstack_interrupted(&r->t, HANDLER, &fault), 0);
		r->available = true;
		r->t.regs = NULL;
		assert_int_equal(callstack_interrupted(&r->t, HANDLER, &fault), 0);
		rig_free(r);
	}
}

/* Signals that an instruction causes are told from those that come from outside. */
static void test_faults(void **state)
{
	static const struct {
		u32 sig;
		bool fault;
	} rows[] = { { SIGSEGV, true },	 { SIGBUS, true },   { SIGFPE, true },	      { SIGILL, true },
		     { SIGTRAP, true },	 { SIGUSR1, false }, { SIGALRM, false },      { SIGABRT, false },
		     { SIGCHLD, false }, { 34, false },	     { 32 + SIGSEGV, false }, { 64, false },
		     { SIGHUP, false },	 { 31, false } };

	(void)state;
	for (u32 i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct rig *r = rig_new(i & 1);
		bool fault = !rows[i / 2].fault;

		callstack_handler(&r->process, HANDLER);
		signal_comes(r, rows[i / 2].sig, 880, CALLEE);
		assert_int_equal(callstack_interrupted(&r->t, HANDLER, &fault), CALLEE);
		assert_int_equal(fault, rows[i / 2].fault);
		rig_free(r);
	}
}

/* SIG_DFL is no function; one that is set again is there once; there is room for 64. */
static void test_handlers(void **state)
{
	struct rig *r = rig_new(false);

	(void)state;
	callstack_handler(&r->process, 0);
	assert_int_equal(r->process.nr_handlers, 0);
	for (u32 i = 0; i < 100; i++) {
		callstack_handler(&r->process, HANDLER + 16 * i);
		callstack_handler(&r->process, HANDLER);
		assert_int_equal(r->process.nr_handlers, i < 64 ? i + 1 : 64);
		assert_true(r->process.handler_bits & handler_bit(HANDLER + 16 * i) || i >= 64);
	}
	rig_free(r);
}

/* A function that somebody has prepared to begin on a new stack returns to what was put there for it. */
static void test_new_stacks(void **state)
{
	static const struct {
		u32 word; /* where it begins */
		u64 ret;
		bool known;
	} rows[] = { { 101, 0x406000, true }, { 100, 0x406000, false }, { 101, 0, false } };

	(void)state;
	for (u32 i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct rig *r = rig_new(false);

		call(r, 901, CALLER, CALLEE);
		callstack_leap(&r->t);
		r->memory[rows[i / 2].word] = rows[i / 2].ret;
		r->sp = at(r, rows[i / 2].word);
		if (i & 1)
			callstack_return(&r->t, &(struct frame_event){ .from = CALLEE + 9, .to = 0x407000 });
		else
			callstack_jump(&r->t, &(struct frame_event){ .from = CALLEE + 9, .to = 0x407000 });
		if (rows[i / 2].known)
			EXPECT(r, rows[i / 2].ret);
		else
			EXPECT_NONE(r);
		rig_free(r);
	}
}

/* On aarch64 that is in the link register, but for what has led there itself. */
static void test_new_stacks_by_link(void **state)
{
	static const struct {
		u64 link;
		bool known;
	} rows[] = { { 0x406000, true }, { 0x407000, false }, { 0, false } };

	(void)state;
	for (u32 i = 0; i < 2 * ARRAY_LEN(rows); i++) {
		struct rig *r = rig_new(true);

		call(r, 901, CALLER, CALLEE);
		callstack_leap(&r->t);
		r->regs[LINK] = rows[i / 2].link;
		r->sp = at(r, 100);
		if (i & 1)
			callstack_return(&r->t, &(struct frame_event){ .from = CALLEE + 8, .to = 0x407000 });
		else
			callstack_jump(&r->t, &(struct frame_event){ .from = CALLEE + 8, .to = 0x407000 });
		if (rows[i / 2].known)
			EXPECT(r, rows[i / 2].link);
		else
			EXPECT_NONE(r);
		rig_free(r);
	}
}

/* A jump to where the link register leads is aarch64's return by other means; any other is none. */
static void test_jump_to_link(void **state)
{
	(void)state;
	for (u32 by_link = 0; by_link < 2; by_link++) {
		struct rig *r = rig_new(true);

		call(r, 900, CALLER, CALLEE);
		call(r, 900, CALLEE, 0x405000); /* by which nothing is pushed */
		EXPECT(r, CALLEE + 4, CALLER + 4);
		r->regs[LINK] = by_link ? CALLEE + 64 : 0x1234;
		r->sp = at(r, 900);
		callstack_jump(&r->t, &(struct frame_event){ .from = 0x405010, .to = CALLEE + 64 });
		if (by_link)
			EXPECT_NONE(r);
		else
			EXPECT(r, CALLEE + 4, CALLER + 4);
		rig_free(r);
	}
}

/* Who wants no stacks has none, and may be told all the same. */
static void test_without(void **state)
{
	struct rig *r = rig_new(false);

	(void)state;
	assert_int_equal(callstack_mark(&r->t), ID_NONE);
	call(r, 900, CALLER, CALLEE);
	assert_int_equal(callstack_mark(&r->t), 0);
	callstack_set_mark(&r->t, 7);
	assert_int_equal(callstack_mark(&r->t), 7);
	callstack_stop(&r->t);
	callstack_leap(&r->t);
	callstack_sigreturn(&r->t);
	callstack_set_mark(&r->t, 7);
	assert_int_equal(callstack_mark(&r->t), ID_NONE);
	EXPECT_NONE(r);
	rig_free(r);
}

/* --- QEMU's frames of signals are moved to where x86_64 has them */

#define FRAME 880 /* the word where it begins */
#define FRAME_WORDS 60

/* As QEMU 7.2 leaves it: the stack pointer is a multiple of 16. */
static struct rig *frame_new(void)
{
	struct rig *r = rig_new(false);

	r->sp = r->regs[RSP] = at(r, FRAME);
	assert_int_equal(r->sp % 16, 0);
	for (u32 i = 0; i < FRAME_WORDS; i++)
		r->memory[FRAME + i] = 1000 + i;
	r->memory[FRAME + 29] = at(r, FRAME + FRAME_WORDS); /* 224 bytes into the context: the floating point state */
	r->regs[RDX] = at(r, FRAME + 1);
	r->regs[RSI] = at(r, FRAME + 40);
	r->regs[RDI] = SIGUSR1;
	return r;
}

static void check_moved(const struct rig *r, bool moved)
{
	u64 by = moved ? 8 : 0;

	assert_int_equal(r->regs[RSP], at(r, FRAME) - by);
	assert_int_equal(r->memory[FRAME - 1], moved ? 1000 : 0);
	for (u32 i = 0; i < FRAME_WORDS - 1; i++)
		if (i != 28 && i != 29)
			assert_int_equal(r->memory[FRAME + i], 1000 + i + (moved ? 1 : 0));
	assert_int_equal(r->memory[FRAME + (moved ? 28 : 29)], at(r, FRAME + FRAME_WORDS));
}

static void test_frame_is_aligned(void **state)
{
	struct rig *r = frame_new();

	(void)state;
	sigframe_align(&r->t);
	check_moved(r, true);
	assert_int_equal(r->regs[RDX], r->regs[RSP] + 8);
	assert_int_equal(r->regs[RSI], at(r, FRAME + 39));
	assert_int_equal(r->regs[RDI], SIGUSR1);
	rig_free(r);
}

/* What does not look like such a frame in everything is left alone: it may be a program's own call of its handler. */
static void test_frame_is_left(void **state)
{
	static const u32 no_signals[] = { 0, 65, 1u << 31 };

	(void)state;
	for (u32 i = 0; i < 9; i++) {
		struct rig *r = frame_new();

		if (i < 3)
			r->regs[RDI] = no_signals[i];
		else if (i == 3)
			r->process.arm64 = true;
		else if (i == 4)
			r->regs[RDX] += 8;
		else if (i == 5)
			r->regs[RSI] = at(r, FRAME + FRAME_WORDS);
		else if (i == 6)
			r->regs[RSI] = at(r, FRAME) - 8;
		else if (i == 7)
			r->sp = 0;
		else
			r->sp += 8, r->regs[RDX] += 8;
		sigframe_align(&r->t);
		check_moved(r, false);
		rig_free(r);
	}
	/* Nor is one whose end is not behind its context, or further away than frames are long. */
	for (u32 i = 0; i < 3; i++) {
		static const u32 words[] = { 29, 10, 4096 / 8 + 1 };
		struct rig *r = frame_new();

		r->regs[RSI] = r->sp;
		r->memory[FRAME + 29] = r->sp + 8 * words[i];
		sigframe_align(&r->t);
		assert_int_equal(r->regs[RSP], at(r, FRAME));
		assert_int_equal(r->memory[FRAME - 1], 0);
		rig_free(r);
	}
	/* A signal number has two ends. */
	for (u32 i = 0; i < 2; i++) {
		struct rig *r = frame_new();

		r->regs[RDI] = i ? 64 : 1;
		sigframe_align(&r->t);
		check_moved(r, true);
		rig_free(r);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_signals),	      cmocka_unit_test(test_fault_before_call),
		cmocka_unit_test(test_no_signal),     cmocka_unit_test(test_faults),
		cmocka_unit_test(test_handlers),      cmocka_unit_test(test_new_stacks),
		cmocka_unit_test(test_jump_to_link),  cmocka_unit_test(test_new_stacks_by_link),
		cmocka_unit_test(test_without),	      cmocka_unit_test(test_frame_is_aligned),
		cmocka_unit_test(test_frame_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
