/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How the weights of samples (PERF_SAMPLE_WEIGHT: the cycles that a load took) are spread: mean, quantiles, largest.
 *
 * A mean hides the few accesses that wait for memory, which is where time goes. So weights are counted by how large
 * they are: those below 128 each for itself, larger ones with others of the same first seven bits, which differ from
 * them by less than one part in 64. Few sizes are met in one place, so that a list of them is small.
 */
#ifndef AGG_WEIGHTS_H
#define AGG_WEIGHTS_H

#include "agg/measure.h"
#include "base/map.h"
#include "base/vec.h"

/* Samples in one node whose weights are about as large. */
struct weight_count {
	u32 node, size, n;
	u64 sum, largest;
};

/* A zeroed struct is empty. */
struct weight_sums {
	struct map at; /* node << 32 | size -> index */
	VEC(struct weight_count) v;
};

/* What a row has: of its own samples that have a weight. */
struct weight_row {
	u64 n, sum, largest;
	u64 half, most; /* so large are half of them at most, and 99 of 100 */
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
