/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth about one simulated thread: exact counts, which are passed in the chunks of codec/vpmu.h beside the
 * samples.
 *
 * A thread's truth begins with its first instruction (BEGIN). It is written when the thread ends (END) or executes
 * another program; windows are written as they happen. A thread whose process is killed has a BEGIN and no END.
 */
#ifndef CODEC_VPMU_TRUTH_H
#define CODEC_VPMU_TRUTH_H

#include "base/bytes.h"
#include "base/cursor.h"
#include "codec/vpmu.h"

/* The fields, and the kinds that have them; other kinds have 0 there. */
struct vpmu_truth {
	u32 type; /* VPMU_RECORD_TRUTH_* */
	u32 pid, tid;
	u64 time; /* PC: when a block with it first ran; NODE: when it was first called; WINDOW: of its end, as sampled
		   */
	u64 begun;	    /* WINDOW: of its beginning */
	u64 pc;		    /* PC: of the instruction; NODE: first of the callee; WINDOW: where it began */
	u64 other_pc;	    /* NODE: of the call; WINDOW: where it ended */
	u32 node, parent;   /* NODE: from 1, per thread and program; parents come before their kids. 0: none */
	u64 id;		    /* WINDOW: of the event's samples, as they carry it */
	u32 calls, returns; /* WINDOW: inside it */
	u64 functions;	    /* WINDOW: number of distinct ones that ran inside it: entered by a call, or by a jump to
			       another function */
	/* PC, NODE: its own counts. WINDOW: those between its two samples. END: all counts of the thread. */
	u64 counts[NR_VPMU_COUNTS];
};

void vpmu_truth_encode(const struct vpmu_truth *t, struct bytes *out);
/* c: one record, header included. ERR_FORMAT: another type or size. */
int vpmu_truth_decode(struct cursor c, struct vpmu_truth *out);

#endif
