/* SPDX-License-Identifier: Apache-2.0 */
/*
 * FORK records.
 *
 * As in the kernel the parent writes them, so that a child has one however early it is killed. The child waits for
 * that, so that nothing of it is older, or comes into the file earlier. A parent that is killed before leaves it to
 * the child.
 */
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vpmu/channel.h"
#include "vpmu/tasks_impl.h"

#define WAIT_NS 10000000
#define UNSEEN_WAITS 100 /* that long for a parent of which nobody can say whether it lives, */
#define SEEN_WAITS 1000	 /* and for one that lives: the thread that forked may be gone by another one's exec */

static _Atomic u32 *slot_of(struct vpmu_control *control, u32 nr)
{
	return &control->told[nr % VPMU_BIRTHS];
}

void births_begin(struct vthread *parent, bool process, u32 id)
{
	u32 nr;

	do
		nr = atomic_fetch_add(&parent->process->control->births, 1) + 1;
	while (!nr);
	parent->birth = (struct vpmu_birth){ .nr = nr, .id = id, .process = process, .clock = tasks_time(parent) };
}

void births_put(struct vthread *t, const struct rec_task *task, s32 real_pid)
{
	struct record r = { .h.type = PERF_RECORD_FORK, .task = *task };

	if (!tasks_wants(t->process, TASK_FLAGS))
		return;
	r.sid.pid = task->ppid;
	r.sid.tid = task->ptid;
	tasks_put(t, &r, &r.task.time);
	if (task->pid != task->ppid)
		tasks_tell(t, VPMU_RECORD_PROCESS, task->pid,
			   (u32)real_pid); /* whether it still lives can be asked then */
}

/* A number that was overtaken counts as told: none is stuck. */
static void tell(struct vpmu_control *control, u32 nr)
{
	_Atomic u32 *told = slot_of(control, nr);
	u32 seen = atomic_load(told);

	while ((s32)(nr - seen) > 0 && !atomic_compare_exchange_weak(told, &seen, nr))
		;
	syscall(SYS_futex, told, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

/* The thread whose birth that is has been made; this is what the system calls it. */
static void newborn_runs(struct vprocess *p, u32 nr, s32 real_tid)
{
	tasks_lock(p);
	for (size_t i = 0; i < p->tasks->newborns.n; i++) {
		struct newborn *b = &p->tasks->newborns.v[i];

		if (b->nr != nr)
			continue;
		b->real_tid = real_tid;
		b->tid = b->tid ? b->tid : (u32)real_tid;
	}
	tasks_unlock(p);
}

void births_end(struct vthread *t, s64 ret)
{
	struct vpmu_birth b = t->birth;
	struct rec_task task = { .ppid = t->pid, .ptid = t->tid };

	if (!b.nr)
		return;
	t->birth.nr = 0;
	task.tid = b.id ? b.id : (u32)ret;
	task.pid = b.process ? task.tid : t->pid;
	if (ret > 0)
		births_put(t, &task, (s32)ret);
	if (ret > 0 && !b.process)
		newborn_runs(t->process, b.nr, (s32)ret);
	/* What was done before stands before what the child does, whatever the recorder has taken by then. */
	if (!t->totals)
		channel_close(t);
	tell(t->process->control, b.nr);
}

bool births_await(struct vpmu_control *control, u32 nr, s32 parent)
{
	_Atomic u32 *told = slot_of(control, nr);
	u32 seen, waits = 0;

	while (seen = atomic_load(told), (s32)(seen - nr) < 0) {
		s32 lives = parent ? (s32)getppid() : 0;

		if (lives != parent && lives) /* it may have died just behind its word */
			return (s32)(atomic_load(told) - nr) >= 0;
		/* A parent in another PID namespace shows as 0. */
		if (parent && waits++ == (lives ? SEEN_WAITS : UNSEEN_WAITS))
			return true;
		syscall(SYS_futex, told, FUTEX_WAIT, seen, &(struct timespec){ .tv_nsec = WAIT_NS }, NULL, 0);
	}
	return true;
}
