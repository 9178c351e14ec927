/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call tree: a trie of frames with weights. Node 0 is the root; its children are groups (node.frame = index in
 * groups[]), below them stand frames, outermost first. Nodes are appended only, and a parent's index is smaller than
 * its children's, so one backward loop sums totals.
 */
#ifndef AGG_TREE_H
#define AGG_TREE_H

#include "base/map.h"
#include "base/vec.h"

struct tree_node {
	u32 frame;
	u32 parent;
	u32 first_kid, next_kid; /* ID_NONE: none. Linked by tree_finish */
	u64 self, total;	 /* weights; total after tree_finish */
	u32 samples;		 /* with this as leaf */
	u32 total_samples;
};

struct tree_group {
	u32 comm, pid, tid, cpu, event;
	u32 time; /* slice */
};

struct tree {
	VEC(struct tree_node) nodes;
	VEC(struct tree_group) groups;
	struct tree_slot *slots; /* hash set of (parent, frame) -> node */
	u32 mask;
	struct map group_ids;
};

/* The child of node for frame, added when new. */
u32 tree_kid(struct tree *t, u32 node, u32 frame);
/* The group's node, added when new. */
u32 tree_group(struct tree *t, const struct tree_group *g);
/* Adds one sample to the child of node for frame, added when new. The sums stand beside the child's key until
 * tree_settle, so that this touches one cache line; tree_prefetch, some time before, brings it in. */
void tree_add(struct tree *t, u32 node, u32 frame, u64 weight);
void tree_prefetch(const struct tree *t, u32 node, u32 frame);
/* Moves all sums into the nodes. */
void tree_settle(struct tree *t);
/* Adds all of `from` into `t`; both settled. */
void tree_merge(struct tree *t, const struct tree *from);
/* Links kids and sums totals; the tree is read-only from then on. */
void tree_finish(struct tree *t);
void tree_free(struct tree *t);

#endif
