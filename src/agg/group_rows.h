/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of several events side by side: one line for each combination of keys that any of them has. */
#ifndef AGG_GROUP_ROWS_H
#define AGG_GROUP_ROWS_H

#include "agg/profile.h"

struct group_rows {
	u32 leader, nr_members;		/* events of the evlist */
	struct profile_event **members; /* in the file's order; NULL: one without samples */
	struct profile_event *first;	/* the first that has samples; NULL: none has */
	size_t n;			/* lines, sorted by their weights in the first member, then in the next */
	struct group_line {
		const struct row *shown; /* for its keys: that of `first`, or a copy without weights */
		const struct row **rows; /* by member; NULL: it has no row with these keys */
	} * lines;
	struct arena arena;
};

/* For the evlist's events leader .. leader + n - 1. p and its rows have to outlive the result. */
void group_rows_make(const struct profile *p, u32 leader, u32 n, struct group_rows *out);
void group_rows_free(struct group_rows *g);

#endif
