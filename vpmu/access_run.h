/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of accesses: those that follow each other in a block at a fixed distance, as a function's first and last instructions
 * push and pop, and the fields of a structure are read. QEMU calls for the first of them only; where that is tells where the others
 * are. When all lie in one line they are one use of it, and only how many there were is to be counted.
 *
 * An access is in a run if its address is that of the one before it and a number: the same registers, not written since, but for
 * what is added to the stack pointer. It may turn out not to have happened (an instruction before it faulted): who settles the
 * block knows that, and counts the log again.
 */
#ifndef VPMU_ACCESS_RUN_H
#define VPMU_ACCESS_RUN_H

#include "vpmu/block.h"

/* An access of operation `op` of the block that runs; info is QEMU's, whose bits are read without asking it. */
struct access {
	u64 addr;
	u32 info, op;
};
enum { INFO_SIZE_SHIFT = 4, INFO_KIND_SHIFT = 16 }; /* size: log2 of bytes, 3 bits */
enum { INFO_LOAD = 1 << INFO_KIND_SHIFT, INFO_STORE = 2 << INFO_KIND_SHIFT };

#define RUN_MAX 15 /* followers */

/* What a run's first access is told by, and one that is alone in its operation: one word. */
static inline u32 run_op(u64 run)
{
	return (u16)run;
}
/* Bytes from its address to the run's first byte; its last one; */
static inline s64 run_low(u64 run)
{
	return (int8_t)(run >> 16);
}
static inline s64 run_high(u64 run)
{
	return (int8_t)(run >> 24);
}
/* to the last one of the last access. */
static inline s64 run_last(u64 run)
{
	return (int8_t)(run >> 48);
}
/* Its accesses: loads, and from bit RUN_STORES on stores, so that those of many runs can be added up. */
#define RUN_STORES 24
static inline u64 run_counts(u64 run)
{
	return run >> 32 & (31 | 31u << RUN_STORES);
}
static inline u32 run_nr(u64 run)
{
	return (u32)(run_counts(run) + (run_counts(run) >> RUN_STORES)) & 31;
}

/* Finds the runs of b, whose bytes these are (x86_64). */
void access_runs_find(struct block *b, const u8 *bytes);
/* The run that operation i of b begins, which may be one access; 0: it has none, or follows, or QEMU has to tell. */
u64 access_run(const struct block *b, u32 i);
/* Writes down those that follow *first, an access of b, behind it. Returns how many. */
u32 access_run_fill(const struct block *b, struct access *first);

#endif
