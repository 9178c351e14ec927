/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch prediction of one thread: two-bit counters chosen by address and global history (gshare), a table of targets
 * for indirect jumps, chosen by address and a little history, and a stack of return addresses that wraps around.
 * Targets of direct branches are taken as known.
 */
#ifndef VPMU_PREDICTOR_H
#define VPMU_PREDICTOR_H

#include "vpmu/model.h"

struct predictor_target {
	u64 pc, to;
};

struct predictor {
	u32 history;
	u32 mask, indirect_mask;
	u32 top, depth; /* of the return stack; depth is a power of two */
	u8 *counters;	/* 0, 1: not taken; 2, 3: taken */
	struct predictor_target *targets;
	u64 *returns;
};

void predictor_new(struct predictor *p, const struct model *m);
void predictor_free(struct predictor *p);

/* What of a conditional branch's address chooses its counter. */
static inline u32 predict_key(u64 pc)
{
	return (u32)(pc >> 1) ^ (u32)(pc >> 15);
}

/* Was it predicted wrongly? Learns. */
static inline bool predict_cond(struct predictor *p, u32 key, bool taken)
{
	u8 *counter = &p->counters[(key ^ p->history) & p->mask];
	bool wrong = (*counter >= 2) != taken;

	if (taken)
		*counter += *counter < 3;
	else
		*counter -= *counter > 0;
	p->history = p->history << 1 | taken;
	return wrong;
}

#define INDIRECT_HISTORY 0x3f /* the last branches that tell one visit of an indirect jump from another */

static inline bool predict_indirect(struct predictor *p, u64 pc, u64 to)
{
	u64 key = (pc >> 1) ^ (u64)(p->history & INDIRECT_HISTORY) << 3;
	struct predictor_target *e = &p->targets[key & p->indirect_mask];
	bool wrong = e->pc != pc || e->to != to;

	e->pc = pc;
	e->to = to;
	return wrong;
}

static inline void predictor_call(struct predictor *p, u64 back)
{
	p->returns[++p->top & (p->depth - 1)] = back;
}

static inline bool predict_return(struct predictor *p, u64 to)
{
	return p->returns[p->top-- & (p->depth - 1)] != to;
}

#endif
