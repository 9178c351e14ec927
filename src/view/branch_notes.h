/* SPDX-License-Identifier: Apache-2.0 */
/* What branch records say of a frame in a call graph, behind its name as in perf, or as members of its object. */
#ifndef VIEW_BRANCH_NOTES_H
#define VIEW_BRANCH_NOTES_H

#include "agg/profile.h"
#include "base/bytes.h"
#include "base/json.h"

/*
 * " (COND_BWD predicted:79.1%)" at the target of a branch: its types, where the recording has them, and how many were
 * predicted, if not all were. " (cycles:4 iter:2 avg_cycles:9)" at the branch: the means of the cycles since the
 * branch before, and, where it repeats a loop that is shown once, of its further rounds and of their cycles. "
 * (calltrace)" at callers. Means are rounded down, and left out if they are 0. b NULL: nothing. arm64: see
 * branch_type_name.
 */
void branch_notes_text(const struct graph_branches *b, bool arm64, struct bytes *out);
/* All counts: "to", "from" and "callers". */
void branch_notes_json(const struct graph_branches *b, bool arm64, struct json *j);

#endif
