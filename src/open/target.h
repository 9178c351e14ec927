/* SPDX-License-Identifier: Apache-2.0 */
/* Target: the CPUs, tasks and cgroups on which a recording opens its events. */
#ifndef OPEN_TARGET_H
#define OPEN_TARGET_H

#include <sys/types.h>

#include "base/err.h"
#include "base/vec.h"
#include "sys/cpulist.h"

/* What to measure. One of: command, pids, tids, all. */
struct target_opts {
	char *const *command; /* NULL-terminated, or NULL */
	const char *pids;     /* "1,2": with all their threads */
	const char *tids;
	const char *cpus;    /* "0-3": implies system_wide unless tasks are named */
	const char *cgroups; /* "a,b": paths below the cgroup mount, one per event in order, or one for all */
	const char *uid;     /* numeric or name; its processes, as pids */
	bool system_wide;
	bool per_thread; /* a ring per thread instead of one per CPU; no inheritance */
};

struct target_task {
	s32 pid, tid;
};

struct target_cgroup {
	char *path; /* as named */
	int fd;
	u64 id;
};

/*
 * Events are opened on every pair of cpus x tasks. System-wide: one task -1. Per-thread: one cpu -1. A cgroup's fd
 * takes the place of the task.
 */
struct target {
	VEC(s32) cpus;
	VEC(struct target_task) tasks;
	VEC(struct target_cgroup) cgroups;
	bool system_wide; /* whole CPUs, with or without a CPU list */
	bool per_thread;
	bool threads_named; /* -t: no inheritance */
	bool tasks_named;   /* -p, -t or -u: tasks that are already running */
};

/* Resolves the options. child is the workload's pid, or -1. ERR_NOTFOUND (no such process), ERR_USAGE, ERR_IO. */
int target_resolve(struct target *t, const struct target_opts *o, pid_t child, const struct notify *to);
void target_free(struct target *t);

/* The mount point of the cgroup hierarchy for perf_event: version 1's if it is mounted, else version 2's. NULL when
 * there is none. Caller frees. */
char *target_cgroup_root(void);

#endif
