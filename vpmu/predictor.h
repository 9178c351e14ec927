/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch prediction of one thread: two-bit counters chosen by address and global history (gshare), two tables of
 * targets for indirect jumps, and a stack of return addresses that wraps around. Targets of direct branches are taken
 * as known.
 *
 * Most indirect jumps, among them those of a PLT, always go to the same place: a table by address, the branch target
 * buffer, foresees these. The other table is chosen by address and a little history; a jump has entries there only for
 * what the first table did not foresee, and they come first.
 */
#ifndef VPMU_PREDICTOR_H
#define VPMU_PREDICTOR_H

#include "vpmu/model.h"

#define PREDICTOR_COUNTERS (1u << 15)

/* How a block's end went: END_TAKEN or 0, and in which state its counter was, which tells whether that was foreseen.
 */
enum { STATE_NOBODY = 4, END_TAKEN = 8 };

static inline bool end_is_wrong(u32 how)
{
	u32 state = how % END_TAKEN;

	return state != STATE_NOBODY && state / 2 != how / END_TAKEN;
}

/* What is not for counters to foresee. */
static inline u32 end_judged(bool taken, bool wrong)
{
	return (taken ? END_TAKEN : 0) + (taken != wrong ? 2 : 0);
}

struct predictor_target {
	u64 pc, to;
};

struct predictor {
	u32 history;
	u32 mask, indirect_mask, target_mask;
	u8 after[2 * END_TAKEN];	   /* by how an end went: the counter that was asked then */
	u32 top, depth;			   /* of the return stack; depth is a power of two */
	struct predictor_target *targets;  /* by address */
	struct predictor_target *indirect; /* by address and history */
	u64 *returns;
	u8 counters[PREDICTOR_COUNTERS + 1]; /* 0, 1: not taken; 2, 3: taken. The first one is nobody's */
};

void predictor_new(struct predictor *p, const struct model *m);
void predictor_free(struct predictor *p);

/* What of a conditional branch's address chooses its counter, and that it is one: the highest bit. */
static inline u32 predict_key(u64 pc)
{
	return ((u32)(pc >> 1) ^ (u32)(pc >> 15)) | 1u << 31;
}

/*
 * How did it go? Learns. What programs do there is hard to guess for the machine that this runs on as well, so nothing
 * here branches on it, nor on whether it is a conditional branch (key 0: it is none, and nothing is learnt).
 */
static inline u32 predict_cond(struct predictor *p, u32 key, u32 taken)
{
	u32 cond = (u32)((s32)key >> 31), history = p->history;
	u8 *counter = &p->counters[(((key ^ history) & p->mask) + 1) & cond];
	u32 how = *counter + taken * END_TAKEN;

	p->history = history + ((history + taken) & cond);
	*counter = p->after[how];
	return how;
}

#define INDIRECT_HISTORY 0x3f /* the last branches that tell one visit of an indirect jump from another */

static inline bool predict_indirect(struct predictor *p, u64 pc, u64 to)
{
	u64 key = (pc >> 1) ^ (u64)(p->history & INDIRECT_HISTORY) << 3;
	struct predictor_target *last = &p->targets[(pc >> 1 ^ pc >> 13) & p->target_mask];
	struct predictor_target *e = &p->indirect[key & p->indirect_mask];
	bool foreseen = last->pc == pc && last->to == to, wrong = !foreseen;

	if (e->pc == pc)
		wrong = e->to != to;
	if (e->pc == pc || !foreseen)
		*e = (struct predictor_target){ pc, to };
	*last = (struct predictor_target){ pc, to };
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
