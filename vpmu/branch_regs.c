/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers are a ring: `top` is where the newest entry is. In call-stack mode a call goes into the next one, and a
 * return empties the newest and steps back, though it be empty, so that a call's register tells its depth, modulo
 * their number. Whatever leaves functions without a return (longjmp, exceptions, a switch of stacks) leaves their
 * entries where they are, as on hardware, which sees calls and returns only: later returns take those away in place of
 * the right ones. A call of the instruction behind it is no call, but a way to learn its own address.
 *
 * Cycles are those since the entry that was put in before, as far as 16 bits go. Counters are alike: what each of the
 * events counted since the entry before, as far as their few bits go.
 *
 * BRBE differs in what its records tell and in how long they last:
 * - An entry always has its type and its level: the driver writes both without being asked.
 * - Cycles have nine significant bits (a mantissa of eight and an exponent). The first entry after the thread was in
 *   the kernel, which is not recorded, or after the records were emptied, has none: they are unknown.
 * - Whenever the driver starts the counters again, which is after each interrupt of theirs, it empties the records. So
 *   a sample shows only what ran since the one before it, of whichever event. Events that are due at the same
 *   operation are served by one interrupt, and show the same: records are emptied when the next entry comes, or at the
 *   next interrupt if that is one of another operation.
 */
#include "vpmu/branch_regs.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "vpmu/decode.h"

#define CYCLES_MAX UINT16_MAX
/* The kernel's bit-field perf_branch_entry. */
enum { FLAG_WRONG, FLAG_RIGHT, FLAG_CYCLES = 4, FLAG_TYPE = 20, FLAG_PRIV = 30 };

struct entry {
	u64 from, to, flags;
};

struct set {
	u64 filter; /* PERF_SAMPLE_BRANCH_* */
	u32 leader; /* of the events that counters are of; without them, of no meaning */
	u32 top;
	u64 since;  /* cycles, when the last entry was put in */
	bool fresh; /* BRBE: these cycles tell nothing */
	u32 nr_logged;
	u8 logged[VPMU_BRANCH_COUNTERS]; /* VC_* */
	u64 before[VPMU_BRANCH_COUNTERS];
	struct entry *v;
	u64 *counters; /* of each entry; NULL: none */
};

#define NEVER UINT64_MAX
struct branch_regs {
	u32 depth, nr_sets;
	bool brbe, log;
	u64 interrupted; /* BRBE: at this count of slots, and no entry has come since; NEVER: not */
	u8 set_of[VPMU_EVENTS_MAX];
	struct set sets[VPMU_EVENTS_MAX];
};

/* What each kind of branch is, to filters and to those who save its type. */
static const struct {
	u64 filter;
	u8 type;
} kinds[] = {
	[OP_COND] = { PERF_SAMPLE_BRANCH_COND, PERF_BR_COND },
	[OP_JUMP] = { 0, PERF_BR_UNCOND },
	[OP_JUMP_INDIRECT] = { PERF_SAMPLE_BRANCH_IND_JUMP, PERF_BR_IND },
	[OP_CALL] = { PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_CALL, PERF_BR_CALL },
	[OP_CALL_INDIRECT] = { PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_IND_CALL, PERF_BR_IND_CALL },
	[OP_RETURN] = { PERF_SAMPLE_BRANCH_ANY_RETURN, PERF_BR_RET },
};

/* The events of the group that are logged, in their order: the leader stands before its members. */
static void choose_logged(struct set *s, const struct vpmu_control *c)
{
	for (u32 i = 0; i < c->nr_events && s->nr_logged < VPMU_BRANCH_COUNTERS; i++)
		if (c->events[i].leader == s->leader && c->events[i].attr.branch_sample_type & BRANCH_COUNTERS)
			s->logged[s->nr_logged++] = (u8)c->events[i].count;
}

static u8 set_for(struct branch_regs *r, const struct vpmu_control *c, const struct vpmu_event *e)
{
	u64 filter = e->attr.branch_sample_type;
	bool log = filter & BRANCH_COUNTERS;
	struct set *s = &r->sets[r->nr_sets];

	for (u32 i = 0; i < r->nr_sets; i++)
		if (r->sets[i].filter == filter && (!log || r->sets[i].leader == e->leader))
			return (u8)i;
	*s = (struct set){ .filter = filter,
			   .leader = e->leader,
			   .fresh = true,
			   .v = mem_zalloc(r->depth * sizeof(struct entry)),
			   .counters = log ? mem_zalloc(r->depth * sizeof(u64)) : NULL };
	if (log)
		choose_logged(s, c);
	r->log |= log;
	return (u8)r->nr_sets++;
}

struct branch_regs *branch_regs_new(const struct vpmu_control *c)
{
	struct branch_regs *r = NULL;

	for (u32 i = 0; i < c->nr_events && c->options.branch_depth; i++) {
		if (!(c->events[i].attr.sample_type & PERF_SAMPLE_BRANCH_STACK))
			continue;
		if (!r) {
			r = mem_zalloc(sizeof(*r));
			r->depth = c->options.branch_depth;
			r->brbe = c->options.branch_kind == VPMU_BRBE;
			r->interrupted = NEVER;
		}
		r->set_of[i] = set_for(r, c, &c->events[i]);
	}
	return r;
}

void branch_regs_free(struct branch_regs *r)
{
	for (u32 i = 0; r && i < r->nr_sets; i++) {
		free(r->sets[i].v);
		free(r->sets[i].counters);
	}
	free(r);
}

static void clear_entries(struct branch_regs *r)
{
	for (u32 i = 0; i < r->nr_sets; i++) {
		memset(r->sets[i].v, 0, r->depth * sizeof(struct entry));
		r->sets[i].top = 0;
		r->sets[i].fresh = true;
	}
	r->interrupted = NEVER;
}

void branch_regs_clear(struct branch_regs *r, u64 cycles, const u64 counts[NR_VPMU_COUNTS])
{
	clear_entries(r);
	for (u32 i = 0; i < r->nr_sets; i++) {
		struct set *s = &r->sets[i];

		s->since = cycles;
		for (u32 k = 0; k < s->nr_logged; k++)
			s->before[k] = counts[s->logged[k]];
	}
}

bool branch_regs_log(const struct branch_regs *r)
{
	return r->log;
}

void branch_regs_kernel(struct branch_regs *r)
{
	for (u32 i = 0; i < r->nr_sets; i++)
		r->sets[i].fresh = true;
}

void branch_regs_interrupt(struct branch_regs *r, u64 slots)
{
	if (!r->brbe)
		return;
	if (r->interrupted != NEVER && r->interrupted != slots)
		clear_entries(r);
	r->interrupted = slots;
}

/* As BRBE has them: the nine highest bits, where there are more; and as the driver passes them on. */
static u64 brbe_cycles(u64 cycles)
{
	u32 low = 0;

	while (cycles >> low > 0x1ff)
		low++;
	return MIN(cycles >> low << low, (u64)CYCLES_MAX);
}

static u64 cycles_of(const struct branch_regs *r, const struct set *s, const struct branch_taken *b)
{
	u64 cycles = b->cycles - s->since;

	if (s->filter & PERF_SAMPLE_BRANCH_NO_CYCLES || (r->brbe && s->fresh))
		return 0;
	return r->brbe ? brbe_cycles(cycles) : MIN(cycles, (u64)CYCLES_MAX);
}

static u64 flags_of(const struct branch_regs *r, const struct set *s, const struct branch_taken *b)
{
	u64 flags = cycles_of(r, s, b) << FLAG_CYCLES;

	if (b->judged && !(s->filter & PERF_SAMPLE_BRANCH_NO_FLAGS))
		flags |= 1ull << (b->wrong ? FLAG_WRONG : FLAG_RIGHT);
	if (s->filter & PERF_SAMPLE_BRANCH_TYPE_SAVE || r->brbe)
		flags |= (u64)kinds[b->kind].type << FLAG_TYPE;
	if (s->filter & PERF_SAMPLE_BRANCH_PRIV_SAVE || r->brbe)
		flags |= (u64)PERF_BR_PRIV_USER << FLAG_PRIV;
	return flags;
}

static u64 log_counts(struct set *s, const u64 *counts)
{
	const u64 most = (1u << VPMU_BRANCH_COUNTER_BITS) - 1;
	u64 word = 0;

	for (u32 i = 0; i < s->nr_logged; i++) {
		u64 now = counts[s->logged[i]];

		word |= MIN(now - s->before[i], most) << (i * VPMU_BRANCH_COUNTER_BITS);
		s->before[i] = now;
	}
	return word;
}

static void put(const struct branch_regs *r, struct set *s, const struct branch_taken *b)
{
	s->top = (s->top + 1) % r->depth;
	s->v[s->top] = (struct entry){ b->from, b->to, flags_of(r, s, b) };
	if (s->counters)
		s->counters[s->top] = log_counts(s, b->counts);
	s->since = b->cycles;
	s->fresh = false;
}

static void put_call(const struct branch_regs *r, struct set *s, const struct branch_taken *b)
{
	if (b->kind == OP_RETURN) {
		s->v[s->top] = (struct entry){ 0 };
		s->top = (s->top + r->depth - 1) % r->depth;
	} else if ((b->kind == OP_CALL || b->kind == OP_CALL_INDIRECT) && !b->next) {
		put(r, s, b);
	}
}

void branch_regs_put(struct branch_regs *r, const struct branch_taken *b)
{
	if (r->interrupted != NEVER)
		clear_entries(r);
	for (u32 i = 0; i < r->nr_sets; i++) {
		struct set *s = &r->sets[i];

		if (s->filter & PERF_SAMPLE_BRANCH_CALL_STACK)
			put_call(r, s, b);
		else if (s->filter & (kinds[b->kind].filter | PERF_SAMPLE_BRANCH_ANY))
			put(r, s, b);
	}
}

u32 branch_regs_read(const struct branch_regs *r, u32 event, u64 *words, u64 *counters, u64 *hw_idx)
{
	const struct set *s = &r->sets[r->set_of[event]];
	u32 n = 0;

	*hw_idx = s->top;
	for (; n < r->depth; n++) {
		u32 at = (s->top + r->depth - n) % r->depth;

		if (!s->v[at].from)
			break;
		memcpy(words + (size_t)n * 3, &s->v[at], sizeof(s->v[at]));
		if (s->counters)
			counters[n] = s->counters[at];
	}
	return n;
}
