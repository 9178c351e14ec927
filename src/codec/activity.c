/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/activity.h"

#include <string.h>

#include "codec/proto.h"

#define AT_SPAN 16
#define AT_ATTRS_SIZE 26

bool activity_event(const struct attr *a, const char *name)
{
	return a->type == PERF_TYPE_SOFTWARE && a->config == PERF_COUNT_SW_BPF_OUTPUT && !strcmp(name, ACTIVITY_EVENT);
}

bool activity_decode(struct cursor c, struct activity_record *out)
{
	u8 version = cursor_u8(&c), what = cursor_u8(&c), status = cursor_u8(&c);
	u32 size;

	cursor_skip(&c, 1);
	size = cursor_u32(&c);
	out->time = cursor_u64(&c);
	out->image = cursor_u64(&c);
	out->data.p = (const char *)cursor_bytes(&c, size);
	out->data.len = size;
	out->what = (enum activity_what)what;
	out->status = (enum activity_status)status;
	if (c.bad || version != ACTIVITY_VERSION || status >= NR_ACTIVITY_STATUS ||
	    (what != ACTIVITY_THREAD && what != ACTIVITY_PROCESS && what != ACTIVITY_LABELS))
		return false;
	return what != ACTIVITY_THREAD || size >= ACTIVITY_FIXED ||
	       (status != ACTIVITY_KNOWN && status != ACTIVITY_BARE);
}

bool activity_lost(const struct activity_record *r, u64 *overwritten, u64 *refused)
{
	struct cursor c = cursor_over(r->data.p, r->data.len, false);

	*overwritten = cursor_u64(&c);
	*refused = cursor_u64(&c);
	return r->what == ACTIVITY_THREAD && r->status == ACTIVITY_LOST && !c.bad;
}

static const u8 *unless_zero(struct str record, u32 at, u32 n)
{
	static const u8 zero[16];
	const u8 *p = (const u8 *)record.p;

	return record.len >= ACTIVITY_FIXED && memcmp(p + at, zero, n) ? p + at : NULL;
}

const u8 *activity_trace(struct str record)
{
	return unless_zero(record, 0, 16);
}

const u8 *activity_span(struct str record)
{
	return unless_zero(record, AT_SPAN, 8);
}

bool activity_attribute_of(struct str record, u32 key, struct str *value)
{
	struct cursor c = cursor_over(record.p, record.len, false);
	bool found = false;

	cursor_skip(&c, ACTIVITY_FIXED);
	while (!c.bad && cursor_left(&c)) {
		u32 index = cursor_u8(&c), len = cursor_u8(&c);
		const u8 *p = cursor_bytes(&c, len);

		if (!p || index != key)
			continue;
		*value = (struct str){ (const char *)p, len };
		found = true;
	}
	return found;
}

/* --- the process context, a message of protocol buffers --- */

static struct str text_of(const struct cursor *c)
{
	return (struct str){ (const char *)c->p, (u32)cursor_left(c) };
}

static bool is(struct str s, const char *what)
{
	return s.len == strlen(what) && !memcmp(s.p, what, s.len);
}

/* AnyValue { string_value = 1; array_value = 5 { values = 1 } } */
static struct str string_of(struct cursor value)
{
	struct str text = { "", 0 };
	struct proto_value f;

	while (proto_next(&value, &f))
		if (f.field == 1)
			text = text_of(&f.bytes);
	return text;
}

static void take_keys(struct cursor value, struct activity_process *out)
{
	struct proto_value array, element;

	out->nr_keys = 0;
	while (proto_next(&value, &array)) {
		if (array.field != 5)
			continue;
		while (proto_next(&array.bytes, &element))
			if (element.field == 1 && out->nr_keys < ACTIVITY_KEYS_MAX)
				out->keys[out->nr_keys++] = string_of(element.bytes);
	}
}

/* KeyValue { key = 1; value = 2 } */
static void take_pair(struct cursor pair, struct activity_process *out)
{
	struct str key = { "", 0 };
	struct cursor value = { 0 };
	struct proto_value f;

	while (proto_next(&pair, &f)) {
		if (f.field == 1)
			key = text_of(&f.bytes);
		else if (f.field == 2)
			value = f.bytes;
	}
	if (is(key, "service.name"))
		out->service = string_of(value);
	else if (is(key, "threadlocal.attribute_key_map"))
		take_keys(value, out);
}

/* ProcessContext { Resource resource = 1 { attributes = 1 }; attributes = 2 } */
void activity_process_decode(struct str payload, struct activity_process *out)
{
	struct cursor c = cursor_over(payload.p, payload.len, false);
	struct proto_value f, pair;

	out->service = (struct str){ "", 0 };
	out->nr_keys = 0;
	while (proto_next(&c, &f)) {
		if (f.field == 2)
			take_pair(f.bytes, out);
		while (f.field == 1 && proto_next(&f.bytes, &pair))
			if (pair.field == 1)
				take_pair(pair.bytes, out);
	}
}
