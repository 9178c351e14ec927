/* SPDX-License-Identifier: Apache-2.0 */
/* Call graphs by address or by source line: what makes two places in a function one branch, and what branches are
 * called. */
#ifndef AGG_LINES_H
#define AGG_LINES_H

#include "agg/profile.h"

/*
 * Fills p->places. The frames of p were taken by address (profile.has_addresses). DWARF is asked for places that carry
 * at least one part in 20000 of an event's weight.
 */
void profile_name_places(struct profile *p, enum graph_key key);

#endif
