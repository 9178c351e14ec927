/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the row of one event with the same keys as a row of another. */
#ifndef AGG_ROW_INDEX_H
#define AGG_ROW_INDEX_H

#include "agg/profile.h"

/* Initially only the first two fields are set and the rest is zero; the first look-up fills it. */
struct row_index {
	const struct profile_event *of; /* borrowed */
	u32 nr_keys;			/* profile.nr_sort */
	struct set by_keys;
};

/* Index of the row; ID_NONE: there is none. */
u32 row_index_find(struct row_index *x, const struct row *wanted);
void row_index_free(struct row_index *x);

#endif
