/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch registers of a thread: its last taken branches, or, in call-stack mode, the calls that have not returned. Of
 * each distinct filter (attr.branch_sample_type) there is one set, so that events with different ones do not have to
 * take turns as they have on hardware; of filters with counters, one for each group. Knows nothing of QEMU.
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
	const u64 *counts;  /* all of the thread's counts, by now: where branch_regs_log says so; else NULL */
};

/* Empty; NULL: no event of c wants any. */
struct branch_regs *branch_regs_new(const struct vpmu_control *c);
void branch_regs_free(struct branch_regs *r);
/* As a new one, of a thread that has these counts by now: its first entry has cycles, and counters, since. */
void branch_regs_clear(struct branch_regs *r, u64 cycles, const u64 counts[NR_VPMU_COUNTS]);
/* Do entries hold what events counted? */
bool branch_regs_log(const struct branch_regs *r);
void branch_regs_put(struct branch_regs *r, const struct branch_taken *b);
/* The thread goes through the kernel. */
void branch_regs_kernel(struct branch_regs *r);
/* A counter's overflow interrupts the thread at this count of slots, before its sample is taken. */
void branch_regs_interrupt(struct branch_regs *r, u64 slots);
/*
 * What a sample of that event shows: three words for each entry {from, to, flags}, newest first. Returns how many
 * there are, at most options.branch_depth; hw_idx: the register of the newest one. counters: a word for each entry, if
 * the event asks for them.
 */
u32 branch_regs_read(const struct branch_regs *r, u32 event, u64 *words, u64 *counters, u64 *hw_idx);

#endif
