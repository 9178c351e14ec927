/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks of a recording with the virtual PMU. One that ends writes its EXIT itself; one that is killed, or that an
 * exec of another thread ends, writes nothing, so its EXIT is made here, behind the last that is known of it.
 */
#ifndef SIM_TASKS_H
#define SIM_TASKS_H

#include <sys/uio.h>

#include "base/map.h"
#include "base/vec.h"
#include "codec/evlist.h"
#include "codec/record.h"

struct sim_task {
	u32 pid, tid, ppid, cpu;
	s32 real_pid; /* a process's, where pid == tid; 0: not known */
	u64 time;     /* of its last record; a process's: of all its threads' */
	u32 execs;    /* a process's: the thread of it that tries to run another program */
	bool lives;   /* no EXIT has come */
	bool ran;     /* a record of its own has */
	bool needed;  /* has threads that live: while others are forgotten */
};

struct sim_tasks {
	struct map by_tid;
	VEC(struct sim_task) v;	  /* those that live; and of the others, some */
	size_t kept;		  /* of them, when others were forgotten last */
	VEC(struct sim_task) due; /* an EXIT */
};

/* The first process, before all others. */
void sim_tasks_begin(struct sim_tasks *k, u32 pid, u32 ppid, s32 real_pid);
/* Whole records of one thread. */
void sim_tasks_look(struct sim_tasks *k, const struct evlist *events, const struct iovec *whole);
/* type: VPMU_RECORD_PROCESS or _EXEC; of: what that says of process pid. */
void sim_tasks_told(struct sim_tasks *k, u32 type, u32 pid, u32 of);
/* Calls put with an EXIT (all but the trailer's ids) for each task that is gone without one. put's first error. */
int sim_tasks_end(struct sim_tasks *k, int (*put)(void *ctx, struct record *r), void *ctx);
void sim_tasks_free(struct sim_tasks *k);

#endif
