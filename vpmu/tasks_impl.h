/* SPDX-License-Identifier: Apache-2.0 */
/* Private to tasks.c, maps.c and exec.c. */
#ifndef VPMU_TASKS_IMPL_H
#define VPMU_TASKS_IMPL_H

#include <pthread.h>

#include "base/vec.h"
#include "vpmu/tasks.h"

/* A thread that was created and has not run yet. */
struct newborn {
	unsigned vcpu;
	u32 tid, ptid;
	u64 clock;
};

struct mapping { /* one that was announced */
	u64 start, end;
};

struct tasks {
	pthread_mutex_t lock; /* over all below, and p->threads; taken by fork, so that the child finds it whole */
	u32 ppid;
	struct tasks_start start; /* of this program */
	bool has_started;	  /* its first thread has run */
	VEC(struct newborn) newborns;
	struct { /* between fork's prepare and its child */
		u32 pid, ptid;
		u64 clock;
	} forked;
	VEC(struct mapping) mapped;
};

static inline void tasks_lock(struct vprocess *p)
{
	pthread_mutex_lock(&p->tasks->lock);
}
static inline void tasks_unlock(struct vprocess *p)
{
	pthread_mutex_unlock(&p->tasks->lock);
}

/* Whether the event that carries the side-band asks for that kind: ATTR_*. */
bool tasks_wants(const struct vprocess *p, u64 flag);
/*
 * Completes a side-band record of t (its trailer: t's ids and clock) and puts it. time: where the body has one too, or
 * NULL. What is recorded from now on is younger than it.
 */
void tasks_put(struct vthread *t, struct record *r, u64 *time);

/* maps.c */
void maps_forget(struct vprocess *p);

#endif
