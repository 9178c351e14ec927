/* SPDX-License-Identifier: Apache-2.0 */
/* Changes an event's stacks if the user names functions in them: done on the finished tree, once per distinct
 * stack. */
#ifndef AGG_RESTACK_H
#define AGG_RESTACK_H

#include <regex.h>

#include "agg/profile.h"

struct restack {
	/* Functions at which stacks end: what they called counts as their own. NULL: none. */
	const regex_t *ignore_callees;
	/* With SORT_PARENT: a sample's parent is the first function of its stack that this matches, from the leaf on.
	 */
	const regex_t *parent;
	bool outermost; /* search from the other end */
};

static inline bool restack_used(const struct restack *r)
{
	return r->ignore_callees || r->parent;
}

/* Symbols are matched as they are shown; inlined calls, and frames without a symbol, never match. Rebuilds e's
 * tree. */
void profile_restack(struct profile *p, struct profile_event *e, const struct restack *r);

#endif
