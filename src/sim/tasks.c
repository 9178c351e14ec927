/* SPDX-License-Identifier: Apache-2.0 */
#include "sim/tasks.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "codec/proc_stat.h"
#include "codec/sample.h"
#include "codec/vpmu.h"
#include "sys/smallfile.h"

#define MANY 64

static struct sim_task *find(struct sim_tasks *k, u32 tid)
{
	u32 at = map_get(&k->by_tid, tid);

	return at == ID_NONE ? NULL : &k->v.v[at];
}

static struct sim_task *add(struct sim_tasks *k, const struct sim_task *new)
{
	struct sim_task *old = find(k, new->tid);

	if (old) {
		*old = *new;
		return old;
	}
	map_set(&k->by_tid, new->tid, (u32)k->v.n);
	vec_push(&k->v, *new);
	return &k->v.v[k->v.n - 1];
}

void sim_tasks_begin(struct sim_tasks *k, u32 pid, u32 ppid, s32 real_pid)
{
	if (!k->v.n)
		add(k,
		    &(struct sim_task){ .pid = pid, .tid = pid, .ppid = ppid, .real_pid = real_pid, .lives = true });
}

void sim_tasks_told(struct sim_tasks *k, u32 type, u32 pid, u32 of)
{
	struct sim_task *t = find(k, pid);

	if (t && type == VPMU_RECORD_PROCESS)
		t->real_pid = (s32)of;
	else if (t)
		t->execs = of;
}

static void seen(struct sim_tasks *k, u32 tid, u64 time, u32 cpu)
{
	struct sim_task *t = find(k, tid), *process = t ? find(k, t->pid) : NULL;

	if (!t)
		return;
	t->time = MAX(t->time, time);
	t->cpu = cpu;
	t->ran = true;
	if (process)
		process->time = MAX(process->time, time);
}

static struct sim_task gone(struct sim_tasks *k, struct sim_task *t)
{
	struct sim_task last = *t;
	const struct sim_task *process = find(k, t->pid);

	if (process)
		last.time = MAX(t->time, process->time);
	t->lives = false;
	return last;
}

static void forked(struct sim_tasks *k, const struct record *r)
{
	const struct sim_task *parent = find(k, r->task.ptid), *known = find(k, r->task.tid);
	bool process = r->task.pid != r->task.ppid;
	struct sim_task new = { .pid = r->task.pid,
				.tid = r->task.tid,
				.ppid = process ? r->task.ppid :
					parent	? parent->ppid :
						  0,
				.cpu = r->sid.cpu,
				.time = r->task.time,
				.lives = true };

	/* A parent that is killed as it writes of the birth has the child write of it again. */
	if (known && known->lives && !known->ran && known->pid == new.pid && known->ppid == new.ppid)
		return;
	/* The system gives ids anew; of those who had them nothing can be running any more. */
	for (size_t i = 0; known && i < k->v.n; i++)
		if (k->v.v[i].lives && (k->v.v[i].tid == new.tid || (process && k->v.v[i].pid == new.pid)))
			vec_push(&k->due, gone(k, &k->v.v[i]));
	add(k, &new);
}

/* Of a long build's thousands few live at a time. The first tells that there were any. */
static void forget_dead(struct sim_tasks *k)
{
	size_t n = 0;

	if (k->v.n < 2 * k->kept + MANY)
		return;
	for (size_t i = 0; i < k->v.n; i++) {
		struct sim_task *process = k->v.v[i].lives ? find(k, k->v.v[i].pid) : NULL;

		if (process)
			process->needed = true;
	}
	map_free(&k->by_tid);
	for (size_t i = 0; i < k->v.n; i++) {
		struct sim_task t = k->v.v[i];

		if (i && !t.lives && !t.needed)
			continue;
		t.needed = false;
		map_set(&k->by_tid, t.tid, (u32)n);
		k->v.v[n++] = t;
	}
	k->v.n = k->kept = n;
}

/* One thread goes on, by its process's id: as in the kernel the others end, and of its own id there is no EXIT. */
static void executed(struct sim_tasks *k, const struct record *r)
{
	struct sim_task *process = find(k, r->comm.pid);

	for (size_t i = 0; process && process->execs && i < k->v.n; i++) {
		struct sim_task *t = &k->v.v[i], last = *t;

		if (!t->lives || t->pid != r->comm.pid)
			continue;
		t->lives = false;
		if (t == process && r->sid.time > 1)
			last.time = MIN(last.time, r->sid.time - 2);
		if (t->tid != process->execs)
			vec_push(&k->due, last);
	}
	if (process) {
		process->lives = true;
		process->execs = 0;
	}
}

static void look_at_other(void *ctx, const struct record *r)
{
	struct sim_tasks *k = ctx;
	struct sim_task *t;

	if (r->h.type == PERF_RECORD_COMM && r->comm.exec)
		executed(k, r);
	seen(k, r->sid.tid, r->sid.time, r->sid.cpu);
	if (r->h.type == PERF_RECORD_FORK) {
		forked(k, r);
	} else if (r->h.type == PERF_RECORD_EXIT) {
		t = find(k, r->task.tid);
		if (t)
			t->lives = false;
	}
}

static void look_at_sample(struct sim_tasks *k, const struct evlist *events, const u8 *record, u16 size)
{
	u32 event = evlist_find(events, record, size, true, false);
	struct sample_core s;

	if (event < events->events.n &&
	    !sample_core_decode(&events->events.v[event].layout, cursor_over(record, size, false), &s))
		seen(k, s.tid, s.time, s.cpu);
}

/* Of samples, one tells as much as all: a thread's time does not go back. */
void sim_tasks_look(struct sim_tasks *k, const struct evlist *events, const struct iovec *whole)
{
	const u8 *p = whole->iov_base, *end = p + whole->iov_len, *sample = NULL;
	struct perf_event_header h;
	struct record r;

	forget_dead(k);
	for (; p < end; p += h.size) {
		memcpy(&h, p, sizeof(h));
		if (h.type == PERF_RECORD_SAMPLE) {
			sample = p;
			continue;
		}
		if (!record_decode(cursor_over(p, h.size, false), 0, evlist_trailer(events, p, h.size, false), &r))
			look_at_other(k, &r);
	}
	if (!sample)
		return;
	memcpy(&h, sample, sizeof(h));
	look_at_sample(k, events, sample, h.size);
}

/* A process whose first thread has ended is a zombie by its state, whatever its other threads do. */
static bool is_dead(s32 pid)
{
	struct bytes stat = { 0 };
	struct proc_stat parsed;
	const char *state;
	char path[32];
	bool dead;

	if (pid <= 0)
		return false;
	snprintf(path, sizeof(path), "/proc/%d/stat", pid);
	dead = kill(pid, 0) && errno == ESRCH;
	if (!dead && !smallfile_read(AT_FDCWD, path, 4096, &stat)) {
		bytes_char(&stat, 0);
		state = strrchr((const char *)stat.p, ')');
		dead = state && (!strncmp(state, ") Z", 3) || !strncmp(state, ") X", 3)) &&
		       proc_stat_parse((const char *)stat.p, stat.len, &parsed) && parsed.threads <= 1;
	}
	bytes_free(&stat);
	return dead;
}

static int put_exit(const struct sim_task *t, int (*put)(void *ctx, struct record *r), void *ctx)
{
	struct record r = { .h.type = PERF_RECORD_EXIT };

	r.task = (struct rec_task){
		.pid = t->pid, .ppid = t->ppid, .tid = t->tid, .ptid = t->ppid, .time = t->time + 1
	};
	r.sid = (struct sample_id){ .pid = t->pid, .tid = t->tid, .cpu = t->cpu, .time = t->time + 1 };
	return put(ctx, &r);
}

int sim_tasks_end(struct sim_tasks *k, int (*put)(void *ctx, struct record *r), void *ctx)
{
	int err = 0;

	/* Threads before their process. */
	for (u32 process = 0; process < 2; process++)
		for (size_t i = 0; i < k->v.n; i++) {
			struct sim_task *t = &k->v.v[i];
			const struct sim_task *of = find(k, t->pid);

			if (t->lives && (t->pid == t->tid) == process && of && is_dead(of->real_pid))
				vec_push(&k->due, gone(k, t));
		}
	for (size_t i = 0; i < k->due.n && !err; i++)
		err = put_exit(&k->due.v[i], put, ctx);
	k->due.n = 0;
	return err;
}

void sim_tasks_free(struct sim_tasks *k)
{
	map_free(&k->by_tid);
	vec_free(&k->v);
	vec_free(&k->due);
}
