/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Records: a byte (1: swapped; the other bits choose the trailer), then the record. What is decoded and encoded again
 * must decode to the same.
 */
#include "fuzz.h"
#include "recipe/swap.h"

static struct trailer_layout choose_trailer(u8 bits)
{
	static const u64 fields[] = { PERF_SAMPLE_TID,	     PERF_SAMPLE_TIME, PERF_SAMPLE_ID,
				      PERF_SAMPLE_STREAM_ID, PERF_SAMPLE_CPU,  PERF_SAMPLE_IDENTIFIER };
	struct attr a = { .flags = ATTR_SAMPLE_ID_ALL };

	for (u32 i = 0; i < ARRAY_LEN(fields); i++)
		if (bits >> (i + 1) & 1)
			a.sample_type |= fields[i];
	return trailer_layout(&a);
}

static struct bytes printed(const struct record *r)
{
	const struct record_kind *kind = record_kind(r->h.type);
	struct bytes text = { 0 };

	if (kind && kind->print)
		kind->print(r, &text);
	return text;
}

/* Data that the record codec passes on in the byte order it came in; only its owner could turn it. */
static bool is_opaque(u32 type)
{
	return type == PERF_RECORD_CPU_MAP || type == PERF_RECORD_EVENT_UPDATE || type == PERF_RECORD_HEADER_FEATURE;
}

static void check_round_trip(const struct record *r, const struct trailer_layout *t, bool swap)
{
	struct bytes b = { 0 }, text = printed(r), text2;
	struct record again;

	if (!record_encode(r, t, &b) && !(swap && is_opaque(r->h.type))) {
		MUST(!record_decode(cursor_over(b.p, b.len, false), r->offset, t, &again));
		MUST(!memcmp(&r->sid, &again.sid, sizeof(r->sid)));
		text2 = printed(&again);
		/* Padding may lengthen what reaches to the end of the record; text stays as it is. */
		if (!is_opaque(r->h.type))
			MUST(text.len == text2.len &&
			     !memcmp(text.p ? text.p : (u8 *)"", text2.p ? text2.p : (u8 *)"", text.len));
		bytes_free(&text2);
	}
	bytes_free(&text);
	bytes_free(&b);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	struct trailer_layout t;
	struct sample_id sid;
	struct record r;
	struct cursor c;

	if (!size)
		return 0;
	t = choose_trailer(data[0]);
	c = cursor_over(data + 1, size - 1, data[0] & 1);
	record_trailer_decode(c, &t, &sid);
	if (!record_decode(c, 0, &t, &r))
		check_round_trip(&r, &t, c.swap);
	return 0;
}

static u8 trailer_bits(u64 fields)
{
	for (u32 bits = 0; bits < 128; bits += 2)
		if (choose_trailer((u8)bits).fields == fields)
			return (u8)bits;
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	for (size_t i = 0; i < r->records.n; i++) {
		const struct recipe_record *rec = &r->records.v[i];
		const size_t end = i + 1 < r->records.n ? r->records.v[i + 1].at : r->bytes.len;
		const struct event *e = r->events.events.n ? &r->events.events.v[rec->event] : NULL;
		const struct trailer_layout t = e ? e->trailer : (struct trailer_layout){ 0 };
		struct bytes b = { 0 };

		bytes_u8(&b, trailer_bits(t.fields));
		bytes_put(&b, r->bytes.p + rec->at, end - rec->at - rec->payload);
		sink->give(sink->ctx, b.p, b.len);
		b.p[0] |= 1;
		swap_record(b.p + 1, &t, e ? &e->layout : NULL);
		sink->give(sink->ctx, b.p, b.len);
		bytes_free(&b);
	}
}
