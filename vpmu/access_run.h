/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs of accesses: those that follow each other in a block at a fixed distance from the stack pointer, as a
 * function's first and last instructions push and pop, or at fixed addresses. QEMU calls for the first of them only;
 * where that is tells where the others are. When all lie in one line they are one use of it, and only how many there
 * were is to be counted.
 *
 * One that follows may turn out not to have happened when the block is left in its middle: who settles the block knows
 * that, and counts the log again. Its line has been used then all the same, so accesses that can fault do not follow
 * others (may_fault).
 */
#ifndef VPMU_ACCESS_RUN_H
#define VPMU_ACCESS_RUN_H

#include "vpmu/block.h"

/* An access of the block that runs. told: QEMU's info, whose bits are read without asking it, with its operation; or a
 * run. */
struct access {
	u64 addr, told;
};
enum { INFO_SIZE_SHIFT = 4, INFO_KIND_SHIFT = 16 }; /* size: log2 of bytes, 3 bits */
enum { INFO_LOAD = 1 << INFO_KIND_SHIFT, INFO_STORE = 2 << INFO_KIND_SHIFT };
#define TOLD_OP 24	     /* where the operation's 16 bits begin */
#define TOLD_NONE UINT64_MAX /* by no operation: no block has as many */

static inline u32 told_op(u64 told)
{
	return (u16)(told >> TOLD_OP);
}

#define RUN_MAX 15	/* followers */
#define RUN_OPS_MAX 512 /* of a block with runs: as many accesses, each known to be one, it has at most */

/*
 * What a run's first access is told by, and one that is alone in its operation: one word, of which these are the
 * shifts, beside the info of the first one and its operation. low, high: bytes from its address to the run's first
 * byte, and its last one; last: to the last byte of the last access.
 */
enum { RUN_LOW = 8, RUN_COUNTS = 18, RUN_LAST = 48, RUN_HIGH = 56 };
#define RUN_STORES 24 /* among the counts, with loads below; so that those of many runs can be added up */

static inline u64 run_pack(u64 told, s64 low, s64 high, s64 last, u64 loads, u64 stores)
{
	return told | (u64)(u8)low << RUN_LOW | (u64)high << RUN_HIGH | (loads | stores << RUN_STORES) << RUN_COUNTS |
	       (u64)(u8)last << RUN_LAST;
}
static inline s64 run_low(u64 run)
{
	return (int8_t)(run >> RUN_LOW);
}
static inline s64 run_high(u64 run)
{
	return (s64)run >> RUN_HIGH;
}
static inline s64 run_last(u64 run)
{
	return (int8_t)(run >> RUN_LAST);
}
static inline u64 run_counts(u64 run)
{
	return run >> RUN_COUNTS & (31 | 31u << RUN_STORES);
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
