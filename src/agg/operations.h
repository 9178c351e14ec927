/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What Arm SPE says of operations, as a measure: how long they waited for issue, took in all and took to translate
 * their address, how many missed caches and the TLB or were mispredicted, and what had the data of loads.
 *
 * Operations of a node are counted by kind: loads by what had their data, stores, branches, others. A mean hides the
 * few operations that wait for memory, so latencies are kept as histograms: those below 64 cycles exactly, longer ones
 * together with others of the same first six bits, which differ by less than one part in 32. A counter has 16 bits, so
 * a kind of a node has at most 384 such classes for each of its three latencies, and only those that occur take
 * memory: the memory depends on nodes, not on operations.
 */
#ifndef AGG_OPERATIONS_H
#define AGG_OPERATIONS_H

#include "agg/measure.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/spe_source.h"

/* A load from a place is of the kind with the place's number (enum spe_place). */
enum operation_kind {
	OPERATION_STORE = SPE_NR_PLACES,
	OPERATION_BRANCH,
	OPERATION_OTHER,
	NR_OPERATION_KINDS,
	OPERATION_ALL = NR_OPERATION_KINDS, /* of rows: all of these together */
};

/* Counts of operations in which something happened, of those in which it might have. */
enum operation_ratio {
	OPERATION_L1D_MISS,	/* of accesses to the L1 data cache */
	OPERATION_LLC_MISS,	/* of accesses to the last-level cache */
	OPERATION_REMOTE,	/* of loads and stores */
	OPERATION_TLB_WALK,	/* of accesses to the TLB */
	OPERATION_NOT_TAKEN,	/* of branches */
	OPERATION_MISPREDICTED, /* of branches */
	NR_OPERATION_RATIOS
};

struct operation_ratio_count {
	u64 n, of;
};

/* What a hit says. */
struct operation_held {
	u8 kind;
	u8 latencies;		 /* bits 1 << enum spe_counter: those that there are */
	u8 happened, might_have; /* bits 1 << enum operation_ratio */
	u16 latency[SPE_NR_COUNTERS];
	u64 times; /* so many equal operations */
};

/* Operations of one kind in a node (or row). */
struct operation_count {
	u32 node, kind;
	u64 n;
	struct operation_ratio_count ratios[NR_OPERATION_RATIOS];
};
/* Those whose latency is in the same class. */
struct operation_class {
	u32 count; /* index in counts; of rows: row */
	u16 what;  /* enum spe_counter << OPERATION_CLASS_BITS | class; larger classes are of longer latencies */
	u16 kind;  /* of rows */
	u64 n, sum;
};
#define OPERATION_CLASS_BITS 10
/* The shortest latency of a class. */
u32 operation_class_first(u32 class);

/* A zeroed struct is empty. */
struct operation_sums {
	struct map count_at; /* node << 32 | kind -> index in counts */
	VEC(struct operation_count) counts;
	struct map class_at; /* count << 32 | what -> index in classes */
	VEC(struct operation_class) classes;
};

struct operation_latency {
	u64 n, sum;	   /* of the operations that say it */
	u64 p50, p95, p99; /* so many of a hundred do not exceed it */
};

/* What a row has of one kind, or of all. */
struct operation_part {
	u32 row, kind;
	u64 n;
	struct operation_ratio_count ratios[NR_OPERATION_RATIOS];
	struct operation_latency latency[SPE_NR_COUNTERS];
};

/* Of an event. Row rows.n is that of all rows together. */
struct profile_operations {
	struct operation_sums nodes;
	VEC(struct operation_part) parts;    /* by row; OPERATION_ALL first, then by kind */
	u32 *first;			     /* rows.n + 2 of them, in parts */
	VEC(struct operation_class) classes; /* by row, counter and class */
	u32 *first_class;		     /* rows.n + 2 of them, in classes */
};

/* Operations whose latency is from `from` to `to` cycles. */
struct operation_bar {
	u32 from, to;
	u64 n;
};
#define OPERATION_BARS (1u << OPERATION_CLASS_BITS)

bool operations_hold(const struct hit *h, void *held);
void operations_add(void *worker, const void *held, const struct hit_place *place, void *sums);
void operation_sums_merge(void *sums, void *from, const u32 *at);
void operation_sums_free(void *sums);
void *profile_operations_new(const void *setup, u32 event, void *sums);
void profile_operations_rows(struct profile *p, struct profile_event *e); /* operation_rows.c */
void profile_operations_free(void *operations);

/* The parts of a row, the one of all kinds first; *n: how many, 0 if it has no operation. */
const struct operation_part *profile_operations_parts(const struct profile_operations *o, size_t row, u32 *n);
/* The histogram of a latency of one kind in a row, or of all (OPERATION_ALL), from the shortest latency on; classes
 * without operations are left out. At most OPERATION_BARS; returns how many. */
u32 profile_operations_histogram(const struct profile_operations *o, size_t row, u32 kind, enum spe_counter counter,
				 struct operation_bar *out);

#endif
