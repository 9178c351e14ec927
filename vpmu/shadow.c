/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A call adds a frame, its return takes it away: that is all, as long as programs nest. They do not when they longjmp,
 * throw, jump to other stacks, or are interrupted. What makes the difference visible is the stack pointer: each frame
 * is tagged with the one that the callee began with. Stacks grow down, so
 *
 *   - a frame whose tag lies below the stack pointer is gone, however control left it (longjmp, exceptions, an
 *     intermediate return that was overwritten). On aarch64, where a call pushes nothing, a frame with the same tag
 *     may be alive (a tail call by register) or gone; it is gone when control came by the link register, or when older
 *     frames went with the same transfer;
 *   - a return finds its frame on top nearly always, and nothing else is looked at then.
 *
 * Stacks: each is a region, from the stack pointer that its first frame began with (its base) down to its top frame's,
 * or where it was left. A transfer behind a leap (shadow_leap) out of the region of the current stack goes to another
 * one, however near that lies; one to within stays. The current stack is parked, with all its frames, to be found
 * again by its top frame's tag and return address (swapcontext and its like come back just behind their call), or by
 * its region (longjmp between stacks). If no parked stack matches, a new one begins; so does one that is entered at
 * its base again, as when a pool of stacks hands it to its next user.
 *
 * A call behind a leap out of the region enters another stack as well, whose chain goes on with its caller's. When it
 * is left in another way than by its return (a coroutine that yields), the two part, and each waits by itself.
 *
 * Without a leap the stack pointer has been computed from what it was, so the stack is the same; or sigreturn has set
 * it, or a program has taken the difference of two stacks. For those, a transfer that goes above the base, or far
 * below the tags, belongs to another stack as well. Since the target of a computed jump within a function with large
 * locals is far below the tag too, a jump without a leap counts as leaving downwards only when it also goes far in the
 * code.
 *
 * Signals: a handler runs on a stack of its own that knows the one beneath, even where both share memory; sigreturn
 * drops it. A longjmp out of it finds its place in the range of one beneath.
 *
 * Without the stack pointer (sp 0) a return takes all frames down to the newest with that return address, if there is
 * one, and jumps change nothing.
 *
 * Exact, then, are stacks that are entered by a jump or return behind a leap, in memory of their own. A guess remains
 *   - one in memory that a parked stack had, which nobody has said is over, with its base elsewhere: it may be taken
 * for the other, and has what is left of that one's outer frames;
 *   - locals of a size that the program computes, where the compiler computes the stack pointer in one block, sets it
 * in another, and jumps by a register before the next call: they are taken for another stack.
 *
 * Left out: coroutines whose stacks are arrays in a frame of another stack. They lie within the region of the other,
 * where its own locals end and begin; frames of both may be shown until the outer one returns.
 */
#include "vpmu/shadow.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/vec.h"

#define UNKNOWN UINT64_MAX /* tag of a frame whose stack pointer was not known: never below another */
#define FAR_DATA (64u << 10)
#define FAR_CODE (64u << 10)
#define CALLED_MAX 64u	/* stacks that call each other; others are taken for one */
#define PUSHED_MAX 256u /* bytes that a block may push before it leaps */

struct frame {
	u64 tag, ret;
	u32 mark;
};

struct stack {
	struct stack *beneath; /* interrupted by the signal that this one handles, or that called it */
	u64 old_sp, old_pc;    /* where */
	u32 called;	       /* how many stacks up to this one were entered by a call; 0: this one was not */
	VEC(struct frame) frames;
	u64 beyond; /* calls above SHADOW_FRAMES_MAX */
	u64 base;   /* highest; 0: not known */
	u64 left;   /* parked: the lowest that it may be entered at, or UNKNOWN */
};

struct callstack {
	struct stack *now;
	u64 leap; /* the lowest that the current stack may have come to before a leap; UNKNOWN: there was none */
	VEC(struct stack *) parked; /* the one that was left longest ago first */
	size_t waiting;		    /* frames that those have room for */
	u32 call_size;
};

static struct stack *stack_new(struct stack *beneath)
{
	struct stack *k = mem_zalloc(sizeof(*k));

	k->beneath = beneath;
	return k;
}

/* With all those beneath it, down to `until`. */
static void stack_free(struct stack *k, const struct stack *until)
{
	while (k != until) {
		struct stack *beneath = k->beneath;

		vec_free(&k->frames);
		free(k);
		k = beneath;
	}
}

struct callstack *shadow_new(u32 call_size)
{
	struct callstack *s = mem_zalloc(sizeof(*s));

	s->call_size = call_size;
	s->now = stack_new(NULL);
	s->leap = UNKNOWN;
	return s;
}

void shadow_free(struct callstack *s)
{
	if (!s)
		return;
	stack_free(s->now, NULL);
	for (size_t i = 0; i < s->parked.n; i++)
		stack_free(s->parked.v[i], NULL);
	vec_free(&s->parked);
	free(s);
}

static struct frame *top_of(const struct stack *k)
{
	return k->frames.n ? &k->frames.v[k->frames.n - 1] : NULL;
}

/* lowest: below the top frame's tag; or UNKNOWN. */
static bool in_range(const struct stack *k, u64 lowest, u64 sp, u32 call_size)
{
	const struct frame *top = top_of(k);

	return k->base && MIN(top ? top->tag : UNKNOWN, lowest) <= sp && sp <= k->base + call_size;
}

void shadow_leap(struct callstack *s, u64 sp)
{
	s->leap = sp > PUSHED_MAX ? sp - PUSHED_MAX : UNKNOWN;
}

/* Back to the stack that called this one. */
static void drop_called(struct callstack *s)
{
	struct stack *k = s->now;

	s->now = k->beneath;
	stack_free(k, s->now);
}

static size_t room_of(const struct stack *k)
{
	size_t room = 0;

	for (; k; k = k->beneath)
		room += k->frames.cap;
	return room;
}

/* It is parked no longer. */
static struct stack *take(struct callstack *s, size_t i)
{
	struct stack *k = s->parked.v[i];

	s->waiting -= room_of(k);
	memmove(s->parked.v + i, s->parked.v + i + 1, (--s->parked.n - i) * sizeof(*s->parked.v));
	return k;
}

static void forget_at(struct callstack *s, u64 base)
{
	for (size_t i = s->parked.n; i-- > 0;)
		if (s->parked.v[i]->base == base && !s->parked.v[i]->beneath)
			stack_free(take(s, i), NULL);
}

/* A call behind a leap. */
static void call_far(struct callstack *s, u64 sp)
{
	struct stack *k;
	bool dropped = false;

	while (s->now->called && !in_range(s->now, s->leap, sp, s->call_size) &&
	       in_range(s->now->beneath, s->now->old_sp, sp, s->call_size)) {
		drop_called(s);
		dropped = true;
	}
	k = s->now;
	if (dropped || !k->base || !sp || k->called == CALLED_MAX || in_range(k, s->leap, sp, s->call_size))
		return;
	forget_at(s, sp);
	s->now = stack_new(k);
	s->now->old_sp = s->leap;
	s->now->called = k->called + 1;
}

void shadow_call(struct callstack *s, u64 sp, u64 ret)
{
	struct stack *k;

	if (UNLIKELY(s->leap != UNKNOWN))
		call_far(s, sp);
	k = s->now;
	if (UNLIKELY(!k->frames.n))
		k->base = s->leap == UNKNOWN ? MAX(k->base, sp) : sp;
	s->leap = UNKNOWN;
	if (UNLIKELY(k->frames.n >= SHADOW_FRAMES_MAX)) {
		k->beyond++;
		return;
	}
	vec_push(&k->frames, (struct frame){ .tag = sp ? sp : UNKNOWN, .ret = ret });
}

/* Drops what lies below sp; `equal`: and what lies at it (aarch64). */
static void cut(const struct callstack *s, struct stack *k, u64 sp, bool equal)
{
	size_t n = k->frames.n;

	while (k->frames.n && top_of(k)->tag < sp)
		k->frames.n--;
	if (!s->call_size && (equal || k->frames.n < n))
		while (k->frames.n && top_of(k)->tag == sp)
			k->frames.n--;
	if (k->frames.n < n)
		k->beyond = 0;
}

static void park(struct callstack *s, struct stack *k, u64 left)
{
	if (!k->frames.n && !k->beneath && (!k->base || left == UNKNOWN)) {
		stack_free(k, NULL);
		return;
	}
	k->left = left;
	s->waiting += room_of(k);
	vec_push(&s->parked, k);
	while (s->parked.n > SHADOW_PARKED_MAX || (s->parked.n > 1 && s->waiting > SHADOW_WAITING_MAX))
		stack_free(take(s, 0), NULL);
}

static void resume(struct callstack *s, size_t i)
{
	struct stack *k = take(s, i);

	park(s, s->now, s->leap);
	s->now = k;
}

/* A stack that a call entered is left in another way: those beneath are on their own, and may be come back to. */
static void part(struct callstack *s)
{
	struct stack *k = s->now;
	u64 left = UNKNOWN;

	while (k->called) {
		struct stack *beneath = k->beneath;
		u64 old_sp = k->old_sp;

		k->beneath = NULL;
		k->called = 0;
		if (k != s->now)
			park(s, k, left);
		k = beneath;
		left = old_sp;
	}
	if (k != s->now)
		park(s, k, left);
}

/* The parked stack that stands just behind its last call once control is at `to`. */
static bool resume_exact(struct callstack *s, u64 sp, u64 to)
{
	for (size_t i = s->parked.n; i-- > 0;) {
		const struct frame *f = top_of(s->parked.v[i]);

		if (f && f->ret == to && f->tag + s->call_size == sp) {
			resume(s, i);
			s->now->frames.n--;
			return true;
		}
	}
	return false;
}

static bool resume_by_range(struct callstack *s, u64 sp)
{
	for (size_t i = s->parked.n; i-- > 0;)
		if (in_range(s->parked.v[i], s->parked.v[i]->left, sp, s->call_size)) {
			resume(s, i);
			return true;
		}
	return false;
}

/* A handler was left for good: for a place in one of the stacks beneath it. */
static bool back_beneath(struct callstack *s, u64 sp)
{
	struct stack *k = s->now->beneath;

	for (u64 lowest = s->now->old_sp; k && !in_range(k, lowest, sp, s->call_size); k = k->beneath)
		lowest = k->old_sp;
	if (k) {
		stack_free(s->now, k);
		s->now = k;
	}
	return k;
}

/*
 * Control went to `to` in no way that nests. near: it may still be the same function, deeper than its tag. True when
 * it is on a new stack.
 */
static bool transfer(struct callstack *s, u64 sp, u64 to, bool near, bool equal)
{
	struct stack *k = s->now;
	const struct frame *top = top_of(k);
	bool leapt = s->leap != UNKNOWN, deeper = top && sp < top->tag && (near || top->tag - sp <= FAR_DATA);
	bool fresh = false;

	if (leapt && k->called && !in_range(k, s->leap, sp, s->call_size))
		part(s);
	if (resume_exact(s, sp, to)) {
		/* its frame is gone already */
	} else if (in_range(k, s->leap, sp, s->call_size) || back_beneath(s, sp)) {
		cut(s, s->now, sp, equal);
	} else if (resume_by_range(s, sp)) {
		cut(s, s->now, sp, equal);
		fresh = sp == s->now->base && !s->now->beneath;
	} else if (leapt ? k->base != 0 : top && !deeper) {
		park(s, k, s->leap);
		s->now = stack_new(NULL);
		fresh = true;
	}
	if (fresh) {
		s->now->frames.n = 0;
		s->now->beyond = 0;
		s->now->base = sp;
	}
	s->leap = UNKNOWN;
	return fresh;
}

static void return_blindly(struct stack *k, u64 to)
{
	for (size_t n = k->frames.n; n-- > 0;)
		if (k->frames.v[n].ret == to) {
			k->frames.n = n;
			k->beyond = 0;
			return;
		}
}

bool shadow_return(struct callstack *s, u64 sp, u64 to)
{
	struct stack *k = s->now;
	const struct frame *top = top_of(k);
	bool leapt = s->leap != UNKNOWN;

	if (UNLIKELY(k->beyond) && top && sp <= top->tag && (!leapt || sp >= s->leap)) {
		k->beyond--;
		s->leap = UNKNOWN;
		return false;
	}
	/* A return may free its arguments too: the stack pointer is at least behind the return address. */
	if (LIKELY(top && top->ret == to &&
		   (!sp || top->tag == UNKNOWN || top->tag + s->call_size == sp ||
		    (s->call_size && !leapt && top->tag < sp && sp - top->tag < FAR_DATA)))) {
		s->leap = UNKNOWN;
		if (UNLIKELY(!--k->frames.n) && k->called)
			drop_called(s);
		return false;
	}
	if (sp && (!top || top->tag != UNKNOWN))
		return transfer(s, sp, to, false, true);
	return_blindly(k, to);
	s->leap = UNKNOWN;
	return false;
}

bool shadow_jump(struct callstack *s, u64 sp, u64 from, u64 to, bool to_link)
{
	const struct frame *top = top_of(s->now);
	bool near = (from < to ? to - from : from - to) < FAR_CODE, leapt = s->leap != UNKNOWN;

	if (!sp || (top ? top->tag == UNKNOWN : near && !leapt))
		return false;
	if (LIKELY(top && !leapt && !to_link && sp <= top->tag && (near || top->tag - sp <= FAR_DATA)))
		return false;
	return transfer(s, sp, to, near, to_link);
}

void shadow_signal(struct callstack *s, u64 sp, u64 restorer, u64 old_sp, u64 old_pc)
{
	s->now = stack_new(s->now);
	s->now->old_sp = old_sp;
	s->now->old_pc = old_pc;
	s->leap = UNKNOWN;
	shadow_call(s, sp, restorer);
}

void shadow_sigreturn(struct callstack *s)
{
	struct stack *beneath;

	while (s->now->called)
		drop_called(s);
	beneath = s->now->beneath;
	if (!beneath)
		return;
	stack_free(s->now, beneath);
	s->now = beneath;
}

u32 shadow_mark(const struct callstack *s)
{
	const struct frame *top = top_of(s->now);

	return top ? top->mark : ID_NONE;
}

void shadow_set_mark(struct callstack *s, u32 mark)
{
	struct frame *top = top_of(s->now);

	if (top)
		top->mark = mark;
}

u32 shadow_chain(const struct callstack *s, u64 *chain, u32 max)
{
	u32 n = 0;

	for (const struct stack *k = s->now; k && n < max; k = k->beneath) {
		for (size_t i = k->frames.n; i-- > 0 && n < max;)
			chain[n++] = k->frames.v[i].ret;
		if (k->beneath && !k->called && n < max)
			chain[n++] = k->old_pc;
	}
	return n;
}
