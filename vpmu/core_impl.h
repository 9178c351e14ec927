/* SPDX-License-Identifier: Apache-2.0 */
/* Private to core*.c. */
#ifndef VPMU_CORE_IMPL_H
#define VPMU_CORE_IMPL_H

#include "vpmu/cache.h"
#include "vpmu/core.h"
#include "vpmu/predictor.h"

#define ALWAYS_INLINE inline __attribute__((always_inline))
#define NOINLINE __attribute__((noinline))

/* What was not in its L1, or TLB: an access's part, or a line of the block's code. */
struct miss {
	u32 access; /* its place in the log; MISS_CODE: none */
	u16 line;   /* of the code: from 0, the block's first one */
	u16 kind;   /* the level where it was found, and MISS_* */
};
#define MISS_CODE UINT32_MAX
/* Beside a level: */
enum {
	MISS_STORE = 4,
	MISS_WALK = 8,
	MISS_FETCH = 16 /* alone */,
	MISS_PEER = 32 /* with IN_LLC */,
	NR_MISS_KINDS = 48
};
/* What an access is; 0: it goes on with one that has been counted. */
enum { ACCESS_LOAD = 1, ACCESS_STORE = 2, NR_ACCESS_KINDS = 4 };

/* What an armed event waits for, in raw counts: counts[a] + counts[b] reaching `at`. */
struct watch {
	u64 at;
	u8 a, b;
	bool slots; /* they count slots, not events */
};

#define LOG_BEHIND (RUN_OPS_MAX + 1) /* what a block's known accesses can take, and one more */

/* What the end of a block costs, and what it is, beside what it is always. */
struct block_end {
	sums sums;
	u32 slots;
};

struct core {
	struct vthread thread; /* first: a thread is its core */
	/* Used for each block: few cache lines. */
	struct access *next, *end,
		*log;		       /* accesses of the block that runs; behind `end` there is room for LOG_BEHIND */
	u64 log_began;		       /* access_now */
	const struct block *block;     /* never NULL: core_nowhere when none runs */
	u64 accesses[NR_ACCESS_KINDS]; /* that are not in the counts yet, */
	u64 known;		       /* those of runs (run_counts), */
	s64 left;      /* the horizon: slots, those of misses at once, and accesses until an armed event may be due */
	s64 left_at;   /* what it was when VC_SLOTS was right */
	sums sums;     /* and what blocks and their ends were */
	u32 nr_misses; /* of the block that runs, code and accesses; */
	u32 models;    /* VPMU_MODEL_* */
	bool missed;   /* nr_missed[] has something */
	bool walks;    /* always: somebody wants to see each operation */
	struct block_end ends[2 * END_TAKEN]; /* by how it went */
	u32 repeated;			      /* less than a slot of iterations, as block.repeats has them */
	bool continues; /* the block's first operation is one more iteration of what is counted already */
	u64 resumes;	/* where an instruction that is counted already goes on after a signal's handler; or 0 */
	struct predictor predictor;
	struct caches caches;
	u32 miss_cost[NR_MISS_KINDS]; /* slots */
	u64 nr_missed[NR_MISS_KINDS]; /* that are not in the counts yet */
	/* Of the operation that was walked last: its last access; the load and the store that took longest. */
	u64 addr;
	struct core_met load, store;
	u64 to;			  /* where it led, if it ended the block */
	u32 waits, stalls;	  /* slots: until the one before it was done; until it was, without its accesses */
	bool wrong;		  /* a branch that was not foreseen */
	u64 shared_accesses;	  /* where cores share memory */
	bool slow[NR_MISS_KINDS]; /* VC_SLOW_LOADS counts them */
	struct miss *misses;
	u32 misses_room;
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

/* --- core.c: what core_fast.h leaves to it --- */
/* Makes room for one more access at least. */
void core_log_grow(struct core *c);
/* The code of b, not all of which is recent. */
void core_fetch_slowly(struct core *c, const struct block *b);
/* The newest access, which is not recent, or of two lines. */
void core_access_slowly(struct core *c, const struct access *a);
/* The newest ones, a run, of which that may be true; a: the first one. */
void core_run_slowly(struct core *c, struct access *a);
/* A block begins, and something is not as usual. */
void core_enter_otherwise(struct core *c, const struct block *b);
/* Tells callstack.c where the end of p, which is what it is told of, has led. */
void core_tell_stack(struct core *c, const struct block *p, u64 to);

/* --- core_watch.c --- */
/* Raw counts that sweeping leaves for later. */
void core_sync(struct core *c);
/* Sets the horizon. Counts are in sync. */
void core_look_ahead(struct core *c);
/* Could running p, all of it, reach an armed event? */
bool core_is_near(const struct core *c, const struct block *p);
/* The armed events may have changed. */
void core_retarget(struct core *c);

/* --- core_tell.c --- */
/* Operation i of p was counted: tells whoever waited for that. */
void core_after_op(struct core *c, const struct block *p, u32 i);
/* The sampler waits for a block's entry. The thread may have lost its virtual CPU there, and waited for one. */
void core_tell_entry(struct core *c, u64 pc);

#endif
