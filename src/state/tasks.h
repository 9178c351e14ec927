/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: who there was in a recording, as its last records leave them. Threads with their latest names, whose child
 * each is, and what is mapped in them. Unlike state/procs.h it says nothing of the time in between.
 *
 * As in perf a thread is known by its id, the newest one of that id replaces others, and exec does not end a process's
 * mappings. Linear in the records; names point into them.
 */
#ifndef STATE_TASKS_H
#define STATE_TASKS_H

#include "base/map.h"
#include "base/vec.h"
#include "codec/record.h"

struct task {
	u32 pid, tid;
	u32 parent;	 /* the id of the thread that made it; ID_NONE: no record says */
	u32 space;	 /* index in spaces */
	struct str comm; /* p NULL: no record names it */
};

struct task_map {
	u64 start, end; /* end exclusive */
	u64 pgoff, ino;
	u32 prot;
	bool shared;
	u32 jit; /* the process whose perf map (/tmp/perf-PID.map) names code in memory of no file; ID_NONE: it has a
		    file */
	struct str name;
};

/* What is mapped in a process: its own log, over what its parent had when the parent's log was parent_n long. */
struct task_space {
	u32 parent;   /* an older one, or ID_NONE */
	u32 parent_n; /* never 0: the next ancestor with a log stands in for one without */
	VEC(struct task_map) log;
};

struct tasks {
	VEC(struct task) all;
	struct map by_tid;
	VEC(struct task_space) spaces;
};

/* A table with the idle task alone. */
void tasks_init(struct tasks *t);
void tasks_free(struct tasks *t);

/* Applies COMM, FORK, MMAP and MMAP2; in order of time. The record's bytes live as long as t. */
void tasks_apply(struct tasks *t, const struct record *r);

/* Their indices in the order in which perf prints them, each with how deep below its first ancestor. Caller frees. */
struct task_line {
	u32 task, depth;
};
struct task_line *tasks_tree(const struct tasks *t);

/*
 * What is mapped in that space, by address: the newest mapping where several overlap, and what is left of the others.
 * Returns false if there are more than *room mappings to look at, those of ancestors included. Reduces *room by the
 * number looked at.
 */
typedef VEC(struct task_map) task_maps;
bool tasks_maps(const struct tasks *t, u32 space, u64 *room, task_maps *out);

#endif
