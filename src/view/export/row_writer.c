/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/row_writer.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/strtab.h"

#define ZSTD_LEVEL 3
#define TUPLES_BYTES (1u << 19) /* of CSV: so much text of tuples is kept */
#define COPIED 32u		/* bytes that are copied for a text that is no longer */

/* Columns of CSV that are given together. */
struct part {
	u32 first, end;
	struct bytes text; /* of tuples: each field with the comma or newline behind it */
	VEC(size_t) ends;  /* of tuples in text */
};

struct row_writer {
	const struct parquet_column *columns;
	u32 nr_columns;
	struct bytes *out;
	struct parquet *parquet; /* NULL: CSV */
	ZSTD_CCtx *zstd;
	/* Of CSV: texts by number, and how each reads as a field. */
	struct strtab texts;
	VEC(size_t) field_end; /* in fields */
	struct bytes fields;
	struct part *parts;
	u32 nr_parts;
	size_t held; /* bytes of text in parts */
};

static bool pack(void *ctx, const struct bytes *in, struct bytes *out)
{
	size_t room = ZSTD_compressBound(in->len), n;

	bytes_grow(out, room);
	n = ZSTD_compressCCtx(ctx, out->p + out->len, room, in->p, in->len, ZSTD_LEVEL);
	if (ZSTD_isError(n))
		return false;
	out->len += n;
	return true;
}

static void start_csv(struct row_writer *w)
{
	w->nr_parts = w->columns[w->nr_columns - 1].part + 1u;
	w->parts = mem_zalloc(w->nr_parts * sizeof(*w->parts));
	for (u32 i = w->nr_columns; i-- > 0;) {
		struct part *part = &w->parts[w->columns[i].part];

		part->first = i;
		part->end = MAX(part->end, i + 1);
	}
	for (u32 i = 0; i < w->nr_columns; i++) {
		if (i)
			bytes_char(w->out, ',');
		bytes_csv(w->out, w->columns[i].name, strlen(w->columns[i].name));
	}
	bytes_char(w->out, '\n');
}

struct row_writer *row_writer_new(enum row_form form, const struct parquet_column *columns, u32 nr_columns,
				  struct bytes *out)
{
	struct row_writer *w = mem_zalloc(sizeof(*w));

	w->columns = columns;
	w->nr_columns = nr_columns;
	w->out = out;
	if (form == ROWS_PARQUET) {
		w->zstd = ZSTD_createCCtx();
		w->parquet = parquet_new(&(struct parquet_opts){ .columns = columns,
								 .nr_columns = nr_columns,
								 .group_rows = PARQUET_GROUP_ROWS,
								 .pack = w->zstd ? pack : NULL,
								 .pack_ctx = w->zstd },
					 out);
	} else {
		start_csv(w);
	}
	return w;
}

void row_writer_free(struct row_writer *w)
{
	if (!w)
		return;
	parquet_free(w->parquet);
	ZSTD_freeCCtx(w->zstd);
	strtab_free(&w->texts);
	vec_free(&w->field_end);
	bytes_free(&w->fields);
	for (u32 i = 0; i < w->nr_parts; i++) {
		bytes_free(&w->parts[i].text);
		vec_free(&w->parts[i].ends);
	}
	free(w->parts);
	free(w);
}

/* Texts are escaped once, and not in each of millions of rows. */
static void make_fields(struct row_writer *w)
{
	w->fields.formulas = w->out->formulas;
	while (w->field_end.n < w->texts.entries.n) {
		const struct strtab_entry *e = &w->texts.entries.v[w->field_end.n];

		bytes_csv(&w->fields, e->s, e->len);
		vec_push(&w->field_end, w->fields.len);
	}
}

static void put_text(const struct row_writer *w, u64 id, struct bytes *out)
{
	size_t at = id ? w->field_end.v[id - 1] : 0;

	bytes_put(out, bytes_from(&w->fields, at), w->field_end.v[id] - at);
}

u32 row_writer_text(struct row_writer *w, const char *s, size_t n)
{
	u32 id;

	if (w->parquet)
		return parquet_text(w->parquet, s, n);
	id = strtab_intern(&w->texts, s, MIN(n, PARQUET_TEXT_MAX));
	make_fields(w);
	return id;
}

static void put_signed(struct bytes *out, s64 v)
{
	if (v < 0)
		bytes_char(out, '-');
	bytes_dec(out, v < 0 ? -(u64)v : (u64)v);
}

/* The field, and what follows it. */
static void put_field(const struct row_writer *w, u32 column, u64 v, struct bytes *out)
{
	switch (w->columns[column].kind) {
	case PARQUET_TEXT:
		put_text(w, v, out);
		break;
	case PARQUET_BOOL:
		bytes_str(out, v ? "true" : "false");
		break;
	case PARQUET_U64:
		bytes_dec(out, v);
		break;
	case PARQUET_S32:
		put_signed(out, (s32)v);
		break;
	default:
		put_signed(out, (s64)v);
	}
	bytes_char(out, column + 1 == w->nr_columns ? '\n' : ',');
}

u32 row_writer_tuple(struct row_writer *w, u32 part, const u64 *values, const bool *missing)
{
	struct part *p;
	size_t before;

	if (w->parquet)
		return parquet_tuple(w->parquet, part, values, missing);
	p = &w->parts[part];
	before = p->text.len;
	for (u32 i = p->first; i < p->end; i++, values++)
		if (*missing++)
			bytes_char(&p->text, i + 1 == w->nr_columns ? '\n' : ',');
		else
			put_field(w, i, *values, &p->text);
	if (p->text.cap - p->text.len < COPIED)
		bytes_grow(&p->text, COPIED);
	vec_push(&p->ends, p->text.len);
	w->held += p->text.len - before;
	return (u32)p->ends.n - 1;
}

static void drop_tuples(struct row_writer *w)
{
	for (u32 i = 0; i < w->nr_parts; i++)
		w->parts[i].text.len = w->parts[i].ends.n = 0;
	w->held = 0;
}

/* Most texts are short, and to call memcpy takes longer than to copy too much. COPIED bytes can be read there. */
static void put_short(struct bytes *out, const u8 *p, size_t n)
{
	if (n > COPIED || out->cap - out->len < COPIED) {
		bytes_put(out, p, n);
		return;
	}
	memcpy(out->p + out->len, p, COPIED);
	out->len += n;
}

bool row_writer_row_of(struct row_writer *w, const u32 *tuples)
{
	if (w->parquet)
		return parquet_row_of(w->parquet, tuples);
	for (u32 i = 0; i < w->nr_parts; i++) {
		const struct part *p = &w->parts[i];
		size_t at = tuples[i] ? p->ends.v[tuples[i] - 1] : 0;

		put_short(w->out, p->text.p + at, p->ends.v[tuples[i]] - at);
	}
	if (w->held < TUPLES_BYTES)
		return false;
	drop_tuples(w);
	return true;
}

void row_writer_row(struct row_writer *w, const u64 *values, const bool *missing)
{
	if (w->parquet) {
		parquet_row(w->parquet, values, missing);
		return;
	}
	for (u32 i = 0; i < w->nr_columns; i++)
		if (missing[i])
			bytes_char(w->out, i + 1 == w->nr_columns ? '\n' : ',');
		else
			put_field(w, i, values[i], w->out);
}

bool row_writer_end(struct row_writer *w)
{
	return !w->parquet || parquet_end(w->parquet);
}
