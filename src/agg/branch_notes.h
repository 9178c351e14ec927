/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch notes: what branch records say, beside where a branch led to: whether it was predicted, its type, and the
 * cycles since the branch before it. With report --branch-history they stand behind the frames of call graphs.
 *
 * A node of the tree is on the way to several leaves, but the graph of a row has the samples of its leaves only. So
 * notes are kept by leaf: for each of its branches, the newest first. The branch n is, above the leaf, the frames
 * 2n + 1 (its target) and 2n + 2 (itself): a hit's branches have one frame each.
 */
#ifndef AGG_BRANCH_NOTES_H
#define AGG_BRANCH_NOTES_H

#include "agg/measure.h"
#include "attrib/branch_history.h"
#include "base/arena.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/branch_flags.h"

/* Bits of the types of branches (branch_type), and of what perf says of their ways. */
#define BRANCH_KIND_FORWARD (1u << 0) /* conditional ones */
#define BRANCH_KIND_BACKWARD (1u << BRANCH_COND)
#define NR_BRANCH_KINDS 30u /* types with a bit; the last bit is for all later ones, too, which have no names */
#define BRANCH_KIND(type) (1u << MIN(type, NR_BRANCH_KINDS - 1)) /* of all other types */
#define BRANCH_KIND_CROSS_4K (1u << 30)
#define BRANCH_KIND_CROSS_2M (1u << 31)

struct branch_note {
	u32 n; /* samples; 0: this frame is no branch's */
	u32 told, predicted, aborted, rounds, kinds;
	u64 cycles, round_cycles;
};

struct notes_of_leaf {
	u32 node, n;
	size_t first; /* in v, n of them */
};

/* By leaf. A zeroed struct is empty. */
struct branch_notes {
	struct map at; /* node -> index in leaves */
	VEC(struct notes_of_leaf) leaves;
	VEC(struct branch_note) v;
};

bool branch_notes_hold(const struct hit *h, void *held);
void branch_notes_add(void *worker, const void *held, const struct hit_place *place, void *sums);
void branch_notes_merge(void *sums, void *from, const u32 *at);
void branch_notes_free(void *sums);
void *profile_notes_new(const void *setup, u32 event, void *sums);
void profile_notes_free(void *notes);

struct graph_node;
struct profile;
struct profile_event;
struct row;
/* Fills `branches` of the nodes of a row's graph, if the event has notes. downward: the graph has the outermost frame
 * first. */
void branch_notes_graph(const struct profile *p, const struct profile_event *e, const struct row *r, bool downward,
			struct arena *arena, struct graph_node *root);

#endif
