/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a recording: tables of ids, threads and CPUs, then records for what existed before. */
#include <stdlib.h>
#include <string.h>

#include "record/recorder_impl.h"
#include "record/sideband.h"

#define THREAD_NAME_SIZE 16
#define RECORD_MAX 65535

static int flush(void *ctx, const struct bytes *b)
{
	struct recorder *r = ctx;
	struct iovec part = { b->p, b->len };

	/* Later files of --switch-output tell again what it has followed since. */
	if (r->unwinds && !r->result->files)
		recorder_unwind_existing(r, b);
	flow_look(&r->flow, &part, 1);
	return writer_put(&r->writer, &part, 1);
}

static struct cursor cursor_of(const struct bytes *b)
{
	return cursor_over(b->p, b->len, false);
}

/* Rings of tasks that have ended are gone. */
static const volatile struct perf_event_mmap_page *any_page(const struct recorder *r)
{
	for (size_t i = 0; i < r->set.rings.n; i++)
		if (r->set.rings.v[i].ring.page)
			return r->set.rings.v[i].ring.page;
	return NULL;
}

/* How cycle counts convert to the time of records, where the kernel says so. */
static void put_time_conv(struct recorder *r, struct sideband *s)
{
	const volatile struct perf_event_mmap_page *page = any_page(r);
	struct record record = { .h.type = PERF_RECORD_TIME_CONV };
	u32 seq;

	if (!page)
		return;
	do {
		seq = page->lock;
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		record.time_conv = (struct rec_time_conv){ .shift = page->time_shift,
							   .mult = page->time_mult,
							   .zero = page->time_zero,
							   .cycles = page->time_cycles,
							   .mask = page->time_mask,
							   .cap_zero = page->cap_user_time_zero,
							   .cap_short = page->cap_user_time_short };
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
	} while (page->lock != seq || seq & 1);
	if (record.time_conv.cap_zero)
		sideband_put(s, &record);
}

/* {id, idx, cpu, tid} of each event on each CPU and task, in records of as many as fit. */
static void put_id_index(struct recorder *r, struct sideband *s)
{
	const size_t most = (RECORD_MAX - 64) / (4 * sizeof(u64));
	struct record record = { .h.type = PERF_RECORD_ID_INDEX };
	struct bytes entries = { 0 };
	size_t n = 0;

	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];

		for (size_t i = 0; i < event->on.n; i++) {
			const struct opened *o = &event->on.v[i];
			bool last = e + 1 == r->set.events.n && i + 1 == event->on.n;

			bytes_u64(&entries, o->id);
			bytes_u64(&entries, o->ring);
			bytes_u64(&entries, (u64)(s64)o->cpu);
			bytes_u64(&entries, (u64)(s64)o->task.tid);
			if (++n < most && !last)
				continue;
			record.id_index.nr = n;
			record.id_index.entries = (struct u64s){ entries.p, (u32)n * 4, false };
			sideband_put(s, &record);
			entries.len = n = 0;
		}
	}
	bytes_free(&entries);
}

static bool has_type(const struct aux_pmus *pmus, u32 type)
{
	for (size_t i = 0; i < pmus->v.n; i++)
		if (pmus->v.v[i].type == type)
			return true;
	return false;
}

/* What AUX areas are filled with. */
static void put_aux_info(struct recorder *r, struct sideband *s)
{
	struct record record;
	struct bytes words = { 0 };
	struct aux_pmus pmus = { 0 };

	for (size_t i = 0; i < r->set.events.n; i++) {
		const struct open_event *e = &r->set.events.v[i];

		if (e->spec && e->spec->aux && !has_type(&pmus, e->attr.type))
			vec_push(&pmus.v, ((struct aux_pmu){ e->attr.type, e->spec->least_period, e->spec->cpus }));
	}
	if (pmus.v.n) {
		recorder_aux_info(&record, &words, &pmus, true, r->notify);
		sideband_put(s, &record);
	}
	vec_free(&pmus.v);
	bytes_free(&words);
}

static void put_thread_map(struct recorder *r, struct sideband *s)
{
	const size_t most = (RECORD_MAX - 64) / (8 + THREAD_NAME_SIZE);
	struct record record = { .h.type = PERF_RECORD_THREAD_MAP };
	struct bytes entries = { 0 };

	for (size_t i = 0; i < r->target.tasks.n && i < most; i++) {
		bytes_u64(&entries, (u64)(s64)r->target.tasks.v[i].tid);
		bytes_zero(&entries, THREAD_NAME_SIZE);
		record.thread_map.nr++;
	}
	record.thread_map.entries = cursor_of(&entries);
	sideband_put(s, &record);
	bytes_free(&entries);
}

static void put_cpu_map(struct recorder *r, struct sideband *s)
{
	struct record record = { .h.type = PERF_RECORD_CPU_MAP };
	struct bytes data = { 0 };
	size_t n = MIN(r->target.cpus.n, (size_t)(RECORD_MAX - 64) / 2);

	bytes_u16(&data, (u16)n);
	for (size_t i = 0; i < n; i++)
		bytes_u16(&data, (u16)r->target.cpus.v[i]); /* -1 is 65535 there as well */
	record.cpu_map.data = cursor_of(&data);
	sideband_put(s, &record);
	bytes_free(&data);
}

static int put_named_tasks(struct recorder *r, struct sideband *s)
{
	int err = 0;

	for (size_t i = 0; i < r->target.tasks.n && !err; i++) {
		const struct target_task *t = &r->target.tasks.v[i];

		/* A process comes with its mappings once, its other threads with their names. */
		if (t->tid == t->pid || r->target.threads_named)
			err = sideband_thread(s, t->pid, t->tid);
		else
			err = sideband_comm(s, t->pid, t->tid);
	}
	return err;
}

/* Processes that a file before this one has shown: for --switch-output, which starts each file from scratch. */
static int put_seen_tasks(struct recorder *r, struct sideband *s)
{
	int err = 0;

	for (u32 i = 0; r->flow.pids.slots && i <= r->flow.pids.mask && !err; i++)
		if (r->flow.pids.slots[i].value != ID_NONE && (s32)r->flow.pids.slots[i].key > 0)
			err = sideband_process(s, (s32)r->flow.pids.slots[i].key);
	return err;
}

static int put_tasks(struct recorder *r, struct sideband *s)
{
	s->forks = r->target.system_wide || r->result->files;
	if (r->target.system_wide)
		return sideband_all_tasks(s);
	if (r->result->files)
		return put_seen_tasks(r, s);
	/* The command waits for its exec, which clears its mappings. */
	if (r->target_is_workload)
		return sideband_comm(s, r->workload.pid, r->workload.pid);
	return put_named_tasks(r, s);
}

int recorder_synthesize(struct recorder *r)
{
	const struct attr *tracking = &r->set.events.v[r->set.events.n - 1].attr;
	struct sideband s = { .trailer = &r->events.trailer, .flush = flush, .ctx = r };
	int err;

	for (size_t e = 0; e < r->set.events.n; e++)
		if (r->set.events.v[e].tracking)
			tracking = &r->set.events.v[e].attr;
	s.data_maps = tracking->flags & ATTR_MMAP_DATA;
	s.namespaces = tracking->flags & ATTR_NAMESPACES;
	put_time_conv(r, &s);
	put_aux_info(r, &s);
	put_id_index(r, &s);
	err = sideband_kernel(&s);
	put_thread_map(r, &s);
	put_cpu_map(r, &s);
	if (!err && tracking->flags & ATTR_BPF_EVENT)
		err = sideband_bpf(&s);
	if (!err && tracking->flags & ATTR_CGROUP)
		err = sideband_cgroups(&s);
	if (!err)
		err = put_tasks(r, &s);
	if (!err)
		err = sideband_flush(&s);
	/* Of a whole machine, some always are: that of process 1 in many a container. */
	if (s.hidden && !r->target.system_wide)
		recorder_tell_hidden(r, s.hidden, s.hidden_pid);
	sideband_free(&s);
	return err;
}
