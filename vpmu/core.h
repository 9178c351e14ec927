/* SPDX-License-Identifier: Apache-2.0 */
/* The core that a thread runs on. What other parts call is in vthread.h; this is for plugin.c and truth.c. */
#ifndef VPMU_CORE_H
#define VPMU_CORE_H

#include "vpmu/block.h"
#include "vpmu/vthread.h"

/* A thread and its core are one piece of memory, zeroed; t->process and t->core are set. */
struct vthread *core_thread_new(struct vprocess *p);
void core_thread_free(struct vthread *t);

/* After fork, in the child: what the parent's block did is the parent's. */
void core_forked(struct vthread *t);

/* A block begins. Which of them: by what is modelled. */
void core_enter(struct vthread *t, const struct block *b);	  /* VPMU_MODEL_ALL */
void core_enter_some(struct vthread *t, const struct block *b);	  /* some of it */
void core_enter_counts(struct vthread *t, const struct block *b); /* nothing */

/* An access of operation `op` of the block that runs; info is QEMU's, whose bits are read without asking it. */
struct access {
	u64 addr;
	u32 info, op;
};
enum { INFO_SIZE_SHIFT = 4, INFO_LOAD = 1 << 16, INFO_STORE = 1 << 17 }; /* size: log2 of bytes, 3 bits */

/* core_settle, then what waits for the thread's leaving user space (sampler_leave). */
void core_leave(struct vthread *t);

/* Brings the counts that follow from others up to date: cycles, time, sums. */
void core_derive(const struct model *m, u32 vpmu_models, u64 counts[NR_VPMU_COUNTS]);

#endif
