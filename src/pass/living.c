/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records are kept unchanged, including their times, which are older than anything that is looked up later. A child
 * has copies of its parent's records, with its own ids. The fields are at these places: MMAP and MMAP2 begin with pid,
 * tid, start, length; COMM with pid, tid; FORK and EXIT with pid, ppid, tid, ptid; KSYMBOL with start, a length of 32
 * bits, type, flags; CGROUP with its id. Of samples that say what a thread works for, the last of each thread is kept.
 */
#include "pass/living.h"

#include <string.h>

#include "codec/record.h"

#define KSYMBOL_GONE 1u
#define GONE (ID_NONE - 1)  /* a place: nothing can be taken out of a map */
#define MAPS_MAX (4u << 20) /* bytes of one process: what comes beyond hides nothing and is left out */

static u32 u32_at(const u8 *p, u32 at)
{
	u32 v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static u64 u64_at(const u8 *p, u32 at)
{
	u64 v;

	memcpy(&v, p + at, sizeof(v));
	return v;
}

static struct perf_event_header header_of(const u8 *record)
{
	struct perf_event_header h;

	memcpy(&h, record, sizeof(h));
	return h;
}

static u32 place_of(const struct map *ids, u32 id)
{
	u32 at = map_get(ids, id);

	return at == GONE ? ID_NONE : at;
}

static struct living_process *process_of(struct living *l, u32 pid)
{
	u32 at = place_of(&l->processes, pid);

	if (at == ID_NONE) {
		at = (u32)l->process.n;
		map_set(&l->processes, pid, at);
		vec_push(&l->process, (struct living_process){ .pid = pid });
	}
	return &l->process.v[at];
}

static struct living_thread *thread_of(struct living *l, u32 pid, u32 tid)
{
	u32 at = place_of(&l->threads, tid);

	if (at == ID_NONE) {
		at = (u32)l->thread.n;
		map_set(&l->threads, tid, at);
		vec_push(&l->thread, (struct living_thread){ .pid = pid, .tid = tid });
		process_of(l, pid)->threads++;
	}
	return &l->thread.v[at];
}

/* The maps are made anew when most of their ids are of the dead. */
static void forget_ids(struct living *l)
{
	if (l->processes.n > 2 * l->process.n + 1024) {
		map_free(&l->processes);
		for (u32 i = 0; i < l->process.n; i++)
			map_set(&l->processes, l->process.v[i].pid, i);
	}
	if (l->threads.n > 2 * l->thread.n + 1024) {
		map_free(&l->threads);
		for (u32 i = 0; i < l->thread.n; i++)
			map_set(&l->threads, l->thread.v[i].tid, i);
	}
}

static void drop_process(struct living *l, u32 at)
{
	struct living_process *p = &l->process.v[at], *last = &l->process.v[l->process.n - 1];

	map_set(&l->processes, p->pid, GONE);
	bytes_free(&p->maps);
	bytes_free(&p->published);
	if (p != last) {
		*p = *last;
		map_set(&l->processes, p->pid, at);
	}
	l->process.n--;
}

static void drop_thread(struct living *l, u32 tid)
{
	u32 at = place_of(&l->threads, tid), process;
	struct living_thread *t, *last;

	if (at == ID_NONE)
		return;
	t = &l->thread.v[at];
	last = &l->thread.v[l->thread.n - 1];
	process = place_of(&l->processes, t->pid);
	map_set(&l->threads, tid, GONE);
	bytes_free(&t->comm);
	bytes_free(&t->activity);
	if (t != last) {
		*t = *last;
		map_set(&l->threads, t->tid, at);
	}
	l->thread.n--;
	if (process != ID_NONE && !--l->process.v[process].threads)
		drop_process(l, process);
	forget_ids(l);
}

static void put_for(struct bytes *out, const u8 *p, size_t n, u32 pid, u32 tid)
{
	size_t from = out->len;

	bytes_put(out, p, n);
	for (size_t at = from; at < out->len; at += header_of(out->p + at).size) {
		memcpy(out->p + at + 8, &pid, sizeof(pid));
		memcpy(out->p + at + 12, &tid, sizeof(tid));
	}
}

static void apply_fork(struct living *l, u32 pid, u32 ppid, u32 tid, u32 ptid)
{
	struct living_process *child;
	struct living_thread *t;
	u32 parent, teller;

	drop_thread(l, tid); /* whose end was lost */
	t = thread_of(l, pid, tid);
	teller = place_of(&l->threads, ptid);
	if (teller != ID_NONE && l->thread.v[teller].comm.len)
		put_for(&t->comm, l->thread.v[teller].comm.p, l->thread.v[teller].comm.len, pid, tid);
	if (pid == ppid)
		return;
	child = process_of(l, pid);
	child->maps.len = 0; /* of an older one */
	parent = place_of(&l->processes, ppid);
	if (parent != ID_NONE)
		put_for(&child->maps, l->process.v[parent].maps.p, l->process.v[parent].maps.len, pid, pid);
}

/* The thread that calls execve goes on under its process's id, alone: the end of its own is not told. */
static void drop_others(struct living *l, u32 pid, u32 tid)
{
	if (process_of(l, pid)->threads < 2)
		return;
	for (size_t i = l->thread.n; i-- > 0;)
		if (l->thread.v[i].pid == pid && l->thread.v[i].tid != tid)
			drop_thread(l, l->thread.v[i].tid);
}

static void apply_comm(struct living *l, const u8 *record, const struct perf_event_header *h)
{
	u32 pid = u32_at(record, 8), tid = u32_at(record, 12);
	struct living_thread *t;

	(void)thread_of(l, pid, tid);
	if (h->misc & PERF_RECORD_MISC_COMM_EXEC) {
		drop_others(l, pid, tid);
		process_of(l, pid)->maps.len = process_of(l, pid)->published.len = 0;
		thread_of(l, pid, tid)->activity.len = 0;
	}
	t = thread_of(l, pid, tid);
	t->comm.len = 0;
	bytes_put(&t->comm, record, h->size);
}

/* Where a mapping, or a symbol of the kernel, lies. */
static void range_of(const u8 *record, u64 *start, u64 *end)
{
	bool symbol = header_of(record).type == PERF_RECORD_KSYMBOL;
	u64 len = symbol ? u32_at(record, 16) : u64_at(record, 24);

	*start = u64_at(record, symbol ? 8 : 16);
	*end = len > UINT64_MAX - *start ? UINT64_MAX : *start + len;
}

/* What lies within [start, end) is gone. */
static void uncover(struct bytes *maps, u64 start, u64 end)
{
	size_t kept = 0;

	for (size_t at = 0; at < maps->len;) {
		u16 size = header_of(maps->p + at).size;
		u64 from, to;

		range_of(maps->p + at, &from, &to);
		if (from < start || to > end) {
			memmove(maps->p + kept, maps->p + at, size);
			kept += size;
		}
		at += size;
	}
	maps->len = kept;
}

/* The kernel's are those of process -1. */
static void apply_map(struct living *l, const u8 *record, const struct perf_event_header *h, u32 pid, bool gone)
{
	struct bytes *maps = &process_of(l, pid)->maps;
	u64 start, end;

	range_of(record, &start, &end);
	uncover(maps, start, end);
	if (!gone && maps->len + h->size <= MAPS_MAX)
		bytes_put(maps, record, h->size);
}

static void apply_cgroup(struct living *l, const u8 *record, u16 size)
{
	if (*map_at(&l->cgroups, u64_at(record, 8), 0))
		return;
	map_set(&l->cgroups, u64_at(record, 8), 1);
	bytes_put(&l->cgroup, record, size);
}

bool living_wants(u32 type)
{
	switch (type) {
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
	case PERF_RECORD_COMM:
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
	case PERF_RECORD_KSYMBOL:
	case PERF_RECORD_CGROUP:
		return true;
	default:
		return false;
	}
}

void living_apply(struct living *l, const u8 *record, u16 size)
{
	const struct perf_event_header h = header_of(record);
	u16 mode = h.misc & PERF_RECORD_MISC_CPUMODE_MASK;

	if (size < 24)
		return;
	switch (h.type) {
	case PERF_RECORD_FORK:
		apply_fork(l, u32_at(record, 8), u32_at(record, 12), u32_at(record, 16), u32_at(record, 20));
		break;
	case PERF_RECORD_EXIT:
		drop_thread(l, u32_at(record, 16));
		break;
	case PERF_RECORD_COMM:
		apply_comm(l, record, &h);
		break;
	case PERF_RECORD_MMAP:
	case PERF_RECORD_MMAP2:
		if (size >= 40 && mode != PERF_RECORD_MISC_GUEST_KERNEL && mode != PERF_RECORD_MISC_GUEST_USER)
			apply_map(l, record, &h, mode == PERF_RECORD_MISC_KERNEL ? UINT32_MAX : u32_at(record, 8),
				  false);
		break;
	case PERF_RECORD_KSYMBOL:
		apply_map(l, record, &h, UINT32_MAX, record[22] & KSYMBOL_GONE);
		break;
	case PERF_RECORD_CGROUP:
		apply_cgroup(l, record, size);
		break;
	default:
		break;
	}
}

void living_apply_activity(struct living *l, u32 pid, u32 tid, enum activity_what what, const u8 *record, u16 size)
{
	struct bytes *b;

	/* A thread can be sampled after its end was told: it would be kept for ever. */
	if (place_of(&l->threads, tid) == ID_NONE || place_of(&l->processes, pid) == ID_NONE)
		return;
	b = what == ACTIVITY_PROCESS ? &process_of(l, pid)->published : &thread_of(l, pid, tid)->activity;
	b->len = 0;
	bytes_put(b, record, size);
}

void living_settle(struct living *l)
{
	for (u32 i = (u32)l->process.n; i-- > 0;) {
		struct living_process *p = &l->process.v[i];
		bool alone = !p->threads && p->pid != UINT32_MAX;

		if (alone && p->alone)
			drop_process(l, i);
		else
			p->alone = alone;
	}
}

void living_put(const struct living *l, struct bytes *out)
{
	for (size_t i = 0; i < l->process.n; i++) {
		bytes_put(out, l->process.v[i].maps.p, l->process.v[i].maps.len);
		bytes_put(out, l->process.v[i].published.p, l->process.v[i].published.len);
	}
	for (size_t i = 0; i < l->thread.n; i++) {
		bytes_put(out, l->thread.v[i].comm.p, l->thread.v[i].comm.len);
		bytes_put(out, l->thread.v[i].activity.p, l->thread.v[i].activity.len);
	}
	bytes_put(out, l->cgroup.p, l->cgroup.len);
}

void living_free(struct living *l)
{
	for (size_t i = 0; i < l->process.n; i++) {
		bytes_free(&l->process.v[i].maps);
		bytes_free(&l->process.v[i].published);
	}
	for (size_t i = 0; i < l->thread.n; i++) {
		bytes_free(&l->thread.v[i].comm);
		bytes_free(&l->thread.v[i].activity);
	}
	vec_free(&l->process);
	vec_free(&l->thread);
	map_free(&l->processes);
	map_free(&l->threads);
	map_free(&l->cgroups);
	bytes_free(&l->cgroup);
}
