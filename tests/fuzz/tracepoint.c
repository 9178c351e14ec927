/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a tracepoint prints. An input is a byte that says how long the raw data are, those, and the text of a format
 * file; both may be anybody's. What is printed ends, and is of a bounded length.
 */
#include "attrib/tracepoint.h"
#include "codec/tracefmt.h"
#include "fuzz.h"

#define PRINTED_MAX (1u << 20)

static const char *no_symbol(void *ctx, u64 addr, u64 *start, const char **module)
{
	(void)ctx;
	*start = addr;
	*module = NULL;
	return addr & 1 ? "symbol" : NULL;
}

static void put_named(struct bytes *b, const char *name)
{
	bytes_put(b, name, strlen(name) + 1);
	bytes_u64(b, 0);
}

/* The section of a recording with this one format. */
static void put_section(struct bytes *b, const void *format, size_t size)
{
	bytes_put(b, "\x17\x08\x44tracing0.6", 14);
	bytes_u8(b, 0);
	bytes_u8(b, 8);
	bytes_u32(b, 4096);
	put_named(b, "header_page");
	put_named(b, "header_event");
	bytes_u32(b, 0);
	bytes_u32(b, 1);
	bytes_put(b, "fuzz", 5);
	bytes_u32(b, 1);
	bytes_u64(b, size);
	bytes_put(b, format, size);
	bytes_u32(b, 0);
	bytes_u32(b, 0);
	bytes_u64(b, 0);
}

static void print(struct tracepoints *t, const struct trace_event *e, const u8 *raw, u32 size)
{
	struct bytes out = { 0 };

	tracepoints_print(t, e->id, raw, size, &out);
	MUST(out.len <= PRINTED_MAX);
	for (size_t i = 0; i < e->fields.n && i < 64; i++) {
		char *name = mem_strndup(e->fields.v[i].name.p, e->fields.v[i].name.len);
		u32 field;

		out.len = 0;
		if (tracepoints_find_field(t, e->id, name, &field)) {
			(void)tracepoints_field_is_text(t, e->id, field);
			tracepoints_print_field(t, e->id, field, raw, size, &out);
		}
		MUST(out.len <= PRINTED_MAX);
		free(name);
	}
	bytes_free(&out);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 raw_size = size ? MIN((u32)data[0], (u32)size - 1) : 0;
	const u8 *format = data + 1 + raw_size;
	struct bytes section = { 0 };
	struct tracefmt f = { 0 };
	struct tracepoints *t;
	u8 *raw;

	if (!size)
		return 0;
	/* Of just this length, so that what is read behind it is seen. */
	raw = mem_alloc(raw_size + 1);
	raw = mem_realloc(raw, MAX(raw_size, 1u), 1);
	memcpy(raw, data + 1, raw_size);
	put_section(&section, format, size - 1 - raw_size);
	if (!tracefmt_decode(cursor_over(section.p, section.len, false), &f) && f.events.n) {
		t = tracepoints_new(section.p, section.len, no_symbol, NULL, NULL);
		print(t, &f.events.v[0], raw, raw_size);
		tracepoints_free(t);
	}
	tracefmt_free(&f);
	bytes_free(&section);
	free(raw);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
