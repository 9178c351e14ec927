/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Virtual CPUs.
 *
 * A thread has a CPU while it runs guest code. It gives it up before each syscall and takes one when it comes back,
 * and when its quantum is over and others wait; so N threads run at a time, of all processes together, and counters
 * and periods belong to the CPU, whose state lies in the shared memory while nobody is there. A thread that takes a
 * CPU goes on at that CPU's time if that is later than its own.
 *
 * Waiting. Where QEMU is between blocks (a syscall's return) a thread may wait for as long as it takes. At a block's
 * entry, QEMU counts it as running guest code, and whoever wants to be alone (fork does) would wait for it, while it
 * waits for one of those who have stopped for that very reason. So it is signed off from QEMU while it waits
 * (cpu_exec_end, which the binary exports). That has a price: should QEMU throw all its translations away in the
 * meantime, the thread would come back to nothing. It does so when its buffer is full, so no thread gives its CPU up
 * within a block once much has been translated; only syscalls change the thread then.
 *
 * Death. Who holds a CPU may be killed. Nobody is told; those who wait look now and then whether the holders live (a
 * process that is not yet reaped does not). What the dead one counted since it came there is lost to the CPU's events.
 */
#include "vpmu/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "vpmu/block.h"
#include "vpmu/sampler.h"

#define WAIT_NS 2000000 /* between two looks for the dead */
#define PASS_LOOKS 20	/* that long, with PASS_NS between them, a thread waits for another to take what it gave up */
#define PASS_NS 50000
#define BLOCKS_MAX 60000u /* see above: QEMU's buffer holds more than twice as many */

_Static_assert(sizeof(struct sampler_state) <= sizeof(((struct vpmu_cpu *)0)->state), "it has to fit");

struct qemu_cpu;
extern struct qemu_cpu *qemu_get_cpu(int vcpu) __attribute__((weak));
extern void cpu_exec_end(struct qemu_cpu *cpu) __attribute__((weak));
extern void cpu_exec_start(struct qemu_cpu *cpu) __attribute__((weak));

static struct vpmu_cpu *cpu_at(struct vpmu_control *control, u32 i)
{
	return (struct vpmu_cpu *)((u8 *)control + control->cpus_offset) + i;
}

static bool take_free(struct vthread *t)
{
	struct vpmu_control *control = t->process->control;

	for (u32 k = 0; k < control->options.cpus; k++) {
		u32 i = (t->cpu + k) % control->options.cpus;
		s32 nobody = 0;

		if (atomic_compare_exchange_strong(&cpu_at(control, i)->holder, &nobody, t->real_tid)) {
			t->cpu = i;
			return true;
		}
	}
	return false;
}

static void wake(struct vpmu_control *control)
{
	atomic_fetch_add(&control->cpus_given, 1);
	if (atomic_load(&control->cpus_wanted))
		syscall(SYS_futex, &control->cpus_given, FUTEX_WAKE, 1, NULL, NULL, 0);
}

static bool is_dead(s32 tid)
{
	char path[32], text[512];
	const char *state;
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", tid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT;
	n = read(fd, text, sizeof(text) - 1);
	close(fd);
	text[MAX(n, 0)] = 0;
	state = strrchr(text, ')');
	return state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3));
}

/* Frees what the dead hold, and what `self` does, which cannot know of it. */
static void release(struct vpmu_control *control, s32 self)
{
	for (u32 i = 0; i < control->options.cpus; i++) {
		struct vpmu_cpu *c = cpu_at(control, i);
		s32 holder = atomic_load(&c->holder);

		if (holder && (holder == self || is_dead(holder)) &&
		    atomic_compare_exchange_strong(&c->holder, &holder, 0))
			wake(control);
	}
}

static void wait_free(struct vthread *t)
{
	struct vpmu_control *control = t->process->control;
	u32 seen = atomic_load(&control->cpus_given);

	while (!take_free(t)) {
		atomic_store(&control->cpus_wanted, 1);
		if (syscall(SYS_futex, &control->cpus_given, FUTEX_WAIT, seen,
			    &(struct timespec){ .tv_nsec = WAIT_NS }, NULL, 0) &&
		    errno == ETIMEDOUT)
			release(control, 0);
		seen = atomic_load(&control->cpus_given);
	}
}

void cpus_take(struct vthread *t, bool in_block)
{
	struct vpmu_control *control = t->process->control;
	struct qemu_cpu *q;
	int kept = errno;
	u64 now;

	if (!control->options.cpus || t->on_cpu)
		return;
	q = in_block && qemu_get_cpu && cpu_exec_end && cpu_exec_start ? qemu_get_cpu((int)t->vcpu) : NULL;
	if (!take_free(t)) {
		if (q)
			cpu_exec_end(q);
		wait_free(t);
		if (q)
			cpu_exec_start(q);
	}
	t->on_cpu = true;
	t->leaves = false;
	/* Of its own clock: tasks_time may be ahead of that. */
	now = MAX(tasks_time(t), cpu_at(control, t->cpu)->clock);
	t->time_base += now - sampler_clock(t);
	if (t->sampler && !control->options.totals_only)
		sampler_load(t, (const struct sampler_state *)cpu_at(control, t->cpu)->state);
	errno = kept;
}

void cpus_give(struct vthread *t)
{
	struct vpmu_control *control = t->process->control;
	struct vpmu_cpu *c;
	int kept = errno;

	if (!control->options.cpus || !t->on_cpu)
		return;
	c = cpu_at(control, t->cpu);
	t->on_cpu = false;
	t->leaves = false;
	if (t->sampler && !control->options.totals_only) {
		sampler_save(t, (struct sampler_state *)c->state);
		/* A CPU's samples stand in order in the recording, as those of its ring do: before the next thread's.
		 */
		channel_close(t);
	}
	c->clock = tasks_time(t);
	atomic_store(&c->holder, 0);
	wake(control);
	errno = kept;
}

void cpus_pass(struct vthread *t)
{
	struct vpmu_control *control = t->process->control;
	struct vpmu_cpu *c = cpu_at(control, t->cpu);
	int kept = errno, looks = 0;

	t->leaves = false;
	if (!atomic_load(&control->cpus_wanted) || code_nr_blocks(t->process->code) > BLOCKS_MAX)
		return;
	atomic_store(&control->cpus_wanted, 0); /* those who go on waiting say so again */
	cpus_give(t);
	syscall(SYS_futex, &control->cpus_given, FUTEX_WAKE, 1, NULL, NULL, 0);
	while (!atomic_load(&c->holder) && looks++ < PASS_LOOKS)
		nanosleep(&(struct timespec){ .tv_nsec = PASS_NS }, NULL);
	cpus_take(t, true);
	errno = kept;
}

void cpus_adopt(struct vpmu_control *control, s32 real_pid)
{
	release(control, real_pid);
}
