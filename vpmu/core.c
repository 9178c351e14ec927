/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Running blocks on the simulated core. core_fast.h has what happens to most of them.
 *
 * The problem: a program runs hundreds of millions of instructions a second, each of which may be the one at which
 * some event's count reaches its period; and the sample is to show exactly that one, with all counts as they were
 * there.
 *
 * Design. When a block begins its code is asked for (core_fetch), and each of its accesses when it happens
 * (core_access): that changes caches and TLB, and counts accesses and misses. But both are written down, so that this
 * can be taken back and done again at the operation whose they are; and their slots wait. The block is settled when
 * the next one begins: only then is it known where its last branch went. There are three ways:
 * - counted as a whole (core_enter), where all is modelled and no deadline is near: most blocks are;
 * - swept: the same where parts of the model are left out;
 * - walked: operation by operation; after each, all armed events are looked at.
 * A block must be walked if its counts could reach what an armed event waits for, however badly its branch turns out.
 * To know that by one comparison there is a horizon: so many slots are left in which no event can be due. For events
 * that count slots it is their distance. Any other count grows by no more than slots and accesses do, so for those it
 * is their distance too, if each access takes one from it. Where it is passed, or nearly, all events are looked at
 * (core_is_near) and it is set anew.
 *
 * All three ask caches and predictor in the same order (the block's lines, its accesses, its branch). So which way was
 * taken changes no count: what is counted does not depend on what is sampled.
 *
 * Raw and derived. Only some counts are kept up while blocks are asked as a whole or swept. Instructions follow from
 * slots, for every slot that is no stall retires one; slots from what is left until the horizon; branches, calls,
 * returns and stall slots are added up at once, in one vector (core_sync). Cycles, time and sums follow from raw
 * counts too (core_derive) when core.c calls out. An event that waits for a derived count waits for the raw one that
 * it follows from (struct watch).
 *
 * Where QEMU's blocks are not what ran:
 * - A block is left in its middle: it changes its own code, an atomic instruction is done again alone, or (x86) the
 * last one lies across a page and was given to us, truncated, though the block ends before it (code_goes_on finds most
 * of those when the block is made). Then the next block begins at an operation of this one: what comes from there on
 * did not run. (Its code was fetched for nothing, which is no miss of anything that ran.) The branch at its end may
 * lead there too: a loop's to its head, or anywhere if it is indirect. But then the next block goes on to the same
 * end, where what is done again is a block of one instruction. So only those are looked at (core_may_be_again).
 * - A signal: the next block is its handler. Where the thread was stands in the signal's context: at the instruction
 * that faulted, which is the block's even if its branch leads there too (a loop's head), else where its branch went.
 * Which of the two the signal's number tells: one of a fault that was sent by kill() and comes upon a thread between
 * two rounds of a loop takes the last round's counts with it. When the context cannot be read, the block counts as run
 * whole, and its branch is not judged.
 * - Each iteration of a repeated string instruction is a block. They are one instruction: the first iteration's, which
 * also costs what it takes to begin; the others cost less than a slot each where bytes are moved, so parts add up. It
 * goes on where a signal has come between two iterations, unless there came another one between two in the handler.
 * - A wide access is seen as several: those of one operation that continue each other are one.
 * A thread that leaves for a syscall, or ends, has its block settled without a next one; a syscall is no branch.
 */
#include "vpmu/core.h"

#include "base/mem.h"
#include "vpmu/branch_regs.h"
#include "vpmu/coherence.h"
#include "vpmu/core_charge.h"

#define PACE_EVERY 64 /* accesses */

/* How control left a block. */
enum way_out {
	WAY_EXPECTED,
	WAY_AGAIN,	 /* to the next iteration of its last operation */
	WAY_CUT,	 /* in its middle */
	WAY_INTERRUPTED, /* behind its end, to where it cannot go: a signal's handler */
};

/* --- settling --- */

static void sweep(struct core *c, const struct block *p, u64 to)
{
	c->thread.counts[VC_SLOTS_BACKEND] += p->stall;
	c->left -= way_of_block(c, p) + charge_end(c, p, to);
}

/* Writes down the accesses that others stand for. */
static void fill_runs(struct core *c, const struct block *p)
{
	for (struct access *a = c->log; a < c->next; a++)
		a += access_run_fill(p, a);
}

/* Its accesses and misses, which have been counted as they came, times -1: as if they had not; or 1. */
static void count_early(struct core *c, s64 times)
{
	for (const struct access *a = c->log; a < c->next; a++)
		c->accesses[access_kind(a)] += (u64)times;
	for (u32 i = 0; i < c->nr_misses; i++)
		charge_miss(c, &c->misses[i], times);
}

/* Keeps the access that took longest. */
static void keep_met(struct core_met *of, const struct core_met *met)
{
	if (met->cycles >= of->cycles)
		*of = *met;
}

/* One access, and those of the misses from *m on that are its own. */
static void walk_access(struct core *c, const struct access *a, u32 *m)
{
	struct core_met met = { .addr = a->addr, .cycles = VPMU_L1_CYCLES };

	c->addr = a->addr;
	c->accesses[access_kind(a)]++;
	c->left--;
	for (; *m < c->nr_misses && c->misses[*m].access == (u32)(a - c->log); ++*m) {
		u32 kind = c->misses[*m].kind;

		charge_miss(c, &c->misses[*m], 1);
		met.cycles += c->miss_cost[kind] / c->model->width;
		met.level = MAX(met.level, (u8)(kind & 3));
		met.walk |= (kind & MISS_WALK) != 0;
		met.peer |= (kind & MISS_PEER) != 0;
	}
	if (a->told & INFO_LOAD)
		keep_met(&c->load, &met);
	if (a->told & INFO_STORE)
		keep_met(&c->store, &met);
}

/* Slots that the accesses of the operation that was walked last took, beyond those of L1. */
static u32 accesses_cost(const struct core *c)
{
	u32 cycles = MAX(c->load.cycles, c->store.cycles);

	return cycles > VPMU_L1_CYCLES ? (cycles - VPMU_L1_CYCLES) * c->model->width : 0;
}

/* The first nr operations (and at least one); the branch at the end if all. Counts are in sync. */
static void walk(struct core *c, const struct block *p, u32 nr, u64 to)
{
	u64 *counts = c->thread.counts;
	const struct access *a = c->log;
	u32 code = 0, m = 0; /* the next misses */

	while (m < c->nr_misses && c->misses[m].access == MISS_CODE)
		m++;
	for (u32 i = 0; i < nr; i++) {
		const struct op *op = &p->ops[i];
		u64 line = ((op->pc + op->size - 1) >> LINE_SHIFT) - (p->pc >> LINE_SHIFT);
		u32 slots = 0;

		c->waits = i ? c->stalls + accesses_cost(c) : 0;
		c->stalls = op->stall;
		c->addr = 0;
		c->load = c->store = (struct core_met){ 0 };
		c->wrong = false;
		if (i || !c->continues) {
			counts[VC_INSTRUCTIONS]++;
			slots = 1 + add_stall(c, VC_SLOTS_BACKEND, op->stall);
		} else {
			slots = charge_repeat(c, p);
		}
		for (; code < c->nr_misses && c->misses[code].access == MISS_CODE && c->misses[code].line <= line;
		     code++)
			charge_miss(c, &c->misses[code], 1);
		for (; a < c->next && told_op(a->told) == i; a++)
			walk_access(c, a, &m);
		if (i == p->nr - 1) {
			slots += charge_end(c, p, to);
			c->wrong = c->sums[SUM_WRONG];
			c->to = to;
		}
		c->left -= slots;
		core_sync(c);
		core_after_op(c, p, i);
	}
}

/* p->nr: none. */
static u32 op_at(const struct block *p, u64 pc)
{
	u32 i = in_block(p, pc) ? 0 : p->nr;

	while (i < p->nr && p->ops[i].pc != pc)
		i++;
	return i;
}

/* Is b, which begins at an operation of p, that one alone? Where p's end leads there it goes on as p does: so to its
 * last one, alone, it may have led; but no call calls itself. */
static bool is_again(const struct block *p, const struct block *b)
{
	return b->nr == 1 && b != p && (b->end != p->end || p->kind == OP_CALL_INDIRECT);
}

/* b: what runs there; or NULL. */
static enum way_out way_to(const struct block *p, u64 to, const struct block *b, u32 *nr)
{
	u32 at = op_at(p, to);
	bool again = at < p->nr && b && is_again(p, b);

	if (!again && (to == p->next || to == p->other || to == p->end || to == NO_PC))
		return WAY_EXPECTED;
	if (p->kind == OP_REP && at == p->nr - 1)
		return WAY_AGAIN;
	if (at == p->nr || (p->anywhere && !again))
		return p->anywhere ? WAY_EXPECTED : WAY_INTERRUPTED;
	*nr = at;
	return WAY_CUT;
}

/* The same where a signal came, upon a thread that was at `back`. */
static enum way_out way_interrupted(struct core *c, const struct block *p, u64 back, bool fault, u64 *to, u32 *nr)
{
	u32 at = op_at(p, back);
	enum way_out way = way_to(p, back, NULL, nr);

	c->resumes = way == WAY_AGAIN && (c->continues || !fault) ? back : 0;
	if (way == WAY_CUT || (fault && at < p->nr)) {
		*nr = at;
		return WAY_CUT;
	}
	*to = way == WAY_EXPECTED ? back : NO_PC;
	return WAY_INTERRUPTED;
}

/* Which way control took, where the branch went (NO_PC: nobody knows), and how many operations ran. */
static enum way_out way_out(struct core *c, const struct block *p, const struct block *b, u64 *to, u32 *nr)
{
	bool fault;
	u64 back = may_be_handler(c, *to) ? callstack_interrupted(&c->thread, *to, &fault) : 0;
	enum way_out way;

	*nr = p->nr;
	if (back)
		return way_interrupted(c, p, back, fault, to, nr);
	way = way_to(p, *to, b, nr);
	if (way == WAY_INTERRUPTED)
		*to = NO_PC;
	return way;
}

/* As core_sync would have them. */
static u64 slots_by_now(const struct core *c)
{
	u64 loads = c->known & ((1u << RUN_STORES) - 1), stores = c->known >> RUN_STORES;
	u64 slots = c->thread.counts[VC_SLOTS] + (u64)(c->left_at - c->left) - loads - stores;

	for (u32 kind = 0; kind < NR_ACCESS_KINDS; kind++)
		slots -= c->accesses[kind];
	return slots;
}

/* The branch at the end of p was counted. wrong: it was not foreseen. */
static void record_branch(struct core *c, const struct block *p, u64 to, bool wrong)
{
	struct branch_taken b = { .from = p->ops[p->nr - 1].pc, .to = to, .kind = p->kind, .next = to == p->end };

	if (p->kind < OP_COND || (p->kind == OP_COND && b.next))
		return;
	if (branch_regs_log(c->thread.branches)) {
		core_sync(c);
		core_derive(c->model, c->models, c->thread.counts);
		b.counts = c->thread.counts;
	}
	b.judged = c->models & VPMU_MODEL_BRANCH;
	b.wrong = wrong;
	b.cycles = slots_by_now(c) / c->model->width;
	branch_regs_put(c->thread.branches, &b);
}

/* b: what runs now; NULL: nobody knows. */
static enum way_out settle(struct core *c, const struct block *p, const struct block *b)
{
	u64 to = b ? b->pc : NO_PC;
	u32 nr;
	enum way_out way = way_out(c, p, b, &to, &nr);
	u64 wrong;

	fill_runs(c, p);
	count_early(c, -1);
	core_sync(c);
	wrong = c->thread.counts[VC_BRANCH_MISSES];
	core_look_ahead(c);
	if ((way == WAY_EXPECTED || way == WAY_INTERRUPTED) && !c->continues && !core_is_near(c, p)) {
		count_early(c, 1);
		sweep(c, p, to);
	} else if (nr) {
		walk(c, p, nr, to);
	}
	c->continues = way == WAY_AGAIN;
	core_forget(c);
	core_sync(c);
	core_look_ahead(c);
	if (c->thread.branches && to != NO_PC && (way == WAY_EXPECTED || way == WAY_INTERRUPTED))
		record_branch(c, p, to, c->thread.counts[VC_BRANCH_MISSES] != wrong);
	return way;
}

/* --- entering blocks --- */

/* Tells callstack.c what the end of p, now at `to`, means to it. A call that a signal came upon is a call still. */
static NOINLINE void tell_stack(struct core *c, const struct block *p, u64 to, enum way_out way)
{
	struct frame_event e = { .from = p->ops[p->nr - 1].pc, .expect = p->end, .to = to };

	if (way == WAY_CUT && in_block(p, to))
		return; /* it has not gone anywhere */
	if (p->call && way != WAY_CUT)
		callstack_call(&c->thread, &e);
	else if (p->returns && way != WAY_CUT)
		callstack_return(&c->thread, &e);
	else
		callstack_jump(&c->thread, &e);
	truth_transfer(&c->thread, &e, p->kind == OP_JUMP_INDIRECT && way == WAY_EXPECTED);
}

void core_tell_stack(struct core *c, const struct block *p, u64 to)
{
	tell_stack(c, p, to, WAY_EXPECTED);
}

/* Makes room for one more miss, that of access number `access` of the log, or of the code. */
static struct miss *new_miss(struct core *c, u32 access)
{
	struct miss *m;

	if (UNLIKELY(c->nr_misses == c->misses_room)) {
		c->misses_room *= 2;
		c->misses = mem_realloc(c->misses, c->misses_room, sizeof(*m));
	}
	m = &c->misses[c->nr_misses++];
	m->access = access;
	return m;
}

static NOINLINE void code_misses(struct core *c, u32 line, enum cache_level level)
{
	struct miss *m = new_miss(c, MISS_CODE);

	m->line = (u16)line;
	m->kind = (u16)(MISS_FETCH | level);
	charge_miss(c, m, 1);
}

static NOINLINE void fetch_lines(struct core *c, const struct block *b)
{
	u64 first = b->pc >> LINE_SHIFT;

	for (u32 i = 0; i <= b->more_lines; i++) {
		enum cache_level level;

		if (!code_is_recent(&c->caches, first + i) || code_hits(&c->caches, first + i))
			continue;
		level = caches_code(&c->caches, first + i);
		if (level != IN_L1)
			code_misses(c, i, level);
	}
}

/* Most are where hints say, if not the newest there. */
void core_fetch_slowly(struct core *c, const struct block *b)
{
	if (UNLIKELY(b->more_lines > 1) || !code_hits(&c->caches, b->pc >> LINE_SHIFT) ||
	    !code_hits(&c->caches, (b->end - 1) >> LINE_SHIFT))
		fetch_lines(c, b);
}

/* One line of an access. */
static void find_line(struct core *c, const struct access *a, u64 line)
{
	bool walk;
	enum cache_level level = caches_data(&c->caches, line, c->models, access_now(c, a), &walk);
	struct miss *m;

	if (level == IN_L1 && !walk)
		return;
	m = new_miss(c, (u32)(a - c->log));
	m->kind = (u16)(level | (a->told & INFO_LOAD ? 0 : MISS_STORE) | (walk ? MISS_WALK : 0));
	charge_miss(c, m, 1);
}

/* Both are there mostly. */
static NOINLINE void find_lines(struct core *c, const struct access *a, u64 line, u64 last)
{
	if (!data_hits(&c->caches, line, line, access_now(c, a)))
		find_line(c, a, line);
	if (!data_hits(&c->caches, last, last, access_now(c, a)))
		find_line(c, a, last);
}

void core_access_slowly(struct core *c, const struct access *a)
{
	u64 line = a->addr >> LINE_SHIFT, last = access_last(a) >> LINE_SHIFT;

	if (line == last)
		find_line(c, a, line);
	else
		find_lines(c, a, line, last);
	if (UNLIKELY(c->next >= c->end))
		core_log_grow(c);
}

/* One line of an access, where cores share memory. What the own caches have is right only if no other core has changed
 * the line since. */
static void find_shared(struct core *c, const struct access *a, u64 line)
{
	struct coherence *shared = c->thread.process->coherence;
	bool store = a->told & INFO_STORE, walk;
	enum coherence_was was = coherence_use(shared, c->thread.in_memory, line, store);
	enum cache_level level = IN_L1;
	struct miss *m;

	if (data_hits(&c->caches, line, line, access_now(c, a))) {
		walk = false;
	} else {
		level = caches_data(&c->caches, line, c->models, access_now(c, a), &walk);
		if (level >= IN_LLC)
			coherence_evicted(shared, c->thread.in_memory);
	}
	if (was == COHERENT_SHARED || was == COHERENT_MODIFIED)
		level = IN_LLC;
	if (level == IN_L1 && !walk)
		return;
	m = new_miss(c, (u32)(a - c->log));
	m->kind = (u16)(level | (a->told & INFO_LOAD ? 0 : MISS_STORE) | (walk ? MISS_WALK : 0) |
			(was == COHERENT_MODIFIED ? MISS_PEER : 0));
	charge_miss(c, m, 1);
}

void core_access_shared(struct vthread *t, u64 told, u64 addr)
{
	struct core *c = core_of(t);
	struct access *a = c->next;
	u64 line = addr >> LINE_SHIFT, last;

	*a = (struct access){ addr, told };
	c->next = a + 1;
	c->accesses[access_kind(a)]++;
	last = access_last(a) >> LINE_SHIFT;
	find_shared(c, a, line);
	if (line != last)
		find_shared(c, a, last);
	if (!(++c->shared_accesses % PACE_EVERY))
		coherence_pace(t->process->coherence, t->in_memory, t->counts[VC_SLOTS] + (u64)(c->left_at - c->left));
	if (UNLIKELY(c->next >= c->end))
		core_log_grow(c);
}

static NOINLINE void find_run(struct core *c, struct access *a)
{
	access_run_fill(c->block, a);
	for (; a < c->next; a++) {
		u64 line = a->addr >> LINE_SHIFT, last = access_last(a) >> LINE_SHIFT;

		if (data_hits(&c->caches, line, last, access_now(c, a)))
			continue;
		if (line == last)
			find_line(c, a, line);
		else
			find_lines(c, a, line, last);
	}
}

/* Of two lines, neighbours, that are there it matters only which was used last: no set has both. */
void core_run_slowly(struct core *c, struct access *a)
{
	u64 run = a->told, now = access_now(c, a);
	u64 low = (a->addr + (u64)run_low(run)) >> LINE_SHIFT, high = (a->addr + (u64)run_high(run)) >> LINE_SHIFT;
	u64 last = (a->addr + (u64)run_last(run)) >> LINE_SHIFT, other = low + high - last;

	if (low == high || !data_hits(&c->caches, other, other, now) || !data_hits(&c->caches, last, last, now))
		find_run(c, a);
}

/* One more iteration of a repeated string instruction, or its end, is plain too: there are very many of them. */
static bool repeat(struct core *c, const struct block *p, u64 to)
{
	u32 before = c->continues ? 1 + p->ops[0].stall : 0; /* slots that the instruction has cost already */
	bool again;

	if (p->kind != OP_REP || (c->models && c->models != VPMU_MODEL_ALL))
		return false;
	again = to == p->ops[p->nr - 1].pc;
	if ((!again && to != p->end) || may_be_handler(c, to) || passes_horizon(c, p))
		return false;
	c->thread.counts[VC_SLOTS_BACKEND] += p->stall - (before ? before - 1 : 0);
	c->left -= way_of_block(c, p) - before + (before ? charge_repeat(c, p) : 0);
	c->continues = again;
	return true;
}

/* The block before b, when something is not as usual. */
static void settle_slowly(struct core *c, const struct block *p, const struct block *b)
{
	enum way_out way;

	if (p != &core_nowhere) {
		way = settle(c, p, b);
		if (c->thread.stack && (p->frames || way == WAY_CUT || way == WAY_INTERRUPTED))
			tell_stack(c, p, b->pc, way);
	} else {
		count_early(c, -1); /* of no block: it has no runs */
		c->continues = b->pc == c->resumes && b->kind == OP_REP;
		if (c->continues)
			c->resumes = 0;
		if (c->thread.stack) {
			callstack_resume(&c->thread, b->pc);
			truth_transfer(&c->thread, &(struct frame_event){ .to = b->pc }, false);
		}
	}
	if (UNLIKELY(c->thread.sampler_waits))
		core_tell_entry(c, b->pc);
}

static NOINLINE void enter_slowly(struct core *c, const struct block *b)
{
	const struct block *p = c->block;

	if (may_be_handler(c, b->pc))
		sigframe_align(&c->thread);
	c->block = b;
	if (!repeat(c, p, b->pc))
		settle_slowly(c, p, b);
	core_forget(c);
	if (c->models & VPMU_MODEL_CACHE)
		core_fetch(c, b, false);
}

static NOINLINE void enter_swept(struct core *c, const struct block *p, const struct block *b)
{
	u16 wrong = c->sums[SUM_WRONG];

	sweep(c, p, b->pc);
	if (c->thread.branches)
		record_branch(c, p, b->pc, c->sums[SUM_WRONG] != wrong);
	c->block = b;
	core_forget(c);
	if (UNLIKELY(c->thread.stack) && p->frames)
		core_tell_stack(c, p, b->pc);
	if (c->models & VPMU_MODEL_CACHE)
		core_fetch(c, b, false);
}

void core_enter_otherwise(struct core *c, const struct block *b)
{
	const struct block *p = c->block;
	u64 to = b->pc;
	s64 left;

	if (UNLIKELY(!goes_to(c, p, to) || passes_horizon(c, p))) {
		enter_slowly(c, b);
		return;
	}
	FEWER_REGISTERS();
	if (UNLIKELY(!p->frames || c->thread.stack || c->thread.branches || c->models != VPMU_MODEL_ALL)) {
		enter_swept(c, p, b);
		return;
	}
	left = c->left - way_of_block(c, p);
	c->block = b;
	core_forget(c);
	core_count(c, p, predict_frames(&c->predictor, p, to), left);
	core_fetch(c, b, false);
}

void core_enter_again(struct vthread *t, const struct block *b)
{
	enter_slowly(core_of(t), b);
}

void core_enter_some(struct vthread *t, const struct block *b)
{
	core_enter_otherwise(core_of(t), b);
}

/* --- what else happens --- */

/* A block with very many accesses. What stands before the first one is no access of any operation. */
void core_log_grow(struct core *c)
{
	size_t n = (size_t)(c->next - c->log), room = 2 * MAX(n, (size_t)(c->end - c->log));
	u64 now = access_now(c, c->next);

	c->log = (struct access *)mem_realloc(c->log - 1, 1 + room + LOG_BEHIND, sizeof(*c->log)) + 1;
	c->next = c->log + n;
	c->log_began += now - access_now(c, c->next);
	c->end = c->log + room;
}

void core_settle(struct vthread *t)
{
	struct core *c = core_of(t);

	if (c->block != &core_nowhere)
		settle(c, c->block, NULL);
	else
		c->left -= (s64)nr_accesses(c); /* of no block */
	c->block = &core_nowhere;
	core_forget(c);
	c->continues = false;
	core_derive(c->model, c->models, t->counts);
}

void core_leave(struct vthread *t)
{
	const struct block *p = core_of(t)->block;

	core_settle(t);
	if (t->branches)
		branch_regs_kernel(t->branches);
	if (p == &core_nowhere)
		return;
	sampler_leave(t, p->ops[p->nr - 1].pc);
	core_retarget(core_of(t));
}
