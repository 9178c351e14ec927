/* SPDX-License-Identifier: Apache-2.0 */
/* What makes two places in a function one branch of a call graph, and what branches by address or by source line are
 * called. */
#ifndef AGG_LINES_H
#define AGG_LINES_H

#include "agg/profile.h"

/*
 * Fills p->places; nothing is interned after that, so that p does not change while it is shown. By address or line the
 * frames of p were taken by address (profile.has_addresses), and DWARF is asked for places that carry at least one
 * part in 20000 of an event's weight.
 */
void profile_name_places(struct profile *p, enum graph_key key);

#endif
