/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Row order: sorts the rows of a table, the heaviest first. Rows of equal weight are ordered by their keys, as each
 * key compares its values, so the order depends on nothing but the rows. row_order.c says how that is done for many
 * rows.
 */
#ifndef AGG_ROW_ORDER_H
#define AGG_ROW_ORDER_H

#include "agg/profile.h"

/* Sorts e->rows, with as many threads as workers says, and brings what e says of where rows are (row_of) up to date.
 */
void row_order(struct profile *p, struct profile_event *e, u32 workers);
/* The same for rows that are in the order of their keys, as those of profile.together are; needs e alone. */
void row_order_shared(struct profile *p, struct profile_event *e);

#endif
