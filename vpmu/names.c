/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of threads that are given through /proc: pthread_setname_np for another thread writes to
 * /proc/self/task/TID/comm. The system lets a process name its own threads only, and what it made of the name is read
 * back.
 */
#include <ctype.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statfs.h>
#include <unistd.h>

#include "vpmu/tasks_impl.h"

#define COMM_FILE "/comm"
#define COMM_FILE_LEN (sizeof(COMM_FILE) - 1)

/* The thread whose name the file is, for the system; 0: it is no such file. */
static s32 thread_named_by(s32 fd)
{
	char link[32], path[128];
	struct statfs fs;
	size_t at;
	ssize_t n;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	n = readlink(link, path, sizeof(path) - 1);
	if (n <= (ssize_t)COMM_FILE_LEN || memcmp(path + n - COMM_FILE_LEN, COMM_FILE, COMM_FILE_LEN) ||
	    fstatfs(fd, &fs) || fs.f_type != PROC_SUPER_MAGIC)
		return 0;
	for (at = (size_t)n - COMM_FILE_LEN; at && isdigit((u8)path[at - 1]); at--)
		;
	return atoi(path + at);
}

/* As recorded; 0: none that is known. */
static u32 recorded_tid(struct vprocess *p, s32 real_tid)
{
	u32 tid = 0;

	tasks_lock(p);
	for (const struct vthread *t = p->threads; t; t = t->next)
		if (t->real_tid == real_tid)
			tid = t->tid;
	for (size_t i = 0; i < p->tasks->newborns.n; i++)
		if (p->tasks->newborns.v[i].real_tid == real_tid)
			tid = p->tasks->newborns.v[i].tid;
	tasks_unlock(p);
	return tid;
}

void names_written(struct vthread *t, s32 fd)
{
	char path[64], name[32];
	s32 real_tid;
	ssize_t n;
	u32 tid;
	int comm;

	if (!tasks_wants(t->process, ATTR_COMM))
		return;
	real_tid = thread_named_by(fd);
	tid = real_tid > 0 ? recorded_tid(t->process, real_tid) : 0;
	if (!tid)
		return;
	snprintf(path, sizeof(path), "/proc/self/task/%d/comm", real_tid);
	comm = open(path, O_RDONLY | O_CLOEXEC);
	if (comm < 0)
		return;
	n = read(comm, name, sizeof(name) - 1);
	close(comm);
	if (n <= 0)
		return;
	name[n - (name[n - 1] == '\n')] = 0;
	tasks_put_comm(t, tid, name, false);
}
