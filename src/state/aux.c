/* SPDX-License-Identifier: Apache-2.0 */
#include "state/aux.h"

#include <stdlib.h>

#include "codec/perf_abi.h"
#include "codec/vpmu.h"

#define MAX_CPUS (1u << 16)

/* Of one CPU; there may be several PMUs, each for some of them. */
static void note_type(struct aux *a, u64 type)
{
	if (type < PERF_TYPE_MAX || type >= UINT32_MAX)
		return;
	for (size_t i = 0; i < a->pmu_types.n; i++)
		if (a->pmu_types.v[i] == type)
			return;
	vec_push(&a->pmu_types, (u32)type);
}

static void note_info(struct aux *a, const struct rec_auxtrace_info *info)
{
	const struct u64s *w = &info->priv;

	a->kind = info->type;
	if (info->type == AUXTRACE_ARM_SPE && w->n >= SPE_INFO_V1_WORDS)
		a->pmu_type = (u32)u64s_at(w, w->n == SPE_INFO_V1_WORDS ? SPE_INFO_V1_TYPE : SPE_INFO_TYPE);
	a->pmu_type = MAX(a->pmu_type, (u32)PERF_TYPE_MAX); /* not one of the kernel's own */
	for (u32 i = 0; info->type == AUXTRACE_ARM_SPE && i + SPE_CPU_TYPE <= w->n; i++) {
		u64 cpu = u64s_at(w, i + SPE_CPU_NUMBER);

		if (u64s_at(w, i) != SPE_CPU_MAGIC || cpu >= MAX_CPUS || !u64s_at(w, i + SPE_CPU_FOLLOWING))
			continue;
		while (a->midr.n <= cpu)
			vec_push(&a->midr, 0);
		a->midr.v[cpu] = u64s_at(w, i + SPE_CPU_MIDR);
		if (u64s_at(w, i + SPE_CPU_FOLLOWING) > SPE_CPU_TYPE - SPE_CPU_MIDR && i + SPE_CPU_TYPE < w->n)
			note_type(a, u64s_at(w, i + SPE_CPU_TYPE));
		i += SPE_CPU_MIDR;
	}
}

/* Recorders empty one ring after the other, so what comes just before is mostly of another place. */
static u64 place_of_cpu(u32 cpu)
{
	return cpu;
}

static u64 place_of_thread(u32 tid)
{
	return 1ull << 32 | tid;
}

static void set_clock(struct aux *a, u64 place, u64 time)
{
	u32 *at = map_at(&a->places, place, (u32)a->clocks.n);

	if (*at == a->clocks.n)
		vec_push(&a->clocks, time);
	a->clocks.v[*at] = time;
}

static void note_clock(struct aux *a, const struct sample_id *sid)
{
	a->clock = sid->time;
	if (sid->has & PERF_SAMPLE_CPU)
		set_clock(a, place_of_cpu(sid->cpu), sid->time);
	if (sid->has & PERF_SAMPLE_TID)
		set_clock(a, place_of_thread(sid->tid), sid->time);
}

/* Where records do not say where they are from, the last one is the best guess. */
static u64 clock_of(const struct aux *a, const struct rec_auxtrace *r)
{
	u32 at = map_get(&a->places, r->cpu != UINT32_MAX ? place_of_cpu(r->cpu) : place_of_thread(r->tid));

	return at == ID_NONE ? a->clock : a->clocks.v[at];
}

static void add_switch(struct aux *a, u64 time, u32 cpu, u32 pid, u32 tid)
{
	const struct aux_switch *last = a->switches.n ? &a->switches.v[a->switches.n - 1] : NULL;

	if (last && last->cpu == cpu && last->pid == pid && last->tid == tid && last->time <= time)
		return;
	vec_push(&a->switches, (struct aux_switch){ time, cpu, pid, tid, (u32)a->switches.n });
}

/* A switch in, or the other side of one out. */
static void note_switch(struct aux *a, const struct record *r)
{
	if (!(r->h.misc & PERF_RECORD_MISC_SWITCH_OUT))
		add_switch(a, r->sid.time, r->sid.cpu, r->sid.pid, r->sid.tid);
	else if (r->h.type == PERF_RECORD_SWITCH_CPU_WIDE)
		add_switch(a, r->sid.time, r->sid.cpu, r->sw.next_prev_pid, r->sw.next_prev_tid);
}

/* Who ran when, and of which process. */
static void note_task(struct aux *a, const struct record *r)
{
	switch (r->h.type) {
	case PERF_RECORD_ITRACE_START:
		add_switch(a, r->sid.time, r->sid.cpu, r->itrace_start.pid, r->itrace_start.tid);
		break;
	case PERF_RECORD_SWITCH:
	case PERF_RECORD_SWITCH_CPU_WIDE:
		note_switch(a, r);
		break;
	case PERF_RECORD_COMM:
		map_set(&a->processes, r->comm.tid, r->comm.pid);
		break;
	case PERF_RECORD_FORK:
		map_set(&a->processes, r->task.tid, r->task.pid);
		break;
	default:
		break;
	}
}

void aux_note(struct aux *a, const struct record *r, u64 at, u64 size)
{
	switch (r->h.type) {
	case PERF_RECORD_AUXTRACE_INFO:
		note_info(a, &r->auxtrace_info);
		break;
	case PERF_RECORD_TIME_CONV:
		a->conversion = r->time_conv;
		a->has_conversion = r->time_conv.shift < 64;
		break;
	case PERF_RECORD_AUX:
		note_clock(a, &r->sid);
		break;
	case PERF_RECORD_AUXTRACE:
		vec_push(&a->buffers, (struct aux_buffer){ at, size, r->auxtrace.offset, clock_of(a, &r->auxtrace),
							   r->auxtrace.cpu, r->auxtrace.tid });
		a->bytes += size;
		break;
	default:
		if (a->kind == AUXTRACE_ARM_SPE)
			note_task(a, r);
	}
}

u64 aux_memory(const struct aux *a)
{
	return a->buffers.cap * sizeof(*a->buffers.v) + a->switches.cap * sizeof(*a->switches.v) +
	       a->clocks.cap * sizeof(*a->clocks.v) +
	       (a->processes.mask + a->places.mask + 2ull) * sizeof(*a->processes.slots);
}

static int by_cpu_and_time(const void *va, const void *vb)
{
	const struct aux_switch *a = va, *b = vb;

	if (a->cpu != b->cpu)
		return a->cpu < b->cpu ? -1 : 1;
	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

void aux_seal(struct aux *a, const char *cpuid)
{
	if (a->switches.n)
		qsort(a->switches.v, a->switches.n, sizeof(*a->switches.v), by_cpu_and_time);
	if (a->kind && !a->midr.n && cpuid)
		vec_push(&a->midr, vpmu_simulated(cpuid).len ? VPMU_SPE_MIDR : strtoull(cpuid, NULL, 16));
}

void aux_free(struct aux *a)
{
	vec_free(&a->buffers);
	vec_free(&a->switches);
	vec_free(&a->midr);
	vec_free(&a->pmu_types);
	vec_free(&a->clocks);
	map_free(&a->places);
	map_free(&a->processes);
}

const struct aux_buffer *aux_buffer_at(const struct aux *a, u64 offset)
{
	size_t from = 0, to = a->buffers.n;

	while (from < to) {
		size_t mid = (from + to) / 2;

		if (a->buffers.v[mid].at + a->buffers.v[mid].size <= offset)
			from = mid + 1;
		else
			to = mid;
	}
	return from < a->buffers.n && offset >= a->buffers.v[from].at ? &a->buffers.v[from] : NULL;
}

u64 aux_time(const struct aux *a, u64 ticks)
{
	const struct rec_time_conv *c = &a->conversion;
	u64 whole, rest;

	if (!a->has_conversion)
		return 0;
	if (c->cap_short)
		ticks = c->cycles + ((ticks - c->cycles) & c->mask);
	whole = ticks >> c->shift;
	rest = ticks & ((1ull << c->shift) - 1);
	return c->zero + whole * c->mult + (rest * c->mult >> c->shift);
}

bool aux_thread(const struct aux *a, u32 cpu, u64 time, u32 *pid, u32 *tid)
{
	const struct aux_switch *v = a->switches.v;
	size_t from = 0, to = a->switches.n;

	/* The first one behind it. */
	while (from < to) {
		size_t mid = (from + to) / 2;

		if (v[mid].cpu < cpu || (v[mid].cpu == cpu && v[mid].time <= time))
			from = mid + 1;
		else
			to = mid;
	}
	if (!from || v[from - 1].cpu != cpu)
		return false;
	*pid = v[from - 1].pid;
	*tid = v[from - 1].tid;
	return true;
}

u32 aux_process(const struct aux *a, u32 tid)
{
	u32 pid = map_get(&a->processes, tid);

	return pid == ID_NONE ? tid : pid;
}

u64 aux_midr(const struct aux *a, u32 cpu)
{
	if (!a->midr.n)
		return 0;
	return a->midr.v[MIN(cpu, a->midr.n - 1)];
}
