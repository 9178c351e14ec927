/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An event's call tree with names, in an order that does not depend on how many workers made it: what folded stacks
 * and flame graphs walk.
 */
#ifndef VIEW_EXPORT_STACKS_H
#define VIEW_EXPORT_STACKS_H

#include "agg/profile.h"
#include "base/bytes.h"
#include "state/timelines.h"

struct stacks_kid {
	u32 node, rank;
};

struct stacks {
	const struct profile *profile;
	const struct profile_event *event;
	bool samples; /* values are numbers of samples, not weights */

	/* Filled by stacks_init: */
	const char **names; /* by frame; NULL for those that are in no stack. Raw bytes */
	u32 *ranks;	    /* frames in the order of their names */
	const char **group_names;
	u32 *group_ranks;
	VEC(struct stacks_kid) pending;
	VEC(u32) path; /* of stacks_each */
	struct arena arena;
};

/* Groups are named by their keys: "comm", "comm-pid", "comm-pid/tid". */
void stacks_init(struct stacks *s, const struct profile *p, const struct profile_event *e, bool samples);
void stacks_free(struct stacks *s);

/* The name of a node that is not the root. */
const char *stacks_name(const struct stacks *s, u32 node);
static inline u64 stacks_self(const struct stacks *s, u32 node)
{
	const struct tree_node *n = &s->event->tree.nodes.v[node];

	return s->samples ? n->samples : n->self;
}
static inline u64 stacks_total(const struct stacks *s, u32 node)
{
	const struct tree_node *n = &s->event->tree.nodes.v[node];

	return s->samples ? n->total_samples : n->total;
}
static inline bool stacks_is_group(const struct stacks *s, u32 node)
{
	return node && !s->event->tree.nodes.v[node].parent;
}

/* The node's kids by name, in pending.v[*first .. first + returned). The caller sets pending.n back to *first when
 * done with them; in between, kids of kids may be asked for. */
u32 stacks_kids(struct stacks *s, u32 node, size_t *first);

/* What the stacks of a group have in common: the node is one below the root. */
struct stacks_group {
	const char *comm;		 /* raw bytes */
	u32 pid, tid;			 /* 0 unless the groups have them */
	const struct activity *activity; /* NULL: nothing is known of it */
};
void stacks_group(const struct stacks *s, u32 node, struct stacks_group *out);

/* A stack that samples have. */
struct stacks_one {
	const u32 *frames; /* outermost first */
	u32 n;
	u64 samples, weight;
};
/* Calls take for each stack of a group, in the order of names. */
void stacks_each(struct stacks *s, u32 node, void (*take)(void *ctx, const struct stacks_one *stack), void *ctx);

/* One line per stack: "comm;outermost;...;leaf value". */
struct folded_opts {
	bool samples;	  /* count samples instead of adding up weights */
	bool mark_kernel; /* append _[k] to kernel functions */
};
void view_folded(const struct profile *p, const struct profile_event *e, const struct folded_opts *o,
		 struct bytes *out);

#endif
