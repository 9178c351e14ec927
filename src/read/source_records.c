/* SPDX-License-Identifier: Apache-2.0 */
/* Stepping through the records of a source, and adding the events and ids that they tell of. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "read/source_impl.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* Linux 5.14; older kernels refuse it, which does no harm */
#endif

int source_add_event(struct source *s, const struct attr *a, u64 offset)
{
	char *name;

	if (s->events.events.n >= SOURCE_MAX_EVENTS)
		return notify_at(s->notify, NOTE_ERROR, ERR_LIMIT, s->path, offset, "more than %u events",
				 SOURCE_MAX_EVENTS);
	name = attr_name(a);
	evlist_add(&s->events, a, name, s->notify);
	free(name);
	return 0;
}

int source_add_ids(struct source *s, u32 event, const struct u64s *ids, u64 offset)
{
	u64 most = SOURCE_IDS_FREE + s->file_size / SOURCE_BYTES_PER_ID;

	if (ids->n > most - s->nr_ids)
		return notify_at(s->notify, NOTE_ERROR, ERR_LIMIT, s->path, offset,
				 "more than %llu event ids in a file of its size", (unsigned long long)most);
	s->nr_ids += ids->n;
	for (u32 i = 0; i < ids->n; i++)
		evlist_add_id(&s->events, event, u64s_at(ids, i));
	return 0;
}

#define TRACING_DATA_HEAD 12u /* the record itself, as perf writes it: the data follow, not counted in its size */

/* simpleperf's records of this type hold their data, as other records do. */
static bool has_payload_behind(const struct record_header *h)
{
	return h->type == PERF_RECORD_HEADER_TRACING_DATA && h->size <= TRACING_DATA_HEAD;
}

static void find_payload_inside(struct source_record *sr, bool swap)
{
	struct cursor c = cursor_over(sr->p + 8, sr->h.size - 8u, swap);
	u32 size = cursor_u32(&c);

	sr->payload = sr->p + TRACING_DATA_HEAD;
	sr->payload_size = MIN(size, sr->h.size - TRACING_DATA_HEAD);
}

/* The bytes that follow a record without being counted in its size. The record's own bytes are there. */
static u64 payload_size(const u8 *p, const struct record_header *h, bool swap)
{
	struct cursor c = cursor_over(p + 8, h->size - 8u, swap);
	u64 size;

	if (h->type == PERF_RECORD_AUXTRACE)
		return cursor_u64(&c);
	size = cursor_u32(&c);
	return (size + 7) & ~7ull;
}

bool source_next_any(const struct source *s, u64 *offset, struct source_record *out, u64 *bad)
{
	u64 at = *offset, left = s->size - at, payload = 0;
	struct record_header h;
	const u8 *p;

	if (UNLIKELY(left < sizeof(h)))
		goto stop;
	p = s->data + at;
	memcpy(&h, p, sizeof(h));
	if (s->swap) {
		h.type = __builtin_bswap32(h.type);
		h.misc = __builtin_bswap16(h.misc);
		h.size = __builtin_bswap16(h.size);
	}
	if (UNLIKELY(h.size < sizeof(h) || h.size > left))
		goto stop;
	if (UNLIKELY(h.type == PERF_RECORD_AUXTRACE || has_payload_behind(&h)))
		payload = payload_size(p, &h, s->swap);
	if (UNLIKELY(payload > left - h.size))
		goto stop;
	*offset = at + h.size + payload;
	*out = (struct source_record){ p, h, at, payload ? p + h.size : NULL, payload };
	if (UNLIKELY(h.type == PERF_RECORD_HEADER_TRACING_DATA && h.size > TRACING_DATA_HEAD))
		find_payload_inside(out, s->swap);
	return true;
stop:
	if (bad)
		*bad = left ? at : NO_OFFSET;
	return false;
}

void source_prefetch(const struct source *s, u64 offset, u64 len)
{
	uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), start;

	if (offset >= s->size)
		return;
	len = MIN(len, s->size - offset);
	start = (uintptr_t)(s->data + offset) & ~(page - 1);
	madvise((void *)start, (uintptr_t)(s->data + offset + len) - start, MADV_POPULATE_READ);
}
