/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The truth about one simulated thread: exact counts, which are passed in the chunks of codec/vpmu.h beside the
 * samples.
 *
 * A thread's truth begins with its first instruction (BEGIN). It is written when the thread ends (END) or executes
 * another program; windows and sampled operations are written as they happen. A thread whose process is killed has a
 * BEGIN and no END.
 */
#ifndef CODEC_VPMU_TRUTH_H
#define CODEC_VPMU_TRUTH_H

#include "base/bytes.h"
#include "base/cursor.h"
#include "codec/vpmu.h"

/* An operation that was sampled, as arm_spe_0, mem-loads and mem-stores do, and what the model knows of it. */
enum vpmu_op_kind { VPMU_OP_OTHER, VPMU_OP_LOAD, VPMU_OP_STORE, VPMU_OP_BRANCH };
enum {
	VPMU_OP_ATOMIC = 1 << 0,
	VPMU_OP_CONDITIONAL = 1 << 1,
	VPMU_OP_INDIRECT = 1 << 2,
	VPMU_OP_MISPREDICTED = 1 << 3,
	VPMU_OP_NOT_TAKEN = 1 << 4,
	VPMU_OP_WALK = 1 << 5, /* the page was not in the TLB */
	VPMU_OP_PEER = 1 << 6, /* another core had changed the line */
};
struct vpmu_truth_operation {
	u32 kind;		       /* enum vpmu_op_kind */
	u32 flags;		       /* VPMU_OP_* */
	u32 level;		       /* of an access: what answered, from 0 for L1 on (vpmu_level_names) */
	u32 issue, total, translation; /* cycles; 0: the event has none */
	u64 to;			       /* BRANCH: where it led; UINT64_MAX: nobody knows */
	u64 addr, physical;	       /* LOAD, STORE; physical 0: not asked for */
};
#define VPMU_LEVELS 4
extern const char *const vpmu_level_names[VPMU_LEVELS];

/* The fields, and the kinds that have them; other kinds have 0 there. */
struct vpmu_truth {
	u32 type; /* VPMU_RECORD_TRUTH_* */
	u32 pid, tid;
	u64 time;	  /* PC: when a block with it first ran; NODE: when it was first called; WINDOW: of its end, as
			     sampled; OPERATION: as sampled */
	u64 begun;	  /* WINDOW: of its beginning */
	u64 pc;		  /* PC, OPERATION: of the instruction; NODE: first of the callee; WINDOW: where it began */
	u64 other_pc;	  /* NODE: of the call; WINDOW: where it ended */
	u32 node, parent; /* NODE: from 1, per thread and program; parents come before their kids. 0: none */
	u64 id;		  /* WINDOW, OPERATION: of the event's samples, as they carry it */
	u32 calls, returns; /* WINDOW: inside it */
	u64 functions;	    /* WINDOW: number of distinct ones that ran inside it: entered by a call, or by a jump to
			       another function */
	/* PC, NODE: its own counts. WINDOW: those between its two samples. END: all counts of the thread. */
	u64 counts[NR_VPMU_COUNTS];
	struct vpmu_truth_operation op; /* OPERATION, which has no counts */
};

void vpmu_truth_encode(const struct vpmu_truth *t, struct bytes *out);
/* c: one record, header included. ERR_FORMAT: another type or size. */
int vpmu_truth_decode(struct cursor c, struct vpmu_truth *out);

#endif
