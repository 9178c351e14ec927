/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running blocks on the simulated core.
 *
 * The problem: a program runs hundreds of millions of instructions a second, each of which may be the one at which some
 * event's count reaches its period; and the sample is to show exactly that one, with all counts as they were there.
 *
 * Design. While a block runs, only its memory accesses are written down (core_access). It is settled when the next one
 * begins: only then is it known where its last branch went. A block whose counts cannot reach any armed event, however
 * badly its accesses and its branch turn out (block.slots_max, events_max), is swept: all of it is added at once. One
 * that might is walked, operation by operation, and after each all armed events are looked at. Both ways ask caches and
 * predictor in the same order (the block's lines, its accesses, its branch), so which way was taken changes no count:
 * what is counted does not depend on what is sampled. Deadlines are few, so nearly all blocks are swept.
 *
 * What is counted per operation is raw: instructions, slots, misses. Cycles, time and sums follow from them
 * (core_derive) and are brought up to date only when somebody looks, which is when core.c calls out. An event that
 * waits for a derived count waits for the raw count that it follows from (struct watch).
 *
 * Where QEMU's blocks are not what ran:
 * - A block is left in its middle: an instruction faults, its code is changed under it, an atomic one is done again
 *   alone, or (x86) the last one lies across a page and was given to us, truncated, though the block ends before it.
 *   Then the next block begins at an operation of this one: what comes from there on did not run.
 * - A signal: the next block begins where control could not have gone. The block ran whole; its branch is not judged.
 * - Each iteration of a repeated string instruction is a block. They are one instruction: the first iteration's.
 * - A wide access is seen as several: those of one operation that continue each other are one.
 * A thread that leaves for a syscall, or ends, has its block settled without a next one; a syscall is no branch.
 */
#include "vpmu/core.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "vpmu/core_impl.h"

/* Where a branch went whose outcome is not to be judged. */
#define UNKNOWN UINT64_MAX

/* --- what things cost: each adds to the counts and returns slots --- */

static u32 add_stall(struct core *c, enum vpmu_count part, u32 slots)
{
	c->thread.counts[part] += slots;
	return slots;
}

static u32 charge_fetch(struct core *c, enum cache_level level)
{
	u64 *counts = c->thread.counts;

	if (level == IN_L1)
		return 0;
	counts[VC_L1I_MISSES]++;
	counts[VC_L2_REFERENCES]++;
	if (level >= IN_LLC) {
		counts[VC_L2_MISSES]++;
		counts[VC_LLC_LOADS]++;
	}
	if (level == IN_MEMORY)
		counts[VC_LLC_LOAD_MISSES]++;
	return add_stall(c, VC_SLOTS_FRONTEND, c->fetch[level]);
}

/* A line that was not in L1. */
static __attribute__((noinline)) u32 charge_data(struct core *c, enum cache_level level, bool store)
{
	u64 *counts = c->thread.counts;

	counts[store ? VC_L1D_STORE_MISSES : VC_L1D_LOAD_MISSES]++;
	counts[VC_L2_REFERENCES]++;
	if (level >= IN_LLC) {
		counts[VC_L2_MISSES]++;
		counts[store ? VC_LLC_STORES : VC_LLC_LOADS]++;
	}
	if (level == IN_MEMORY)
		counts[store ? VC_LLC_STORE_MISSES : VC_LLC_LOAD_MISSES]++;
	return add_stall(c, VC_SLOTS_BACKEND, (store ? c->store : c->load)[level]);
}

static ALWAYS_INLINE u32 touch(struct core *c, u64 line, bool store, u32 models)
{
	enum cache_level level;
	u32 slots = 0;

	if (models & VPMU_MODEL_CACHE) {
		level = caches_data(&c->caches, line);
		if (UNLIKELY(level != IN_L1))
			slots = charge_data(c, level, store);
	}
	if (models & VPMU_MODEL_TLB && UNLIKELY(!caches_page(&c->caches, line >> (PAGE_SHIFT - LINE_SHIFT)))) {
		c->thread.counts[store ? VC_DTLB_STORE_MISSES : VC_DTLB_LOAD_MISSES]++;
		slots += add_stall(c, VC_SLOTS_BACKEND, store ? c->tlb_store : c->tlb_load);
	}
	return slots;
}

/* One access. `joined` carries what is needed to recognise the next part of a wide one; op ID_NONE: none before. */
static ALWAYS_INLINE u32 charge_access(struct core *c, const struct access *a, struct access *joined, u32 models)
{
	u64 line = a->addr >> LINE_SHIFT, end = a->addr + (1u << (a->info >> INFO_SIZE_SHIFT & 7));
	bool store = !(a->info & INFO_LOAD);
	bool again = a->op == joined->op && a->addr == joined->addr && !((a->info ^ joined->info) & INFO_DIRECTION);
	u32 slots = 0;

	if (!again) {
		c->thread.counts[VC_L1D_LOADS] += !store;
		c->thread.counts[VC_L1D_STORES] += (a->info & INFO_STORE) != 0;
	}
	if (!again || a->addr << (64 - LINE_SHIFT) == 0)
		slots = touch(c, line, store, models);
	if (UNLIKELY((end - 1) >> LINE_SHIFT != line))
		slots += touch(c, line + 1, store, models);
	*joined = (struct access){ end, a->info, a->op };
	return slots;
}

/* The branch at the end of p went to `to`. */
static ALWAYS_INLINE u32 charge_branch(struct core *c, const struct block *p, u64 to, u32 models)
{
	u64 *counts = c->thread.counts, pc = p->ops[p->nr - 1].pc;
	u32 slots = 0;
	bool wrong = false;

	counts[VC_BRANCHES]++;
	counts[VC_CALLS] += p->call;
	counts[VC_RETURNS] += p->returns;
	if (!(models & VPMU_MODEL_BRANCH) || to == UNKNOWN)
		return 0;
	if (p->kind == OP_COND)
		wrong = predict_cond(&c->predictor, pc, to != p->end);
	else if (p->returns)
		wrong = predict_return(&c->predictor, to);
	else if (p->anywhere)
		wrong = predict_indirect(&c->predictor, pc, to);
	if (p->call)
		predictor_call(&c->predictor, p->end);
	if (UNLIKELY(wrong)) {
		counts[VC_BRANCH_MISSES]++;
		slots = add_stall(c, VC_SLOTS_BAD_SPECULATION, c->mispredict);
	}
	return slots + (to == p->end ? 0 : add_stall(c, VC_SLOTS_FRONTEND, c->taken));
}

/* --- settling --- */

static ALWAYS_INLINE void sweep(struct core *c, const struct block *p, u64 to, u32 models)
{
	u64 *counts = c->thread.counts;
	u32 slots = p->nr + p->stall;

	if (models & VPMU_MODEL_CACHE)
		for (u64 line = p->line; line <= p->last_line; line++)
			slots += charge_fetch(c, caches_fetch(&c->caches, line));
	if (models & (VPMU_MODEL_CACHE | VPMU_MODEL_TLB)) {
		struct access joined = { .op = ID_NONE };

		for (const struct access *a = c->log; a < c->next; a++)
			slots += charge_access(c, a, &joined, models);
	}
	if (p->branch)
		slots += charge_branch(c, p, to, models);
	counts[VC_INSTRUCTIONS] += p->nr;
	counts[VC_SLOTS_BACKEND] += p->stall;
	counts[VC_SLOTS] += slots;
}

/* The first nr operations; the branch at the end if all. */
static void walk(struct core *c, const struct block *p, u32 nr, u64 to)
{
	u64 *counts = c->thread.counts, line = p->line;
	u8 levels[LINES_MAX];
	struct access joined = { .op = ID_NONE };
	const struct access *a = c->log;
	u64 last_line = (p->ops[nr - 1].pc + p->ops[nr - 1].size - 1) >> LINE_SHIFT;

	if (c->models & VPMU_MODEL_CACHE)
		for (u64 l = line; l <= last_line; l++)
			levels[l - line] = (u8)caches_fetch(&c->caches, l);
	for (u32 i = 0; i < nr; i++) {
		const struct op *op = &p->ops[i];
		u32 slots = 0;

		c->addr = 0;
		if (i || !c->continues) {
			counts[VC_INSTRUCTIONS]++;
			slots = 1 + add_stall(c, VC_SLOTS_BACKEND, op->stall);
		}
		for (; c->models & VPMU_MODEL_CACHE && line <= (op->pc + op->size - 1) >> LINE_SHIFT; line++)
			slots += charge_fetch(c, levels[line - p->line]);
		for (; a < c->next && a->op == i; a++) {
			slots += charge_access(c, a, &joined, c->models);
			c->addr = a->addr;
		}
		if (p->branch && i == p->nr - 1)
			slots += charge_branch(c, p, to, c->models);
		counts[VC_SLOTS] += slots;
		core_after_op(c, p, i);
	}
}

/* Could running p, all of it, reach an armed event? Else it can be swept. */
static ALWAYS_INLINE bool is_near(const struct core *c, const struct block *p)
{
	u64 accesses = (u64)(c->next - c->log);

	if (UNLIKELY(c->thread.counts[VC_SLOTS] + p->slots_max + accesses * c->access_max >= c->slots_at))
		return true;
	for (u32 i = 0; i < c->nr_rare; i++) {
		const struct watch *w = &c->watches[c->rare[i]];
		u64 most = w->slots ? p->slots_max + accesses * c->access_max : p->events_max + 2 * accesses;

		if (UNLIKELY(watch_count(c, w) + most >= w->at))
			return true;
	}
	return false;
}

/* When something is not as usual: a deadline is near, or the block was left in another way than by its end. */
static __attribute__((noinline)) void settle_slowly(struct core *c, const struct block *p, u64 to)
{
	bool expected = to == p->end || to == p->target || p->anywhere || to == UNKNOWN;
	bool again = !expected && p->kind == OP_REP && to == p->ops[p->nr - 1].pc;
	u32 nr = p->nr;

	if (!expected && !again) {
		for (nr = 0; nr < p->nr && p->ops[nr].pc != to; nr++)
			;
		if (nr == p->nr)
			to = UNKNOWN;
	}
	if (nr)
		walk(c, p, nr, to);
	c->continues = again;
	c->interrupted = !expected && !again;
	c->cut = nr < p->nr;
}

/* Tells callstack.c what the end of p, now at `to`, means to it. A call that a signal came upon is a call still. */
static __attribute__((noinline)) void tell_stack(struct core *c, const struct block *p, u64 to)
{
	struct frame_event e = { .from = p->ops[p->nr - 1].pc, .expect = p->end, .to = to };
	bool interrupted = c->interrupted, cut = interrupted && c->cut;

	c->interrupted = false;
	if (p->call && !cut)
		callstack_call(&c->thread, &e);
	else if (p->returns && !cut)
		callstack_return(&c->thread, &e);
	else
		callstack_jump(&c->thread, &e);
	truth_transfer(&c->thread, &e, p->kind == OP_JUMP_INDIRECT && !interrupted);
}

static ALWAYS_INLINE void enter(struct core *c, const struct block *b, u32 models)
{
	const struct block *p = c->block;

	c->block = b;
	if (LIKELY(p)) {
		u64 to = b->pc;

		if (LIKELY((to == p->end || to == p->target || p->anywhere) && p->kind != OP_REP && !c->walks &&
			   !is_near(c, p)))
			sweep(c, p, to, models);
		else
			settle_slowly(c, p, to);
		c->next = c->log;
		if (p->frames || UNLIKELY(c->interrupted))
			tell_stack(c, p, to);
	} else {
		callstack_resume(&c->thread, b->pc);
		truth_transfer(&c->thread, &(struct frame_event){ .to = b->pc }, false);
	}
	if (UNLIKELY(c->thread.sampler_waits))
		core_tell_entry(c, b->pc);
}

void core_enter_counts(struct vthread *t, const struct block *b)
{
	enter(core_of(t), b, 0);
}

void core_enter(struct vthread *t, const struct block *b)
{
	struct core *c = core_of(t);

	if (LIKELY(c->models == VPMU_MODEL_ALL))
		enter(c, b, VPMU_MODEL_ALL);
	else
		enter(c, b, c->models);
}

static __attribute__((noinline)) void log_grow(struct core *c)
{
	size_t n = (size_t)(c->next - c->log), room = 2 * n;

	c->log = mem_realloc(c->log, room, sizeof(*c->log));
	c->next = c->log + n;
	c->end = c->log + room;
}

void core_access(struct vthread *t, u32 info, u64 addr, u32 op)
{
	struct core *c = core_of(t);

	*c->next++ = (struct access){ addr, info, op };
	if (UNLIKELY(c->next == c->end))
		log_grow(c);
}

void core_settle(struct vthread *t)
{
	struct core *c = core_of(t);

	if (c->block)
		settle_slowly(c, c->block, UNKNOWN);
	c->block = NULL;
	c->next = c->log;
	c->continues = c->interrupted = false;
	core_derive(c->model, c->models, t->counts);
}

void core_leave(struct vthread *t)
{
	const struct block *p = core_of(t)->block;

	core_settle(t);
	if (!p)
		return;
	sampler_leave(t, p->ops[p->nr - 1].pc);
	core_retarget(core_of(t));
}
