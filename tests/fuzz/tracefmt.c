/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of tracepoints: the input as one format file, and as a whole TRACING_DATA section. */
#include "codec/tracefmt.h"
#include "fuzz.h"

static void check_event(const struct trace_event *e, const u8 *data, size_t size)
{
	MUST(e->name.len);
	MUST(e->format.p >= (const char *)data && e->format.p + e->format.len <= (const char *)data + size);
	for (size_t i = 0; i < e->fields.n; i++) {
		const struct trace_field *f = &e->fields.v[i];

		MUST(f->offset + f->size <= TRACEFMT_DATA_MAX);
		MUST(f->name.len && f->name.p >= e->format.p);
		MUST(f->name.p + f->name.len <= e->format.p + e->format.len);
	}
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct str text = { (const char *)data, (u32)size };
	struct trace_event e;
	struct tracefmt f;

	if (!trace_event_decode((struct str){ "fuzz", 4 }, text, &e)) {
		check_event(&e, data, size);
		vec_free(&e.fields);
	}
	tracefmt_decode(cursor_over(data, size, false), &f);
	for (size_t i = 0; i < f.events.n; i++)
		check_event(&f.events.v[i], data, size);
	tracefmt_free(&f);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
