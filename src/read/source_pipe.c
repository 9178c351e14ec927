/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording in pipe mode: a short header, then records. What stands in sections in file mode comes as records here
 * (HEADER_ATTR, EVENT_UPDATE, HEADER_FEATURE, ...), each before the first record that needs it. So one pass over all
 * headers collects them; nothing else is decoded.
 */
#include "read/source_impl.h"

/* EVENT_UPDATE types. */
enum { UPDATE_UNIT, UPDATE_SCALE, UPDATE_NAME, UPDATE_CPUS };

static int add_attr(struct source *s, const struct record *r)
{
	u32 event = (u32)s->events.events.n;
	int err = source_add_event(s, &r->header_attr.attr, r->offset);

	return err ? err : source_add_ids(s, event, &r->header_attr.ids, r->offset);
}

static void update_event(struct source *s, const struct record *r)
{
	u32 event = map_get(&s->events.by_id, r->event_update.id);
	struct cursor c = r->event_update.data;
	struct str text = cursor_text(&c, cursor_left(&c));
	struct event *e;

	if (event == ID_NONE || !text.len)
		return;
	e = &s->events.events.v[event];
	if (r->event_update.type == UPDATE_NAME) {
		evlist_rename(&s->events, event, text);
	} else if (r->event_update.type == UPDATE_UNIT) {
		free(e->unit);
		e->unit = mem_strndup(text.p, text.len);
	}
}

/* The last HEADER_FEATURE is an end mark: no bytes, and an id that grew with the versions of perf. */
static int add_feature(struct source *s, const struct record *r)
{
	u64 id = r->feature.id;

	if (!cursor_left(&r->feature.data) && id != FEAT_BRANCH_STACK && id != FEAT_STAT)
		return 0;
	return feature_decode(&s->features, (enum feature)MIN(id, UINT32_MAX), r->feature.data, &s->arena);
}

static void add_build_id(struct source *s, const struct record *r)
{
	struct rec_build_id b = r->build_id;

	b.filename.p = arena_strndup(&s->arena, b.filename.p, b.filename.len);
	vec_push(&s->features.build_ids, b);
	vec_push(&s->features.build_id_misc, r->h.misc);
	s->features.present[0] |= 1ull << FEAT_BUILD_ID;
}

static int apply(struct source *s, const struct source_record *sr)
{
	struct record r;
	int err = record_decode(cursor_over(sr->p, sr->h.size, s->swap), s->data_offset + sr->offset, NULL, &r);

	if (!err && sr->h.type == PERF_RECORD_HEADER_ATTR) {
		err = add_attr(s, &r);
		if (err)
			return err;
	} else if (!err && sr->h.type == PERF_RECORD_EVENT_UPDATE) {
		update_event(s, &r);
	} else if (!err && sr->h.type == PERF_RECORD_HEADER_FEATURE) {
		err = add_feature(s, &r);
	} else if (!err && sr->h.type == PERF_RECORD_HEADER_BUILD_ID) {
		add_build_id(s, &r);
	} else if (!err) {
		u64 size = MIN((u64)r.tracing_data.size, sr->payload_size);

		err = feature_decode(&s->features, FEAT_TRACING_DATA, cursor_over(sr->payload, size, s->swap),
				     &s->arena);
	}
	if (err)
		(void)notify_at(s->notify, NOTE_WARNING, err, s->path, s->data_offset + sr->offset,
				"record %s does not hold what it claims; left out",
				record_kind(sr->h.type) ? record_kind(sr->h.type)->name : "?");
	return 0;
}

int source_find_compressed(struct source *s)
{
	struct source_record sr;
	u64 at = 0;

	while (source_next(s, &at, &sr, NULL))
		if (sr.h.type == PERF_RECORD_COMPRESSED || sr.h.type == PERF_RECORD_COMPRESSED2)
			return source_unpack(s, sr.offset);
	return 0;
}

bool source_read_head(struct source *s)
{
	struct source_record sr;
	u64 at = 0;
	bool any = false;

	for (; source_next(s, &at, &sr, NULL) && sr.h.type == PERF_RECORD_HEADER_FEATURE; any = true)
		apply(s, &sr);
	return any;
}

void source_find_formats(struct source *s)
{
	struct source_record sr;
	u64 at = 0;
	bool wanted = false;

	for (size_t i = 0; i < s->events.events.n; i++)
		wanted |= s->events.events.v[i].attr.type == PERF_TYPE_TRACEPOINT;
	while (wanted && !s->features.tracing_data_size && source_next(s, &at, &sr, NULL) &&
	       sr.h.type != PERF_RECORD_SAMPLE)
		if (sr.h.type == PERF_RECORD_HEADER_TRACING_DATA)
			apply(s, &sr);
}

int source_read_pipe(struct source *s)
{
	struct source_record sr;
	u64 at = 0;
	int err = 0;

	s->data = (const u8 *)s->maps[0].p + PERFDATA_PIPE_HEADER_SIZE;
	s->data_offset = PERFDATA_PIPE_HEADER_SIZE;
	s->size = s->file_size - PERFDATA_PIPE_HEADER_SIZE;
	while (!err && source_next(s, &at, &sr, NULL)) {
		switch (sr.h.type) {
		case PERF_RECORD_HEADER_ATTR:
		case PERF_RECORD_EVENT_UPDATE:
		case PERF_RECORD_HEADER_FEATURE:
		case PERF_RECORD_HEADER_TRACING_DATA:
		case PERF_RECORD_HEADER_BUILD_ID:
			err = apply(s, &sr);
			break;
		case PERF_RECORD_COMPRESSED:
		case PERF_RECORD_COMPRESSED2:
			if (s->spooled)
				break;
			/* All before this record is copied as it is, so going on at its place goes on right. */
			at = sr.offset;
			err = source_unpack(s, at);
			break;
		default:
			break;
		}
	}
	return err;
}
