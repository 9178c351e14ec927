/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hit: one sample of one event, whatever its origin. A sample record gives one hit, or one for each member of a group
 * whose counters it reads, or the end of a window.
 */
#ifndef ATTRIB_HIT_H
#define ATTRIB_HIT_H

#include "attrib/window.h"
#include "codec/evlist.h"
#include "codec/sample.h"

struct branch_history;
struct spe_operation;

enum hit_made {
	HIT_MEASURED,	 /* the event's own sample */
	HIT_MEMBER,	 /* of a group's member, from the value of its counter in the leader's sample */
	HIT_WINDOW,	 /* of the leader of a group, whose window it ends */
	HIT_SYNTHESISED, /* of AUX data (attrib/spe.h) */
	HIT_BRANCH,	 /* a branch that a sample's branch stack holds, at its target */
};

struct hit {
	const struct event *e; /* evlist.events.v[event] */
	u32 event;
	u32 cpumode;	      /* PERF_RECORD_MISC_CPUMODE_MASK bits: where s.ip lies */
	u64 clock;	      /* s.time, or offset where the recording has no times */
	u64 offset;	      /* of the record in source.data; with nth it names the hit */
	u32 nth;	      /* number of the hit among those of the same record, from 0 */
	u8 made;	      /* enum hit_made */
	u16 stitched;	      /* number of words at the end of s.chain that come from earlier samples (attrib/lbr.h) */
	u16 exact_words;      /* number of words at the beginning of s.chain that are no return addresses
				 (attrib/branch_history.h) */
	u32 activity;	      /* for what its thread worked: a number of the session's timelines (state/timelines.h) */
	bool exact;	      /* s.ip is the address of the exact instruction: PERF_RECORD_MISC_EXACT_IP */
	struct sample_core s; /* period: the hit's weight */
	/* Bits: of spe.made, the events of which its operation is a sample, if the feed hands each operation on once
	 * (feed.together); e and event are the first of them. Else 0. */
	u64 together;
	/* Valid only during the call that hands the hit on: */
	const struct sample *full;	   /* NULL unless the consumer asked for it, or the counters had to be read */
	const struct window *window;	   /* the window that the hit ends, or NULL */
	const struct branch_entry *branch; /* HIT_BRANCH: the branch; else NULL */
	const struct branch_history *past; /* the branches that s.chain begins with, or NULL */
	const struct spe_operation *operation; /* HIT_SYNTHESISED: the operation of Arm SPE; else NULL */
};

#endif
