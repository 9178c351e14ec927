/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch registers of a thread: its last taken branches, or, in call-stack mode, the calls that have not returned. Of
 * each distinct filter (attr.branch_sample_type) there is one set, so that events with different ones do not have to
 * take turns as they have on hardware. Knows nothing of QEMU.
 */
#ifndef VPMU_BRANCH_REGS_H
#define VPMU_BRANCH_REGS_H

#include "codec/vpmu.h"

struct branch_regs;

/* A taken branch. */
struct branch_taken {
	u64 from, to;
	u8 kind;	    /* enum op_kind, from OP_COND on */
	bool next;	    /* it leads to the instruction behind it */
	bool judged, wrong; /* was it predicted (judged: by a model), and otherwise than it went? */
	u64 cycles;	    /* the thread's count, by now */
};

/* Empty; NULL: no event of c wants any. */
struct branch_regs *branch_regs_new(const struct vpmu_control *c);
void branch_regs_free(struct branch_regs *r);
/* As a new one, of a thread that has this many cycles by now: its first entry has those since. */
void branch_regs_clear(struct branch_regs *r, u64 cycles);
void branch_regs_put(struct branch_regs *r, const struct branch_taken *b);
/*
 * What a sample of that event shows: three words for each entry {from, to, flags}, newest first. Returns how many
 * there are, at most options.branch_depth; hw_idx: the register of the newest one.
 */
u32 branch_regs_read(const struct branch_regs *r, u32 event, u64 *words, u64 *hw_idx);

#endif
