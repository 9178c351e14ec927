/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch prediction of one thread: two-bit counters chosen by address and global history (gshare), a table of targets
 * for indirect jumps, chosen by address and a little history, and a stack of return addresses that wraps around.
 * Targets of direct branches are taken as known.
 */
#ifndef VPMU_PREDICTOR_H
#define VPMU_PREDICTOR_H

#include "vpmu/model.h"

#define PREDICTOR_COUNTERS (1u << 15)

struct predictor_target {
	u64 pc, to;
};

struct predictor {
	u32 history;
	u32 mask, indirect_mask;
	u32 top, depth; /* of the return stack; depth is a power of two */
	struct predictor_target *targets;
	u64 *returns;
	u8 counters[PREDICTOR_COUNTERS + 1]; /* 0, 1: not taken; 2, 3: taken. The first one is nobody's, and 4 */
};

void predictor_new(struct predictor *p, const struct model *m);
void predictor_free(struct predictor *p);

/* What of a conditional branch's address chooses its counter. */
static inline u32 predict_key(u64 pc)
{
	return (u32)(pc >> 1) ^ (u32)(pc >> 15);
}

/* How a block's end went. */
enum { END_TAKEN = 1, END_WRONG = 2 };

/*
 * Was it predicted wrongly? Learns. What programs do there is hard to guess for the machine that this runs on as well, so
 * nothing here branches on it, nor on whether it is a conditional branch (cond: all bits set, or 0: that does nothing).
 */
static inline u32 predict_cond(struct predictor *p, u32 key, u32 cond, u32 taken)
{
#define AFTER(state, how) ((state) | (how) << 4)
	static const u8 after[2][8] = {
		{ AFTER(0, 0), AFTER(0, 0), AFTER(1, END_WRONG), AFTER(2, END_WRONG), AFTER(4, 0) },
		{ AFTER(1, END_TAKEN | END_WRONG), AFTER(2, END_TAKEN | END_WRONG), AFTER(3, END_TAKEN),
		  AFTER(3, END_TAKEN), AFTER(4, END_TAKEN) },
	};
#undef AFTER
	u32 history = p->history;
	u8 *counter = &p->counters[(((key ^ history) & p->mask) + 1) & cond];
	u32 next = after[taken][*counter];

	p->history = history + ((history + taken) & cond);
	*counter = next & 15;
	return next >> 4;
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
