/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Registers are a ring: `top` is where the newest entry is. In call-stack mode a call goes into the next one, and a
 * return empties the newest and steps back, though it be empty, so that a call's register tells its depth, modulo
 * their number. Whatever leaves functions without a return (longjmp, exceptions, a switch of stacks) leaves their
 * entries where they are, as on hardware, which sees calls and returns only: later returns take those away in place of
 * the right ones. A call of the instruction behind it is no call, but a way to learn its own address.
 *
 * Cycles are those since the entry that was put in before, as far as 16 bits go.
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
	u32 top;
	u64 since; /* cycles, when the last entry was put in */
	struct entry *v;
};

struct branch_regs {
	u32 depth, nr_sets;
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

static u8 set_for(struct branch_regs *r, u64 filter)
{
	for (u32 i = 0; i < r->nr_sets; i++)
		if (r->sets[i].filter == filter)
			return (u8)i;
	r->sets[r->nr_sets] = (struct set){ .filter = filter, .v = mem_zalloc(r->depth * sizeof(struct entry)) };
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
		}
		r->set_of[i] = set_for(r, c->events[i].attr.branch_sample_type);
	}
	return r;
}

void branch_regs_free(struct branch_regs *r)
{
	for (u32 i = 0; r && i < r->nr_sets; i++)
		free(r->sets[i].v);
	free(r);
}

void branch_regs_clear(struct branch_regs *r, u64 cycles)
{
	for (u32 i = 0; i < r->nr_sets; i++) {
		memset(r->sets[i].v, 0, r->depth * sizeof(struct entry));
		r->sets[i].top = 0;
		r->sets[i].since = cycles;
	}
}

static u64 flags_of(const struct set *s, const struct branch_taken *b)
{
	u64 flags = 0;

	if (b->judged && !(s->filter & PERF_SAMPLE_BRANCH_NO_FLAGS))
		flags |= 1ull << (b->wrong ? FLAG_WRONG : FLAG_RIGHT);
	if (!(s->filter & PERF_SAMPLE_BRANCH_NO_CYCLES))
		flags |= MIN(b->cycles - s->since, (u64)CYCLES_MAX) << FLAG_CYCLES;
	if (s->filter & PERF_SAMPLE_BRANCH_TYPE_SAVE)
		flags |= (u64)kinds[b->kind].type << FLAG_TYPE;
	if (s->filter & PERF_SAMPLE_BRANCH_PRIV_SAVE)
		flags |= (u64)PERF_BR_PRIV_USER << FLAG_PRIV;
	return flags;
}

static void put(struct set *s, u32 depth, const struct branch_taken *b)
{
	s->top = (s->top + 1) % depth;
	s->v[s->top] = (struct entry){ b->from, b->to, flags_of(s, b) };
	s->since = b->cycles;
}

static void put_call(struct set *s, u32 depth, const struct branch_taken *b)
{
	if (b->kind == OP_RETURN) {
		s->v[s->top] = (struct entry){ 0 };
		s->top = (s->top + depth - 1) % depth;
	} else if ((b->kind == OP_CALL || b->kind == OP_CALL_INDIRECT) && !b->next) {
		put(s, depth, b);
	}
}

void branch_regs_put(struct branch_regs *r, const struct branch_taken *b)
{
	for (u32 i = 0; i < r->nr_sets; i++) {
		struct set *s = &r->sets[i];

		if (s->filter & PERF_SAMPLE_BRANCH_CALL_STACK)
			put_call(s, r->depth, b);
		else if (s->filter & (kinds[b->kind].filter | PERF_SAMPLE_BRANCH_ANY))
			put(s, r->depth, b);
	}
}

u32 branch_regs_read(const struct branch_regs *r, u32 event, u64 *words, u64 *hw_idx)
{
	const struct set *s = &r->sets[r->set_of[event]];
	u32 n = 0;

	*hw_idx = s->top;
	for (; n < r->depth; n++) {
		const struct entry *e = &s->v[(s->top + r->depth - n) % r->depth];

		if (!e->from)
			break;
		memcpy(words + (size_t)n * 3, e, sizeof(*e));
	}
	return n;
}
