/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The distribution of samples' weights (PERF_SAMPLE_WEIGHT: the cycles that a load took): mean, quantiles, largest.
 *
 * A mean hides the few accesses that wait for memory, although these take the time. So weights are counted by size:
 * those below 128 separately, larger ones together with others of the same first seven bits, which differ by less than
 * one part in 64. One place has few different sizes, so a list of them is small.
 */
#ifndef AGG_WEIGHTS_H
#define AGG_WEIGHTS_H

#include "agg/measure.h"
#include "base/map.h"
#include "base/vec.h"

/* Samples in one node whose weights have the same size class. */
struct weight_count {
	u32 node, size;
	u64 n, sum, largest;
};

/* What a hit says: of so many samples, all with that weight. */
struct weight_held {
	u64 weight, times;
};

/* A zeroed struct is empty. */
struct weight_sums {
	struct map at; /* node << 32 | size -> index */
	VEC(struct weight_count) v;
};

/* The data of a row, from its own samples that have a weight. */
struct weight_row {
	u64 n, sum, largest;
	u64 half, most; /* the values that half of them, and 99 of 100, do not exceed */
};

struct profile_weights {
	struct weight_sums nodes;
	struct weight_row *rows;
};

bool weights_hold(const struct hit *h, void *held);
void weights_add(void *worker, const void *held, const struct hit_place *place, void *sums);
void weight_sums_merge(void *sums, void *from, const u32 *at);
void weight_sums_free(void *sums);
void *profile_weights_new(const void *setup, u32 event, void *sums);
void profile_weights_rows(struct profile *p, struct profile_event *e);
void profile_weights_free(void *weights);

#endif
