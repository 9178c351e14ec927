/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the counters in branch records are of. With each record there is one word (sample.branch_counters), which says
 * how often events of the group happened since the record before: those events that have BRANCH_COUNTERS, in their
 * order, from the lowest bits on. How many bits each has stands in the CPU's capabilities (branch_counter_width); the
 * largest number means that many or more.
 */
#ifndef CODEC_BRANCH_COUNTERS_H
#define CODEC_BRANCH_COUNTERS_H

#include "codec/evlist.h"
#include "codec/features.h"

struct branch_counter {
	u32 event, leader;
	u32 nth; /* of its group */
};

struct branch_counter_group {
	u32 first, n; /* of branch_counters.v */
};

struct branch_counters {
	u32 width;				 /* bits; 0: the recording does not say */
	VEC(struct branch_counter) v;		 /* in the order of events */
	VEC(struct branch_counter_group) groups; /* by event */
};

/* Of a recording without any: v.n is 0. */
void branch_counters_init(struct branch_counters *c, const struct evlist *events, const struct features *f);
void branch_counters_free(struct branch_counters *c);
/* The first one of this event's group, and behind it the others of the group for which a word has room, *n in all; *n
 * 0: its samples have no counters. */
u32 branch_counters_of(const struct branch_counters *c, u32 event, u32 *n);
/* How often it happened, by this word; UINT64_MAX: the word has no place for it. */
u64 branch_counter_value(const struct branch_counters *c, u32 counter, u64 word);
/* The number that means that many or more. */
u64 branch_counter_most(const struct branch_counters *c);
/* perf's short names: A, B, ..., Z, A1, ... */
void branch_counter_name(u32 counter, struct bytes *out);
/* One line for each, and what the signs mean; as in perf, each line with "# " before it. */
void branch_counters_legend(const struct branch_counters *c, const struct evlist *events, struct bytes *out);

#endif
