/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of a profile: what those of each row, and of all, add up to. */
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
	double *total;		  /* of all nodes, whether they have a row or not: what shares are of */
	double *shown;		  /* of all rows: total, unless filters left out some */
	bool calls;		  /* of some rows it is known how often they were called */
	double *whole;		  /* what shares are of: the rows, each scaled; NULL: total, and rows as they are */
	double *shown_whole;	  /* likewise of shown, where that is not total */
	/* By member, of its own event: how many samples of one weight would say as much as its samples; 0: it has no
	 * samples of exact address. Of the leader's member: of the leader. */
	double samples[WINDOW_MEMBERS];
	bool exact; /* the leader's samples have exact addresses, so that they lie in the functions that are meant */
};

/* What the windows that an event's samples end add up to; NULL: they end none. */
static inline struct profile_windows *event_windows(const struct profile_event *e)
{
	return e->measured[MEASURE_WINDOWS];
}

/* Of the measure (agg/measure.h): setup is a struct window_setup, sums are struct window_sums. */
void *profile_windows_new(const void *setup, u32 event, void *sums);
void profile_windows_rows(struct profile *p, struct profile_event *e);
void profile_windows_free(void *windows);

/* Fills rows, total and shown, once e has its rows, and, unless rows are finer than functions, whole. */
void profile_window_rows(const struct profile *p, struct profile_event *e);
/*
 * Fills whole from so many rows. Functions that lose more windows than others would show less than their share, so
 * each row stands for all windows that ended in it, kept or not.
 */
void profile_window_whole(struct profile_windows *w, size_t rows);

/*
 * Adds how many samples each row has of the leader, and of other events of p that count what a member counts, where
 * those have exact addresses; marks such events as helpers. After profile_window_rows, which have totals then.
 */
void profile_window_samples(struct profile *p, struct profile_event *e);

/* Adds the calls of each row, as far as another event of p tells; after profile_window_rows. */
void profile_window_calls(const struct profile *p, struct profile_event *e);

/* How many windows each kept one of a block stands for. */
static inline double window_scale(const double *block)
{
	return block[WINDOWS_KEPT] > 0 ? block[WINDOWS_SHORT] / block[WINDOWS_KEPT] : 1;
}

static inline const double *profile_window_row(const struct profile_windows *w, size_t row)
{
	return w->rows + row * window_stride(w->group.nr);
}

/* The stacks of a row that have windows, the one with most samples first. */
struct window_path {
	u32 node;
	const double *block;
};
/* At most max of them; returns how many were written. */
u32 profile_window_paths(const struct profile *p, const struct profile_event *e, u32 row, struct window_path *out,
			 u32 max);

#endif
