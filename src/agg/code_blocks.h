/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of code that ran from the target of one branch to the next branch that was taken, and the cycles that they
 * took, which some CPUs write into their branch records. Blocks may overlap: one that begins in the middle of another,
 * because it was entered there, is a block of its own.
 */
#ifndef AGG_CODE_BLOCKS_H
#define AGG_CODE_BLOCKS_H

#include "agg/branch_traces.h"

struct code_block {
	u32 dso;
	u64 from, to;	   /* the first instruction, and the branch at its end; as in symbol look-ups */
	u64 cycles, times; /* of the passages of which the CPU told how long they took, and how many these were */
	u32 events;	   /* as in struct branch_trace, but of code_blocks.event_sums */
};

struct code_blocks {
	VEC(struct code_block) v; /* those with the most cycles first; blocks without any are left out */
	u64 cycles;		  /* of all branch records, also of those that end no block */
	u64 known;		  /* of those, in blocks */
	double averages;	  /* the sum of the blocks' cycles per passage */
	u32 nr_counted;		  /* branch counters that were summed up */
	VEC(struct event_sum) event_sums;
};

/* The sums of branch counters over the passages of a block, nr_counted of them; NULL: nothing was counted there. */
static inline const struct event_sum *code_block_events(const struct code_blocks *b, const struct code_block *block)
{
	return block->events ? b->event_sums.v + (size_t)(block->events - 1) * b->nr_counted : NULL;
}

/* Fills b, which is zeroed, from t, which is sorted. */
void code_blocks_make(struct code_blocks *b, const struct branch_traces *t);
void code_blocks_free(struct code_blocks *b);

#endif
