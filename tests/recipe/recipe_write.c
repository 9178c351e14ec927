/* SPDX-License-Identifier: Apache-2.0 */
/* Recipes, written: header, attrs, records and features in file or pipe mode, in either byte order. */
#include <stdlib.h>
#include <zstd.h>

#include "codec/perfdata.h"
#include "recipe/recipe.h"
#include "recipe/swap.h"

static void put_attr(const struct recipe *r, const struct event *e, struct bytes *out)
{
	size_t at = out->len;

	attr_encode(&e->attr, e->attr.size, out);
	if (r->big)
		swap_attr(out->p + at, e->attr.size);
}

/* Words of one width, in the recipe's order. */
static void put_words(const struct recipe *r, struct bytes *out, const void *p, size_t n, u32 width)
{
	size_t at = out->len;

	bytes_put(out, p, n);
	if (r->big)
		swap_words(out->p + at, n, width);
}

/* The records with their payloads, in the recipe's order. */
static struct bytes plain_records(const struct recipe *r)
{
	struct bytes b = { 0 };

	bytes_put(&b, r->bytes.p, r->bytes.len);
	for (size_t i = 0; r->big && i < r->records.n; i++) {
		const struct recipe_record *rec = &r->records.v[i];
		const struct event *e = r->events.events.n ? &r->events.events.v[rec->event] : NULL;

		swap_record(b.p + rec->at, e ? &e->trailer : NULL, e ? &e->layout : NULL);
	}
	return b;
}

/*
 * As perf record -z does it: one zstd stream over everything, flushed now and then; what each flush gives is a
 * COMPRESSED record. Where that happens has nothing to do with where records end.
 */
static int pack(const struct recipe *r, struct bytes *records)
{
	ZSTD_CCtx *zstd = ZSTD_createCCtx();
	size_t bound = ZSTD_compressBound(r->chunk) + 64;
	u8 *packed = mem_alloc(bound);
	struct bytes out = { 0 };
	int err = 0;

	for (size_t at = 0; at < records->len && !err; at += r->chunk) {
		struct record rec = { .h.type = r->packing == PACK_ZSTD ? PERF_RECORD_COMPRESSED :
									  PERF_RECORD_COMPRESSED2 };
		ZSTD_inBuffer in = { records->p + at, MIN(records->len - at, (size_t)r->chunk), 0 };
		ZSTD_outBuffer to = { packed, bound, 0 };
		size_t start = out.len, left = ZSTD_compressStream2(zstd, &to, &in, ZSTD_e_flush);

		rec.compressed.data = packed;
		rec.compressed.size = to.pos;
		err = left ? ERR_LIMIT : record_encode(&rec, NULL, &out);
		if (!err && r->big)
			swap_record(out.p + start, NULL, NULL);
	}
	ZSTD_freeCCtx(zstd);
	free(packed);
	bytes_free(records);
	*records = out;
	return err;
}

static int all_records(const struct recipe *r, struct bytes *out)
{
	*out = plain_records(r);
	return r->packing ? pack(r, out) : 0;
}

/* One more member of a group; groups hold their leader from the start. */
static void count_member(struct features *f, u32 leader)
{
	for (size_t i = 0; i < f->groups.n; i++)
		if (f->groups.v[i].leader == leader) {
			f->groups.v[i].members++;
			return;
		}
	vec_push(&f->groups, (struct feat_group){ "", leader, 2 });
	f->present[0] |= 1ull << FEAT_GROUP_DESC;
}

/* What the recipe gave, and what follows from its events and packing. event_desc and groups are the caller's to free.
 */
static struct features all_features(const struct recipe *r)
{
	struct features f = r->features;

	memset(&f.event_desc, 0, sizeof(f.event_desc));
	memset(&f.groups, 0, sizeof(f.groups));
	if (r->packing) {
		f.present[0] |= 1ull << FEAT_COMPRESSED;
		f.compressed_type = 1; /* zstd */
		f.compressed_level = 1;
		f.compressed_ratio = 1;
		f.compressed_mmap_len = 528384;
	}
	for (size_t i = 0; i < r->events.events.n; i++) {
		const struct event *e = &r->events.events.v[i];

		vec_push(&f.event_desc, (struct feat_event_desc){ e->attr, e->name, e->ids.v, (u32)e->ids.n });
		if (e->leader != i)
			count_member(&f, e->leader);
	}
	if (!r->no_event_desc)
		f.present[0] |= 1ull << FEAT_EVENT_DESC;
	return f;
}

/* Turns a section of features round. Text and lists of text have 32-bit lengths; the others are words of one width. */
static void swap_feature(enum feature id, u8 *p, size_t n)
{
	size_t at = 0;

	switch (id) {
	case FEAT_TOTAL_MEM:
	case FEAT_SAMPLE_TIME:
		swap_words(p, n, 8);
		return;
	case FEAT_NRCPUS:
	case FEAT_COMPRESSED:
		swap_words(p, n, 4);
		return;
	case FEAT_BUILD_ID:
		while (at + 12 <= n) {
			u16 size;

			memcpy(&size, p + at + 6, 2);
			swap_words(p + at, 4, 4);
			swap_words(p + at + 4, 4, 2);
			swap_words(p + at + 8, 4, 4);
			at += size;
		}
		return;
	case FEAT_CMDLINE:
		swap_words(p, 4, 4);
		at = 4;
		break;
	default:
		break;
	}
	while (at + 4 <= n) {
		u32 len;

		memcpy(&len, p + at, 4);
		swap_words(p + at, 4, 4);
		at += 4 + len;
	}
}

/* Features whose layout the swapper does not know are left out of big-endian recipes. */
static bool writes_feature(const struct recipe *r, const struct features *f, u32 id)
{
	return f->present[0] >> id & 1 && !(r->big && (id == FEAT_EVENT_DESC || id == FEAT_GROUP_DESC));
}

static int put_feature(const struct recipe *r, const struct features *f, u32 id, struct bytes *out)
{
	size_t at = out->len;
	int err = feature_encode(f, (enum feature)id, out);

	if (!err && r->big)
		swap_feature((enum feature)id, out->p + at, out->len - at);
	return err;
}

static void put_section(const struct recipe *r, struct bytes *out, size_t offset, size_t size)
{
	const struct section s = { offset, size };

	put_words(r, out, &s, sizeof(s), 8);
}

static int put_features(const struct recipe *r, const struct features *f, u64 written, struct bytes *out)
{
	size_t table = out->len, at = table + 16 * (size_t)__builtin_popcountll(written);
	struct bytes sections = { 0 };
	int err = 0;

	for (u32 id = 0; id < 64 && !err; id++) {
		size_t start = sections.len;

		if (!(written >> id & 1))
			continue;
		err = put_feature(r, f, id, &sections);
		put_section(r, out, at + start, sections.len - start);
	}
	bytes_put(out, sections.p, sections.len);
	bytes_free(&sections);
	return err;
}

static int write_file(const struct recipe *r, const struct features *f, struct bytes *out)
{
	struct perfdata_header h = { .attr_size = 16 };
	struct bytes records;
	size_t ids_at = PERFDATA_HEADER_SIZE, start = out->len;
	int err = all_records(r, &records);

	for (size_t i = 0; i < r->events.events.n; i++) {
		h.attr_size = MAX(h.attr_size, r->events.events.v[i].attr.size + 16ull);
		h.attrs.offset += 8 * r->events.events.v[i].ids.n;
	}
	h.attrs.offset += PERFDATA_HEADER_SIZE;
	h.attrs.size = h.attr_size * r->events.events.n;
	h.data = (struct section){ h.attrs.offset + h.attrs.size, r->unfinished ? 0 : records.len };
	for (u32 id = 0; id < 64 && !r->unfinished; id++)
		if (writes_feature(r, f, id))
			h.features[0] |= 1ull << id;
	perfdata_header_encode(&h, out);
	if (r->big)
		swap_words(out->p + start, PERFDATA_HEADER_SIZE, 8);
	for (size_t i = 0; i < r->events.events.n; i++)
		put_words(r, out, r->events.events.v[i].ids.v, 8 * r->events.events.v[i].ids.n, 8);
	for (size_t i = 0; i < r->events.events.n; i++) {
		const struct event *e = &r->events.events.v[i];

		put_attr(r, e, out);
		bytes_zero(out, h.attr_size - 16 - e->attr.size);
		put_section(r, out, ids_at, 8 * e->ids.n);
		ids_at += 8 * e->ids.n;
	}
	bytes_put(out, records.p, records.len);
	bytes_free(&records);
	if (!err && !r->unfinished)
		err = put_features(r, f, h.features[0], out);
	out->len -= MIN(r->cut, out->len);
	return err;
}

static int put_record(const struct recipe *r, const struct record *rec, struct bytes *out)
{
	size_t at = out->len;
	int err = record_encode(rec, NULL, out);

	if (!err && r->big)
		swap_record(out->p + at, NULL, NULL);
	return err;
}

static int put_pipe_events(const struct recipe *r, struct bytes *out)
{
	int err = 0;

	for (size_t i = 0; i < r->events.events.n && !err; i++) {
		const struct event *e = &r->events.events.v[i];
		struct record rec = { .h.type = PERF_RECORD_HEADER_ATTR };

		rec.header_attr.attr = e->attr;
		rec.header_attr.ids = (struct u64s){ (const u8 *)e->ids.v, (u32)e->ids.n, false };
		err = put_record(r, &rec, out);
		if (err || r->no_event_desc || !e->ids.n)
			continue;
		rec = (struct record){ .h.type = PERF_RECORD_EVENT_UPDATE };
		rec.event_update.type = 2; /* a name */
		rec.event_update.id = e->ids.v[0];
		rec.event_update.data = cursor_over(e->name, strlen(e->name) + 1, false);
		err = put_record(r, &rec, out);
	}
	return err;
}

static int write_pipe(const struct recipe *r, const struct features *f, struct bytes *out)
{
	const struct perfdata_header h = { .pipe = true };
	size_t start = out->len;
	struct bytes records = { 0 };
	int err;

	perfdata_header_encode(&h, out);
	if (r->big)
		swap_words(out->p + start, PERFDATA_PIPE_HEADER_SIZE, 8);
	err = put_pipe_events(r, out);
	for (u32 id = 0; id < 64 && !err; id++) {
		struct bytes data = { 0 };
		struct record rec = { .h.type = PERF_RECORD_HEADER_FEATURE };

		/* What pipes have as records of their own. */
		if (!writes_feature(r, f, id) || id == FEAT_EVENT_DESC || id == FEAT_BUILD_ID)
			continue;
		err = put_feature(r, f, id, &data);
		rec.feature.id = id;
		rec.feature.data = cursor_over(data.p, data.len, false);
		err = err ? err : put_record(r, &rec, out);
		bytes_free(&data);
	}
	if (!err)
		err = all_records(r, &records);
	if (err)
		return err;
	bytes_put(out, records.p, records.len);
	bytes_free(&records);
	out->len -= MIN(r->cut, out->len);
	return err;
}

int recipe_write(const struct recipe *r, struct bytes *out)
{
	struct features f = all_features(r);
	int err = r->pipe ? write_pipe(r, &f, out) : write_file(r, &f, out);

	vec_free(&f.event_desc);
	vec_free(&f.groups);
	return err;
}
