/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples of tracepoints: by their print formats where those are of the kind that attrib/print_format.h knows, else
 * field by field. A format is parsed when its first sample comes. One of these is not to be shared between threads.
 */
#include "attrib/tracepoint.h"

#include <stdlib.h>
#include <string.h>

#include "attrib/print_format.h"
#include "base/map.h"
#include "base/mem.h"
#include "codec/tracefmt.h"

struct known_format {
	bool asked;
	struct print_format *format; /* NULL: field by field */
};

struct tracepoints {
	struct tracefmt formats;
	struct map by_id;	    /* event id -> index in formats.events */
	struct known_format *known; /* of those */
	struct arena arena;
	VEC(struct str) strings; /* of the kernel */
	struct map string_at;	 /* address -> strings */
	tracepoint_symbol_fn symbol;
	void *ctx;
	const u8 *raw; /* of the sample that is printed */
};

static const char *name_function(void *ctx, u64 addr, u64 *start)
{
	struct tracepoints *t = ctx;
	const char *module = NULL;

	return t->symbol ? t->symbol(t->ctx, addr, start, &module) : NULL;
}

static bool find_string(void *ctx, u64 addr, struct str *out)
{
	struct tracepoints *t = ctx;
	u32 at = map_get(&t->string_at, addr);

	if (at != ID_NONE)
		*out = t->strings.v[at];
	return at != ID_NONE;
}

/* Lines `0xADDR : "text"`, of which a newline at the end is not shown. */
static void learn_strings(struct tracepoints *t)
{
	const char *p = t->formats.printk.p, *end = p ? p + t->formats.printk.len : p;

	while (p < end) {
		const char *stop = memchr(p, '\n', (size_t)(end - p)), *first, *last;

		stop = stop ? stop : end;
		first = memchr(p, '"', (size_t)(stop - p));
		last = first ? memrchr(first + 1, '"', (size_t)(stop - first - 1)) : NULL;
		if (last) {
			if (last - first > 2 && !memcmp(last - 2, "\\n", 2))
				last -= 2;
			map_set(&t->string_at, strtoull(p, NULL, 16), (u32)t->strings.n);
			vec_push(&t->strings, (struct str){ first + 1, (u32)(last - first - 1) });
		}
		p = stop + 1;
	}
}

static bool print_by_format(struct tracepoints *t, u32 index, u32 raw_size, struct bytes *out)
{
	const struct print_record r = { .formats = &t->formats,
					.raw = t->raw,
					.size = raw_size,
					.symbol = name_function,
					.string = find_string,
					.ctx = t };
	struct known_format *k = &t->known[index];

	if (!k->asked)
		k->format = print_format_parse(&t->formats.events.v[index], &t->arena);
	k->asked = true;
	if (k->format)
		print_format_put(k->format, &r, out);
	return k->format;
}

struct tracepoints *tracepoints_new(const u8 *data, u64 size, tracepoint_symbol_fn symbol, void *ctx,
				    const struct notify *to)
{
	struct tracepoints *t = mem_zalloc(sizeof(*t));
	int err = size ? tracefmt_decode(cursor_over(data, size, false), &t->formats) : 0;

	t->symbol = symbol;
	t->ctx = ctx;
	t->known = mem_zalloc(MAX(t->formats.events.n, (size_t)1) * sizeof(*t->known));
	if (err)
		notify_warn(to, "the formats of tracepoints are damaged (%s): some will be missing", err_name(err));
	else if (t->formats.refused)
		notify_warn(to, "%u formats of tracepoints make no sense and are left out", t->formats.refused);
	learn_strings(t);
	for (size_t i = 0; i < t->formats.events.n; i++)
		map_set(&t->by_id, t->formats.events.v[i].id, (u32)i);
	return t;
}

void tracepoints_free(struct tracepoints *t)
{
	if (!t)
		return;
	arena_free(&t->arena);
	vec_free(&t->strings);
	map_free(&t->string_at);
	tracefmt_free(&t->formats);
	map_free(&t->by_id);
	free(t->known);
	free(t);
}

/* --- field by field --- */

static u64 number_at(const struct tracepoints *t, u32 offset, u32 size, bool is_signed)
{
	u64 v = 0;

	for (u32 i = 0; i < size && i < 8; i++)
		v |= (u64)t->raw[offset + i] << 8 * (t->formats.big_endian ? MIN(size, 8u) - 1 - i : i);
	if (is_signed && size < 8 && size && v >> (size * 8 - 1))
		v |= ~0ull << size * 8;
	return v;
}

/* Where a field's bytes are; false: not in the data. */
static bool locate(const struct tracepoints *t, const struct trace_field *f, u32 raw_size, u32 *at, u32 *len)
{
	*at = f->offset;
	*len = f->size;
	if (*at > raw_size || *len > raw_size - *at)
		return false;
	if (f->kind == TRACE_DATA_LOC || f->kind == TRACE_REL_LOC) {
		u64 loc = number_at(t, f->offset, f->size, false);

		*at = (u32)(loc & 0xffff) + (f->kind == TRACE_REL_LOC ? f->offset + f->size : 0);
		*len = (u32)(loc >> 16 & 0xffff);
	}
	return *at <= raw_size && *len <= raw_size - *at;
}

static bool type_has(const struct trace_field *f, const char *word)
{
	return f->type.len && memmem(f->type.p, f->type.len, word, strlen(word));
}

/* hex: unsigned numbers all are. */
static void put_value(const struct tracepoints *t, const struct trace_field *f, u32 at, u32 len, bool hex,
		      struct bytes *out)
{
	if (f->text) {
		bytes_put(out, t->raw + at, strnlen((const char *)t->raw + at, len));
	} else if (f->kind != TRACE_NUMBER) {
		for (u32 i = 0; i < len; i++)
			bytes_printf(out, "%s%02x", i ? "," : "", t->raw[at + i]);
	} else if (f->is_signed) {
		bytes_printf(out, "%lld", (long long)number_at(t, at, len, true));
	} else if (hex) {
		bytes_str(out, "0x");
		bytes_hex(out, number_at(t, at, len, false));
	} else {
		bytes_dec(out, number_at(t, at, len, false));
	}
}

static void put_field(const struct tracepoints *t, const struct trace_field *f, u32 raw_size, struct bytes *out)
{
	u32 at, len;

	if (!locate(t, f, raw_size, &at, &len))
		return;
	bytes_put(out, f->name.p, f->name.len);
	bytes_char(out, '=');
	put_value(t, f, at, len, true, out);
	bytes_char(out, ' ');
}

bool tracepoints_find_field(const struct tracepoints *t, u32 id, const char *name, u32 *field)
{
	u32 index = map_get(&t->by_id, id);
	const struct trace_event *e = index == ID_NONE ? NULL : &t->formats.events.v[index];

	for (size_t i = 0; e && i < e->fields.n; i++)
		if (e->fields.v[i].name.len == strlen(name) && !memcmp(e->fields.v[i].name.p, name, strlen(name))) {
			*field = (u32)i;
			return true;
		}
	return false;
}

bool tracepoints_field_is_text(const struct tracepoints *t, u32 id, u32 field)
{
	return t->formats.events.v[map_get(&t->by_id, id)].fields.v[field].text;
}

bool tracepoints_print_field(struct tracepoints *t, u32 id, u32 field, const u8 *raw, u32 raw_size, struct bytes *out)
{
	const struct trace_field *f = &t->formats.events.v[map_get(&t->by_id, id)].fields.v[field];
	u32 at, len;

	if (raw_size > TRACEFMT_DATA_MAX)
		return false;
	t->raw = raw;
	if (!locate(t, f, raw_size, &at, &len))
		return false;
	put_value(t, f, at, len, type_has(f, "long") || type_has(f, "*"), out);
	return true;
}

bool tracepoints_print(struct tracepoints *t, u32 id, const u8 *raw, u32 raw_size, struct bytes *out)
{
	u32 index = map_get(&t->by_id, id);
	const struct trace_event *e;
	size_t start = out->len;

	if (index == ID_NONE || raw_size > TRACEFMT_DATA_MAX)
		return false;
	t->raw = raw;
	if (print_by_format(t, index, raw_size, out))
		return true;
	e = &t->formats.events.v[index];
	for (size_t i = 0; i < e->fields.n; i++)
		if (!e->fields.v[i].common)
			put_field(t, &e->fields.v[i], raw_size, out);
	if (out->len > start)
		out->len--;
	return true;
}
