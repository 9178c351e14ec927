/* SPDX-License-Identifier: Apache-2.0 */
/* How long windows came out: a histogram whose steps are 1 up to 512, then at most 1/256 of the length. */
#ifndef WINDOWS_STATS_H
#define WINDOWS_STATS_H

#include "base/types.h"

#define WINDOW_STATS_BITS 8
#define WINDOW_STATS_STEPS ((64 - WINDOW_STATS_BITS + 1) << WINDOW_STATS_BITS)

struct window_stats {
	u64 n;
	u64 steps[WINDOW_STATS_STEPS];
};

void window_stats_add(struct window_stats *s, u64 length);
/* The length that `percent` of the windows do not exceed; of a step, its least. 0 when there are none. */
u64 window_stats_at(const struct window_stats *s, u32 percent);

#endif
