/* SPDX-License-Identifier: Apache-2.0 */
/* Which lane a record belongs to (pass/lanes.h says what lanes are for). */
#ifndef PASS_RECORD_LANE_H
#define PASS_RECORD_LANE_H

#include "attrib/lane.h"
#include "read/source.h"

#define LANE_ANY LANES	       /* AUX data, and what comes before a sample that reads: whoever takes the block */
#define LANE_EVERY (LANES + 1) /* a record that is no sample: each worker */
#define NR_LANES (LANES + 2)
#define NR_LANES_BITS 8

_Static_assert(NR_LANES <= 1u << NR_LANES_BITS, "a lane of any kind has its bits");

/* Do samples of any event read counters, or contain call stacks of branch records? */
bool lanes_needed(const struct evlist *l);

/* The last sample that reads counters: one that begins with the same ids has the same lane. */
struct last_lane {
	const struct event *e; /* NULL: none */
	u64 id, first;	       /* its event's, and the first counter's, as they are in the record */
	u32 tid, lane;
};

/* Below NR_LANES. A sample that reads nothing may be read by anybody, and has the lane of the one before it, so that
 * runs of one lane are long. *last is zeroed at first. */
u32 record_lane(const struct source *src, const struct source_record *at, struct last_lane *last);

#endif
