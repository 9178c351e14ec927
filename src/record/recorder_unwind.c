/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks are unwound while they come. What unwinds them (record/unwind.h) knows the mappings of now, so it needs all
 * records in order of time, whatever ring they are in.
 *
 * A ring is in order by itself, as good as; so the rings are merged. Only how far may they be? A pass looks how full
 * each ring is, and then a second time. Any record that is older than one of those that the first look saw was
 * complete when that one was, so the second look sees it, in whichever ring it is. The merge therefore takes the
 * oldest record of all rings again and again, until those of the first look are taken, and leaves the others for the
 * next pass. Nothing has to be copied, or corrected later, and the recording is in order, as good as.
 *
 * A record gets its time before it is complete, and within a ring an interrupt may put a later one before it. So a
 * record can come behind one that is younger by as much as the kernel takes for one, some microseconds. Then a stack
 * may miss a mapping that is that new; the FINISHED_ROUNDs that readers sort by hold for it as for any record.
 */
#include <stdlib.h>
#include <string.h>

#include "record/recorder_impl.h"

#define CONSUME_AT (256u << 10) /* so much of a ring is given back at a time */

/* A ring while it is merged. */
struct lane {
	struct ring *ring;
	u64 at, filled;	  /* the next record, and what there is: distances from the ring's oldest byte */
	u64 first;	  /* what the first look saw */
	u64 time;	  /* of the next record */
	const u8 *record; /* NULL: there is none */
	u16 size;
	struct bytes joined;
};

bool recorder_unwinds(const struct recorder *r)
{
	bool any = false;

	for (size_t i = 0; i < r->set.events.n; i++)
		any |= r->set.events.v[i].unwound;
	return any && r->tell && r->tell->unwind;
}

void recorder_unwind_begin(struct recorder *r)
{
	r->tell->unwind->begin(r->tell->unwind->ctx, &r->kernel_events, &r->events);
}

void recorder_unwind_existing(struct recorder *r, const struct bytes *records)
{
	const struct record_unwind *u = r->tell->unwind;
	struct perf_event_header h;
	struct bytes written = { 0 };

	for (size_t at = 0; at + sizeof(h) <= records->len; at += h.size) {
		memcpy(&h, records->p + at, sizeof(h));
		if (h.size < sizeof(h) || h.size > records->len - at)
			break;
		written.len = 0;
		u->take(u->ctx, records->p + at, h.size, &written);
	}
	bytes_free(&written);
}

/* 0: it has none. */
static u64 time_of(const struct evlist *l, const u8 *record, u16 size)
{
	struct perf_event_header h;
	struct sample_id id;
	u64 time = 0;
	u32 event;

	memcpy(&h, record, sizeof(h));
	if (h.type != PERF_RECORD_SAMPLE) {
		if (record_trailer_decode(cursor_over(record, size, false), evlist_trailer(l, record, size, false),
					  &id))
			return 0;
		return id.time;
	}
	event = evlist_find(l, record, size, true, false);
	if (event < l->events.n && l->events.v[event].layout.at_time &&
	    l->events.v[event].layout.at_time + sizeof(time) <= size)
		memcpy(&time, record + l->events.v[event].layout.at_time, sizeof(time));
	return time;
}

static void look(const struct recorder *r, struct lane *l)
{
	l->record = l->filled ? ring_record(l->ring, l->at, l->filled, &l->size, &l->joined) : NULL;
	if (l->record)
		l->time = time_of(&r->kernel_events, l->record, l->size);
}

/* Restores the order of a heap, the oldest record on top, after the time of the lane at i has changed. */
static void sift(struct lane **heap, size_t n, size_t i)
{
	struct lane *moved = heap[i];

	for (;;) {
		size_t child = 2 * i + 1;

		if (child < n && child + 1 < n && heap[child + 1]->time < heap[child]->time)
			child++;
		if (child >= n || heap[child]->time >= moved->time)
			break;
		heap[i] = heap[child];
		i = child;
	}
	heap[i] = moved;
}

static int flush(struct recorder *r, struct bytes *out)
{
	struct iovec part = { out->p, out->len };

	if (!out->len)
		return 0;
	flow_look(&r->flow, &part, 1);
	r->round_bytes += out->len;
	out->len = 0;
	return writer_put_data(&r->writer, &part, 1);
}

static void consume(struct lane *l)
{
	if (!l->at)
		return;
	ring_consume(l->ring, l->at);
	l->filled -= l->at;
	l->first -= MIN(l->first, l->at);
	l->at = 0;
}

static int merge(struct recorder *r, struct lane **heap, size_t n)
{
	const struct record_unwind *u = r->tell->unwind;
	struct bytes out = { 0 };
	size_t first = 0; /* lanes with records that the first look saw */
	int err = 0;

	for (size_t i = 0; i < n; i++)
		first += heap[i]->first > 0;
	for (size_t i = n; i-- > 0;)
		sift(heap, n, i);
	while (n && first && !err) {
		struct lane *l = heap[0];
		bool seen = l->at < l->first;

		u->take(u->ctx, l->record, l->size, &out);
		l->at += l->size;
		first -= seen && l->at >= l->first;
		if (l->at >= CONSUME_AT)
			consume(l);
		if (out.len >= UNWOUND_AT_ONCE)
			err = flush(r, &out);
		look(r, l);
		if (!l->record) {
			first -= l->at < l->first;
			heap[0] = heap[--n];
		}
		if (n)
			sift(heap, n, 0);
	}
	if (!err)
		err = flush(r, &out);
	bytes_free(&out);
	return err;
}

int recorder_unwind_rings(struct recorder *r)
{
	size_t nr = r->set.rings.n, n = 0;
	struct lane *lanes = mem_zalloc((nr + 1) * sizeof(*lanes)), **heap = mem_zalloc((nr + 1) * sizeof(*heap));
	int err;

	for (size_t i = 0; i < nr; i++) {
		lanes[i].ring = &r->set.rings.v[i].ring;
		lanes[i].first = ring_filled(lanes[i].ring);
	}
	for (size_t i = 0; i < nr; i++) {
		lanes[i].filled = ring_filled(lanes[i].ring);
		look(r, &lanes[i]);
		if (lanes[i].record)
			heap[n++] = &lanes[i];
	}
	err = merge(r, heap, n);
	for (size_t i = 0; i < nr; i++) {
		consume(&lanes[i]);
		bytes_free(&lanes[i].joined);
	}
	free(heap);
	free(lanes);
	return err;
}
