/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rights that a process gains, or takes from us, during a recording.
 *
 * The kernel takes the counters of a task away when it executes a program that gives it rights, or that its user may
 * not read. The descriptors hang up then as if the task had ended, whoever opened them. Counters of a command are
 * inherited, so a child that does this is left out alone, and nothing hangs up.
 *
 * Mappings are read from /proc when a file begins. A process that has changed its user, or asked not to be dumped,
 * may refuse that by the time of a later file of --switch-output.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/xattr.h>

#include "base/map.h"
#include "codec/proc_stat.h"
#include "record/recorder_impl.h"
#include "sys/smallfile.h"

#define STAT_LIMIT 65536
#define PF_EXITING 0x00000004u
#define READABLE (S_IRUSR | S_IRGRP | S_IROTH) /* by whoever executes it */

static bool goes_on(s32 tid)
{
	struct bytes file = { 0 };
	struct proc_stat stat;
	char path[64];
	bool yes;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	yes = !smallfile_read(AT_FDCWD, path, STAT_LIMIT, &file) &&
	      proc_stat_parse((const char *)file.p, file.len, &stat) && !(stat.flags & PF_EXITING);
	bytes_free(&file);
	return yes;
}

/* Does it execute a program for which its counters are taken away? If not, and they are gone all the same, another
 * thread has executed a program in its place, and has its id now. */
static bool has_gained(s32 tid)
{
	struct stat st;
	char path[64];

	snprintf(path, sizeof(path), "/proc/%d/exe", tid);
	if (stat(path, &st))
		return errno == EACCES || errno == EPERM;
	return st.st_mode & (S_ISUID | S_ISGID) || (st.st_mode & READABLE) != READABLE ||
	       getxattr(path, "security.capability", NULL, 0) >= 0;
}

/*
 * A large process has many thousand descriptors, which hang up all at once, so they are not searched each time. Where
 * new tasks get counters of their own, only those of the first task are looked at, because tasks come and go there by
 * the thousand.
 */
static void find_tasks(struct recorder *r)
{
	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];

		for (size_t i = 0; i < (r->set.follows ? MIN(event->on.n, (size_t)1) : event->on.n); i++)
			if (event->on.v[i].fd >= 0 && event->on.v[i].task.tid > 0)
				map_set(&r->fd_tasks, (u32)event->on.v[i].fd, (u32)event->on.v[i].task.tid);
	}
	r->found_tasks = true;
}

void recorder_hung_up(struct recorder *r, int fd)
{
	u32 tid;

	if (r->told_cut_off && !r->target_is_workload)
		return;
	if (!r->found_tasks)
		find_tasks(r);
	tid = map_get(&r->fd_tasks, (u32)fd);
	if (tid == ID_NONE || !goes_on((s32)tid) || !has_gained((s32)tid))
		return;
	r->cut_off |= r->target_is_workload && (pid_t)tid == r->workload.pid;
	if (!r->told_cut_off)
		notify_warn(r->notify,
			    "nothing more of process %u is recorded, although it goes on: it has executed a program "
			    "that gives it rights (set-user-id, set-group-id, file capabilities), or that its user "
			    "may not read (-a records that, where it is allowed)",
			    tid);
	r->told_cut_off = true;
}

void recorder_tell_hidden(struct recorder *r, u32 processes, s32 pid)
{
	if (r->told_hidden)
		return;
	r->told_hidden = true;
	if (processes == 1)
		notify_warn(r->notify,
			    "/proc/%d/maps may not be read: what this process had mapped when the file began has no "
			    "names in it",
			    pid);
	else
		notify_warn(r->notify,
			    "/proc/PID/maps of %u processes may not be read (%d is one of them): what they had mapped "
			    "when the file began has no names in it",
			    processes, pid);
}
