/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads, processes and mappings: the records beside the samples. Who calls these is plugin.c, out of QEMU's
 * callbacks (which carry no argument to find the process by). All of them keep errno and may be called at any time
 * after tasks_new.
 */
#ifndef VPMU_TASKS_H
#define VPMU_TASKS_H

#include "vpmu/vthread.h"

/* What a program that was started by exec takes over from the one before it, through the plugin's arguments. */
struct tasks_start {
	u32 pid, ppid; /* 0: the first program */
	u64 clock;     /* ns */
	int events;    /* 1 + descriptor of the sampler's state; 0: none */
	char comm[16];
};

/* Takes one argument of the plugin ("pid=3", "clock=..", "comm=6c73"); false: not one of these. */
bool tasks_option(struct tasks_start *s, const char *arg);

/* The process's tasks, when the plugin is installed. p->control, arm64 are set; pid and real_pid are set here. */
void tasks_new(struct vprocess *p, const struct tasks_start *s);

/* The thread that runs is about to have a child thread with this number (vcpu_init; vcpu 0 has no parent). */
void tasks_vcpu_init(struct vprocess *p, struct vthread *parent, unsigned vcpu);
/*
 * t, zeroed but for t->process and t->chunk = -1, becomes this thread: ids, clock, its place in p->threads, and its
 * FORK (or a program's COMM) record. In the thread itself; counts, core and sampler are the caller's to start
 * afterwards.
 */
void tasks_thread_start(struct vthread *t, unsigned vcpu);
/* TOTALS, EXIT and the end of its chunk; counts must be settled. Takes t out of p->threads. Idempotent. */
void tasks_thread_end(struct vthread *t);
/* exit_group or the last thread's end: all threads that are still in p->threads end. */
void tasks_process_end(struct vprocess *p);

/*
 * fork, by pthread_atfork: prepare and parent in the forking thread, child in the new process. child leaves only t
 * (the thread that forked; may be NULL) in p->threads, with new ids, zero counts, the parent's clock, no chunk, and
 * its FORK record. Structs of the other threads are not freed: their owners are gone, their memory may be
 * half-written. Core and sampler must be started afresh after that.
 */
void tasks_fork_prepare(struct vprocess *p, struct vthread *t);
void tasks_fork_parent(struct vprocess *p);
void tasks_fork_child(struct vprocess *p, struct vthread *t);

/* Syscall callbacks. An execve that can be followed does not return from tasks_syscall. Counts must be settled. */
void tasks_syscall(struct vthread *t, s64 num, const u64 args[6]);
void tasks_syscall_return(struct vthread *t, s64 num, s64 ret);

#endif
