/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lanes: samples that have to be read in the order of the file, one after the other, share one. Which worker a lane
 * belongs to depends on how many there are (pass/lanes.c), the lane itself does not: so where things of one lane
 * replace each other they do it in the same order for any number of workers.
 */
#ifndef ATTRIB_LANE_H
#define ATTRIB_LANE_H

#include "base/types.h"

#define LANES_BITS 6
#define LANES (1u << LANES_BITS)

/* Of a set of counters (0: of a thread's stacks) and a thread (0: of any). Somebody who chooses ids and threads that
 * meet in one lane makes one worker do it all, no more. */
static inline u32 lane_spread(u64 id, u32 tid)
{
	return (u32)((id * 0x9e3779b97f4a7c15u + tid * 0xbf58476d1ce4e5b9u) >> (64 - LANES_BITS));
}

#endif
