/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures: data about hits that are kept beside the call tree, by node, and shown by row.
 *
 * The tree itself has weights and numbers of samples, which is all that most recordings need. Everything else that a
 * row needs is a measure. Its row in measures[] (agg/measures.c) says how a hit is added to a worker's sums for a
 * tree, how the sums of two workers are merged, and what a profile's rows get from them. The collector, the merge and
 * the rows go through the measures that were asked for; if none was, a hit costs nothing extra.
 *
 * Sums begin as zeroed bytes. They are kept by tree node, and node ids change in a merge: merge is told the new id of
 * each node.
 */
#ifndef AGG_MEASURE_H
#define AGG_MEASURE_H

#include <stddef.h>

#include "base/types.h"

struct hit;
struct profile;
struct profile_event;

enum measure_id {
	MEASURE_WINDOWS,      /* what groups counted between two samples (agg/window_hits.h) */
	MEASURE_WEIGHTS,      /* the distribution of samples' weights (agg/weights.h) */
	MEASURE_OPERATIONS,   /* latencies and events of Arm SPE's operations (agg/operations.h) */
	MEASURE_CPU_MODES,    /* weight in the kernel, in user space, in guests (agg/cpu_modes.h) */
	MEASURE_BRANCH_NOTES, /* what branch records say of branches in call graphs (agg/branch_notes.h) */
	NR_MEASURES
};

/* A selection of measures: bits 1 << enum measure_id. */
#define MEASURE_BIT(id) (1u << (id))

/* The place of a hit: the callers' node, the leaf's frame, the node of both, and its address. activity: of a hit
 * that ends a window, a hash of the activity that it worked for, as far as the keys in use tell activities apart; else
 * 0. */
struct hit_place {
	u32 parent, frame, node;
	u64 ip, activity;
};

struct measure {
	bool full;	   /* it needs the full sample (hit.full) */
	size_t held, sums; /* sizes in bytes: of the data held for a hit; of the sums for a tree */
	/* Copies the parts of a hit that add will need, because the hit itself will not be valid then. False: the hit
	 * is not used. */
	bool (*hold)(const struct hit *h, void *held);
	/* worker: the measure's part of collector_opts.measuring. Hits come in the order in which the collector got
	 * them. */
	void (*add)(void *worker, const void *held, const struct hit_place *place, void *sums);
	/* Nothing more will be added. NULL: nothing is held back. */
	void (*flush)(void *worker);
	/* Adds all of `from`, whose nodes are now at[node], and empties it. */
	void (*merge)(void *sums, void *from, const u32 *at);
	void (*free)(void *sums);
	/* Makes a profile's data for an event; takes over the contents of the sums. setup: shared by all workers. */
	void *(*of_event)(const void *setup, u32 event, void *sums);
	/* Fills these data for each row, once all events have rows. NULL: rows get nothing. */
	void (*rows)(struct profile *p, struct profile_event *e);
	void (*free_event)(void *of_event);
};
extern const struct measure measures[NR_MEASURES]; /* measures.c */

/* The data of a pass or, with `of`, of one of its workers, for each measure. */
struct measuring {
	u32 used; /* bits */
	void *of[NR_MEASURES];
};

/* The sums of one tree; NULL if nothing was added. */
struct measured {
	void *sums[NR_MEASURES];
};
/* The sums of a measure, which are created if they are new. */
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

/* Does any of them need hit.full? */
bool measures_want_full(u32 used);

#endif
