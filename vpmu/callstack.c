/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks of guest threads.
 *
 * A signal is delivered between two blocks: the thread is at the handler's first instruction without having gone
 * there. The handlers are known from rt_sigaction. That this one was entered by the system and not by a call shows on
 * x86_64 in its third argument, the context that the system has put on the stack at a fixed distance from the stack
 * pointer; on aarch64, where a handler may get one argument only, in its return address, which is code for sigreturn.
 * The context also tells where the thread was, so the transfer that was due is settled first, as if it had come to an
 * end. A fault came upon an earlier instruction of the block: then the call at its end has left no return address, and
 * was none.
 *
 * A stack that was not seen before begins with a function that somebody has prepared to run there. What it would
 * return to is where the ABI has it, and an unwinder would show it.
 */
#include "vpmu/callstack.h"

#include <signal.h>

#include "vpmu/regs.h"
#include "vpmu/shadow.h"
#include "vpmu/tasks_impl.h"

/* Offsets from the stack pointer at a handler's entry. Sources: Linux, struct rt_sigframe and ucontext of both. */
enum {
	X86_CONTEXT = 8, /* behind the return address */
	X86_OLD_SP = X86_CONTEXT + 160,
	X86_OLD_PC = X86_CONTEXT + 168,
	ARM64_CONTEXT = 128, /* behind siginfo */
	ARM64_OLD_SP = ARM64_CONTEXT + 176 + 8 + 31 * 8,
	ARM64_OLD_LINK = ARM64_OLD_SP - 8,
	ARM64_OLD_PC = ARM64_OLD_SP + 8,
};
enum { X86_FIRST_ARGUMENT = 7 /* rdi */, X86_THIRD_ARGUMENT = 2 /* rdx */, ARM64_FIRST_ARGUMENT = 0, ARM64_LINK = 30 };
#define ARM64_SIGRETURN 0xd4000001d2801168ull /* mov x8, #139; svc #0 */

void callstack_start(struct vthread *t)
{
	t->stack = shadow_new(t->process->arm64 ? 0 : 8);
}

void callstack_stop(struct vthread *t)
{
	shadow_free(t->stack);
	t->stack = NULL;
}

void callstack_handler(struct vprocess *p, u64 pc)
{
	u32 n = atomic_load(&p->nr_handlers);

	for (u32 i = 0; i < n; i++)
		if (p->handlers[i] == pc)
			return;
	if (n == ARRAY_LEN(p->handlers) || !pc)
		return;
	p->handlers[n] = pc;
	atomic_store(&p->nr_handlers, n + 1);
	atomic_fetch_or(&p->handler_bits, handler_bit(pc));
}

static bool is_handler(const struct vprocess *p, u64 pc)
{
	u32 n = atomic_load(&p->nr_handlers);

	for (u32 i = 0; i < n; i++)
		if (p->handlers[i] == pc)
			return true;
	return false;
}

/* A program may also call its handler itself, with anything in these registers. */
static u64 guest_u64(u64 address)
{
	u64 v;

	return guest_read(address, &v, sizeof(v)) ? v : 0;
}

struct delivery {
	u64 sp, restorer, old_sp, old_pc;
	u64 link; /* what a call that came to its end just before has left as its return address */
};

/* Whether a handler begins at pc because of a signal. */
static bool is_delivery(const struct vthread *t, u64 pc, struct delivery *d)
{
	const struct vprocess *p = t->process;

	if (LIKELY(!(atomic_load_explicit(&p->handler_bits, memory_order_relaxed) & handler_bit(pc))) ||
	    !regs_available(p) || !t->regs || !is_handler(p, pc))
		return false;
	d->sp = regs_stack_pointer(t);
	if (p->arm64 ? guest_u64(regs_get(t, ARM64_LINK)) != ARM64_SIGRETURN :
		       regs_get(t, X86_THIRD_ARGUMENT) != d->sp + X86_CONTEXT)
		return false;
	d->restorer = p->arm64 ? regs_get(t, ARM64_LINK) : guest_u64(d->sp);
	d->old_sp = guest_u64(d->sp + (p->arm64 ? ARM64_OLD_SP : X86_OLD_SP));
	d->old_pc = guest_u64(d->sp + (p->arm64 ? ARM64_OLD_PC : X86_OLD_PC));
	d->link = p->arm64 ? guest_u64(d->sp + ARM64_OLD_LINK) : 0;
	return true;
}

u64 callstack_interrupted(const struct vthread *t, u64 pc, bool *fault)
{
	const u64 faults = 1u << SIGSEGV | 1u << SIGBUS | 1u << SIGFPE | 1u << SIGILL | 1u << SIGTRAP;
	struct delivery d;
	u64 signal;

	*fault = false;
	if (!is_delivery(t, pc, &d))
		return 0;
	signal = regs_get(t, t->process->arm64 ? ARM64_FIRST_ARGUMENT : X86_FIRST_ARGUMENT);
	*fault = signal < 32 && faults >> signal & 1;
	return d.old_pc;
}

static void deliver(struct vthread *t, const struct delivery *d)
{
	shadow_signal(t->stack, d->sp, d->restorer, d->old_sp, d->old_pc);
}

/* A handler may have been entered for the stack's overflow, with nothing readable where the stack pointer was. */
static bool has_called(const struct vthread *t, const struct delivery *d, u64 expect)
{
	u64 link = d->link;

	return (t->process->arm64 || guest_read(d->old_sp, &link, sizeof(link))) && link == expect;
}

void callstack_call(struct vthread *t, const struct frame_event *e)
{
	struct delivery d;

	if (UNLIKELY(is_delivery(t, e->to, &d))) {
		if (has_called(t, &d, e->expect))
			shadow_call(t->stack, d.old_sp, e->expect);
		deliver(t, &d);
	} else {
		shadow_call(t->stack, regs_stack_pointer(t), e->expect);
	}
}

/* x86_64: at a function's entry the stack pointer is 8 away from what is aligned to 16, on its return address. */
static void new_stack(struct vthread *t, u64 sp, u64 to)
{
	u64 ret = 0;

	if (t->process->arm64)
		ret = regs_get(t, ARM64_LINK);
	else if ((sp & 15) != 8 || !guest_read(sp, &ret, sizeof(ret)))
		return;
	/* aarch64: what has led here by a return has its own address there. */
	if (ret && ret != to)
		shadow_call(t->stack, sp, ret);
}

void callstack_return(struct vthread *t, const struct frame_event *e)
{
	u64 sp = regs_stack_pointer(t);
	struct delivery d;

	if (UNLIKELY(is_delivery(t, e->to, &d))) {
		shadow_return(t->stack, d.old_sp, d.old_pc);
		deliver(t, &d);
	} else if (UNLIKELY(shadow_return(t->stack, sp, e->to))) {
		new_stack(t, sp, e->to);
	}
}

void callstack_jump(struct vthread *t, const struct frame_event *e)
{
	u64 sp = regs_stack_pointer(t);
	bool to_link = sp && t->process->arm64 && regs_get(t, ARM64_LINK) == e->to;
	struct delivery d;

	if (UNLIKELY(is_delivery(t, e->to, &d))) {
		shadow_jump(t->stack, d.old_sp, e->from, d.old_pc, false);
		deliver(t, &d);
	} else if (UNLIKELY(shadow_jump(t->stack, sp, e->from, e->to, to_link))) {
		new_stack(t, sp, e->to);
	}
}

void callstack_resume(struct vthread *t, u64 to)
{
	struct delivery d;

	if (UNLIKELY(is_delivery(t, to, &d)))
		deliver(t, &d);
}

void callstack_leap(struct vthread *t)
{
	if (t->stack)
		shadow_leap(t->stack, regs_stack_pointer(t));
}

void callstack_sigreturn(struct vthread *t)
{
	if (t->stack)
		shadow_sigreturn(t->stack);
}

u32 callstack_chain(const struct vthread *t, u64 *chain, u32 max)
{
	return t->stack ? shadow_chain(t->stack, chain, max) : 0;
}

u32 callstack_mark(const struct vthread *t)
{
	return t->stack ? shadow_mark(t->stack) : ID_NONE;
}

void callstack_set_mark(struct vthread *t, u32 mark)
{
	if (t->stack)
		shadow_set_mark(t->stack, mark);
}
