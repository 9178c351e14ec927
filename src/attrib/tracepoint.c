/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Print formats are C expressions; libtraceevent parses and evaluates them. It trusts its input: it uses offsets from
 * the format and from the raw data without checks, and divides by any number. So
 *   - of the strings that formats refer to, only whole ones reach it;
 *   - formats whose fields lie outside any sample, or that are not of the simple kind that codec/trace_print.c
 *     knows, never reach it and are printed field by field;
 *   - it sees a copy of the raw data that is followed by as many zero bytes as 16-bit offsets and lengths can reach.
 * A handle is not to be shared between threads, so there is one per struct tracepoints.
 */
#include "attrib/tracepoint.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/mem.h"
#include "codec/tracefmt.h"

#ifdef HAVE_TRACEEVENT
#include <traceevent/event-parse.h>
#include <traceevent/trace-seq.h>
#endif

/* Data, then zeros: as far as a field's place, an index of elements of its size, and offset and length reach. */
#define RAW_ROOM ((TRACE_INDEX_MAX + 5u) * TRACEFMT_DATA_MAX)

struct tracepoints {
	struct tracefmt formats;
	struct map by_id; /* event id -> index in formats.events */
	bool *known;	  /* of those: the library has taken the format */
	tracepoint_symbol_fn symbol;
	void *ctx;
	u8 *raw;
	u32 raw_used; /* bytes of raw that may be other than zero */
#ifdef HAVE_TRACEEVENT
	struct tep_handle *tep;
	struct trace_seq seq;
#endif
};

#ifdef HAVE_TRACEEVENT
static char *resolve(void *priv, unsigned long long *addr, char **module)
{
	struct tracepoints *t = priv;
	const char *mod = NULL, *name;
	u64 start = 0;

	name = t->symbol(t->ctx, *addr, &start, &mod);
	*module = (char *)mod;
	if (name)
		*addr = start;
	return (char *)name;
}

/* Lines `0xADDR : "text"`. The library strips the quotes and a \n without asking whether they are there. */
static void teach_strings(struct tracepoints *t)
{
	char *text = mem_strndup(t->formats.printk.p ? t->formats.printk.p : "", t->formats.printk.len), *rest = text;

	for (char *line; (line = strsep(&rest, "\n"));) {
		char *end, *quoted;
		u64 addr = strtoull(line, &end, 16);

		quoted = strchr(end, '"');
		if (end != line && quoted && strlen(quoted) > 4)
			tep_register_print_string(t->tep, quoted, addr);
	}
	free(text);
}

static void open_library(struct tracepoints *t)
{
	tep_set_loglevel(TEP_LOG_NONE);
	t->tep = tep_alloc();
	trace_seq_init(&t->seq);
	if (t->tep) {
		tep_set_file_bigendian(t->tep, t->formats.big_endian ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
		tep_set_local_bigendian(t->tep, tep_is_bigendian() ? TEP_BIG_ENDIAN : TEP_LITTLE_ENDIAN);
		tep_set_long_size(t->tep, (int)t->formats.long_size);
		tep_set_page_size(t->tep, (int)t->formats.page_size);
		teach_strings(t);
		tep_set_function_resolver(t->tep, resolve, t);
	}
}

static bool teach(struct tracepoints *t, const struct trace_event *e)
{
	char *system = mem_strndup(e->system.p, e->system.len);
	bool good = t->tep && e->print_is_tame && !tep_parse_event(t->tep, e->format.p, e->format.len, system);

	free(system);
	return good;
}

static bool print_by_library(struct tracepoints *t, u32 index, u32 cpu, u64 time, u32 raw_size, struct bytes *out)
{
	struct tep_record record = { .ts = time, .size = (int)raw_size, .data = t->raw, .cpu = (int)cpu };

	if (!t->known[index])
		return false;
	trace_seq_reset(&t->seq);
	tep_print_event(t->tep, &t->seq, &record, "%s", TEP_PRINT_INFO);
	bytes_put(out, t->seq.buffer, t->seq.len);
	return true;
}

static void close_library(struct tracepoints *t)
{
	if (t->tep) {
		trace_seq_destroy(&t->seq);
		tep_free(t->tep);
	}
}
#else
static void open_library(struct tracepoints *t)
{
	(void)t;
}

static bool teach(struct tracepoints *t, const struct trace_event *e)
{
	(void)t;
	(void)e;
	return false;
}

static bool print_by_library(struct tracepoints *t, u32 index, u32 cpu, u64 time, u32 raw_size, struct bytes *out)
{
	(void)t;
	(void)index;
	(void)cpu;
	(void)time;
	(void)raw_size;
	(void)out;
	return false;
}

static void close_library(struct tracepoints *t)
{
	(void)t;
}
#endif

struct tracepoints *tracepoints_new(const u8 *data, u64 size, tracepoint_symbol_fn symbol, void *ctx,
				    const struct notify *to)
{
	struct tracepoints *t = mem_zalloc(sizeof(*t));
	int err = size ? tracefmt_decode(cursor_over(data, size, false), &t->formats) : 0;

	t->symbol = symbol;
	t->ctx = ctx;
	t->raw = mem_zalloc(RAW_ROOM);
	t->known = mem_zalloc(t->formats.events.n);
	if (err)
		notify_warn(to, "the formats of tracepoints are damaged (%s): some will be missing", err_name(err));
	else if (t->formats.refused)
		notify_warn(to, "%u formats of tracepoints make no sense and are left out", t->formats.refused);
	open_library(t);
	for (size_t i = 0; i < t->formats.events.n; i++) {
		map_set(&t->by_id, t->formats.events.v[i].id, (u32)i);
		t->known[i] = teach(t, &t->formats.events.v[i]);
	}
	return t;
}

void tracepoints_free(struct tracepoints *t)
{
	if (!t)
		return;
	close_library(t);
	tracefmt_free(&t->formats);
	map_free(&t->by_id);
	free(t->known);
	free(t->raw);
	free(t);
}

/* --- without the library, or for formats that it must not see --- */

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

/* Followed by zeros. */
static void take_raw(struct tracepoints *t, const u8 *raw, u32 raw_size)
{
	memcpy(t->raw, raw, raw_size);
	if (t->raw_used > raw_size)
		memset(t->raw + raw_size, 0, t->raw_used - raw_size);
	t->raw_used = raw_size;
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
	take_raw(t, raw, raw_size);
	if (!locate(t, f, raw_size, &at, &len))
		return false;
	put_value(t, f, at, len, type_has(f, "long") || type_has(f, "*"), out);
	return true;
}

bool tracepoints_print(struct tracepoints *t, u32 id, u32 cpu, u64 time, const u8 *raw, u32 raw_size,
		       struct bytes *out)
{
	u32 index = map_get(&t->by_id, id);
	const struct trace_event *e;
	size_t start = out->len;

	if (index == ID_NONE || raw_size > TRACEFMT_DATA_MAX)
		return false;
	take_raw(t, raw, raw_size);
	if (print_by_library(t, index, cpu, time, raw_size, out))
		return true;
	e = &t->formats.events.v[index];
	for (size_t i = 0; i < e->fields.n; i++)
		if (!e->fields.v[i].common)
			put_field(t, &e->fields.v[i], raw_size, out);
	if (out->len > start)
		out->len--;
	return true;
}
