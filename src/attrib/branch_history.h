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

/* As many as have room, and as a chain has frames. */
#define HISTORY_BRANCHES ((CHAIN_WORDS - 2) / 4)

/* A branch, and the rounds of a loop that were left out here: it is the one that began the round that stayed, so the
 * oldest branch of it. */
struct history_branch {
	struct branch_entry b;
	u32 rounds;
	u64 round_cycles; /* of all of them */
};

struct branch_history {
	u32 n;
	struct history_branch v[HISTORY_BRANCHES]; /* the newest first */
};

/* Of branches that repeat those just before them, as in a loop, the first ones stay. */
void branch_history_read(const struct sample *s, struct branch_history *out);

/*
 * Writes the chain of a sample with this history, in this machine's byte order: where it was taken; for each branch,
 * the newest first, its target and then the branch itself; and the callers. Callers whose call is one of the branches
 * are left out: the call is at most 8 bytes before where it returns to.
 *
 * Returns the number of words; `exact` of them, from the first, are not the addresses to which a call returns.
 */
u32 branch_history_chain(const struct hit *h, const struct branch_history *past, u64 words[CHAIN_WORDS], u32 *exact);

#endif
