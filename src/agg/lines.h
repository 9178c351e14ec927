/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which places in a function are one branch of a call graph, and how branches by address or by source line are
 * named. */
#ifndef AGG_LINES_H
#define AGG_LINES_H

#include "agg/profile.h"

/*
 * Fills p->places; nothing is interned after that, so p does not change while it is shown. For branches by address or
 * line, the frames of p were taken by address (profile.has_addresses), and DWARF is asked for places that have at
 * least one part in 20000 of an event's weight.
 */
void profile_name_places(struct profile *p, enum graph_key key);

#endif
