/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core.c (which runs blocks) and core_watch.c (which knows what armed events wait for). */
#ifndef VPMU_CORE_IMPL_H
#define VPMU_CORE_IMPL_H

#include "vpmu/cache.h"
#include "vpmu/core.h"
#include "vpmu/predictor.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define INFO_DIRECTION (INFO_LOAD | INFO_STORE)
/* QEMU's blocks have up to 512 instructions of up to 15 bytes. */
#define LINES_MAX (512 * 15 / (1 << LINE_SHIFT) + 2)

struct access {
	u64 addr;
	u32 info, op;
};

/* What an armed event waits for, in raw counts: counts[a] + counts[b] reaching `at`. */
struct watch {
	u64 at;
	u8 a, b;
	bool slots; /* they count slots, not events */
};

struct core {
	struct vthread thread; /* first: a thread is its core */
	/* Used for each block: few cache lines. */
	struct access *next, *end, *log; /* accesses of the block that runs */
	const struct block *block;	 /* NULL: none runs */
	u64 slots_at;			 /* the nearest watch of VC_SLOTS */
	u32 access_max;			 /* slots that one access costs at most */
	u32 nr_rare, nr_armed;
	u32 models;	  /* VPMU_MODEL_* */
	bool walks;	  /* always: somebody wants to see each operation */
	bool continues;	  /* the block's first operation is one more iteration of what is counted already */
	bool interrupted; /* the last block was left where control could not go by itself, */
	bool cut;	  /* in its middle */
	u32 mispredict, taken, tlb_load, tlb_store; /* slots */
	u32 fetch[4], load[4], store[4];
	struct caches caches;
	struct predictor predictor;
	u64 addr; /* of the last access that was walked */
	const struct model *model;
	u8 rare[ARMED_MAX]; /* watches of other counts than VC_SLOTS */
	struct watch watches[ARMED_MAX];
	struct armed armed[ARMED_MAX];
};
_Static_assert(offsetof(struct core, thread) == 0, "core_of casts");

static inline struct core *core_of(const struct vthread *t)
{
	return (struct core *)t;
}

static inline u64 watch_count(const struct core *c, const struct watch *w)
{
	return c->thread.counts[w->a] + c->thread.counts[w->b];
}

/* Operation i of p was counted: tells whoever waited for that. */
void core_after_op(struct core *c, const struct block *p, u32 i);
/* The sampler waits for a block's entry. */
void core_tell_entry(struct core *c, u64 pc);
/* The armed events may have changed. */
void core_retarget(struct core *c);

#endif
