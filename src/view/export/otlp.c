/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OpenTelemetry's profiles (https://github.com/open-telemetry/opentelemetry-proto, profiles/v1development of version
 * 1.11.0), a message ExportProfilesServiceRequest. Which field has which number is said beside it.
 *
 * Processes are resources. A resource has two profiles for each event, with the same stacks: the number of samples,
 * and what they stand for. All share one dictionary, which comes last, as all the others add to it. Its tables begin
 * with the empty element, which stands for none, and no two elements are equal; nor are two samples of a profile in
 * all but their values.
 */
#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "base/hash.h"
#include "codec/proto.h"
#include "view/export/about.h"
#include "view/export/locations.h"
#include "view/export/stacks.h"

enum { REQUEST_RESOURCE_PROFILES = 1, REQUEST_DICTIONARY = 2 };
enum { RESOURCE_PROFILES_RESOURCE = 1, RESOURCE_PROFILES_SCOPES = 2 };
enum { RESOURCE_ATTRIBUTE = 1 };
enum { SCOPE_PROFILES_SCOPE = 1, SCOPE_PROFILES_PROFILE = 2 };
enum { SCOPE_NAME = 1, SCOPE_VERSION = 2 };
enum { KEY_VALUE_KEY = 1, KEY_VALUE_VALUE = 2 };
enum { ANY_STRING = 1, ANY_INT = 3 };
enum { /* ProfilesDictionary */
       DICTIONARY_MAPPING = 1,
       DICTIONARY_LOCATION = 2,
       DICTIONARY_FUNCTION = 3,
       DICTIONARY_LINK = 4,
       DICTIONARY_STRING = 5,
       DICTIONARY_ATTRIBUTE = 6,
       DICTIONARY_STACK = 7,
};
enum { /* Profile */
       PROFILE_SAMPLE_TYPE = 1,
       PROFILE_SAMPLE = 2,
       PROFILE_TIME = 3,
       PROFILE_DURATION = 4,
       PROFILE_PERIOD_TYPE = 5,
       PROFILE_PERIOD = 6,
       PROFILE_ID = 7,
       PROFILE_ATTRIBUTES = 11,
};
enum { TYPE_TYPE = 1, TYPE_UNIT = 2 };
enum { SAMPLE_STACK = 1, SAMPLE_ATTRIBUTES = 2, SAMPLE_LINK = 3, SAMPLE_VALUES = 4 };
enum { LINK_TRACE = 1, LINK_SPAN = 2 };
enum { STACK_LOCATIONS = 1 };
enum { LOCATION_MAPPING = 1, LOCATION_ADDRESS = 2, LOCATION_LINE = 3, LOCATION_ATTRIBUTES = 4 };
enum { FUNCTION_NAME = 1, FUNCTION_FILE = 3 };
enum { MAPPING_START = 1, MAPPING_LIMIT = 2, MAPPING_OFFSET = 3, MAPPING_FILE = 4, MAPPING_ATTRIBUTES = 5 };
enum { ATTRIBUTE_KEY = 1, ATTRIBUTE_VALUE = 2 };

#define TRACE_BYTES 16
#define SPAN_BYTES 8

/* An element of the attribute table. */
struct attribute {
	u32 key;  /* a string */
	u32 kind; /* ANY_STRING: value is one of writer.values; ANY_INT */
	s64 value;
};

/* A group of an event's stacks, and the process that it is of. */
struct part {
	u32 pid, service; /* one of writer.values; 0: none */
	u32 event, node;
	u32 order;
};

struct merged {
	u32 stack, context;
	u64 samples, weight;
};

struct writer {
	struct bytes *out;
	const struct profile *p;
	const struct export_about *about;
	struct locations l;
	struct stacks *stacks; /* by event */
	VEC(struct part) parts;
	struct strtab values; /* texts that are not in the dictionary's strings */
	/* Tables, by the bytes of their elements; 0 is the empty one. */
	struct strtab all_stacks; /* u32 of locations, leaf first */
	struct strtab attributes; /* struct attribute */
	struct strtab links;	  /* trace, span */
	struct strtab contexts;	  /* u32: the link, then attributes; those of samples */
	u32 context;		  /* of the group at hand */
	VEC(u32) words;
	u64 of_all; /* a hash of what all profiles share */
	u32 nr_profiles;
	/* Of the profile at hand. */
	VEC(struct merged) samples;
	struct map sample_at; /* context << 32 | stack */
};

static u32 word_at(const struct strtab_entry *e, u32 i)
{
	u32 word;

	memcpy(&word, e->s + (size_t)i * sizeof(word), sizeof(word));
	return word;
}

static u32 intern_words(struct strtab *t, const u32 *words, size_t n)
{
	return n ? strtab_intern(t, (const char *)words, n * sizeof(*words)) : 0;
}

static u32 value_of(struct writer *w, const char *s, size_t n)
{
	return locations_string_in(&w->l, &w->values, s, n);
}

static u32 attribute(struct writer *w, struct attribute a)
{
	return strtab_intern(&w->attributes, (const char *)&a, sizeof(a));
}

static u32 number_attribute(struct writer *w, const char *key, s64 value)
{
	return attribute(w, (struct attribute){ locations_string_z(&w->l, key), ANY_INT, value });
}

static u32 text_attribute(struct writer *w, const char *key, const char *value)
{
	u32 text = value_of(w, value, strlen(value));

	return attribute(w, (struct attribute){ locations_string_z(&w->l, key), ANY_STRING, text });
}

/* --- samples --- */

/* Has the context at hand one of that name? */
static bool has_attribute(const struct writer *w, u32 key)
{
	for (size_t i = 1; i < w->words.n; i++)
		if (word_at(&w->attributes.entries.v[w->words.v[i]], 0) == key)
			return true;
	return false;
}

/* No two have one name, and each has a name: those of a program may be anything, our own among them. */
static void add_attribute(void *ctx, struct str key, struct str value)
{
	struct writer *w = ctx;
	u32 name = locations_string(&w->l, key.p, key.len), text;

	if (!name || has_attribute(w, name))
		return;
	text = value_of(w, value.p, value.len);
	vec_push(&w->words, attribute(w, (struct attribute){ name, ANY_STRING, text }));
}

static u32 link_of(struct writer *w, const struct activity *a)
{
	const u8 *trace = activity_trace(a->record), *span = activity_span(a->record);
	char link[TRACE_BYTES + SPAN_BYTES];

	if (!trace || !span)
		return 0;
	memcpy(link, trace, TRACE_BYTES);
	memcpy(link + TRACE_BYTES, span, SPAN_BYTES);
	return strtab_intern(&w->links, link, sizeof(link));
}

static void set_context(struct writer *w, const struct stacks_group *g)
{
	w->words.n = 0;
	vec_push(&w->words, g->activity ? link_of(w, g->activity) : 0);
	vec_push(&w->words, number_attribute(w, "thread.id", (s32)g->tid));
	vec_push(&w->words, text_attribute(w, "thread.name", g->comm));
	if (g->activity)
		activity_attributes(g->activity, add_attribute, w);
	w->context = intern_words(&w->contexts, w->words.v, w->words.n);
}

static void add_sample(void *ctx, const struct stacks_one *stack)
{
	struct writer *w = ctx;
	struct merged *sample;
	u32 id, *at;

	w->words.n = 0;
	for (u32 i = stack->n; i-- > 0;)
		vec_push(&w->words, w->l.of_frame[stack->frames[i]]);
	id = intern_words(&w->all_stacks, w->words.v, w->words.n);
	at = map_at(&w->sample_at, (u64)w->context << 32 | id, (u32)w->samples.n);
	if (*at == w->samples.n)
		vec_push(&w->samples, (struct merged){ .stack = id, .context = w->context });
	sample = &w->samples.v[*at];
	sample->samples += stack->samples;
	sample->weight += stack->weight;
}

static void put_sample(struct writer *w, const struct merged *s, u64 value)
{
	const struct strtab_entry *context = &w->contexts.entries.v[s->context];
	size_t sample = proto_begin(w->out, PROFILE_SAMPLE), at;

	proto_number(w->out, SAMPLE_STACK, s->stack);
	at = proto_begin(w->out, SAMPLE_ATTRIBUTES);
	for (u32 i = 1; i < context->len / sizeof(u32); i++)
		bytes_varint(w->out, word_at(context, i));
	proto_end(w->out, at);
	proto_nonzero(w->out, SAMPLE_LINK, word_at(context, 0));
	at = proto_begin(w->out, SAMPLE_VALUES);
	bytes_varint(w->out, value);
	proto_end(w->out, at);
	proto_end(w->out, sample);
}

/* --- profiles --- */

static void put_number_list(struct writer *w, u32 field, u32 value)
{
	size_t at = proto_begin(w->out, field);

	bytes_varint(w->out, value);
	proto_end(w->out, at);
}

static void put_type(struct writer *w, u32 field, const char *type, const char *unit)
{
	size_t at = proto_begin(w->out, field);

	proto_number(w->out, TYPE_TYPE, locations_string_z(&w->l, type));
	proto_number(w->out, TYPE_UNIT, locations_string_z(&w->l, unit));
	proto_end(w->out, at);
}

/* The same in each run, of the host and of all that the numbers in profiles stand for. */
static u64 hash_of_all(const struct writer *w)
{
	const char *host = w->about->host ? w->about->host : "";
	u64 hash = hash_bytes_by(0, host, strlen(host));

	for (size_t i = 0; i < w->l.strings.entries.n; i++)
		hash = hash_bytes_by(hash, w->l.strings.entries.v[i].s, w->l.strings.entries.v[i].len);
	for (size_t i = 0; i < w->l.all.n; i++)
		hash = hash_mix_by(0, hash, w->l.all.v[i].addr);
	return hash;
}

/*
 * It follows from what the profile holds, and which one of the request it is: who is sent it twice can tell. Where the
 * time is not known, profiles of equal numbers still differ in what these stand for.
 */
static void put_id(struct writer *w, size_t profile, u32 pid)
{
	u64 which = hash_mix_by(0, hash_mix_by(0, w->of_all, pid), w->nr_profiles++), id[2];

	for (u32 i = 0; i < ARRAY_LEN(id); i++)
		id[i] = hash_mix_by(0, hash_bytes_by(i + 1, w->out->p + profile, w->out->len - profile), which) | 1;
	proto_bytes(w->out, PROFILE_ID, id, sizeof(id));
}

/* What the head of the report says; it is of the whole recording, so it is the same for all profiles. */
static void put_lost(struct writer *w)
{
	u64 lost = tally_lost(&w->p->tally);

	if (lost)
		put_number_list(w, PROFILE_ATTRIBUTES,
				number_attribute(w, "reticle.lost_samples", (s64)MIN(lost, (u64)INT64_MAX)));
}

static void put_profile(struct writer *w, const struct part *part, bool counts)
{
	size_t profile = proto_begin(w->out, SCOPE_PROFILES_PROFILE);
	struct event_value v;

	event_value_of(w->p, &w->p->events.v[part->event], &v);
	put_type(w, PROFILE_SAMPLE_TYPE, counts ? "samples" : v.name, counts ? "count" : v.unit);
	for (size_t i = 0; i < w->samples.n; i++)
		put_sample(w, &w->samples.v[i], counts ? w->samples.v[i].samples : w->samples.v[i].weight);
	proto_fixed64(w->out, PROFILE_TIME, w->about->start);
	proto_nonzero(w->out, PROFILE_DURATION, w->about->duration);
	put_type(w, PROFILE_PERIOD_TYPE, v.name, v.unit);
	proto_nonzero(w->out, PROFILE_PERIOD, v.period);
	put_lost(w);
	put_id(w, profile, part->pid);
	proto_end(w->out, profile);
}

/* Those of one event. */
static void put_profiles(struct writer *w, const struct part *parts, size_t n)
{
	struct stacks_group group;

	w->samples.n = 0;
	map_free(&w->sample_at);
	for (size_t i = 0; i < n; i++) {
		struct stacks *s = &w->stacks[parts[i].event];

		stacks_group(s, parts[i].node, &group);
		set_context(w, &group);
		stacks_each(s, parts[i].node, add_sample, w);
	}
	put_profile(w, parts, true);
	put_profile(w, parts, false);
}

/* --- resources --- */

static void put_resource_text(struct writer *w, const char *key, const char *value)
{
	size_t at = proto_begin(w->out, RESOURCE_ATTRIBUTE), inner;
	const char *shown = strtab_get(&w->values, value_of(w, value, strlen(value)));

	proto_text(w->out, KEY_VALUE_KEY, key);
	inner = proto_begin(w->out, KEY_VALUE_VALUE);
	proto_text(w->out, ANY_STRING, shown);
	proto_end(w->out, inner);
	proto_end(w->out, at);
}

static void put_resource_number(struct writer *w, const char *key, s64 value)
{
	size_t at = proto_begin(w->out, RESOURCE_ATTRIBUTE), inner;

	proto_text(w->out, KEY_VALUE_KEY, key);
	inner = proto_begin(w->out, KEY_VALUE_VALUE);
	proto_number(w->out, ANY_INT, (u64)value);
	proto_end(w->out, inner);
	proto_end(w->out, at);
}

/* The name of the first thread, if it has samples, else of any. */
static const char *process_name(const struct writer *w, const struct part *parts, size_t n)
{
	const char *name = NULL;

	for (size_t i = 0; i < n; i++) {
		struct stacks_group g;

		stacks_group(&w->stacks[parts[i].event], parts[i].node, &g);
		if (!name || g.tid == g.pid)
			name = g.comm;
	}
	return name;
}

static void put_resource(struct writer *w, const struct part *parts, size_t n)
{
	const char *name = process_name(w, parts, n);
	size_t at = proto_begin(w->out, RESOURCE_PROFILES_RESOURCE);
	struct bytes service = { 0 };

	/* What the conventions say for a service that has no name. */
	bytes_str(&service, parts->service ? strtab_get(&w->values, parts->service) : "unknown_service:");
	if (!parts->service)
		bytes_str(&service, name);
	bytes_char(&service, 0);
	put_resource_text(w, "service.name", (const char *)service.p);
	if (w->about->host)
		put_resource_text(w, "host.name", w->about->host);
	put_resource_number(w, "process.pid", (s32)parts->pid);
	put_resource_text(w, "process.executable.name", name);
	bytes_free(&service);
	proto_end(w->out, at);
}

static void put_process(struct writer *w, const struct part *parts, size_t n)
{
	size_t all = proto_begin(w->out, REQUEST_RESOURCE_PROFILES), scope, at;

	put_resource(w, parts, n);
	scope = proto_begin(w->out, RESOURCE_PROFILES_SCOPES);
	at = proto_begin(w->out, SCOPE_PROFILES_SCOPE);
	proto_text(w->out, SCOPE_NAME, "reticle");
	proto_text(w->out, SCOPE_VERSION, RETICLE_VERSION);
	proto_end(w->out, at);
	for (size_t first = 0, i = 1; first < n; first = i++) {
		while (i < n && parts[i].event == parts[first].event)
			i++;
		put_profiles(w, parts + first, i - first);
	}
	proto_end(w->out, scope);
	proto_end(w->out, all);
}

static int by_process(const void *va, const void *vb)
{
	const struct part *a = va, *b = vb;

	if (a->pid != b->pid)
		return (s32)a->pid < (s32)b->pid ? -1 : 1;
	if (a->service != b->service)
		return a->service < b->service ? -1 : 1;
	if (a->event != b->event)
		return a->event < b->event ? -1 : 1;
	return a->order < b->order ? -1 : a->order > b->order;
}

static u32 service_of(struct writer *w, const struct activity *a)
{
	struct activity_process process;

	if (!a)
		return 0;
	activity_process_decode(a->payload, &process);
	return value_of(w, process.service.p, process.service.len);
}

static void find_parts(struct writer *w)
{
	struct map services = { 0 }; /* by pid */

	for (u32 e = 0; e < w->p->events.n; e++) {
		size_t first;
		u32 n;

		stacks_init(&w->stacks[e], w->p, &w->p->events.v[e], true);
		n = stacks_kids(&w->stacks[e], 0, &first);
		for (u32 i = 0; i < n; i++) {
			struct part part = { .event = e, .node = w->stacks[e].pending.v[first + i].node };
			struct stacks_group g;

			stacks_group(&w->stacks[e], part.node, &g);
			part.pid = g.pid;
			part.service = service_of(w, g.activity);
			part.order = (u32)w->parts.n;
			if (part.service)
				(void)map_at(&services, part.pid, part.service);
			vec_push(&w->parts, part);
		}
		w->stacks[e].pending.n = first;
	}
	/* Before its first activity a process is the same service. */
	for (size_t i = 0; i < w->parts.n; i++) {
		u32 known = w->parts.v[i].service ? ID_NONE : map_get(&services, w->parts.v[i].pid);

		if (known != ID_NONE)
			w->parts.v[i].service = known;
	}
	if (w->parts.n)
		qsort(w->parts.v, w->parts.n, sizeof(*w->parts.v), by_process);
	map_free(&services);
}

static void put_processes(struct writer *w)
{
	for (size_t first = 0, i = 1; first < w->parts.n; first = i++) {
		const struct part *p = &w->parts.v[first];

		while (i < w->parts.n && w->parts.v[i].pid == p->pid && w->parts.v[i].service == p->service)
			i++;
		put_process(w, p, i - first);
	}
}

/* --- the dictionary --- */

static void put_mappings(struct writer *w)
{
	for (size_t i = 0; i < w->l.mappings.n; i++) {
		const struct location_mapping *m = &w->l.mappings.v[i];
		size_t at = proto_begin(w->out, DICTIONARY_MAPPING);

		proto_nonzero(w->out, MAPPING_START, m->start);
		proto_nonzero(w->out, MAPPING_LIMIT, m->limit);
		proto_nonzero(w->out, MAPPING_OFFSET, m->offset);
		proto_nonzero(w->out, MAPPING_FILE, m->path);
		if (m->build_id)
			put_number_list(w, MAPPING_ATTRIBUTES,
					text_attribute(w, "process.executable.build_id.gnu",
						       strtab_get(&w->l.build_ids, m->build_id)));
		proto_end(w->out, at);
	}
}

static void put_locations(struct writer *w)
{
	for (size_t i = 0; i < w->l.all.n; i++) {
		const struct location *l = &w->l.all.v[i];
		const char *type = l->kernel ? "kernel" : "native";
		size_t at = proto_begin(w->out, DICTIONARY_LOCATION);

		proto_nonzero(w->out, LOCATION_MAPPING, l->mapping);
		proto_nonzero(w->out, LOCATION_ADDRESS, l->addr);
		locations_put_lines(&w->l, l, LOCATION_LINE, w->out);
		if (i)
			put_number_list(w, LOCATION_ATTRIBUTES, text_attribute(w, "profile.frame.type", type));
		proto_end(w->out, at);
	}
}

static void put_functions(struct writer *w)
{
	for (size_t i = 0; i < w->l.functions.n; i++) {
		size_t at = proto_begin(w->out, DICTIONARY_FUNCTION);

		proto_nonzero(w->out, FUNCTION_NAME, w->l.functions.v[i].name);
		proto_nonzero(w->out, FUNCTION_FILE, w->l.functions.v[i].file);
		proto_end(w->out, at);
	}
}

static void put_links(struct writer *w)
{
	static const char none[TRACE_BYTES + SPAN_BYTES];

	for (size_t i = 0; i < MAX(w->links.entries.n, (size_t)1); i++) {
		const char *link = i ? w->links.entries.v[i].s : none;
		size_t at = proto_begin(w->out, DICTIONARY_LINK);

		proto_bytes(w->out, LINK_TRACE, link, TRACE_BYTES);
		proto_bytes(w->out, LINK_SPAN, link + TRACE_BYTES, SPAN_BYTES);
		proto_end(w->out, at);
	}
}

static void put_stacks(struct writer *w)
{
	for (size_t i = 0; i < MAX(w->all_stacks.entries.n, (size_t)1); i++) {
		size_t at = proto_begin(w->out, DICTIONARY_STACK), inner;

		if (i) {
			const struct strtab_entry *e = &w->all_stacks.entries.v[i];

			inner = proto_begin(w->out, STACK_LOCATIONS);
			for (u32 k = 0; k < e->len / sizeof(u32); k++)
				bytes_varint(w->out, word_at(e, k));
			proto_end(w->out, inner);
		}
		proto_end(w->out, at);
	}
}

static void put_attributes(struct writer *w)
{
	for (size_t i = 0; i < MAX(w->attributes.entries.n, (size_t)1); i++) {
		size_t at = proto_begin(w->out, DICTIONARY_ATTRIBUTE), inner;

		if (i) {
			struct attribute a;

			memcpy(&a, w->attributes.entries.v[i].s, sizeof(a));
			proto_number(w->out, ATTRIBUTE_KEY, a.key);
			inner = proto_begin(w->out, ATTRIBUTE_VALUE);
			if (a.kind == ANY_STRING)
				proto_text(w->out, ANY_STRING, strtab_get(&w->values, (u32)a.value));
			else
				proto_number(w->out, ANY_INT, (u64)a.value);
			proto_end(w->out, inner);
		}
		proto_end(w->out, at);
	}
}

static void put_dictionary(struct writer *w)
{
	size_t at = proto_begin(w->out, REQUEST_DICTIONARY);

	put_mappings(w);
	put_locations(w);
	put_functions(w);
	put_links(w);
	put_stacks(w);
	put_attributes(w);
	for (size_t i = 0; i < w->l.strings.entries.n; i++)
		proto_bytes(w->out, DICTIONARY_STRING, w->l.strings.entries.v[i].s, w->l.strings.entries.v[i].len);
	proto_end(w->out, at);
}

static void free_writer(struct writer *w)
{
	for (size_t i = 0; i < w->p->events.n; i++)
		stacks_free(&w->stacks[i]);
	free(w->stacks);
	locations_free(&w->l);
	strtab_free(&w->values);
	strtab_free(&w->all_stacks);
	strtab_free(&w->attributes);
	strtab_free(&w->links);
	strtab_free(&w->contexts);
	vec_free(&w->parts);
	vec_free(&w->words);
	vec_free(&w->samples);
	map_free(&w->sample_at);
}

void view_otlp(const struct profile *p, const struct export_about *about, struct bytes *out)
{
	struct writer w = { .out = out, .p = p, .about = about };

	w.stacks = mem_zalloc((p->events.n + 1) * sizeof(*w.stacks));
	locations_make(&w.l, p, about->inlined);
	w.of_all = hash_of_all(&w);
	find_parts(&w);
	put_processes(&w);
	put_dictionary(&w);
	free_writer(&w);
}
