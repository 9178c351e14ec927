/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Window sums: the sums over the windows of a node of a call tree, or of a row.
 *
 * Ratios of sums are shown, and their precision follows from the second moments. Windows of one burst are neighbours
 * and alike, so squares are taken not of windows but of clusters: a cluster is the sequence of windows of one burst in
 * one place (in one function, if only some code was asked about and nodes have no callers). Sums are doubles: exact up
 * to 2^53.
 *
 * The sums are a block of doubles: first counts (enum window_count), then a sum for each member of the group, then the
 * upper triangle of the members' second moments, then, for rows, the number of samples of each member's own event
 * (agg/window_samples.c), and then each member's count in discarded windows (for rows, the part of it that is not
 * explained).
 */
#ifndef AGG_WINDOW_SUMS_H
#define AGG_WINDOW_SUMS_H

#include "attrib/window.h"
#include "base/map.h"

enum window_count {
	WINDOWS_SHORT,	   /* windows that were to be measured: kept, discarded and excluded ones (not the first of a
			      counter) */
	WINDOWS_KEPT,	   /* whose counts are in the sums */
	WINDOWS_DISCARDED, /* began and ended in different code */
	WINDOWS_CLUSTERS,
	WINDOWS_OUTSIDE, /* of WINDOWS_SHORT, those that ended outside the code that was asked about */
	/* For rows, if known (agg/window_calls.c): */
	WINDOWS_CALLS,
	WINDOWS_CALL_SAMPLES, /* number of samples that count calls; 0: every call was sampled */
	WINDOWS_WEIGHT,	      /* weight of all of the leader's samples in such a row */
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
/* The index in a block of the moment of members a <= b. */
static inline u32 window_moment_at(u32 members, u32 a, u32 b)
{
	return WINDOW_COUNTS + members + a * members - a * (a - 1) / 2 + (b - a);
}
static inline double window_moment(const double *block, u32 members, u32 a, u32 b)
{
	return block[a <= b ? window_moment_at(members, a, b) : window_moment_at(members, b, a)];
}
/* The index in a block of the number of samples of a member's own event. */
static inline u32 window_samples_at(u32 members, u32 member)
{
	return WINDOW_COUNTS + members + members * (members + 1) / 2 + member;
}
/* The index in a block of a member's sum over the discarded windows: those that ended here and began elsewhere. For
 * rows, after profile_window_samples: twice the part that remains if both ends are assumed to count as much as kept
 * windows do. */
static inline u32 window_discarded_at(u32 members, u32 member)
{
	return window_samples_at(members, member) + members;
}
/* Adds one cluster, with the sums of its windows' counts. */
void window_block_add(double *block, u32 members, const u64 *counts, u32 windows);
void window_block_merge(double *block, u32 members, const double *from);
/* Adds `from` as if each of its clusters had counted `times` times as much. */
void window_block_merge_scaled(double *block, u32 members, const double *from, double times);

/* Short windows between a unit (a function, or what rows stand for; see agg/window_hits.h) and a place, which is some
 * bytes of code. */
struct window_way {
	u32 unit, place;
	u32 there;  /* the unit of the place */
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
	double *bursts; /* the same windows, each burst a cluster; NULL: none yet, or nobody asked about some code */
	VEC(struct window_way) ways;
	struct map by_way;		/* unit << 32 | place -> index in ways */
	double counted[WINDOW_MEMBERS]; /* by all windows, kept or not: everything that is known to have run */
};

/* Counts a window of any kind; sound short ones also go into `every`. */
void window_sums_count(struct window_sums *w, const struct window *window);

/* The way between a unit and a place in another unit (or in the same); zeroed if it is new; valid until the next one
 * is made. */
struct window_way *window_sums_way(struct window_sums *w, u32 unit, u32 place, u32 there);

/* The block `bursts`, zeroed when new. */
double *window_sums_bursts(struct window_sums *w);
/* The node's block, zeroed when new; valid until the next one is made. */
double *window_sums_at(struct window_sums *w, u32 node);
/* The node's block, or NULL. */
const double *window_sums_get(const struct window_sums *w, u32 node);
/* Of the measure (agg/measure.h); both are struct window_sums. */
void window_sums_merge(void *sums, void *from, const u32 *at);
void window_sums_free(void *sums);

#endif
