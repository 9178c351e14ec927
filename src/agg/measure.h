/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures: what is kept of hits beside the call tree, by node, and shown by row.
 *
 * The tree itself knows weights and numbers of samples, which is all that most recordings need. Whatever else is to be
 * known of each row is a measure: one row in measures[] (agg/measures.c), which says how a hit is added to what a
 * worker holds of a tree, how the sums of two workers become one, and what a profile's rows have of them. The
 * collector, the merge and the rows go through those that somebody asked for; a hit costs no more where nobody did.
 *
 * Sums begin as zeroed bytes. They go by the tree's nodes, whose ids change in a merge: merge is told what each has
 * become.
 */
#ifndef AGG_MEASURE_H
#define AGG_MEASURE_H

#include <stddef.h>

#include "base/types.h"

struct hit;
struct profile;
struct profile_event;

enum measure_id {
	MEASURE_WINDOWS, /* what groups counted between two samples (agg/window_hits.h) */
	MEASURE_WEIGHTS, /* how samples' weights are spread (agg/weights.h) */
	NR_MEASURES
};

/* Which of them: bits 1 << enum measure_id. */
#define MEASURE_BIT(id) (1u << (id))

/* Where a hit lies: the callers' node, the leaf's frame, the node of both, and its address. */
struct hit_place {
	u32 parent, frame, node;
	u64 ip;
};

struct measure {
	bool full;	   /* asks for the whole sample (hit.full) */
	size_t held, sums; /* bytes: of what is held of a hit, of what is kept of a tree */
	/* Copies what add will need of a hit that is about to be gone. False: it is of no concern. */
	bool (*hold)(const struct hit *h, void *held);
	/* worker: what collector_opts has of it. Hits come in the order in which the collector got them. */
	void (*add)(void *worker, const void *held, const struct hit_place *place, void *sums);
	/* Nothing more will be added. NULL: nothing is held back. */
	void (*flush)(void *worker);
	/* Adds all of `from`, whose nodes are now at[node], and empties it. */
	void (*merge)(void *sums, void *from, const u32 *at);
	void (*free)(void *sums);
	/* What a profile has of an event: takes over what is in the sums. setup: what all workers have in common. */
	void *(*of_event)(const void *setup, u32 event, void *sums);
	/* Fills that for each row, once all events have rows. */
	void (*rows)(struct profile *p, struct profile_event *e);
	void (*free_event)(void *of_event);
};
extern const struct measure measures[NR_MEASURES]; /* measures.c */

/* What a pass, or with `of` what one of its workers, has of each measure. */
struct measuring {
	u32 used; /* bits */
	void *of[NR_MEASURES];
};

/* Of one tree; NULL where nothing was added. */
struct measured {
	void *sums[NR_MEASURES];
};
/* The sums of a measure, made when they are new. */
void *measured_sums(struct measured *m, u32 id);
static inline bool measured_any(const struct measured *m)
{
	bool any = false;

	for (u32 i = 0; i < NR_MEASURES; i++)
		any |= m->sums[i] != NULL;
	return any;
}
/* Adds all of `from`, whose nodes are now at[node], and empties it. */
void measured_merge(struct measured *m, struct measured *from, const u32 *at);
void measured_free(struct measured *m);

/* Does one of them ask for hit.full? */
bool measures_want_full(u32 used);

#endif
