/* SPDX-License-Identifier: Apache-2.0 */
#include "view/export/row_writer.h"

#include <stdlib.h>
#include <zstd.h>

#include "base/strtab.h"

#define ZSTD_LEVEL 3

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

static void start_csv(const struct row_writer *w)
{
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

static void put_text(const struct row_writer *w, u64 id)
{
	size_t at = id ? w->field_end.v[id - 1] : 0;

	bytes_put(w->out, w->fields.p + at, w->field_end.v[id] - at);
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

static void put_field(const struct row_writer *w, u32 kind, u64 v)
{
	switch (kind) {
	case PARQUET_TEXT:
		put_text(w, v);
		break;
	case PARQUET_BOOL:
		bytes_str(w->out, v ? "true" : "false");
		break;
	case PARQUET_U64:
		bytes_dec(w->out, v);
		break;
	case PARQUET_S32:
		put_signed(w->out, (s32)v);
		break;
	default:
		put_signed(w->out, (s64)v);
	}
}

void row_writer_row(struct row_writer *w, const u64 *values, const bool *missing)
{
	if (w->parquet) {
		parquet_row(w->parquet, values, missing);
		return;
	}
	for (u32 i = 0; i < w->nr_columns; i++) {
		if (i)
			bytes_char(w->out, ',');
		if (!missing[i])
			put_field(w, w->columns[i].kind, values[i]);
	}
	bytes_char(w->out, '\n');
}

bool row_writer_end(struct row_writer *w)
{
	return !w->parquet || parquet_end(w->parquet);
}
