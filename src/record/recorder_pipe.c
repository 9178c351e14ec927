/* SPDX-License-Identifier: Apache-2.0 */
/* Pipe mode: the contents of a file's header are written as records before the data, and the build ids after them. */
#include "record/recorder_impl.h"
#include "record/tracing_data.h"

#define UPDATE_NAME 2 /* of UNIT, SCALE, NAME, CPUS */

static void put_record(struct recorder *r, struct record *record)
{
	struct bytes b = { 0 };

	if (!record_encode(record, NULL, &b))
		writer_put_bytes(&r->writer, &b);
	bytes_free(&b);
}

static void put_attrs(struct recorder *r)
{
	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];
		struct record record = { .h.type = PERF_RECORD_HEADER_ATTR };
		struct bytes ids = { 0 };

		for (size_t i = 0; i < event->on.n; i++)
			bytes_u64(&ids, event->on.v[i].id);
		record.header_attr.attr = event_recorded_attr(event);
		record.header_attr.ids = (struct u64s){ ids.p, (u32)event->on.n, false };
		put_record(r, &record);
		bytes_free(&ids);
	}
}

void recorder_put_features(struct recorder *r)
{
	struct features f = { 0 };
	struct arena arena = { 0 };
	struct bytes b = { 0 };

	recorder_head_features(r, &f, &arena);
	for (u32 id = 1; id < FEAT_MAX; id++) {
		struct record record = { .h.type = PERF_RECORD_HEADER_FEATURE };

		b.len = 0;
		if (!(f.present[id / 64] >> id % 64 & 1) || feature_encode(&f, id, &b))
			continue;
		record.feature.id = id;
		record.feature.data = cursor_over(b.p, b.len, false);
		put_record(r, &record);
	}
	bytes_free(&b);
	features_free(&f);
	arena_free(&arena);
}

static void put_names(struct recorder *r)
{
	for (size_t e = 0; e < r->set.events.n; e++) {
		const struct open_event *event = &r->set.events.v[e];
		struct record record = { .h.type = PERF_RECORD_EVENT_UPDATE };

		if (!event->on.n)
			continue;
		record.event_update.type = UPDATE_NAME;
		record.event_update.id = event->on.v[0].id;
		record.event_update.data = cursor_over(event->name, strlen(event->name) + 1, false);
		put_record(r, &record);
	}
}

/* The formats follow their record, padded to 8. */
static void put_tracing_data(struct recorder *r)
{
	struct record record = { .h.type = PERF_RECORD_HEADER_TRACING_DATA };
	struct bytes formats = { 0 };

	tracing_data(&r->set, &formats);
	if (formats.len) {
		bytes_zero(&formats, -formats.len % 8);
		record.tracing_data.size = (u32)formats.len;
		put_record(r, &record);
		writer_put_bytes(&r->writer, &formats);
	}
	bytes_free(&formats);
}

void recorder_put_head(struct recorder *r)
{
	put_attrs(r);
	recorder_put_features(r);
	put_tracing_data(r);
	put_names(r);
}

void recorder_put_build_ids(struct recorder *r)
{
	struct features f = { 0 };
	struct arena arena = { 0 };

	recorder_build_ids(r, &f, &arena);
	for (size_t i = 0; i < f.build_ids.n; i++) {
		struct record record = { .h = { .type = PERF_RECORD_HEADER_BUILD_ID, .misc = f.build_id_misc.v[i] } };

		record.build_id = f.build_ids.v[i];
		put_record(r, &record);
	}
	features_free(&f);
	arena_free(&arena);
}
