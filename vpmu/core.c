/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running blocks on the simulated core.
 *
 * The problem: a program runs hundreds of millions of instructions a second, each of which may be the one at which some
 * event's count reaches its period; and the sample is to show exactly that one, with all counts as they were there.
 *
 * Design. While a block runs, only its memory accesses are written down (core_access). It is settled when the next one
 * begins: only then is it known where its last branch went. There are three ways:
 * - asked as a whole (core_enter), where all is modelled and no deadline is near. Most blocks are: what happens to nearly
 *   all of them and their accesses calls nothing;
 * - swept: the same where parts of the model are left out;
 * - walked: operation by operation; after each, all armed events are looked at.
 * A block must be walked if its counts could reach what an armed event waits for, however badly its accesses and its
 * branch turn out. To know that by one comparison there is a horizon: a count of slots below which no event can be due.
 * For events that count slots it is their distance. Any other count grows by no more than slots and accesses do, so
 * for those it is their distance too, if each access takes one from it. Where it is passed, or nearly, all events are
 * looked at (core_is_near) and it is set anew.
 *
 * All three ask caches and predictor in the same order (the block's lines, its accesses, its branch). So which way was
 * taken changes no count: what is counted does not depend on what is sampled.
 *
 * Raw and derived. Only some counts are kept up while blocks are asked as a whole or swept. Instructions follow from slots,
 * for every slot that is no stall retires one; branches, calls and returns are added up in one packed number
 * (core_sync). Cycles, time and sums follow from raw counts too (core_derive) when core.c calls out. An event that
 * waits for a derived count waits for the raw one that it follows from (struct watch).
 *
 * Where QEMU's blocks are not what ran:
 * - A block is left in its middle: its code is changed under it, an atomic instruction is done again alone, or (x86)
 *   the last one lies across a page and was given to us, truncated, though the block ends before it. Then the next
 *   block begins at an operation of this one: what comes from there on did not run.
 * - A signal: the next block is its handler. Where the thread was stands in the signal's context: in the block if an
 *   instruction of it faulted, else where its branch went. When that cannot be read, the block counts as run whole, and
 *   its branch is not judged.
 * - Each iteration of a repeated string instruction is a block. They are one instruction: the first iteration's.
 * - A wide access is seen as several: those of one operation that continue each other are one.
 * A thread that leaves for a syscall, or ends, has its block settled without a next one; a syscall is no branch.
 */
#include "vpmu/core.h"

#include "base/mem.h"
#include "vpmu/core_charge.h"

/* How control left a block. */
enum way_out {
	WAY_EXPECTED,
	WAY_AGAIN,	 /* to the next iteration of its last operation */
	WAY_CUT,	 /* in its middle */
	WAY_INTERRUPTED, /* behind its end, to where it cannot go: a signal's handler */
};

/* Only blocks whose end tells nothing need to be asked about: other ones do not lead to a handler. */
static ALWAYS_INLINE bool may_be_handler(const struct core *c, u64 pc)
{
	return UNLIKELY(atomic_load_explicit(&c->thread.process->handler_bits, memory_order_relaxed) & handler_bit(pc));
}

static ALWAYS_INLINE bool goes_to(const struct core *c, const struct block *p, u64 to)
{
	return to == p->next || to == p->other || (p->anywhere && !may_be_handler(c, to));
}

static ALWAYS_INLINE u64 nr_accesses(const struct core *c)
{
	return (u64)(c->next - c->log);
}

static ALWAYS_INLINE bool passes_horizon(const struct core *c, const struct block *p, u64 accesses)
{
	return c->thread.counts[VC_SLOTS] + p->slots_max + accesses * c->access_max >= c->horizon;
}

/* --- settling --- */

static void sweep(struct core *c, const struct block *p, u64 to)
{
	u64 line = p->pc >> LINE_SHIFT;
	u32 slots = p->nr + p->stall;

	for (u64 last = line + p->more_lines; c->models & VPMU_MODEL_CACHE && line <= last; line++)
		if (!cache_hits(&c->caches.l1i, line))
			slots += charge_fetch(c, caches_find(&c->caches, &c->caches.l1i, line));
	for (const struct access *a = c->log; a < c->next; a++)
		slots += charge_access(c, a);
	slots += charge_end(c, p, to);
	c->thread.counts[VC_SLOTS_BACKEND] += p->stall;
	c->thread.counts[VC_SLOTS] += slots;
	c->horizon -= MIN(nr_accesses(c), c->horizon);
}

/* The first nr operations (and at least one); the branch at the end if all. Counts are in sync. */
static void walk(struct core *c, const struct block *p, u32 nr, u64 to)
{
	u64 *counts = c->thread.counts, first = p->pc >> LINE_SHIFT, line = first;
	const struct op *last = &p->ops[nr - 1];
	const struct access *a = c->log;
	u8 levels[LINES_MAX];

	if (c->models & VPMU_MODEL_CACHE)
		for (u64 l = line; l <= (last->pc + last->size - 1) >> LINE_SHIFT; l++)
			levels[l - first] = (u8)caches_find(&c->caches, &c->caches.l1i, l);
	for (u32 i = 0; i < nr; i++) {
		const struct op *op = &p->ops[i];
		u32 slots = 0;

		c->addr = 0;
		if (i || !c->continues) {
			counts[VC_INSTRUCTIONS]++;
			slots = 1 + add_stall(c, VC_SLOTS_BACKEND, op->stall);
		}
		for (; c->models & VPMU_MODEL_CACHE && line <= (op->pc + op->size - 1) >> LINE_SHIFT; line++)
			slots += charge_fetch(c, levels[line - first]);
		for (; a < c->next && a->op == i; a++) {
			slots += charge_access(c, a);
			c->addr = a->addr;
		}
		if (i == p->nr - 1)
			slots += charge_end(c, p, to);
		counts[VC_SLOTS] += slots;
		core_sync(c);
		core_after_op(c, p, i);
	}
}

static enum way_out way_to(const struct block *p, u64 to, u32 *nr)
{
	if (to == p->next || to == p->other || to == p->end || to == NO_PC)
		return WAY_EXPECTED;
	if (p->kind == OP_REP && to == p->ops[p->nr - 1].pc)
		return WAY_AGAIN;
	for (u32 i = 0; i < p->nr && !p->anywhere; i++)
		if (p->ops[i].pc == to) {
			*nr = i;
			return WAY_CUT;
		}
	return p->anywhere ? WAY_EXPECTED : WAY_INTERRUPTED;
}

/* Which way control took, where the branch went (NO_PC: nobody knows), and how many operations ran. */
static enum way_out way_out(const struct core *c, const struct block *p, u64 *to, u32 *nr)
{
	u64 back = may_be_handler(c, *to) ? callstack_interrupted(&c->thread, *to) : 0;
	enum way_out way;

	*nr = p->nr;
	if (!back) {
		way = way_to(p, *to, nr);
		if (way == WAY_INTERRUPTED)
			*to = NO_PC;
		return way;
	}
	for (u32 i = 0; i < p->nr; i++)
		if (p->ops[i].pc == back && back != p->next && back != p->other) {
			*nr = i;
			return WAY_CUT;
		}
	*to = way_to(p, back, nr) == WAY_EXPECTED ? back : NO_PC;
	return WAY_INTERRUPTED;
}

static enum way_out settle(struct core *c, const struct block *p, u64 to)
{
	u32 nr;
	enum way_out way = way_out(c, p, &to, &nr);

	core_sync(c);
	core_look_ahead(c);
	if ((way == WAY_EXPECTED || way == WAY_INTERRUPTED) && !c->continues && !core_is_near(c, p))
		sweep(c, p, to);
	else if (nr)
		walk(c, p, nr, to);
	c->continues = way == WAY_AGAIN;
	c->next = c->log;
	core_sync(c);
	core_look_ahead(c);
	return way;
}

/* --- entering blocks --- */

/* Tells callstack.c what the end of p, now at `to`, means to it. A call that a signal came upon is a call still. */
static NOINLINE void tell_stack(struct core *c, const struct block *p, u64 to, enum way_out way)
{
	struct frame_event e = { .from = p->ops[p->nr - 1].pc, .expect = p->end, .to = to };

	if (p->call && way != WAY_CUT)
		callstack_call(&c->thread, &e);
	else if (p->returns && way != WAY_CUT)
		callstack_return(&c->thread, &e);
	else
		callstack_jump(&c->thread, &e);
	truth_transfer(&c->thread, &e, p->kind == OP_JUMP_INDIRECT && way == WAY_EXPECTED);
}

static NOINLINE u32 fetch_slowly(struct core *c, u64 line)
{
	return charge_fetch(c, caches_find(&c->caches, &c->caches.l1i, line));
}

/* The lines of p's code. */
static ALWAYS_INLINE u32 fetch(struct core *c, const struct block *p)
{
	u64 line = p->pc >> LINE_SHIFT;
	u32 slots = 0;

	for (u64 last = line + p->more_lines; line <= last; line++)
		if (UNLIKELY(!cache_hits(&c->caches.l1i, line)))
			slots += fetch_slowly(c, line);
	return slots;
}

/* Not where a hint says, or two lines. */
static NOINLINE u32 access_slowly(struct core *c, const struct access *a)
{
	return charge_lines(c, a);
}

/* The accesses of the block that ran, most of which are where hints say. */
static ALWAYS_INLINE u32 ask(struct core *c)
{
	struct cache *lines = &c->caches.l1d, *pages = &c->caches.dtlb;
	u64 now = MAX(lines->clock, pages->clock), loads = 0, stores = 0;
	u32 slots = 0;

	for (const struct access *a = c->log, *end = c->next; a < end; a++) {
		u64 line = a->addr >> LINE_SHIFT, page = a->addr >> PAGE_SHIFT;
		struct cache_way *line_at = cache_hint(lines, line), *page_at = cache_hint(pages, page);

		if (UNLIKELY((line_at->tag ^ line) | (page_at->tag ^ page) |
			     ((access_end(a) - 1) >> LINE_SHIFT ^ line))) {
			lines->clock = pages->clock = now;
			slots += access_slowly(c, a);
			now = MAX(lines->clock, pages->clock);
		} else {
			line_at->stamp = page_at->stamp = ++now;
		}
		if (UNLIKELY(a->op == a[-1].op) && access_joins(a, a - 1))
			continue;
		loads += a->info & INFO_LOAD;
		stores += a->info & INFO_STORE;
	}
	lines->clock = pages->clock = now;
	c->thread.counts[VC_L1D_LOADS] += loads / INFO_LOAD;
	c->thread.counts[VC_L1D_STORES] += stores / INFO_STORE;
	return slots;
}

/* One more iteration of a repeated string instruction, or its end, is plain too: there are very many of them. */
static bool repeat(struct core *c, const struct block *p, u64 to)
{
	u64 accesses = nr_accesses(c), *counts = c->thread.counts, slots = p->nr + p->stall;
	const struct op *first = p->ops;
	bool again;

	if (p->kind != OP_REP || (c->models && c->models != VPMU_MODEL_ALL))
		return false;
	again = to == p->ops[p->nr - 1].pc;
	if ((!again && to != p->end) || may_be_handler(c, to) || passes_horizon(c, p, accesses))
		return false;
	if (c->models)
		slots += fetch(c, p) + ask(c);
	counts[VC_SLOTS_BACKEND] += p->stall - (c->continues ? first->stall : 0);
	counts[VC_SLOTS] += slots - (c->continues ? 1 + first->stall : 0);
	c->horizon -= accesses;
	c->continues = again;
	return true;
}

/* When something is not as usual. */
static NOINLINE void enter_slowly(struct core *c, const struct block *b)
{
	const struct block *p = c->block;
	enum way_out way;

	c->block = b;
	if (repeat(c, p, b->pc)) {
		c->next = c->log;
		return;
	}
	if (p != &core_nowhere) {
		way = settle(c, p, b->pc);
		if (c->thread.stack && (p->frames || way == WAY_CUT || way == WAY_INTERRUPTED))
			tell_stack(c, p, b->pc, way);
	} else if (c->thread.stack) {
		callstack_resume(&c->thread, b->pc);
		truth_transfer(&c->thread, &(struct frame_event){ .to = b->pc }, false);
	}
	c->next = c->log;
	if (UNLIKELY(c->thread.sampler_waits))
		core_tell_entry(c, b->pc);
}

/* When parts are left out. */
static NOINLINE void enter_swept(struct core *c, const struct block *b)
{
	const struct block *p = c->block;

	sweep(c, p, b->pc);
	c->block = b;
	c->next = c->log;
	if (p->frames && c->thread.stack)
		tell_stack(c, p, b->pc, WAY_EXPECTED);
}

void core_enter_counts(struct vthread *t, const struct block *b)
{
	struct core *c = core_of(t);
	const struct block *p = c->block;

	if (UNLIKELY(!goes_to(c, p, b->pc) || t->counts[VC_SLOTS] + p->nr >= c->horizon)) {
		enter_slowly(c, b);
		return;
	}
	t->counts[VC_SLOTS] += p->nr;
	c->packed += p->packed;
	c->block = b;
	if (UNLIKELY(p->frames && t->stack))
		tell_stack(c, p, b->pc, WAY_EXPECTED);
}

void core_enter_some(struct vthread *t, const struct block *b)
{
	struct core *c = core_of(t);
	const struct block *p = c->block;

	if (UNLIKELY(!goes_to(c, p, b->pc) || passes_horizon(c, p, nr_accesses(c))))
		enter_slowly(c, b);
	else
		enter_swept(c, b);
}

void core_enter(struct vthread *t, const struct block *b)
{
	struct core *c = core_of(t);
	const struct block *p = c->block;
	u64 *counts = t->counts, accesses = nr_accesses(c), to = b->pc;
	u32 slots;

	if (UNLIKELY(!goes_to(c, p, to) || passes_horizon(c, p, accesses))) {
		enter_slowly(c, b);
		return;
	}
	slots = p->nr + p->stall + fetch(c, p);
	if (accesses) {
		slots += ask(c);
		c->next = c->log;
		c->horizon -= accesses;
	}
	counts[VC_SLOTS_BACKEND] += p->stall;
	counts[VC_SLOTS] += slots + charge_judged(c, p, to);
	c->block = b;
	if (UNLIKELY(p->frames && t->stack))
		tell_stack(c, p, to, WAY_EXPECTED);
}

/* --- what else happens --- */

/* A block with very many accesses. What stands before the first one is no access of any operation. */
void core_log_grow(struct core *c)
{
	size_t n = (size_t)(c->next - c->log), room = 2 * (size_t)(c->end - c->log);

	c->log = (struct access *)mem_realloc(c->log - 1, room + 1, sizeof(*c->log)) + 1;
	c->next = c->log + n;
	c->end = c->log + room;
}

void core_settle(struct vthread *t)
{
	struct core *c = core_of(t);

	if (c->block != &core_nowhere)
		settle(c, c->block, NO_PC);
	c->block = &core_nowhere;
	c->next = c->log;
	c->continues = false;
	core_derive(c->model, c->models, t->counts);
}

void core_leave(struct vthread *t)
{
	const struct block *p = core_of(t)->block;

	core_settle(t);
	if (p == &core_nowhere)
		return;
	sampler_leave(t, p->ops[p->nr - 1].pc);
	core_retarget(core_of(t));
}
