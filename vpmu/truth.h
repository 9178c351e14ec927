/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exact counts per instruction, per node of the calling context tree, and per window between two samples. What
 * sampler.c and plugin.c call is in vthread.h; this is what core.c tells.
 *
 * All counts are differences of the thread's counts at successive instants, so whatever is between two of them belongs
 * to exactly one instruction and one node: sums over either are the totals, for every count, derived ones too.
 */
#ifndef VPMU_TRUTH_H
#define VPMU_TRUTH_H

#include "vpmu/block.h"
#include "vpmu/vthread.h"

/* A window begun by a sample of the event that has its index. */
struct truth_window {
	bool open;
	u64 time, pc;  /* where it began */
	u64 functions; /* that have been in it */
	u64 counts[NR_VPMU_COUNTS];
};

/* Those of a thread, which an exec does not end. counts: since each began. */
struct truth_windows {
	struct truth_window of[VPMU_EVENTS_MAX];
};

/* t->truth is there. */
void truth_save_windows(const struct vthread *t, struct truth_windows *to);
/* Operation `op` of b has run, and the thread's counts (derived ones too) hold it. */
void truth_op(struct vthread *t, const struct block *b, u32 op);

#endif
