/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/activity_keys.h"

#include <string.h>

#define ROOT_KEY "datadog.local_root_span_id" /* as Datadog's libraries write it: 16 hexadecimal digits */

static bool put_hex(const u8 *id, u32 n, struct bytes *out)
{
	if (id)
		bytes_hex_of(out, id, n);
	return id;
}

static bool trace_text(const struct activity *a, struct bytes *out)
{
	return put_hex(activity_trace(a->record), 16, out);
}

static bool span_text(const struct activity *a, struct bytes *out)
{
	return put_hex(activity_span(a->record), 8, out);
}

static bool attribute_text(const struct activity *a, const char *name, struct bytes *out)
{
	struct str value;

	if (!activity_attribute_named(a, name, &value))
		return false;
	bytes_put(out, value.p, value.len);
	return true;
}

static bool root_text(const struct activity *a, struct bytes *out)
{
	return attribute_text(a, ROOT_KEY, out);
}

/* Of a process that publishes one, whether its threads work for something or not. */
static bool service_text(const struct activity *a, struct bytes *out)
{
	struct activity_process p;

	activity_process_decode(a->payload, &p);
	bytes_put(out, p.service.p, p.service.len);
	return p.service.len;
}

static const struct {
	const char *name;
	bool (*text)(const struct activity *a, struct bytes *out);
} keys[] = {
	{ "trace_id", trace_text },
	{ "span_id", span_text },
	{ "root_span_id", root_text },
	{ "service", service_text },
};

bool activity_key(const struct timelines *t, const char *name)
{
	for (size_t i = 0; i < ARRAY_LEN(keys) && t->all.n; i++)
		if (!strcmp(keys[i].name, name))
			return true;
	return timelines_has_attribute(t, name);
}

void activity_key_text(const struct timelines *t, u32 activity, const char *name, struct bytes *out)
{
	const struct activity *a = activity < t->all.n ? &t->all.v[activity] : NULL;
	bool found = false, own = false;

	for (size_t i = 0; i < ARRAY_LEN(keys) && a; i++)
		if (!strcmp(keys[i].name, name)) {
			own = true;
			found = keys[i].text(a, out);
		}
	if (a && !own)
		found = attribute_text(a, name, out);
	if (!found)
		bytes_str(out, ACTIVITY_NOTHING);
}

const char *activity_status_text(enum activity_status s)
{
	static const char *const texts[NR_ACTIVITY_STATUS] = {
		[ACTIVITY_NONE] = "none",
		[ACTIVITY_KNOWN] = "without ids",
		[ACTIVITY_BARE] = "without ids",
		[ACTIVITY_NO_THREAD] = "unreadable",
		[ACTIVITY_NO_RECORD] = "unreadable",
		[ACTIVITY_NOT_YET] = "not looked at yet",
		[ACTIVITY_NO_ROOM] = "not looked at",
		[ACTIVITY_REFUSED] = "not looked at",
		[ACTIVITY_LOST] = "lost",
	};

	return s < NR_ACTIVITY_STATUS && texts[s] ? texts[s] : "unknown";
}

/* Is the name that of no key before it? */
static bool first_of_name(const struct activity_process *p, u32 key)
{
	for (u32 i = 0; i < key; i++)
		if (p->keys[i].len == p->keys[key].len && !memcmp(p->keys[i].p, p->keys[key].p, p->keys[key].len))
			return false;
	return true;
}

void activity_attributes(const struct activity *a, void (*put)(void *ctx, struct str key, struct str value), void *ctx)
{
	struct activity_process p;
	struct str value;

	activity_process_of(a, &p);
	for (u32 i = 0; i < p.nr_keys; i++)
		if (activity_attribute_of(a->record, i, &value) && first_of_name(&p, i))
			put(ctx, p.keys[i], value);
}

static void put_attribute(void *ctx, struct str key, struct str value)
{
	struct bytes *out = ctx;

	bytes_char(out, ' ');
	bytes_put(out, key.p, key.len);
	bytes_char(out, '=');
	bytes_put(out, value.p, value.len);
}

void activity_text(const struct timelines *t, u32 activity, struct bytes *out)
{
	const struct activity *a = activity && activity < t->all.n ? &t->all.v[activity] : NULL;

	if (!a) {
		bytes_str(out, "unknown");
		return;
	}
	if (activity_trace(a->record) || activity_span(a->record)) {
		if (!trace_text(a, out))
			bytes_char(out, '-'); /* labels may say a span alone */
		bytes_char(out, '/');
		span_text(a, out);
	} else {
		bytes_str(out, activity_status_text(a->status));
	}
	activity_attributes(a, put_attribute, out);
}

u8 *activity_choose(const struct timelines *t, const char *key, const char *value)
{
	u8 *chosen = mem_zalloc(t->all.n);
	struct bytes text = { 0 };

	for (u32 i = 0; i < t->all.n; i++) {
		text.len = 0;
		activity_key_text(t, i, key, &text);
		chosen[i] = text.len == strlen(value) && !memcmp(text.p, value, text.len);
	}
	bytes_free(&text);
	return chosen;
}
