/* SPDX-License-Identifier: Apache-2.0 */
/*
 * pprof's profile.proto (https://github.com/google/pprof), a message Profile; files are packed with gzip. Which field
 * has which number is said beside it. Samples come first, then what they refer to, and the strings last, as all the
 * others add some; readers take fields in any order.
 */
#include <stdlib.h>

#include "agg/activity_keys.h"
#include "codec/proto.h"
#include "view/export/about.h"
#include "view/export/locations.h"
#include "view/export/stacks.h"

enum { /* Profile */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_MAPPING = 3,
       PROFILE_LOCATION = 4,
       PROFILE_FUNCTION = 5,
       PROFILE_STRING = 6,
       PROFILE_TIME = 9,
       PROFILE_DURATION = 10,
       PROFILE_PERIOD_TYPE = 11,
       PROFILE_PERIOD = 12,
       PROFILE_COMMENT = 13,
       PROFILE_DEFAULT_TYPE = 14,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_LOCATION = 1, SAMPLE_VALUE = 2, SAMPLE_LABEL = 3 };
enum { LABEL_KEY = 1, LABEL_STR = 2, LABEL_NUM = 3 };
enum {
	MAPPING_ID = 1,
	MAPPING_START = 2,
	MAPPING_LIMIT = 3,
	MAPPING_OFFSET = 4,
	MAPPING_FILE = 5,
	MAPPING_BUILD_ID = 6,
	MAPPING_HAS_FUNCTIONS = 7,
	MAPPING_HAS_FILES = 8,
	MAPPING_HAS_LINES = 9,
	MAPPING_HAS_INLINED = 10,
};
enum { LOCATION_ID = 1, LOCATION_MAPPING = 2, LOCATION_ADDRESS = 3, LOCATION_LINE = 4 };
enum { FUNCTION_ID = 1, FUNCTION_NAME = 2, FUNCTION_SYSTEM_NAME = 3, FUNCTION_FILE = 4 };

struct writer {
	struct bytes *out;
	const struct profile *p;
	struct locations l;
	size_t event;	     /* at hand */
	VEC(u32) keys;	     /* of labels: strings */
	struct bytes labels; /* of the group at hand, as they stand in each of its samples */
};

static void put_type(struct writer *w, u32 field, const char *type, const char *unit)
{
	size_t at = proto_begin(w->out, field);

	proto_number(w->out, TYPE_TYPE, locations_string_z(&w->l, type));
	proto_number(w->out, TYPE_UNIT, locations_string_z(&w->l, unit));
	proto_end(w->out, at);
}

static void put_types(struct writer *w)
{
	struct event_value v;

	put_type(w, PROFILE_SAMPLE_TYPE, "samples", "count");
	for (size_t i = 0; i < w->p->events.n; i++) {
		event_value_of(w->p, &w->p->events.v[i], &v);
		put_type(w, PROFILE_SAMPLE_TYPE, v.name, v.unit);
	}
	if (!w->p->events.n)
		return;
	event_value_of(w->p, &w->p->events.v[0], &v);
	put_type(w, PROFILE_PERIOD_TYPE, v.name, v.unit);
	proto_number(w->out, PROFILE_PERIOD, v.period);
	proto_number(w->out, PROFILE_DEFAULT_TYPE, locations_string_z(&w->l, v.name));
}

/* No two have one name: those of a program may be anything, our own among them. */
static void put_label(struct writer *w, u32 key, u32 field, u64 value)
{
	size_t at;

	for (size_t i = 0; i < w->keys.n; i++)
		if (w->keys.v[i] == key)
			return;
	vec_push(&w->keys, key);
	at = proto_begin(&w->labels, SAMPLE_LABEL);
	proto_number(&w->labels, LABEL_KEY, key);
	proto_number(&w->labels, field, value);
	proto_end(&w->labels, at);
}

static void label_number(struct writer *w, const char *key, u32 task)
{
	put_label(w, locations_string_z(&w->l, key), LABEL_NUM, (u64)(s32)task);
}

static void label_text(struct writer *w, const char *key, struct str value)
{
	if (value.len)
		put_label(w, locations_string_z(&w->l, key), LABEL_STR, locations_string(&w->l, value.p, value.len));
}

static void label_id(struct writer *w, const char *key, const u8 *id, u32 n)
{
	struct bytes hex = { 0 };

	if (id)
		bytes_hex_of(&hex, id, n);
	label_text(w, key, (struct str){ (const char *)hex.p, (u32)hex.len });
	bytes_free(&hex);
}

static void label_attribute(void *ctx, struct str key, struct str value)
{
	struct writer *w = ctx;

	if (key.len)
		put_label(w, locations_string(&w->l, key.p, key.len), LABEL_STR,
			  locations_string(&w->l, value.p, value.len));
}

static void make_labels(struct writer *w, const struct stacks_group *g)
{
	struct activity_process process;

	w->labels.len = 0;
	w->keys.n = 0;
	label_number(w, "pid", g->pid);
	label_number(w, "tid", g->tid);
	label_text(w, "comm", (struct str){ g->comm, (u32)strlen(g->comm) });
	if (!g->activity)
		return;
	activity_process_decode(g->activity->payload, &process);
	label_text(w, "service", process.service);
	label_id(w, "trace_id", activity_trace(g->activity->record), 16);
	label_id(w, "span_id", activity_span(g->activity->record), 8);
	activity_attributes(g->activity, label_attribute, w);
}

static void put_sample(void *ctx, const struct stacks_one *stack)
{
	struct writer *w = ctx;
	size_t sample = proto_begin(w->out, PROFILE_SAMPLE), at = proto_begin(w->out, SAMPLE_LOCATION);

	for (u32 i = stack->n; i-- > 0;)
		bytes_varint(w->out, w->l.of_frame[stack->frames[i]]);
	proto_end(w->out, at);
	at = proto_begin(w->out, SAMPLE_VALUE);
	bytes_varint(w->out, stack->samples);
	for (size_t i = 0; i < w->p->events.n; i++)
		bytes_varint(w->out, i == w->event ? stack->weight : 0);
	proto_end(w->out, at);
	bytes_put(w->out, w->labels.p, w->labels.len);
	proto_end(w->out, sample);
}

static void put_event(struct writer *w)
{
	struct stacks_group group;
	struct stacks stacks;
	size_t first;
	u32 n;

	stacks_init(&stacks, w->p, &w->p->events.v[w->event], true);
	n = stacks_kids(&stacks, 0, &first);
	for (u32 i = 0; i < n; i++) {
		u32 node = stacks.pending.v[first + i].node;

		stacks_group(&stacks, node, &group);
		make_labels(w, &group);
		stacks_each(&stacks, node, put_sample, w);
	}
	stacks_free(&stacks);
}

static void put_mapping(struct writer *w, u32 id, const struct location_mapping *m)
{
	size_t at = proto_begin(w->out, PROFILE_MAPPING);

	proto_number(w->out, MAPPING_ID, id);
	proto_nonzero(w->out, MAPPING_START, m->start);
	proto_nonzero(w->out, MAPPING_LIMIT, m->limit);
	proto_nonzero(w->out, MAPPING_OFFSET, m->offset);
	proto_nonzero(w->out, MAPPING_FILE, m->path);
	proto_nonzero(w->out, MAPPING_BUILD_ID, locations_string_z(&w->l, strtab_get(&w->l.build_ids, m->build_id)));
	proto_nonzero(w->out, MAPPING_HAS_FUNCTIONS, m->functions);
	proto_nonzero(w->out, MAPPING_HAS_FILES, m->files);
	proto_nonzero(w->out, MAPPING_HAS_LINES, m->files);
	proto_nonzero(w->out, MAPPING_HAS_INLINED, m->inlined);
	proto_end(w->out, at);
}

static void put_location(struct writer *w, u32 id, const struct location *l)
{
	size_t at = proto_begin(w->out, PROFILE_LOCATION);

	proto_number(w->out, LOCATION_ID, id);
	proto_nonzero(w->out, LOCATION_MAPPING, l->mapping);
	proto_nonzero(w->out, LOCATION_ADDRESS, l->addr);
	locations_put_lines(&w->l, l, LOCATION_LINE, w->out);
	proto_end(w->out, at);
}

static void put_function(struct writer *w, u32 id, const struct location_function *f)
{
	size_t at = proto_begin(w->out, PROFILE_FUNCTION);

	proto_number(w->out, FUNCTION_ID, id);
	proto_number(w->out, FUNCTION_NAME, f->name);
	proto_number(w->out, FUNCTION_SYSTEM_NAME, f->name);
	proto_nonzero(w->out, FUNCTION_FILE, f->file);
	proto_end(w->out, at);
}

static void put_tables(struct writer *w)
{
	for (size_t i = 1; i < w->l.mappings.n; i++)
		put_mapping(w, (u32)i, &w->l.mappings.v[i]);
	for (size_t i = 1; i < w->l.all.n; i++)
		put_location(w, (u32)i, &w->l.all.v[i]);
	for (size_t i = 1; i < w->l.functions.n; i++)
		put_function(w, (u32)i, &w->l.functions.v[i]);
	for (size_t i = 0; i < w->l.strings.entries.n; i++)
		proto_bytes(w->out, PROFILE_STRING, w->l.strings.entries.v[i].s, w->l.strings.entries.v[i].len);
}

/* What the head of the report says. */
static void put_lost(struct writer *w)
{
	u64 lost = tally_lost(&w->p->tally);
	struct bytes text = { 0 };

	if (!lost)
		return;
	bytes_printf(&text, "%llu samples were lost", (unsigned long long)lost);
	proto_number(w->out, PROFILE_COMMENT, locations_string(&w->l, (const char *)text.p, text.len));
	bytes_free(&text);
}

void view_pprof(const struct profile *p, const struct export_about *about, struct bytes *out)
{
	struct writer w = { .out = out, .p = p };

	locations_make(&w.l, p, about->inlined);
	put_types(&w);
	proto_nonzero(out, PROFILE_TIME, about->start);
	proto_nonzero(out, PROFILE_DURATION, about->duration);
	put_lost(&w);
	for (; w.event < p->events.n; w.event++)
		put_event(&w);
	put_tables(&w);
	locations_free(&w.l);
	vec_free(&w.keys);
	bytes_free(&w.labels);
}
