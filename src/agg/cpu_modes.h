/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of a row's weight is of the kernel, of user space, and of guests' (PERF_RECORD_MISC_CPUMODE_MASK): where
 * the key does not tell it, as with threads, CPUs or cgroups, this is what a row was doing.
 */
#ifndef AGG_CPU_MODES_H
#define AGG_CPU_MODES_H

#include "agg/measure.h"
#include "base/vec.h"

enum cpu_mode { MODE_KERNEL, MODE_USER, MODE_GUEST_KERNEL, MODE_GUEST_USER, NR_CPU_MODES };

/* Weights of a node or row, in the unit of its event. What has another mode (a hypervisor's) is in none. */
struct mode_weights {
	u64 of[NR_CPU_MODES];
};

struct mode_held {
	u64 weight;
	u32 mode;
};

/* By node. A zeroed struct is empty. */
struct mode_sums {
	VEC(struct mode_weights) v;
};

struct profile_modes {
	struct mode_sums nodes; /* empty, once there are rows */
	struct mode_weights *rows;
};

bool cpu_modes_hold(const struct hit *h, void *held);
void cpu_modes_add(void *worker, const void *held, const struct hit_place *place, void *sums);
void mode_sums_merge(void *sums, void *from, const u32 *at);
void mode_sums_free(void *sums);
void *profile_modes_new(const void *setup, u32 event, void *sums);
void profile_modes_rows(struct profile *p, struct profile_event *e);
void profile_modes_free(void *modes);

#endif
