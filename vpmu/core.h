/* SPDX-License-Identifier: Apache-2.0 */
/* The core that a thread runs on. What other parts call is in vthread.h; this is for plugin.c and truth.c. */
#ifndef VPMU_CORE_H
#define VPMU_CORE_H

#include "vpmu/access_run.h"
#include "vpmu/vthread.h"

/* A thread and its core are one piece of memory, zeroed; t->process and t->core are set. */
struct vthread *core_thread_new(struct vprocess *p);
void core_thread_free(struct vthread *t);

/* After fork, in the child: what the parent's block did is the parent's. */
void core_forked(struct vthread *t);

/* An access of the block that runs, where cores share memory (process->coherence). */
void core_access_shared(struct vthread *t, u64 told, u64 addr);

/* A block begins, when some parts of the model are left out. core_fast.h has this for all and for none. */
void core_enter_some(struct vthread *t, const struct block *b);
/* A block begins that may be an instruction of the last one, done again alone. */
void core_enter_again(struct vthread *t, const struct block *b);

/* core_settle, then what waits for the thread's leaving user space (sampler_leave). */
void core_leave(struct vthread *t);

/* Brings the counts that follow from others up to date: cycles, time, sums. */
void core_derive(const struct model *m, u32 vpmu_models, u64 counts[NR_VPMU_COUNTS]);

#endif
