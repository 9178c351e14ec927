/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of a profile: what those of each row, and of all, add up to. */
#ifndef AGG_WINDOW_ROWS_H
#define AGG_WINDOW_ROWS_H

#include "agg/profile.h"
#include "agg/window_hits.h"

struct profile_windows {
	struct window_group group;
	enum attribution attribution;
	struct window_sums nodes; /* of the tree's */
	double *rows;		  /* a block per row, in their order */
	double *total;		  /* of all nodes, whether their row is shown or not */
};

/* Takes over the sums of a tree's nodes. */
struct profile_windows *profile_windows_new(const struct window_group *g, enum attribution a,
					    struct window_sums *nodes);
void profile_windows_free(struct profile_windows *w);

/* Fills rows and total, once e has its rows. */
void profile_window_rows(const struct profile *p, struct profile_event *e);

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
