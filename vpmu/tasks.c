/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Threads and processes.
 *
 * Ids are given where a thread or process is asked for (in its parent), not where it first runs, so that they do not
 * depend on how the system schedules.
 */
#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vpmu/channel.h"
#include "vpmu/coherence.h"
#include "vpmu/core.h"
#include "vpmu/cpus.h"
#include "vpmu/qemu.h"
#include "vpmu/tasks_impl.h"

static u32 next_id(struct vprocess *p)
{
	return atomic_fetch_add(&p->control->next_id, 1) + 1;
}

static void put_exit(struct vthread *t)
{
	struct record r = { .h.type = PERF_RECORD_EXIT };
	u32 ppid = t->process->tasks->ppid;

	if (!tasks_wants(t->process, TASK_FLAGS))
		return;
	r.task = (struct rec_task){ .pid = t->pid, .ppid = ppid, .tid = t->tid, .ptid = ppid };
	tasks_put(t, &r, &r.task.time);
}

static void put_totals(struct vthread *t, struct vthread *of)
{
	u64 counts[NR_VPMU_COUNTS];
	struct bytes out = { 0 };

	memcpy(counts, of->counts, sizeof(counts));
	if (of != t) /* which it has not settled */
		core_derive(t->process->model, t->process->control->options.models, counts);

	if (of->totals) {
		tasks_keep_totals(of);
		return;
	}
	bytes_u32(&out, VPMU_RECORD_TOTALS);
	bytes_u16(&out, 0);
	bytes_u16(&out, 16 + sizeof(counts));
	bytes_u32(&out, of->pid);
	bytes_u32(&out, of->tid);
	bytes_put(&out, counts, sizeof(counts));
	if (t == of && t->process->control->options.totals_only)
		t->totals = channel_put_kept(t, &out);
	else
		channel_put(t, &out);
	bytes_free(&out);
}

/* Totals are all that is wanted: they are there from the start, and grow, for a thread that is killed says no last
 * word. */
static void begin_totals(struct vthread *t)
{
	const struct vpmu_control *control = t->process->control;

	t->totals = NULL;
	if (control->options.totals_only && !channel_scarce(control))
		put_totals(t, t);
}

bool tasks_option(struct tasks_start *s, const char *arg)
{
	if (!strncmp(arg, "pid=", 4))
		s->pid = (u32)strtoul(arg + 4, NULL, 10);
	else if (!strncmp(arg, "ppid=", 5))
		s->ppid = (u32)strtoul(arg + 5, NULL, 10);
	else if (!strncmp(arg, "clock=", 6))
		s->clock = strtoull(arg + 6, NULL, 10);
	else if (!strncmp(arg, "events=", 7))
		s->events = 1 + atoi(arg + 7);
	else if (!strncmp(arg, "comm=", 5)) {
		memset(s->comm, 0, sizeof(s->comm));
		for (u32 i = 0; i < sizeof(s->comm) - 1 && arg[5 + 2 * i] && arg[6 + 2 * i]; i++)
			s->comm[i] = (char)strtoul((char[]){ arg[5 + 2 * i], arg[6 + 2 * i], 0 }, NULL, 16);
	} else
		return false;
	return true;
}

void tasks_new(struct vprocess *p, const struct tasks_start *s)
{
	struct vpmu_control *control = p->control;

	p->tasks = mem_zalloc(sizeof(*p->tasks));
	pthread_mutex_init(&p->tasks->lock, NULL);
	p->tasks->start = *s;
	sampler_take_over(&p->carried, control->options.truth, s->events - 1);
	p->real_pid = getpid();
	if (control->options.real_ids) {
		p->pid = (u32)p->real_pid;
		p->tasks->ppid = (u32)getppid();
	} else {
		p->pid = s->pid ? s->pid : next_id(p);
		p->tasks->ppid = s->ppid;
	}
	channel_adopt(control, p->real_pid);
	cpus_adopt(control, p->real_pid);
	atomic_fetch_add(&control->started, 1);
}

void tasks_vcpu_init(struct vprocess *p, struct vthread *parent, unsigned vcpu)
{
	struct newborn b = { .vcpu = vcpu };

	if (!parent)
		return;
	births_begin(parent, false, p->control->options.real_ids ? 0 : next_id(p));
	b.nr = parent->birth.nr;
	b.tid = parent->birth.id;
	b.clock = parent->birth.clock;
	tasks_lock(p);
	vec_push(&p->tasks->newborns, b);
	tasks_unlock(p);
}

static struct newborn *newborn_find(struct tasks *k, unsigned vcpu)
{
	for (size_t i = k->newborns.n; i-- > 0;)
		if (k->newborns.v[i].vcpu == vcpu)
			return &k->newborns.v[i];
	return NULL;
}

/* Locked but while it waits. false: it has no parent that is recorded. */
static bool newborn_take(struct vprocess *p, unsigned vcpu, struct newborn *out)
{
	struct tasks *k = p->tasks;
	struct newborn *b = newborn_find(k, vcpu);

	if (!b)
		return false;
	*out = *b;
	tasks_unlock(p);
	births_await(p->control, out->nr, 0);
	tasks_lock(p);
	b = newborn_find(k, vcpu);
	*out = *b;
	*b = k->newborns.v[--k->newborns.n];
	return true;
}

/* The program's file, and its name as the system gives it: a script's is its own, which exec.c has told us. */
static void program_name(struct tasks *k, char comm[16])
{
	char *path = (char *)qemu_plugin_path_to_binary();
	const char *slash = strrchr(path, '/'), *name = *k->start.comm ? k->start.comm : slash ? slash + 1 : path;

	memset(comm, 0, 16);
	memcpy(comm, name, strnlen(name, 15));
	k->program = realpath(path, NULL);
	if (!k->program)
		k->program = mem_strdup(path);
	free(path);
}

void tasks_thread_start(struct vthread *t, unsigned vcpu)
{
	struct vprocess *p = t->process;
	struct newborn b = { 0 };
	bool is_first, is_thread;
	char comm[16];
	int kept = errno;

	tasks_lock(p);
	is_first = !p->tasks->has_started;
	p->tasks->has_started = true;
	is_thread = !is_first && newborn_take(p, vcpu, &b);
	t->next = p->threads;
	p->threads = t;
	tasks_unlock(p);
	t->real_tid = (s32)syscall(SYS_gettid);
	t->vcpu = vcpu;
	if (p->coherence) {
		t->in_memory = atomic_fetch_add(&p->nr_cores, 1) % COHERENCE_CORES;
		t->cpu = p->control->options.cpus ? t->cpu : t->in_memory;
	}
	t->pid = p->pid;
	t->tid = p->control->options.real_ids ? (u32)t->real_tid : is_thread ? b.tid : p->pid;
	t->time_base = is_thread ? b.clock : p->tasks->start.clock;
	tasks_seed(t);
	t->first = is_first && !p->tasks->start.pid;
	begin_totals(t);
	if (is_first) {
		program_name(p->tasks, comm);
		tasks_put_comm(t, t->tid, comm, true);
		maps_put_program(t);
	}
	errno = kept;
}

static bool thread_unlink(struct vthread *t)
{
	bool found = false;

	tasks_lock(t->process);
	for (struct vthread **at = &t->process->threads; *at && !found; at = &(*at)->next)
		if (*at == t) {
			*at = t->next;
			found = true;
			break;
		}
	tasks_unlock(t->process);
	return found;
}

void tasks_thread_end(struct vthread *t)
{
	int kept = errno;

	if (thread_unlink(t)) {
		put_totals(t, t);
		put_exit(t);
		channel_close(t);
		t->totals = NULL;
	}
	errno = kept;
}

void tasks_process_end(struct vprocess *p)
{
	while (p->threads)
		tasks_thread_end(p->threads);
}

void tasks_before_exec(struct vthread *t)
{
	struct vprocess *p = t->process;

	tasks_lock(p);
	for (struct vthread *of = p->threads; of; of = of->next)
		put_totals(t, of);
	tasks_unlock(p);
	if (tasks_wants(p, TASK_FLAGS))
		tasks_tell(t, VPMU_RECORD_EXEC, t->pid, t->tid);
	channel_close(t);
}

void tasks_after_exec(struct vthread *t)
{
	t->time_base += t->counts[VC_TIME_NS];
	memset(t->counts, 0, sizeof(t->counts));
	begin_totals(t);
}

void tasks_fork_prepare(struct vprocess *p, struct vthread *t)
{
	tasks_lock(p);
	births_begin(t, true, p->control->options.real_ids ? 0 : next_id(p));
}

void tasks_fork_parent(struct vprocess *p)
{
	tasks_unlock(p);
}

void tasks_fork_child(struct vprocess *p, struct vthread *t)
{
	struct tasks *k = p->tasks;
	struct rec_task task = { .ppid = p->pid };
	s32 parent = p->real_pid;

	pthread_mutex_init(&k->lock, NULL);
	k->newborns.n = 0;
	p->real_pid = getpid();
	p->pid = t && t->birth.id ? t->birth.id : (u32)p->real_pid;
	k->ppid = task.ppid;
	p->threads = t;
	channel_adopt(p->control, p->real_pid);
	atomic_fetch_add(&p->control->started, 1);
	if (!t)
		return;
	t->next = NULL;
	t->chunk = -1;
	t->first = false;
	task.ptid = t->tid;
	task.pid = task.tid = t->pid = t->tid = p->pid;
	t->real_tid = p->real_pid;
	t->time_base = t->birth.clock;
	tasks_seed(t);
	memset(t->counts, 0, sizeof(t->counts));
	begin_totals(t);
	if (!births_await(p->control, t->birth.nr, parent))
		births_put(t, &task, p->real_pid);
	t->birth.nr = 0;
}
