/* SPDX-License-Identifier: Apache-2.0 */
/* Goes through a session's samples for the branches that they hold, in one thread and without regard to their order.
 */
#ifndef PASS_BRANCH_WALK_H
#define PASS_BRANCH_WALK_H

#include "agg/branch_traces.h"
#include "pass/pipeline.h"

/* Adds the branches of the samples that o chooses to t, and sorts it. t is zeroed, except that t->counters may be set.
 * Returns 0, ERR_INTERRUPTED, or an error that is noted: ERR_UNSUPPORTED if no event has samples with all branches, or
 * what is wrong with o's filters. */
int branch_walk(struct session *s, const struct pipeline_opts *o, struct branch_traces *t, const struct notify *to);

#endif
