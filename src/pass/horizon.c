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
			living_apply(&h->living, p, header.size);
		} else {
			h->side.v[kept++] = (struct side_record){ h->side.v[i].time, rest.len };
			bytes_put(&rest, p, header.size);
		}
	}
	h->side.n = kept;
	bytes_free(&h->pending);
	h->pending = rest;
	h->complete = h->newest;
	living_settle(&h->living);
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
	h->newest = MAX(h->newest, time);
	vec_push(&h->side, (struct side_record){ time, h->pending.len });
	bytes_put(&h->pending, at->p, at->h.size);
}

void horizon_take(struct horizon *h, const struct evlist *events, const u8 *records, u64 len)
{
	const struct source in = records_in(records, len);
	struct source_record at;
	u64 offset = 0;

	while (source_next(&in, &offset, &at, NULL))
		if (at.h.type != PERF_RECORD_SAMPLE)
			take(h, events, &at);
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
