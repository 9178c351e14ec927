/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle report --stats`: how many records of each type a recording has, and samples of each event. */
#include "cmd/report_records.h"

#include <stdlib.h>
#include <string.h>

#include "base/json.h"
#include "base/mem.h"
#include "pass/feed.h"

#define TYPES 128 /* those of the kernel and of perf are smaller */

typedef unsigned long long ull;

struct event_count {
	u64 samples, lost; /* lost: as LOST_SAMPLES records say */
};

struct stats {
	const struct source *src;
	u64 total, types[TYPES], others;
	struct event_count *events;
	struct feed
		feed; /* a sample that reads its group is one of each member that counted something, as in the table */
};

static void count_hit(void *ctx, const struct hit *h)
{
	((struct stats *)ctx)->events[h->event].samples++;
}

static void count_lost(struct stats *s, const struct source_record *at, u32 event)
{
	const struct trailer_layout *trailer = evlist_trailer(&s->src->events, at->p, at->h.size, s->src->swap);
	struct record r;

	if (!record_decode(cursor_over(at->p, at->h.size, s->src->swap), at->offset, trailer, &r))
		s->events[event].lost += r.lost.lost;
}

static void count_record(struct stats *s, const struct source_record *at)
{
	u32 event;

	s->total++;
	*(at->h.type < TYPES ? &s->types[at->h.type] : &s->others) += 1;
	if (at->h.type == PERF_RECORD_SAMPLE)
		(void)feed_sample(&s->feed, at, count_hit, s);
	if (at->h.type != PERF_RECORD_LOST_SAMPLES)
		return;
	event = evlist_find(&s->src->events, at->p, at->h.size, false, s->src->swap);
	if (event != ID_NONE)
		count_lost(s, at, event);
}

/* As perf calls them: what it adds to a recording has names without HEADER_. */
static const char *type_name(u32 type)
{
	static const char prefix[] = "HEADER_";
	const struct record_kind *kind = record_kind(type);

	if (!kind)
		return NULL;
	return kind->name + (strncmp(kind->name, prefix, sizeof(prefix) - 1) ? 0 : sizeof(prefix) - 1);
}

static void put_line(const char *name, u64 n, struct bytes *out)
{
	bytes_printf(out, "%16s events: %10llu", name, (ull)n);
}

static void put_type(const char *name, u64 n, u64 total, struct bytes *out)
{
	put_line(name, n, out);
	bytes_printf(out, "  (%4.1f%%)\n", 100.0 * (double)n / (double)total);
}

static void write_text(const struct stats *s, struct bytes *out)
{
	u64 unknown = s->others;

	bytes_str(out, "\nAggregated stats:\n");
	put_line("TOTAL", s->total, out);
	bytes_char(out, '\n');
	for (u32 i = 0; i < TYPES; i++) {
		if (!type_name(i))
			unknown += s->types[i];
		else if (s->types[i])
			put_type(type_name(i), s->types[i], s->total, out);
	}
	if (unknown)
		put_type("UNKNOWN", unknown, s->total, out);
	for (size_t i = 0; i < s->src->events.events.n; i++) {
		const char *name = s->src->events.events.v[i].name;
		const struct event_count *e = &s->events[i];

		if (!e->samples && !e->lost)
			continue;
		bytes_plain(out, name, strlen(name));
		bytes_str(out, " stats:\n");
		for (u32 k = 0; k < 2; k++) {
			if (!(k ? e->lost : e->samples))
				continue;
			put_line(k ? "LOST_SAMPLES" : "SAMPLE", k ? e->lost : e->samples, out);
			bytes_char(out, '\n');
		}
	}
}

static void write_json(const struct stats *s, struct bytes *out)
{
	struct json j = { .out = out };
	u64 unknown = s->others;

	json_object(&j);
	json_set_u64(&j, "total", s->total);
	json_set_object(&j, "types");
	for (u32 i = 0; i < TYPES; i++) {
		if (!type_name(i))
			unknown += s->types[i];
		else if (s->types[i])
			json_set_u64(&j, type_name(i), s->types[i]);
	}
	json_set_u64(&j, "UNKNOWN", unknown);
	json_object_end(&j);
	json_set_list(&j, "events");
	for (size_t i = 0; i < s->src->events.events.n; i++) {
		json_object(&j);
		json_set_text(&j, "name", s->src->events.events.v[i].name);
		json_set_u64(&j, "samples", s->events[i].samples);
		json_set_u64(&j, "lost_samples", s->events[i].lost);
		json_object_end(&j);
	}
	json_list_end(&j);
	json_object_end(&j);
	json_end(&j);
}

void report_broken_end(const struct source *src, u64 bad)
{
	if (bad != NO_OFFSET)
		(void)notify_at(src->notify, NOTE_WARNING, ERR_TRUNCATED, src->path, src->data_offset + bad,
				"the last %llu bytes are not a whole record and are left out", (ull)(src->size - bad));
}

void report_stats(const struct source *src, bool json, struct bytes *out)
{
	struct stats s = { .src = src, .events = mem_zalloc((src->events.events.n + 1) * sizeof(*s.events)) };
	struct source_record at;
	u64 offset = 0, bad = NO_OFFSET;

	s.feed = (struct feed){ .src = src, .reads = true };
	s.total = s.types[PERF_RECORD_COMPRESSED] = src->compressed_records;
	while (source_next(src, &offset, &at, &bad))
		count_record(&s, &at);
	report_broken_end(src, bad);
	if (json)
		write_json(&s, out);
	else
		write_text(&s, out);
	feed_free(&s.feed);
	free(s.events);
}
