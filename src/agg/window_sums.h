/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Window sums: what the windows that belong to a node of a call tree, or to a row, add up to.
 *
 * Ratios of sums are what is shown, and how sure they are follows from the second moments. Windows of one burst are
 * neighbours and alike, so that what is squared is not a window but a cluster: the run of windows of one burst that
 * lie in one place. Sums are doubles: exact up to 2^53.
 *
 * One is a block of doubles: counts (enum window_count), then a sum per member of the group, then the upper triangle
 * of the members' second moments, then, of rows, how many samples of each member's own event lie there
 * (agg/window_samples.c), then what the discarded windows counted of each member; of rows, how much of that nothing
 * explains.
 */
#ifndef AGG_WINDOW_SUMS_H
#define AGG_WINDOW_SUMS_H

#include "attrib/window.h"
#include "base/map.h"

enum window_count {
	WINDOWS_SHORT,	   /* windows that were to be measured: kept, discarded and excluded ones (not the first of a
			      counter) */
	WINDOWS_KEPT,	   /* whose counts are in the sums */
	WINDOWS_DISCARDED, /* began in other code than they ended in */
	WINDOWS_CLUSTERS,
	/* Of rows, where known (agg/window_calls.c): */
	WINDOWS_CALLS,
	WINDOWS_CALL_SAMPLES, /* that tell of them; 0: all do */
	WINDOWS_WEIGHT,	      /* of all of the leader's samples in such a row */
	WINDOWS_SELF,	      /* of rows: weight of all of the leader's samples in them */
	WINDOWS_BACK,	  /* of rows: 1, and the part of the windows from the places where theirs lead to that end in
			     them; 0: unknown */
	WINDOWS_EXCLUDED, /* by enum window_fault, from here on; [WINDOW_SOUND]: their beginning was left out by a
			     filter */
	WINDOW_COUNTS = WINDOWS_EXCLUDED + NR_WINDOW_FAULTS,
};

static inline u32 window_stride(u32 members)
{
	return WINDOW_COUNTS + 3 * members + members * (members + 1) / 2;
}
#define WINDOW_STRIDE_MAX (WINDOW_COUNTS + 3 * WINDOW_MEMBERS + WINDOW_MEMBERS * (WINDOW_MEMBERS + 1) / 2)
static inline double window_sum(const double *block, u32 member)
{
	return block[WINDOW_COUNTS + member];
}
/* Where the moment of members a <= b stands in a block. */
static inline u32 window_moment_at(u32 members, u32 a, u32 b)
{
	return WINDOW_COUNTS + members + a * members - a * (a - 1) / 2 + (b - a);
}
static inline double window_moment(const double *block, u32 members, u32 a, u32 b)
{
	return block[a <= b ? window_moment_at(members, a, b) : window_moment_at(members, b, a)];
}
/* Where the number of samples of a member's own event stands in a block. */
static inline u32 window_samples_at(u32 members, u32 member)
{
	return WINDOW_COUNTS + members + members * (members + 1) / 2 + member;
}
/* Where the sum of a member over the discarded windows stands in a block: those that ended here and began elsewhere.
 * Of rows, once profile_window_samples was there: twice what is left of it when both ends are taken for as much of
 * what kept windows count. */
static inline u32 window_discarded_at(u32 members, u32 member)
{
	return window_samples_at(members, member) + members;
}
/* Adds one cluster: what its windows counted together. */
void window_block_add(double *block, u32 members, const u64 *counts, u32 windows);
void window_block_merge(double *block, u32 members, const double *from);
/* Adds `from` as if each of its clusters had counted `times` as much. */
void window_block_merge_scaled(double *block, u32 members, const double *from, double times);

/* Short windows between a function (or what rows are: a unit, see agg/window_hits.h) and a place: some bytes of code.
 */
struct window_way {
	u32 unit, place;
	u32 there;  /* the unit that the place is in */
	u32 ends;   /* windows that begin at the place and end in the unit */
	u32 leaves; /* windows that begin in the unit and end at the place, which is in another one */
};

/* The blocks of a tree's nodes. A zeroed struct is empty. */
struct window_sums {
	u32 members; /* 0: no windows */
	struct map by_node;
	VEC(u32) nodes; /* of each block */
	VEC(double) v;	/* blocks, one behind the other */
	double *every;	/* a block of all short windows, kept or not, each a cluster of its own; NULL: none yet */
	VEC(struct window_way) ways;
	struct map by_way;		/* unit << 32 | place -> index in ways */
	double counted[WINDOW_MEMBERS]; /* by all windows, whatever became of them: all that is known to have run */
};

/* A window of any kind was counted: sound ones that are short go into `every`. */
void window_sums_count(struct window_sums *w, const struct window *window);

/* The way between a unit and a place in another one (or in the same), zeroed when new; valid until the next one is
 * made. */
struct window_way *window_sums_way(struct window_sums *w, u32 unit, u32 place, u32 there);

/* The node's block, zeroed when new; valid until the next one is made. */
double *window_sums_at(struct window_sums *w, u32 node);
/* The node's block, or NULL. */
const double *window_sums_get(const struct window_sums *w, u32 node);
/* Of the measure (agg/measure.h); both are struct window_sums. */
void window_sums_merge(void *sums, void *from, const u32 *at);
void window_sums_free(void *sums);

#endif
