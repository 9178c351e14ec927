/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core*.c; plugin.c writes accesses down. */
#ifndef VPMU_CORE_IMPL_H
#define VPMU_CORE_IMPL_H

#include "vpmu/cache.h"
#include "vpmu/core.h"
#include "vpmu/predictor.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))
/* QEMU's blocks have up to 512 instructions of up to 15 bytes. */
#define LINES_MAX (512 * 15 / (1 << LINE_SHIFT) + 2)

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
	const struct block *block;	 /* never NULL: core_nowhere when none runs */
	u64 horizon;			 /* while VC_SLOTS stays below, no armed event is due */
	u64 packed;			 /* branches, calls, returns that are not in the counts yet */
	u32 access_max;			 /* slots that one access costs at most */
	u32 models;			 /* VPMU_MODEL_* */
	u32 mispredict, taken;		 /* slots */
	bool walks;			 /* always: somebody wants to see each operation */
	bool continues; /* the block's first operation is one more iteration of what is counted already */
	struct predictor predictor;
	struct caches caches;
	u32 fetch[4], load[4], store[4], tlb_load, tlb_store; /* slots */
	u64 addr;					      /* of the last access that was walked */
	const struct model *model;
	u32 nr_armed;
	struct watch watches[ARMED_MAX];
	struct armed armed[ARMED_MAX];
};
_Static_assert(offsetof(struct core, thread) == 0, "core_of casts");

extern const struct block core_nowhere;

static inline struct core *core_of(const struct vthread *t)
{
	return (struct core *)t;
}

static inline u64 watch_count(const struct core *c, const struct watch *w)
{
	return c->thread.counts[w->a] + c->thread.counts[w->b];
}

/* Makes room for one more access at least. */
void core_log_grow(struct core *c);

/* An access of operation `op` of the block that runs; info is QEMU's. */
static inline void core_access(struct vthread *t, u32 info, u64 addr, u32 op)
{
	struct core *c = core_of(t);

	*c->next = (struct access){ addr, info, op };
	if (UNLIKELY(++c->next == c->end))
		core_log_grow(c);
}

/* --- core_watch.c --- */
/* Raw counts that sweeping leaves for later. */
void core_sync(struct core *c);
/* Sets the horizon. Counts are in sync. */
void core_look_ahead(struct core *c);
/* Could running p, all of it, reach an armed event? */
bool core_is_near(const struct core *c, const struct block *p);
/* The armed events may have changed. */
void core_retarget(struct core *c);
/* Operation i of p was counted: tells whoever waited for that. */
void core_after_op(struct core *c, const struct block *p, u32 i);
/* The sampler waits for a block's entry. */
void core_tell_entry(struct core *c, u64 pc);

#endif
