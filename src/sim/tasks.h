/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tasks of a recording with the virtual PMU. A task that ends writes its EXIT record itself; a task that is
 * killed, or that is ended by an exec of another thread, writes nothing, so its EXIT is made here, after its last
 * record.
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
	s32 real_pid; /* for a process, where pid == tid; 0: not known */
	u64 time;     /* of its last record; for a process: of the last record of all its threads */
	u32 execs;    /* for a process: its thread that tries to run another program */
	bool lives;   /* no EXIT has come */
	bool ran;     /* a record of its own has come */
	bool needed;  /* it has living threads: used while others are forgotten */
};

struct sim_tasks {
	struct map by_tid;
	VEC(struct sim_task) v;	  /* the living ones, and some of the others */
	size_t kept;		  /* their number when others were last forgotten */
	VEC(struct sim_task) due; /* an EXIT */
};

/* The first process, before all others. */
void sim_tasks_begin(struct sim_tasks *k, u32 pid, u32 ppid, s32 real_pid);
/* Whole records of one thread. */
void sim_tasks_look(struct sim_tasks *k, const struct evlist *events, const struct iovec *whole);
/* type: VPMU_RECORD_PROCESS or _EXEC; of: its content about process pid. */
void sim_tasks_told(struct sim_tasks *k, u32 type, u32 pid, u32 of);
/* Calls put with an EXIT record (complete except for the trailer's ids) for each task that has ended without one.
 * Returns put's first error. */
int sim_tasks_end(struct sim_tasks *k, int (*put)(void *ctx, struct record *r), void *ctx);
void sim_tasks_free(struct sim_tasks *k);

#endif
