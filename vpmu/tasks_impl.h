/* SPDX-License-Identifier: Apache-2.0 */
/* Private to the virtual PMU: what its parts ask tasks.c and those that go with it. */
#ifndef VPMU_TASKS_IMPL_H
#define VPMU_TASKS_IMPL_H

#include <pthread.h>

#include "base/vec.h"
#include "vpmu/tasks.h"

/* A thread that was created and has not run yet. */
struct newborn {
	unsigned vcpu;
	u32 nr, tid;  /* of its birth; tid 0: as the system has it, which nobody knows yet */
	s32 real_tid; /* 0: likewise */
	u64 clock;
};

struct mapping { /* one that was announced */
	u64 start, end, pgoff, ino;
	u32 maj, min, prot;
	bool doubtful; /* the guest has changed something there since */
};

struct tasks {
	pthread_mutex_t lock; /* over all below, and p->threads; taken by fork, so that the child finds it whole */
	u32 ppid;
	char *program;		  /* its file, by its real path */
	struct tasks_start start; /* of this program */
	bool has_started;	  /* its first thread has run */
	VEC(struct newborn) newborns;
	VEC(struct mapping) mapped;
	u64 stack, heap_start, heap_end; /* an address in the first thread's stack; where brk has been */
};

/* The thread has its number and clock: its random bytes are its own, and others after an exec. */
static inline void tasks_seed(struct vthread *t)
{
	t->random = t->process->control->options.seed ^ (u64)t->tid << 32 ^ t->time_base;
}

static inline void tasks_lock(struct vprocess *p)
{
	pthread_mutex_lock(&p->tasks->lock);
}
static inline void tasks_unlock(struct vprocess *p)
{
	pthread_mutex_unlock(&p->tasks->lock);
}

/* Any of these makes the kernel tell of tasks. */
#define TASK_FLAGS (ATTR_TASK | ATTR_MMAP | ATTR_MMAP2 | ATTR_COMM)

/* task_records.c. Whether the event that carries the side-band asks for that kind: ATTR_*. */
bool tasks_wants(const struct vprocess *p, u64 flag);
/*
 * Completes a side-band record of t (its trailer: t's ids and clock) and puts it. time: where the body has one too, or
 * NULL. What is recorded from now on is younger than it.
 */
void tasks_put(struct vthread *t, struct record *r, u64 *time);

/* One of VPMU_RECORD_PROCESS, _EXEC. */
void tasks_tell(struct vthread *t, u32 type, u32 pid, u32 of);

/* comm is now the name of thread tid of t's process. */
void tasks_put_comm(struct vthread *t, u32 tid, const char *comm, bool exec);

/* births.c: parent is about to have a child, of this id (0: as the system has it); */
void births_begin(struct vthread *parent, bool process, u32 id);
/* its syscall returns that: FORK, if there is one, for which the child has waited; */
void births_end(struct vthread *t, s64 ret);
/* which is done here. parent: its real process id, or 0 for a thread. false: it is gone without a word; */
bool births_await(struct vpmu_control *control, u32 nr, s32 parent);
/* then the child puts this (time is set here). */
void births_put(struct vthread *t, const struct rec_task *task, s32 real_pid);

/* names.c: t has written to fd, which may be the name of one of its process's threads. */
void names_written(struct vthread *t, s32 fd);

/* maps.c: the guest has changed its memory there, so what is there may have to be announced anew. */
void maps_changed(struct vprocess *p, u64 start, u64 len);
/* Announces what there is of the guest's memory and holds no code, if data is asked for. */
void maps_put_data(struct vthread *t, u64 start, u64 len);
/* The same of the program and its interpreter, which are there without a syscall. */
void maps_put_program(struct vthread *t);

/* exec.c: goes on as the new program, if that can be followed. */
void exec_follow(struct vthread *t, s64 dirfd, u64 path, u64 argv, u64 envp, u64 flags);
/* The guest's execve has come back, with an error. */
void exec_failed(struct vthread *t);

/* tasks.c: TOTALS of all threads. After it, when the thread lives on, it counts anew. */
void tasks_before_exec(struct vthread *t);
void tasks_after_exec(struct vthread *t);

/* guest.c: the guest's memory, wherever its pointers lead. false: not all of it is readable. */
bool guest_read(u64 address, void *to, size_t n);
bool guest_write(u64 address, const void *from, size_t n);
/* Appends the text at address, without its NUL; no more than max bytes. */
bool guest_text(u64 address, size_t max, struct bytes *out);

#endif
