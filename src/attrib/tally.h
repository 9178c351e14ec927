/* SPDX-License-Identifier: Apache-2.0 */
/* Tally: counts from the way through a recording, for the head of the report. */
#ifndef ATTRIB_TALLY_H
#define ATTRIB_TALLY_H

#include "attrib/stack_ends.h"
#include "codec/activity.h"

/* The counts in the head of every report. */
struct tally {
	u64 samples;	    /* decoded: records, and operations of AUX data, each once also if it gives several hits
			       (attrib/hit.h); where branches are counted, branches */
	u64 filtered;	    /* number of these that filters leave out, but for those on code, which choose rows or
			       stacks */
	u64 lost;	    /* records, by LOST */
	u64 lost_samples;   /* by LOST_SAMPLES */
	bool lost_twice;    /* counts at the end (from PERF_FORMAT_LOST) that include what LOST records said before, as
			       far as they could */
	u64 throttled;	    /* THROTTLE records */
	u64 undecodable;    /* samples that could not be decoded (unknown bits, broken) */
	u64 broken_records; /* side-band records that could not be decoded, and TLS_USER records of no known event */
	u64 unknown_records; /* of types that this version does not know */
	u64 frames,
		unresolved; /* stack entries (leaf and callers), and those without a symbol; both counted per sample */
	u64 stacks,
		broken; /* samples with a user stack, and those whose user stack does not end in a thread's start */
	/* Samples whose user stack is of branch records (attrib/lbr.h); those stitched to earlier ones, and the calls
	 * that this added; those whose place in earlier ones was not certain; those that ended in a contradiction. */
	u64 lbr_stacks, lbr_stitched, lbr_calls, lbr_refused, lbr_cut;
	struct stack_counts ends; /* of all stacks of user space; frames and guessed are of copied ones alone */
	u64 first_time, last_time;
	u64 aux_lost, aux_truncated, aux_collisions; /* AUX records that say so */
	/* Operations in AUX data, and those of them with bytes that are not a packet (bad_bytes); packets of unknown
	 * kinds. */
	u64 aux_operations, aux_broken, aux_bad_bytes, aux_unknown_packets;
	const char *uncounted; /* why operations are no samples of what groups count (spe_add_counted), or NULL */
	u64 aux_left_out;      /* bytes of AUX data that are not Arm SPE's */
	const char *aux_kind;  /* what those are; static; NULL: there are none */
	u64 activities[NR_ACTIVITY_STATUS + 1]; /* samples by how their activity was read; last: nothing says */
	u64 broken_activities;			/* records of activities that make no sense */
	/* Entries of journals that were overwritten before they were read; that make no sense. */
	u64 activities_overwritten, activities_refused;
	u64 left_out_bytes; /* of the file */
};

static inline u64 tally_lost(const struct tally *t)
{
	return t->lost_twice ? MAX(t->lost, t->lost_samples) : t->lost + t->lost_samples;
}

#endif
