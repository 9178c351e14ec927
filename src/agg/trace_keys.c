/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/trace_keys.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "attrib/place.h"
#include "attrib/tracepoint.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/strtab.h"

struct trace_texts {
	pthread_mutex_t lock;
	struct strtab texts;
};

struct trace_keys {
	struct trace_texts *texts;
	struct tracepoints *tracepoints;
	struct dsos *dsos;
	const struct maps *kernel; /* of the hit that is read */
	const struct timelines *timelines;
	const char *const *fields;
	bool *of_activity;     /* of each field: it is a key of activities */
	struct map activities; /* field << 32 | activity -> id of its text */
	struct map known; /* hash of a text -> its id: most were read before, and need no lock. Trusted, as stacks'
			     are. */
	u64 offset;	  /* of the record whose whole text stands in: */
	struct bytes whole, part;
};

struct trace_texts *trace_texts_new(void)
{
	struct trace_texts *t = mem_zalloc(sizeof(*t));

	pthread_mutex_init(&t->lock, NULL);
	return t;
}

void trace_texts_free(struct trace_texts *t)
{
	if (!t)
		return;
	pthread_mutex_destroy(&t->lock);
	strtab_free(&t->texts);
	free(t);
}

const char *trace_texts_get(const struct trace_texts *t, u32 id)
{
	return strtab_get(&t->texts, id);
}

/* For %ps in print formats. */
static const char *kernel_symbol(void *ctx, u64 addr, u64 *start, const char **module)
{
	const struct trace_keys *k = ctx;

	return place_kernel_function(k->dsos, k->kernel, addr, start, module);
}

struct trace_keys *trace_keys_new(struct trace_texts *texts, const struct features *f, struct dsos *dsos,
				  const struct timelines *timelines, const char *const *fields, u32 nr_fields,
				  const struct notify *to)
{
	struct trace_keys *k = mem_zalloc(sizeof(*k));

	k->texts = texts;
	k->dsos = dsos;
	k->fields = fields;
	k->timelines = timelines;
	k->of_activity = mem_zalloc((nr_fields + 1) * sizeof(*k->of_activity));
	for (u32 i = 0; timelines && i < nr_fields; i++)
		k->of_activity[i] = activity_key(timelines, fields[i]);
	k->offset = NO_OFFSET;
	k->tracepoints = tracepoints_new(f->tracing_data, f->tracing_data_size, kernel_symbol, k, to);
	return k;
}

void trace_keys_free(struct trace_keys *k)
{
	if (!k)
		return;
	tracepoints_free(k->tracepoints);
	map_free(&k->known);
	map_free(&k->activities);
	free(k->of_activity);
	bytes_free(&k->whole);
	bytes_free(&k->part);
	free(k);
}

static u32 intern(struct trace_keys *k, const void *text, size_t len)
{
	u32 *id;

	if (!len)
		return 0;
	id = map_at(&k->known, hash_bytes(text, len), ID_NONE);
	if (*id == ID_NONE) {
		pthread_mutex_lock(&k->texts->lock);
		*id = strtab_intern(&k->texts->texts, text, len);
		pthread_mutex_unlock(&k->texts->lock);
	}
	return *id;
}

static u32 config_of(const struct event *e)
{
	return (u32)e->attr.config;
}

static void print_whole(struct trace_keys *k, const struct hit *h)
{
	if (k->offset == h->offset)
		return;
	k->offset = h->offset;
	k->whole.len = 0;
	tracepoints_print(k->tracepoints, config_of(h->e), h->full->raw, h->full->raw_size, &k->whole);
}

/* The name of the field in EVENT.FIELD, or NULL when the event is another one. */
static const char *field_of(const struct event *e, const char *name)
{
	const char *dot = strrchr(name, '.'), *colon = strchr(e->name, ':');
	size_t len = dot ? (size_t)(dot - name) : 0;

	if (!dot)
		return name;
	if ((strlen(e->name) == len && !memcmp(e->name, name, len)) ||
	    (colon && strlen(colon + 1) == len && !memcmp(colon + 1, name, len)))
		return dot + 1;
	return NULL;
}

/* Where "name=value" stands in the whole, the value, which ends before a blank. */
static bool find_value(const struct bytes *whole, const char *name, const u8 **value, size_t *len)
{
	const u8 *at = whole->p, *end = whole->p + whole->len;
	size_t n = strlen(name);

	while (at < end) {
		const u8 *blank = memchr(at, ' ', (size_t)(end - at));

		blank = blank ? blank : end;
		if ((size_t)(blank - at) > n && !memcmp(at, name, n) && at[n] == '=') {
			*value = at + n + 1;
			*len = (size_t)(blank - *value);
			return true;
		}
		at = blank + 1;
	}
	return false;
}

/* Samples of one activity follow one another: its text is made once. */
static u32 id_of_activity(struct trace_keys *k, u32 activity, u32 i)
{
	u32 *id = map_at(&k->activities, (u64)i << 32 | activity, ID_NONE);

	if (*id != ID_NONE)
		return *id;
	k->part.len = 0;
	activity_key_text(k->timelines, activity, k->fields[i], &k->part);
	return *id = intern(k, k->part.p, k->part.len);
}

u32 trace_keys_text(struct trace_keys *k, const struct hit *h, const struct thread_view *thread, u32 i)
{
	const char *name = i == TRACE_WHOLE ? NULL : field_of(h->e, k->fields[i]);
	const u8 *value;
	size_t len;
	u32 field;

	if (i != TRACE_WHOLE && k->of_activity[i])
		return id_of_activity(k, h->activity, i);
	if (h->e->attr.type != PERF_TYPE_TRACEPOINT || !h->full->raw)
		return 0;
	k->kernel = &thread->kernel;
	if (i == TRACE_WHOLE) {
		print_whole(k, h);
		return intern(k, k->whole.p, k->whole.len);
	}
	if (!name || !tracepoints_find_field(k->tracepoints, config_of(h->e), name, &field))
		return 0;
	if (!tracepoints_field_is_text(k->tracepoints, config_of(h->e), field)) {
		print_whole(k, h);
		if (find_value(&k->whole, name, &value, &len))
			return intern(k, value, len);
	}
	k->part.len = 0;
	tracepoints_print_field(k->tracepoints, config_of(h->e), field, h->full->raw, h->full->raw_size, &k->part);
	return intern(k, k->part.p, k->part.len);
}

u32 trace_keys_missing(const struct evlist *events, const struct features *f, const struct timelines *timelines,
		       const char *const *names, u32 n)
{
	struct tracepoints *t = n ? tracepoints_new(f->tracing_data, f->tracing_data_size, NULL, NULL, NULL) : NULL;
	u32 missing = ID_NONE;

	for (u32 i = 0; i < n && missing == ID_NONE; i++) {
		bool found = timelines && activity_key(timelines, names[i]);
		u32 field;

		for (size_t e = 0; e < events->events.n && !found; e++) {
			const struct event *event = &events->events.v[e];
			const char *name = field_of(event, names[i]);

			found = name && event->attr.type == PERF_TYPE_TRACEPOINT &&
				tracepoints_find_field(t, config_of(event), name, &field);
		}
		missing = found ? ID_NONE : i;
	}
	tracepoints_free(t);
	return missing;
}
