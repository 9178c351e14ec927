/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/horizon.h"

#include <stdlib.h>
#include <string.h>

#include "codec/record.h"
#include "read/source.h"

static struct source records_in(const u8 *records, u64 len)
{
	return (struct source){ .data = records, .size = len };
}

void horizon_begin(struct horizon *h, const u8 *records, u64 len)
{
	const struct source in = records_in(records, len);
	struct source_record at;
	u64 offset = 0;

	while (source_next(&in, &offset, &at, NULL))
		living_apply(&h->living, at.p, at.h.size);
}

static int by_time(const void *va, const void *vb)
{
	const struct side_record *a = va, *b = vb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->at < b->at ? -1 : a->at > b->at;
}

static void tell(struct living *l, const struct side_record *r, const u8 *record, u16 size)
{
	if (r->what)
		living_apply_activity(l, r->pid, r->tid, r->what, record, size);
	else
		living_apply(l, record, size);
}

/*
 * A ring that is emptied later than another has records in a round that are newer than some of the other's next one.
 * So what is told goes no further than the rounds before the last: of that, all is there.
 */
void horizon_move(struct horizon *h)
{
	struct bytes rest = { 0 };
	size_t kept = 0;

	if (h->side.n)
		qsort(h->side.v, h->side.n, sizeof(*h->side.v), by_time);
	for (size_t i = 0; i < h->side.n; i++) {
		const u8 *p = h->pending.p + h->side.v[i].at;
		struct perf_event_header header;

		memcpy(&header, p, sizeof(header));
		if (h->side.v[i].time <= h->complete) {
			tell(&h->living, &h->side.v[i], p, header.size);
		} else {
			h->side.v[kept] = h->side.v[i];
			h->side.v[kept++].at = rest.len;
			bytes_put(&rest, p, header.size);
		}
	}
	h->side.n = kept;
	bytes_free(&h->pending);
	h->pending = rest;
	h->complete = h->newest;
	living_settle(&h->living);
}

/* Keeps a record until it is told; r.time is its time among all that are kept. */
static void keep(struct horizon *h, const struct source_record *at, struct side_record r)
{
	h->newest = MAX(h->newest, r.time);
	r.at = h->pending.len;
	vec_push(&h->side, r);
	bytes_put(&h->pending, at->p, at->h.size);
}

/* Threads say what they work for when it changes, which may be long ago. */
static void take_activity(struct horizon *h, const struct evlist *events, u32 event, const struct source_record *at)
{
	struct activity_record said;
	struct sample s;

	if (evlist_find(events, at->p, at->h.size, true, false) != event ||
	    sample_decode(&events->events.v[event].layout, cursor_over(at->p, at->h.size, false), &s) || !s.raw ||
	    !activity_decode(cursor_over(s.raw, s.raw_size, false), &said))
		return;
	keep(h, at, (struct side_record){ s.time, 0, s.pid, s.tid, said.what });
}

static void take(struct horizon *h, const struct evlist *events, const struct source_record *at)
{
	struct record r;
	u64 time;

	if (record_decode(cursor_over(at->p, at->h.size, false), 0, evlist_trailer(events, at->p, at->h.size, false),
			  &r))
		return;
	if (at->h.type == PERF_RECORD_LOST)
		h->lost += r.lost.lost;
	h->throttled += at->h.type == PERF_RECORD_THROTTLE;
	if (!living_wants(at->h.type))
		return;
	time = r.sid.time == UINT64_MAX ? 0 : r.sid.time; /* as sessions take it */
	keep(h, at, (struct side_record){ .time = time });
}

static u32 activity_event_of(const struct evlist *events)
{
	for (u32 i = 0; i < events->events.n; i++)
		if (!events->events.v[i].unsupported &&
		    activity_event(&events->events.v[i].attr, events->events.v[i].name))
			return i;
	return ID_NONE;
}

void horizon_take(struct horizon *h, const struct evlist *events, const u8 *records, u64 len)
{
	const struct source in = records_in(records, len);
	u32 activities = activity_event_of(events);
	struct source_record at;
	u64 offset = 0;

	while (source_next(&in, &offset, &at, NULL))
		if (at.h.type != PERF_RECORD_SAMPLE)
			take(h, events, &at);
		else if (activities != ID_NONE)
			take_activity(h, events, activities, &at);
}

void horizon_put(const struct horizon *h, struct bytes *out)
{
	bytes_put(out, h->pending.p, h->pending.len);
	living_put(&h->living, out);
}

void horizon_free(struct horizon *h)
{
	living_free(&h->living);
	bytes_free(&h->pending);
	vec_free(&h->side);
}
