/* SPDX-License-Identifier: Apache-2.0 */
#ifndef AGG_ROW_ORDER_H
#define AGG_ROW_ORDER_H

#include "agg/profile.h"

/* Puts the rows of an event into the order in which they are shown, and says in row_of where they are then. */
void row_order(struct profile *p, struct profile_event *e, u32 workers);

#endif
