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

static inline u32 miss_slots(const struct core *c, const struct miss *m)
{
	if (m->access == MISS_CODE)
		return c->fetch[m->level];
	return (m->store ? c->store : c->load)[m->level] + (!m->walk ? 0 : m->store ? c->tlb_store : c->tlb_load);
}

/* A miss of an access, or of the code: once more, or (-1) once less. Its slots are stall slots only. */
static inline u32 charge_miss(struct core *c, const struct miss *m, u64 times)
{
	u64 *counts = c->thread.counts;
	bool code = m->access == MISS_CODE, store = m->store && !code;
	u32 slots = miss_slots(c, m);

	counts[code ? VC_SLOTS_FRONTEND : VC_SLOTS_BACKEND] += times * slots;
	if (m->walk)
		counts[store ? VC_DTLB_STORE_MISSES : VC_DTLB_LOAD_MISSES] += times;
	if (m->level == IN_L1)
		return slots;
	counts[code ? VC_L1I_MISSES : store ? VC_L1D_STORE_MISSES : VC_L1D_LOAD_MISSES] += times;
	counts[VC_L2_REFERENCES] += times;
	if (m->level == IN_L2)
		return slots;
	counts[VC_L2_MISSES] += times;
	counts[store ? VC_LLC_STORES : VC_LLC_LOADS] += times;
	if (m->level == IN_MEMORY)
		counts[store ? VC_LLC_STORE_MISSES : VC_LLC_LOAD_MISSES] += times;
	return slots;
}

/* Was the predictor wrong about where the end of p goes? It learns. */
static inline u32 predict(struct predictor *r, const struct block *p, u64 to)
{
	bool wrong;

	if (!p->frames)
		return predict_cond(r, p->branch, p->cond, to != p->end);
	if (p->returns)
		return predict_return(r, to);
	wrong = p->anywhere && predict_indirect(r, p->ops[p->nr - 1].pc, to);
	if (p->call)
		predictor_call(r, p->end);
	return wrong;
}

/* The end of p. NO_PC: nobody knows where it went. */
static inline u32 charge_end(struct core *c, const struct block *p, u64 to)
{
	if (c->models & VPMU_MODEL_BRANCH && to != NO_PC && p->kind >= OP_COND)
		return core_judged(c, p, to, predict(&c->predictor, p, to));
	c->packed += p->packed;
	return 0;
}

#endif
