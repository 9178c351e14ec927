/* SPDX-License-Identifier: Apache-2.0 */
/* What things cost. Private to core.c: each function adds to the counts and returns slots. */
#ifndef VPMU_CORE_CHARGE_H
#define VPMU_CORE_CHARGE_H

#include "vpmu/core_fast.h"

static inline u32 add_stall(struct core *c, enum vpmu_count part, u32 slots)
{
	c->thread.counts[part] += slots;
	return slots;
}

/* One more iteration of p's repeated string instruction. */
static inline u32 charge_repeat(struct core *c, const struct block *p)
{
	u32 of = c->model->repeat_bytes, all;

	if (!p->repeats)
		return 0;
	all = c->repeated + p->repeats;
	c->repeated = all % of;
	return add_stall(c, VC_SLOTS_BACKEND, all / of);
}

/* A miss: once more, or (-1) once less. Its slots are stall slots only. */
static inline void charge_miss(struct core *c, const struct miss *m, s64 times)
{
	c->nr_missed[m->kind] += (u64)times;
	c->missed = true;
	c->left -= times * c->miss_cost[m->kind];
}

/* How the end of p went, which is at `to`. The predictor learns. p: a call, a return, an indirect jump; */
static ALWAYS_INLINE u32 predict_frames(struct predictor *r, const struct block *p, u64 to)
{
	bool taken = to != p->end, wrong;

	if (p->returns)
		return end_judged(taken, predict_return(r, to));
	wrong = p->anywhere && predict_indirect(r, p->ops[p->nr - 1].pc, to);
	if (p->call)
		predictor_call(r, p->end);
	return end_judged(taken, wrong);
}

/* anything. */
static inline u32 predict(struct predictor *r, const struct block *p, u64 to)
{
	return p->frames ? predict_frames(r, p, to) : predict_cond(r, p->branch, to != p->end);
}

/* The end of p, but not its stall. NO_PC: nobody knows where it went. */
static inline u32 charge_end(struct core *c, const struct block *p, u64 to)
{
	const struct block_end *e;

	c->sums += p->sums;
	c->sums[SUM_STALL] -= p->sums[SUM_STALL];
	if (!(c->models & VPMU_MODEL_BRANCH) || to == NO_PC || p->kind < OP_COND)
		return 0;
	e = &c->ends[predict(&c->predictor, p, to)];
	c->sums += e->sums;
	return e->slots;
}

#endif
