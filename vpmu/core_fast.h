/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What runs for each block of a program and each of its accesses, in line where QEMU calls. All that is not as usual
 * is left to core.c, by calls at the end, so that there is nothing to save for them.
 */
#ifndef VPMU_CORE_FAST_H
#define VPMU_CORE_FAST_H

#include "vpmu/core_impl.h"

/* The last byte of an access. */
static inline u64 access_last(const struct access *a)
{
	static const u64 bytes[8] = { 0, 1, 3, 7, 15, 31, 63, 127 };

	return a->addr + bytes[a->told >> INFO_SIZE_SHIFT & 7];
}

/* Is a, which follows b and is of the same operation, another part of the same wide access? */
static inline bool access_joins(const struct access *a, const struct access *b)
{
	return a->addr - 1 == access_last(b) && !((a->told ^ b->told) & (INFO_LOAD | INFO_STORE));
}

/* What was written down before an access stands before it. A read-modify-write is both a load and a store. */
static ALWAYS_INLINE u32 access_kind(const struct access *a)
{
	return UNLIKELY(told_op(a->told ^ a[-1].told) == 0) && access_joins(a, a - 1) ? 0 :
											a->told >> INFO_KIND_SHIFT & 3;
}

/* The instant at which an access of the log was: all have their own, between which caches have a tick. */
static ALWAYS_INLINE u64 access_now(const struct core *c, const struct access *a)
{
	return c->log_began + (u64)(uintptr_t)a;
}
_Static_assert(sizeof(struct access) == CACHE_TICK, "one place of the log is one tick");

/*
 * An access of the block that runs. known: what it is (ACCESS_*), if it does not go on with another one; else 0. There
 * are no more known ones than operations, for which the log has room.
 */
static ALWAYS_INLINE void core_access(struct vthread *t, u64 told, u64 addr, u32 known)
{
	struct core *c = core_of(t);
	struct access *a = c->next;
	u64 last;

	*a = (struct access){ addr, told };
	c->next = a + 1;
	c->accesses[known ? known : access_kind(a)]++;
	last = known ? addr + (u64)run_high(told) : access_last(a);
	if (UNLIKELY(!data_hits(&c->caches, addr >> LINE_SHIFT, last >> LINE_SHIFT, access_now(c, a))))
		core_access_slowly(c, a);
	else if (!known && UNLIKELY(a + 1 >= c->end))
		core_log_grow(c);
}

/* The accesses of a run, of which this is the first one: they are written to the log when needed. */
static ALWAYS_INLINE void core_access_run(struct vthread *t, u64 run, u64 addr)
{
	struct core *c = core_of(t);
	struct access *a = c->next;
	u32 nr = run_nr(run);

	a[nr - 1].told = TOLD_NONE;
	*a = (struct access){ addr, run };
	c->next = a + nr;
	c->known += run_counts(run);
	if (UNLIKELY(!data_hits(&c->caches, (addr + (u64)run_low(run)) >> LINE_SHIFT,
				(addr + (u64)run_high(run)) >> LINE_SHIFT, access_now(c, a))))
		core_run_slowly(c, a);
}

static ALWAYS_INLINE bool in_block(const struct block *p, u64 pc)
{
	return pc - p->pc < p->end - p->pc;
}

/* May the block that begins, of one instruction, be one of the block before it, done again alone? Then
 * core_enter_again. */
static ALWAYS_INLINE bool core_may_be_again(struct vthread *t, const struct block *b)
{
	const struct block *p = core_of(t)->block;

	return UNLIKELY(in_block(p, b->pc)) && b != p;
}

/* Only blocks whose end tells nothing need to be asked about: other ones do not lead to a handler. */
static ALWAYS_INLINE bool may_be_handler(const struct core *c, u64 pc)
{
	return UNLIKELY(atomic_load_explicit(&c->thread.process->handler_bits, memory_order_relaxed) &
			handler_bit(pc));
}

static ALWAYS_INLINE bool goes_to(const struct core *c, const struct block *p, u64 to)
{
	return to == p->next || to == p->other || (p->anywhere && !may_be_handler(c, to));
}

/* The compiler may not conclude anything from how x came about: it would branch, or compute it twice. */
#define AS_IT_IS(x) __asm__("" : "+r"(x))

/* May it be counted in line that p leads to `to`? (Which way is as hard to guess as the program's own: no branch.) */
static ALWAYS_INLINE bool leads_plainly(const struct block *p, u64 to)
{
	u64 next = p->plain_next, other = p->plain_other;

	AS_IT_IS(other);
	other = to == next ? next : other;
	AS_IT_IS(other);
	return to == other;
}

static ALWAYS_INLINE u64 nr_accesses(const struct core *c)
{
	return (u64)(c->next - c->log);
}

/* What running p, which has run, takes from the horizon, but for misses, which have, and its end. */
static ALWAYS_INLINE s64 way_of_block(const struct core *c, const struct block *p)
{
	return (s64)(p->slots + nr_accesses(c));
}

static ALWAYS_INLINE bool passes_horizon(const struct core *c, const struct block *p)
{
	return way_of_block(c, p) >= c->left;
}

/* What has run has been counted. */
static ALWAYS_INLINE void core_forget(struct core *c)
{
	c->log_began += (u64)((char *)c->next - (char *)c->log);
	c->next = c->log;
	c->nr_misses = 0;
}

/* Asks for the code of the block that begins. in_line: it is known to be in one line. */
static ALWAYS_INLINE void core_fetch(struct core *c, const struct block *b, bool in_line)
{
	const struct caches *lines = &c->caches;
	u64 not_recent = code_is_recent(lines, b->first_line);

	if (!in_line)
		not_recent |= code_is_recent(lines, b->last_line);
	if (UNLIKELY(not_recent))
		core_fetch_slowly(c, b);
}

/* What was read from memory so far is read again, which costs less than registers that have to be saved first. */
#define FEWER_REGISTERS() __asm__ volatile("" ::: "memory")

/* p has run, all of which is modelled and nothing of which but its end is written down any more. */
static ALWAYS_INLINE void core_count(struct core *c, const struct block *p, u32 how, s64 left)
{
	const struct block_end *e = &c->ends[how];

	AS_IT_IS(e);
	FEWER_REGISTERS();
	c->left = left - e->slots;
	c->sums += p->sums + e->sums;
}

/* A block begins, where all is modelled; in_line: as in core_fetch; */
static ALWAYS_INLINE void core_enter(struct vthread *t, const struct block *b, bool in_line)
{
	struct core *c = core_of(t);
	const struct block *p = c->block;
	s64 left = c->left - way_of_block(c, p);
	u64 to = b->pc;

	if (UNLIKELY(!leads_plainly(p, to)) || UNLIKELY(left <= 0)) {
		core_enter_otherwise(c, b);
		return;
	}
	c->block = b;
	core_forget(c);
	FEWER_REGISTERS();
	core_count(c, p, predict_cond(&c->predictor, p->branch, to != p->plain_next), left);
	core_fetch(c, b, in_line);
}

/* and where nothing is. */
static ALWAYS_INLINE void core_enter_counts(struct vthread *t, const struct block *b)
{
	struct core *c = core_of(t);
	const struct block *p = c->block;
	u64 to = b->pc;

	if (UNLIKELY(!leads_plainly(p, to) && !(p->anywhere && !may_be_handler(c, to))) ||
	    UNLIKELY(p->slots >= c->left)) {
		core_enter_otherwise(c, b);
		return;
	}
	c->left -= p->slots;
	c->sums += p->sums;
	c->block = b;
	if (UNLIKELY(t->stack) && p->frames)
		core_tell_stack(c, p, to);
}

#endif
