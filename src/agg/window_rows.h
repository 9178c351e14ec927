/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of a profile: the sums for each row, and for all rows. */
#ifndef AGG_WINDOW_ROWS_H
#define AGG_WINDOW_ROWS_H

#include "agg/profile.h"
#include "agg/window_hits.h"

struct profile_windows {
	struct window_group group;
	enum attribution attribution;
	enum window_unit unit;
	struct code_range range; /* borrows the names */
	struct code_seen seen;
	struct window_sums nodes; /* of the tree's */
	double *rows;		  /* a block per row, in their order */
	double *total;		  /* of all nodes, whether they have a row or not: the whole for shares */
	double *shown;		  /* of all rows: the same as total, unless filters left out some */
	bool calls;		  /* for some rows it is known how often they were called */
	double *whole;		  /* the whole for shares; NULL: total, with rows unscaled */
	double *shown_whole;	  /* the same for shown, if that is not total */
	/* For each member, the effective number of samples of its own event: as many samples of equal weight would
	 * have the same variance; 0: it has no samples with exact addresses. For the leader's member it is that of the
	 * leader. */
	double samples[WINDOW_MEMBERS];
	/* Bits of members: operations of Arm SPE may be their samples. How many they stand for, by what was counted;
	 * the part by which that differs from 1 beyond chance, if they are their samples all the same. */
	u32 operations;
	double stand_for[WINDOW_MEMBERS], unlike[WINDOW_MEMBERS];
	bool exact; /* the leader's samples have exact addresses, so they are in the right functions */
};

/* The part of all that ran that the counters have not told: what came after each thread's last sample, half a long
 * window on average. */
static inline double profile_windows_missing(const struct profile_windows *w)
{
	const struct window_group *g = &w->group;
	double counted = w->nodes.counted[window_member_of(g, g->leader)], each;

	each = g->nr_long  ? (double)g->sum_long / (double)g->nr_long :
	       g->nr_short ? (double)g->sum_short / (double)g->nr_short :
			     0;
	return w->total[WINDOWS_EXCLUDED + WINDOW_FIRST] * each / 2 / (counted > 1 ? counted : 1);
}

/* The sums of the windows that end with an event's samples; NULL: there are none. */
static inline struct profile_windows *event_windows(const struct profile_event *e)
{
	return e->measured[MEASURE_WINDOWS];
}

/* Functions of the measure (agg/measure.h): setup is a struct window_setup, sums are struct window_sums. */
void *profile_windows_new(const void *setup, u32 event, void *sums);
void profile_windows_rows(struct profile *p, struct profile_event *e);
void profile_windows_free(void *windows);

/* Fills rows, total, shown and whole, once e has its rows. */
void profile_window_rows(const struct profile *p, struct profile_event *e);
/*
 * Fills whole from this number of rows. Functions that lose more windows than others would show less than their share,
 * so each row stands for all windows that ended in it, kept or not. If only some code was asked about, the whole is
 * all short windows, wherever they were: shares are of everything that ran.
 */
void profile_window_whole(struct profile_windows *w, size_t rows);

/*
 * Adds the number of samples that each row has of the leader, and of other events of p that count the same as a member
 * and have exact addresses; marks such events as helpers. Call it after profile_window_rows.
 */
void profile_window_samples(struct profile *p, struct profile_event *e);

/* Adds the calls of each row, as far as another event of p counts them; call it after profile_window_rows. */
void profile_window_calls(const struct profile *p, struct profile_event *e);

/* The windows that were to be measured and ended in the code that was asked about. */
static inline double windows_ended(const double *block)
{
	return block[WINDOWS_SHORT] - block[WINDOWS_OUTSIDE];
}

/* The number of windows for which each kept one of a block stands. */
static inline double window_scale(const double *block)
{
	return block[WINDOWS_KEPT] > 0 ? windows_ended(block) / block[WINDOWS_KEPT] : 1;
}

static inline const double *profile_window_row(const struct profile_windows *w, size_t row)
{
	return w->rows + row * window_stride(w->group.nr);
}

/* The stacks of a row that have windows, the one with the most samples first. */
struct window_path {
	u32 node;
	const double *block;
};
/* At most max of them; returns how many were written. */
u32 profile_window_paths(const struct profile *p, const struct profile_event *e, u32 row, struct window_path *out,
			 u32 max);

#endif
