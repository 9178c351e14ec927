/* SPDX-License-Identifier: Apache-2.0 */
/* Inlined calls: expands frames that kept their address. */
#ifndef AGG_INLINE_H
#define AGG_INLINE_H

#include "agg/collector.h"

/*
 * Looks at the trees of all parts, with so many workers, and fills *out, for tree_merge. False if no frame kept its
 * address, so that nothing has to be done. An inlined frame's own samples count for the function into which it was
 * inlined, as in perf. Frees the DSOs' line information, because memory is needed for the merged tree next.
 */
bool inlined_resolve(struct profile *p, struct collected *const *parts, u32 nr_parts, u32 workers,
		     struct tree_rename *out);
void inlined_free(struct tree_rename *r);

#endif
