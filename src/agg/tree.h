/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call tree: a trie of frames with weights. Node 0 is the root; its children are groups (node.frame = index in
 * groups[]), below them are frames, outermost first. A parent's index is smaller than its children's, so one backward
 * loop sums the totals.
 *
 * A tree is built in one form and read in another. While samples come in, a node has 8 bytes and its sums are in the
 * hash table, beside the key that finds them, so that adding a sample touches one cache line. tree_finish drops the
 * table and lays out the nodes that all other code reads.
 */
#ifndef AGG_TREE_H
#define AGG_TREE_H

#include "base/map.h"
#include "base/set.h"
#include "base/vec.h"

struct tree_node {
	u32 frame;
	u32 parent;
	u32 first_kid, next_kid; /* ID_NONE: none */
	u64 self, total;	 /* weights */
	u32 samples;		 /* with this as leaf */
	u32 total_samples;
};

struct tree {
	VEC(struct tree_node) nodes; /* empty if there was no sample */
	VEC(u64) groups;	     /* group_words for each: the values that define it */
	u32 group_words;
};

/* The words of a group; group < tree_groups(t). */
static inline const u64 *tree_group_at(const struct tree *t, u32 group)
{
	return t->groups.v + (size_t)group * t->group_words;
}
static inline u32 tree_groups(const struct tree *t)
{
	return t->group_words ? (u32)(t->groups.n / t->group_words) : 0;
}

struct tree_link {
	u32 frame, parent;
};

#define TREE_TABLES 32

struct tree_table {
	struct tree_slot *slots;
	u32 size, n;
};

/* A tree that grows. A zeroed struct is an empty one. */
struct tree_builder {
	VEC(struct tree_link) links;
	VEC(u64) groups; /* as in the tree, and so is: */
	u32 group_words;
	struct set group_ids;
	VEC(u32) group_nodes;		       /* by group */
	struct tree_table tables[TREE_TABLES]; /* (parent, frame) -> node and its sums; not of groups */
	struct tree_sums *sums;		       /* by node, instead of the tables: after tree_settle */
};

/* The child of node for frame, which is added if it is new. Ids are those of the finished tree. */
u32 tree_kid(struct tree_builder *b, u32 node, u32 frame);
/* The node of the group with these n words, which is added if it is new; n, at least 1, is the same for all groups of
 * a tree. */
u32 tree_group(struct tree_builder *b, const u64 *words, u32 n);
/* Adds to the child of node for frame, which is added if it is new; returns it. */
u32 tree_add(struct tree_builder *b, u32 node, u32 frame, u64 weight, u32 samples);
/* Prefetches what tree_add will touch later. */
void tree_prefetch(const struct tree_builder *b, u32 node, u32 frame);
/* Nothing will be added any more: the sums stay, and the tables are freed. */
void tree_settle(struct tree_builder *b);
/* The same, of one that stays long: what it has too much room for goes as well. */
void tree_keep(struct tree_builder *b);
/* How frames are renamed in a merge: frame f becomes frames[of[f].first ..], of[f].n of them (1 or more), outermost
 * first. */
struct tree_rename {
	const u32 *frames;
	const struct tree_span {
		u32 first, n;
	} * of;
};
/* Adds everything from `from` to `b`, and empties `from`. rename NULL: frames stay the same. */
void tree_merge(struct tree_builder *b, struct tree_builder *from, const struct tree_rename *rename);
/* The same; returns, for each node of `from`, its node in b (the innermost of several). Caller frees. */
u32 *tree_merge_nodes(struct tree_builder *b, struct tree_builder *from, const struct tree_rename *rename);
/* The same, of a settled tree that stays what it is. */
void tree_add_tree(struct tree_builder *b, const struct tree_builder *from, const struct tree_rename *rename);
/* Adds, to weight[frame] of each frame, the totals of its nodes. b is settled. */
void tree_weigh_frames(const struct tree_builder *b, u64 *weight);
/* Makes the tree, and empties b. */
void tree_finish(struct tree_builder *b, struct tree *out);

void tree_builder_free(struct tree_builder *b);
void tree_free(struct tree *t);

#endif
