/* SPDX-License-Identifier: Apache-2.0 */
/* What becomes of an event's stacks when the user names functions in them: made of the finished tree, once per
 * distinct stack. */
#ifndef AGG_RESTACK_H
#define AGG_RESTACK_H

#include <regex.h>

#include "agg/profile.h"

struct restack {
	/* Functions that end their stacks: what they called counts as their own. NULL: none. */
	const regex_t *ignore_callees;
	/* With SORT_PARENT: a sample's parent is the first function of its stack that this matches, from the leaf on.
	 */
	const regex_t *parent;
	bool outermost; /* from the other end */
};

/* Symbols are matched as shown; inlined calls, and what has no symbol, never are. Makes e's tree anew. */
void profile_restack(struct profile *p, struct profile_event *e, const struct restack *r);

#endif
