/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch history: the branches that a sample's branch stack holds, put before the callers of its call chain, so that a
 * call graph shows the way on which the program came to the sample (perf's report --branch-history).
 */
#ifndef ATTRIB_BRANCH_HISTORY_H
#define ATTRIB_BRANCH_HISTORY_H

#include "attrib/chain.h"
#include "attrib/hit.h"

/* Do samples of this event hold branches that are not a call stack? */
bool branch_history_event(const struct event *e);

/*
 * Writes the chain of a sample, which is h->full, in this machine's byte order: where it was taken; for each branch,
 * the newest first, its target and then the branch itself; and the callers. What a branch repeats is left out:
 *
 * - Of branches that repeat those just before them, as in a loop, the first ones stay.
 * - Of callers, those whose call is one of the branches. The call is at most 8 bytes before where it returns to.
 *
 * Returns the number of words; `exact` of them, from the first, are not the addresses to which a call returns.
 */
u32 branch_history_chain(const struct hit *h, u64 words[CHAIN_WORDS], u32 *exact);

#endif
