/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/trace_visits.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

static u32 find(const struct trace_visits *t, const u8 *trace)
{
	u32 id, at;

	SET_FIND(id, &t->known, hash_bytes(trace, TRACE_ID), at, !memcmp(t->v.v[id].id, trace, TRACE_ID));
	return id;
}

struct trace_visit *trace_visits_find(const struct trace_visits *t, const u8 *trace)
{
	u32 id = find(t, trace);

	return id == ID_NONE ? NULL : &t->v.v[id];
}

static u32 visit(struct trace_visits *t, u64 time, const u8 *trace)
{
	u32 id = find(t, trace);
	struct trace_visit v = { .first = time, .before = UINT64_MAX };

	if (id != ID_NONE)
		return id;
	id = (u32)t->v.n;
	memcpy(v.id, trace, TRACE_ID);
	vec_push(&t->v, v);
	set_add(&t->known, hash_bytes(trace, TRACE_ID), id);
	return id;
}

static void leave(struct trace_visits *t, u32 of, u64 time)
{
	if (of != ID_NONE)
		t->v.v[of].after = MAX(t->v.v[of].after, time);
}

void trace_visits_sample(struct trace_visits *t, u64 time, u32 tid, const u8 *trace)
{
	u32 *at = map_at(&t->thread_of, tid, (u32)t->threads.n), id = trace ? visit(t, time, trace) : ID_NONE;
	struct visit_thread *thread;

	if (*at == t->threads.n)
		vec_push(&t->threads, (struct visit_thread){ 0, ID_NONE });
	thread = &t->threads.v[*at];
	if (id != thread->visit) {
		leave(t, thread->visit, time);
		if (id != ID_NONE)
			t->v.v[id].before = MIN(t->v.v[id].before, thread->time);
	}
	if (id != ID_NONE)
		t->v.v[id].last = time;
	*thread = (struct visit_thread){ time, id };
}

static int by_first(const void *va, const void *vb)
{
	const struct trace_visit *a = va, *b = vb;

	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return memcmp(a->id, b->id, TRACE_ID);
}

void trace_visits_end(struct trace_visits *t)
{
	for (size_t i = 0; i < t->threads.n; i++)
		leave(t, t->threads.v[i].visit, VISIT_OPEN_END);
	vec_free(&t->threads);
	map_free(&t->thread_of);
	set_free(&t->known);
	if (t->v.n)
		qsort(t->v.v, t->v.n, sizeof(*t->v.v), by_first);
	for (u32 i = 0; i < t->v.n; i++)
		set_add(&t->known, hash_bytes(t->v.v[i].id, TRACE_ID), i);
}

void trace_visits_free(struct trace_visits *t)
{
	for (size_t i = 0; i < t->v.n; i++)
		free(t->v.v[i].functions);
	vec_free(&t->v);
	vec_free(&t->threads);
	map_free(&t->thread_of);
	set_free(&t->known);
}

void clock_bounds_find(const struct trace_visits *begin, const struct trace_visits *other, struct clock_bounds *out)
{
	*out = (struct clock_bounds){ 0 };
	for (size_t i = 0; i < other->v.n; i++) {
		const struct trace_visit *b = &other->v.v[i], *a = trace_visits_find(begin, b->id);
		s64 low, high;

		if (!a)
			continue;
		out->traces++;
		low = (s64)(b->last - a->after);
		high = (s64)(b->first - a->before);
		if (a->after != VISIT_OPEN_END) {
			out->low = out->has_low ? MAX(out->low, low) : low;
			out->has_low = true;
		}
		if (a->before) {
			out->high = out->has_high ? MIN(out->high, high) : high;
			out->has_high = true;
		}
	}
}
