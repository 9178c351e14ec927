/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Parquet file, as it is written here (https://parquet.apache.org/docs/file-format):
 *
 *	"PAR1"
 *	row group:	for each column, one after the other, a chunk:
 *				[page with the dictionary]
 *				pages with data, of at most PAGE_ROWS rows
 *	...
 *	FileMetaData	the schema, and for each chunk where it is, how it is encoded, and its least and largest value
 *	length of it (4 bytes), "PAR1"
 *
 * A page is a PageHeader, then its bytes, packed with zstd. PageHeader and FileMetaData are structs of Thrift's
 * compact protocol; which field has which number is said in parquet.thrift, and beside each field here. The end holds
 * everything that a reader needs to find its way, so a file is written from front to back and never changed.
 *
 * The data of a page begin with the definition levels of an optional column, a bit for each row: 1, it has a value.
 * Levels are preceded by their size in bytes. Then come the values that are there, in one of two encodings:
 *
 *	PLAIN		as they are in memory; texts after their length; truth values as bits
 *	RLE_DICTIONARY	the distinct values are in the dictionary page, PLAIN; here is the number of bits of an index,
 *			then the indices (codec/rle_hybrid.h)
 *
 * Most columns of a profile have few distinct values in a row group, or the same one many times in a row, so a column
 * has a dictionary unless it has too many of them. Times and counts, which are all different, are given up on early.
 */
#include "codec/parquet.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "base/strtab.h"
#include "codec/rle_hybrid.h"
#include "codec/thrift.h"

#define MAGIC "PAR1"
#define PAGE_ROWS 32768u
#define PAGE_BYTES (1u << 20) /* of texts */
#define DICTIONARY_MAX (1u << 16)
#define DICTIONARY_BYTES (1u << 20)
#define TRIAL 4096u	    /* after so many values it must have paid */
#define STATISTICS_TEXT 64u /* longer least and largest texts are left out */

/* Numbers of parquet.thrift. */
enum { TYPE_BOOLEAN = 0, TYPE_INT32 = 1, TYPE_INT64 = 2, TYPE_BYTE_ARRAY = 6 };
enum { CONVERTED_UTF8 = 0, CONVERTED_UINT_64 = 14 };
enum { LOGICAL_STRING = 1, LOGICAL_INTEGER = 10 };
enum { REPETITION_REQUIRED = 0, REPETITION_OPTIONAL = 1 };
enum { ENCODING_PLAIN = 0, ENCODING_RLE = 3, ENCODING_RLE_DICTIONARY = 8 };
enum { CODEC_UNCOMPRESSED = 0, CODEC_ZSTD = 6 };
enum { PAGE_DATA = 0, PAGE_DICTIONARY = 2 };
#define FILE_VERSION 2

static const u8 type_of[] = {
	[PARQUET_S32] = TYPE_INT32,    [PARQUET_S64] = TYPE_INT64,	 [PARQUET_U64] = TYPE_INT64,
	[PARQUET_BOOL] = TYPE_BOOLEAN, [PARQUET_TEXT] = TYPE_BYTE_ARRAY,
};

/* A column in the group that is being filled, by tuple of its part. */
struct column {
	u32 part;
	VEC(u64) values; /* of those that have none: anything */
	VEC(bool) missing;
};

struct part {
	u32 first, end; /* its columns */
	u32 tuples;
	VEC(u32) rows; /* the tuple of each row */
};

/* One column, row by row, when its chunk is written. */
struct unfolded {
	bool mixed;	   /* some rows have a value, and others have not: */
	VEC(u32) there;	   /* 1 or 0 for each row; else not filled */
	u32 n;		   /* how many have one */
	VEC(u32) indices;  /* of those values in the dictionary, if it has one, and more than one value; */
	VEC(u64) values;   /* or these themselves, if there is no dictionary */
	VEC(u32) index_of; /* of a tuple's value in the dictionary */
};

struct dictionary {
	struct map at;	 /* value -> index */
	VEC(u64) values; /* by index */
	u64 bytes;	 /* of texts */
};

/* A column chunk as the end of the file describes it. */
struct chunk {
	u64 dictionary, data; /* offsets of pages; dictionary 0: none */
	u64 plain, packed;    /* sizes, with the headers of pages */
	u32 missing;	      /* rows without a value */
	bool ranged;	      /* least and largest are known */
	u64 least, largest;
};

struct parquet {
	struct parquet_opts opts;
	struct bytes *out;
	struct column *columns;
	struct part *parts;
	u32 nr_parts;
	u32 *own; /* tuples of a row of its own */
	struct strtab texts;
	u32 rows;	      /* in this group */
	u64 all_rows, offset; /* in the file */
	struct dictionary dictionary;
	struct unfolded unfolded;
	struct bytes page, packed, head, text;
	struct bytes groups; /* RowGroup structs for the end of the file */
	u32 nr_groups;
	bool failed;
};

static void put(struct parquet *p, const void *bytes, size_t n)
{
	bytes_put(p->out, bytes, n);
	p->offset += n;
}

struct parquet *parquet_new(const struct parquet_opts *opts, struct bytes *out)
{
	struct parquet *p = mem_zalloc(sizeof(*p));

	p->opts = *opts;
	p->out = out;
	p->columns = mem_zalloc(opts->nr_columns * sizeof(*p->columns));
	p->nr_parts = opts->columns[opts->nr_columns - 1].part + 1u;
	p->parts = mem_zalloc(p->nr_parts * sizeof(*p->parts));
	p->own = mem_zalloc(p->nr_parts * sizeof(*p->own));
	for (u32 i = opts->nr_columns; i-- > 0;) {
		struct part *part = &p->parts[p->columns[i].part = opts->columns[i].part];

		part->first = i;
		part->end = MAX(part->end, i + 1);
	}
	put(p, MAGIC, 4);
	return p;
}

void parquet_free(struct parquet *p)
{
	if (!p)
		return;
	for (u32 i = 0; i < p->opts.nr_columns; i++) {
		vec_free(&p->columns[i].values);
		vec_free(&p->columns[i].missing);
	}
	for (u32 i = 0; i < p->nr_parts; i++)
		vec_free(&p->parts[i].rows);
	free(p->columns);
	free(p->parts);
	free(p->own);
	strtab_free(&p->texts);
	map_free(&p->dictionary.at);
	vec_free(&p->dictionary.values);
	vec_free(&p->unfolded.there);
	vec_free(&p->unfolded.indices);
	vec_free(&p->unfolded.values);
	vec_free(&p->unfolded.index_of);
	bytes_free(&p->page);
	bytes_free(&p->packed);
	bytes_free(&p->head);
	bytes_free(&p->text);
	bytes_free(&p->groups);
	free(p);
}

/* Where a text of n bytes is cut off: not within a character. */
static size_t cut(const char *s, size_t n)
{
	if (n <= PARQUET_TEXT_MAX)
		return n;
	n = PARQUET_TEXT_MAX;
	for (u32 i = 0; i < 3 && n && ((u8)s[n] & 0xc0) == 0x80; i++)
		n--;
	return n;
}

u32 parquet_text(struct parquet *p, const char *s, size_t n)
{
	p->text.len = 0;
	bytes_shown(&p->text, s, cut(s, n));
	return strtab_intern(&p->texts, (const char *)p->text.p, p->text.len);
}

static const struct strtab_entry *text_at(const struct parquet *p, u64 id)
{
	return &p->texts.entries.v[id];
}

/* Packs p->page and writes it behind its header. */
static void put_page(struct parquet *p, u32 type, u32 nr_values, u32 encoding, struct chunk *c)
{
	const struct bytes *body = &p->page;
	struct thrift t = { .out = &p->head };

	if (p->opts.pack) {
		p->packed.len = 0;
		p->failed |= !p->opts.pack(p->opts.pack_ctx, &p->page, &p->packed);
		body = &p->packed;
	}
	p->head.len = 0;
	thrift_number(&t, 1, THRIFT_I32, type);
	thrift_number(&t, 2, THRIFT_I32, (s64)p->page.len); /* uncompressed_page_size */
	thrift_number(&t, 3, THRIFT_I32, (s64)body->len);   /* compressed_page_size */
	thrift_struct(&t, type == PAGE_DATA ? 5 : 7);	    /* data_page_header, dictionary_page_header */
	thrift_number(&t, 1, THRIFT_I32, nr_values);
	thrift_number(&t, 2, THRIFT_I32, encoding);
	if (type == PAGE_DATA) {
		thrift_number(&t, 3, THRIFT_I32, ENCODING_RLE); /* definition_level_encoding */
		thrift_number(&t, 4, THRIFT_I32, ENCODING_RLE); /* repetition_level_encoding */
	}
	thrift_end(&t);
	thrift_stop(&t);
	put(p, p->head.p, p->head.len);
	put(p, body->p, body->len);
	c->plain += p->head.len + p->page.len;
	c->packed += p->head.len + body->len;
}

static void put_bits(const u64 *v, u32 n, struct bytes *out)
{
	for (u32 i = 0; i < n; i += 8) {
		u32 bits = 0;

		for (u32 k = 0; k < MIN(n - i, 8u); k++)
			bits |= (u32)(v[i + k] & 1) << k;
		bytes_u8(out, (u8)bits);
	}
}

/* Parquet is little-endian; lengths and levels are written by bytes. */
static void put_little(u64 v, u32 size, struct bytes *out)
{
	for (u32 i = 0; i < size; i++)
		bytes_u8(out, (u8)(v >> 8 * i));
}

static void put_text(const struct parquet *p, u64 id, struct bytes *out)
{
	const struct strtab_entry *e = text_at(p, id);

	put_little(e->len, 4, out);
	bytes_put(out, e->s, e->len);
}

static void put_plain(const struct parquet *p, u32 kind, const u64 *v, u32 n, struct bytes *out)
{
	u32 size = type_of[kind] == TYPE_INT64 ? 8 : 4;

	if (kind == PARQUET_BOOL)
		put_bits(v, n, out);
	else if (size == 8 && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__)
		bytes_put(out, v, n * sizeof(*v));
	else
		for (u32 i = 0; i < n; i++)
			if (kind == PARQUET_TEXT)
				put_text(p, v[i], out);
			else
				put_little(v[i], size, out);
}

static void put_levels(const struct unfolded *u, u32 row, u32 n, struct bytes *out)
{
	size_t start = out->len;
	u32 size;

	put_little(0, 4, out);
	if (u->mixed)
		rle_hybrid_put(u->there.v + row, n, 1, out);
	else
		rle_hybrid_put_same(u->n != 0, n, 1, out);
	size = (u32)(out->len - start - 4);
	for (u32 i = 0; i < 4; i++)
		out->p[start + i] = (u8)(size >> 8 * i);
}

/* Of a text: its length and itself, as in a page. */
static u32 text_size(const struct parquet *p, u64 id)
{
	return text_at(p, id)->len + 4;
}

static void add_value(struct parquet *p, bool text, u64 v)
{
	vec_push(&p->dictionary.values, v);
	p->dictionary.bytes += text ? text_size(p, v) : 0;
}

/* Which rows have a value, and how many. */
static void find_there(struct parquet *p, const struct column *col)
{
	const struct part *part = &p->parts[col->part];
	const u32 *rows = part->rows.v;
	const bool *missing = col->missing.v;
	struct unfolded *u = &p->unfolded;
	u32 *there, absent = 0, nr = p->rows, n = 0;

	for (u32 i = 0; i < part->tuples; i++)
		absent += missing[i];
	u->n = absent ? 0 : nr;
	u->mixed = absent && absent < part->tuples;
	if (!u->mixed)
		return;
	vec_reserve(&u->there, nr);
	there = u->there.v;
	for (u32 i = 0; i < nr; i++)
		n += there[i] = !missing[rows[i]];
	u->n = n;
}

/* With the value of that number the trial ends. How many tuples there were before it; UINT32_MAX: there is no such
 * value, or it is equal to the one before. */
static u32 tuples_of_trial(const struct parquet *p, const struct column *col)
{
	const u32 *rows = p->parts[col->part].rows.v;
	u32 n = 0, tuples = 0, before = 0;

	for (u32 i = 0; i < p->rows && n <= TRIAL; i++) {
		if (!col->missing.v[rows[i]]) {
			if (n++ == TRIAL && col->values.v[rows[i]] != col->values.v[before])
				return tuples;
			before = rows[i];
		}
		tuples = MAX(tuples, rows[i] + 1);
	}
	return UINT32_MAX;
}

/* Adds the value if it is new; its index. last: that of the value before it. */
static u32 index_value(struct parquet *p, u32 kind, u64 v, u32 last)
{
	struct dictionary *d = &p->dictionary;
	u32 *index, next = (u32)d->values.n;

	if (next && v == d->values.v[last])
		return last;
	index = map_at(&d->at, v, next);
	if (*index == next)
		add_value(p, kind == PARQUET_TEXT, v);
	return *index;
}

/* Fills the dictionary, and numbers the tuples' values. False: the column has too many distinct values to gain by
 * it. */
static bool make_dictionary(struct parquet *p, u32 kind, const struct column *col)
{
	u32 tuples = p->parts[col->part].tuples, last = 0, trial = UINT32_MAX;
	struct dictionary *d = &p->dictionary;
	struct unfolded *u = &p->unfolded;

	map_free(&d->at);
	d->values.n = 0;
	d->bytes = 0;
	if (kind == PARQUET_BOOL || !u->n)
		return false;
	if (kind != PARQUET_TEXT && tuples > TRIAL / 4 * 3)
		trial = tuples_of_trial(p, col);
	vec_reserve(&u->index_of, tuples);
	for (u32 i = 0; i < tuples; i++) {
		if (i == trial && d->values.n > TRIAL / 4 * 3)
			return false;
		if (!col->missing.v[i])
			last = index_value(p, kind, col->values.v[i], last);
		u->index_of.v[i] = last; /* of those without a value, nobody looks at it */
		if (d->values.n > DICTIONARY_MAX || d->bytes > DICTIONARY_BYTES)
			return false;
	}
	return trial != tuples || d->values.n <= TRIAL / 4 * 3;
}

static void unfold_indices(struct parquet *p, const struct column *col)
{
	const u32 *rows = p->parts[col->part].rows.v, *index_of = p->unfolded.index_of.v;
	const u32 *there = p->unfolded.mixed ? p->unfolded.there.v : NULL;
	u32 *out, nr = p->rows, n = 0;

	vec_reserve(&p->unfolded.indices, nr);
	out = p->unfolded.indices.v;
	for (u32 i = 0; i < nr; i++)
		if (!there || there[i])
			out[n++] = index_of[rows[i]];
}

static void unfold_values(struct parquet *p, const struct column *col)
{
	const u32 *rows = p->parts[col->part].rows.v, *there = p->unfolded.mixed ? p->unfolded.there.v : NULL;
	const u64 *values = col->values.v;
	u32 nr = p->rows, n = 0;
	u64 *out;

	vec_reserve(&p->unfolded.values, nr);
	out = p->unfolded.values.v;
	for (u32 i = 0; i < nr; i++)
		if (!there || there[i])
			out[n++] = values[rows[i]];
}

/* How many of these rows have a value. */
static u32 count_there(const struct unfolded *u, u32 row, u32 n)
{
	u32 count = 0;

	if (!u->mixed)
		return u->n ? n : 0;
	for (u32 i = row; i < row + n; i++)
		count += u->there.v[i];
	return count;
}

/* How many rows from `row` on make a page; value: the number of the first value in it. */
static u32 page_rows(const struct parquet *p, u32 kind, u32 row, u32 value, bool dictionary)
{
	const struct unfolded *u = &p->unfolded;
	u32 n = 0, most = MIN(p->rows - row, PAGE_ROWS);
	u64 bytes = 0;

	if (kind != PARQUET_TEXT || dictionary || !u->n)
		return most;
	for (; n < most && bytes < PAGE_BYTES; n++)
		if (!u->mixed || u->there.v[row + n])
			bytes += text_size(p, u->values.v[value++]);
	return n;
}

static void put_indices(const struct parquet *p, u32 value, u32 n, struct bytes *out)
{
	u32 distinct = (u32)p->dictionary.values.n, width = rle_hybrid_width(distinct - 1);

	bytes_u8(out, (u8)width);
	if (distinct > 1)
		rle_hybrid_put(p->unfolded.indices.v + value, n, width, out);
	else
		rle_hybrid_put_same(0, n, width, out);
}

static void put_data(struct parquet *p, const struct parquet_column *what, bool dictionary, struct chunk *c)
{
	const struct unfolded *u = &p->unfolded;
	u32 value = 0, values;

	c->data = p->offset;
	for (u32 row = 0, n; row < p->rows; row += n, value += values) {
		n = page_rows(p, what->kind, row, value, dictionary);
		values = count_there(u, row, n);
		p->page.len = 0;
		if (what->optional)
			put_levels(u, row, n, &p->page);
		if (dictionary)
			put_indices(p, value, values, &p->page);
		else
			put_plain(p, what->kind, values ? u->values.v + value : NULL, values, &p->page);
		put_page(p, PAGE_DATA, n, dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN, c);
	}
}

static bool is_less(const struct parquet *p, u32 kind, u64 a, u64 b)
{
	const struct strtab_entry *x, *y;
	int order;

	if (kind != PARQUET_TEXT)
		return kind == PARQUET_U64 ? a < b : (s64)a < (s64)b;
	x = text_at(p, a);
	y = text_at(p, b);
	order = memcmp(x->s, y->s, MIN(x->len, y->len));
	return order ? order < 0 : x->len < y->len;
}

/* From the values, or from the distinct ones, if they are known. Of texts without a dictionary: not. */
static void find_range(const struct parquet *p, u32 kind, const u64 *v, size_t n, bool distinct, struct chunk *c)
{
	if (!n || kind == PARQUET_BOOL || (kind == PARQUET_TEXT && !distinct))
		return;
	c->least = c->largest = v[0];
	for (size_t i = 1; i < n; i++) {
		if (is_less(p, kind, v[i], c->least))
			c->least = v[i];
		if (is_less(p, kind, c->largest, v[i]))
			c->largest = v[i];
	}
	c->ranged = kind != PARQUET_TEXT ||
		    (text_at(p, c->least)->len <= STATISTICS_TEXT && text_at(p, c->largest)->len <= STATISTICS_TEXT);
}

static void put_chunk(struct parquet *p, const struct parquet_column *what, const struct column *col, struct chunk *c)
{
	const u64 *v;
	bool dictionary;
	u32 n;

	find_there(p, col);
	c->missing = p->rows - p->unfolded.n;
	dictionary = make_dictionary(p, what->kind, col);
	if (dictionary && p->dictionary.values.n > 1)
		unfold_indices(p, col);
	else if (!dictionary && p->unfolded.n)
		unfold_values(p, col);
	if (dictionary) {
		v = p->dictionary.values.v;
		n = (u32)p->dictionary.values.n;
		c->dictionary = p->offset;
		p->page.len = 0;
		put_plain(p, what->kind, v, n, &p->page);
		put_page(p, PAGE_DICTIONARY, n, ENCODING_PLAIN, c);
	} else {
		v = p->unfolded.values.v;
		n = p->unfolded.n;
	}
	find_range(p, what->kind, v, n, dictionary, c);
	put_data(p, what, dictionary, c);
}

/* A value as Statistics have it: PLAIN, but a text has no length. */
static void put_bound(struct thrift *t, const struct parquet *p, u32 field, u32 kind, u64 v)
{
	u32 size = kind == PARQUET_TEXT ? text_at(p, v)->len : type_of[kind] == TYPE_INT64 ? 8 : 4;

	thrift_field(t, field, THRIFT_BINARY);
	bytes_varint(t->out, size);
	if (kind == PARQUET_TEXT)
		bytes_put(t->out, text_at(p, v)->s, size);
	else
		put_little(v, size, t->out);
}

static void describe_chunk(const struct parquet *p, struct thrift *t, u32 i, const struct chunk *c)
{
	const struct parquet_column *column = &p->opts.columns[i];

	thrift_element(t);					/* ColumnChunk */
	thrift_number(t, 2, THRIFT_I64, 0);			/* file_offset: not used any more */
	thrift_struct(t, 3);					/* meta_data */
	thrift_number(t, 1, THRIFT_I32, type_of[column->kind]); /* type */
	thrift_list(t, 2, THRIFT_I32, 2);			/* encodings */
	bytes_varint(t->out, thrift_zigzag(ENCODING_RLE));
	bytes_varint(t->out, thrift_zigzag(c->dictionary ? ENCODING_RLE_DICTIONARY : ENCODING_PLAIN));
	thrift_list(t, 3, THRIFT_BINARY, 1); /* path_in_schema */
	thrift_text(t, column->name, strlen(column->name));
	thrift_number(t, 4, THRIFT_I32, p->opts.pack ? CODEC_ZSTD : CODEC_UNCOMPRESSED);
	thrift_number(t, 5, THRIFT_I64, p->rows); /* num_values: missing ones are counted, too */
	thrift_number(t, 6, THRIFT_I64, (s64)c->plain);
	thrift_number(t, 7, THRIFT_I64, (s64)c->packed);
	thrift_number(t, 9, THRIFT_I64, (s64)c->data);
	if (c->dictionary)
		thrift_number(t, 11, THRIFT_I64, (s64)c->dictionary);
	thrift_struct(t, 12); /* statistics */
	thrift_number(t, 3, THRIFT_I64, c->missing);
	if (c->ranged) {
		put_bound(t, p, 5, column->kind, c->largest);
		put_bound(t, p, 6, column->kind, c->least);
	}
	thrift_end(t);
	thrift_end(t);
	thrift_end(t);
}

static void put_group(struct parquet *p)
{
	struct thrift t = { .out = &p->groups };
	u64 start = p->offset, plain = 0;

	if (!p->rows)
		return;
	thrift_element(&t); /* of the list of RowGroups, which is written later */
	thrift_list(&t, 1, THRIFT_STRUCT, p->opts.nr_columns);
	for (u32 i = 0; i < p->opts.nr_columns; i++) {
		struct chunk c = { 0 };

		put_chunk(p, &p->opts.columns[i], &p->columns[i], &c);
		describe_chunk(p, &t, i, &c);
		plain += c.plain;
		p->columns[i].values.n = p->columns[i].missing.n = 0;
	}
	for (u32 i = 0; i < p->nr_parts; i++)
		p->parts[i].tuples = (u32)(p->parts[i].rows.n = 0);
	thrift_number(&t, 2, THRIFT_I64, (s64)plain); /* total_byte_size */
	thrift_number(&t, 3, THRIFT_I64, p->rows);
	thrift_number(&t, 5, THRIFT_I64, (s64)start);
	thrift_number(&t, 6, THRIFT_I64, (s64)(p->offset - start));
	thrift_end(&t);
	p->nr_groups++;
	p->rows = 0;
}

u32 parquet_tuple(struct parquet *p, u32 part, const u64 *values, const bool *missing)
{
	struct part *to = &p->parts[part];

	for (u32 i = to->first; i < to->end; i++) {
		struct column *col = &p->columns[i];
		u64 v = *values++;

		/* Two that are equal in 32 bits are equal. */
		vec_push(&col->values, p->opts.columns[i].kind == PARQUET_S32 ? (u64)(s64)(s32)v : v);
		vec_push(&col->missing, *missing++ && p->opts.columns[i].optional);
	}
	return to->tuples++;
}

bool parquet_row_of(struct parquet *p, const u32 *tuples)
{
	for (u32 i = 0; i < p->nr_parts; i++)
		vec_push(&p->parts[i].rows, tuples[i]);
	p->all_rows++;
	if (++p->rows < p->opts.group_rows)
		return false;
	put_group(p);
	return true;
}

void parquet_row(struct parquet *p, const u64 *values, const bool *missing)
{
	for (u32 i = 0; i < p->nr_parts; i++)
		p->own[i] = parquet_tuple(p, i, values + p->parts[i].first, missing + p->parts[i].first);
	parquet_row_of(p, p->own);
}

/* SchemaElement */
static void describe_column(struct thrift *t, const struct parquet_column *c)
{
	thrift_element(t);
	thrift_number(t, 1, THRIFT_I32, type_of[c->kind]);
	thrift_number(t, 3, THRIFT_I32, c->optional ? REPETITION_OPTIONAL : REPETITION_REQUIRED);
	thrift_binary(t, 4, c->name, strlen(c->name));
	if (c->kind == PARQUET_TEXT || c->kind == PARQUET_U64) {
		/* converted_type, for old readers, and logicalType, of which it was the beginning */
		thrift_number(t, 6, THRIFT_I32, c->kind == PARQUET_TEXT ? CONVERTED_UTF8 : CONVERTED_UINT_64);
		thrift_struct(t, 10);
		thrift_struct(t, c->kind == PARQUET_TEXT ? LOGICAL_STRING : LOGICAL_INTEGER);
		if (c->kind == PARQUET_U64) {
			thrift_field(t, 1, 3); /* bitWidth: one byte */
			bytes_u8(t->out, 64);
			thrift_bool(t, 2, false); /* isSigned */
		}
		thrift_end(t);
		thrift_end(t);
	}
	thrift_end(t);
}

/* FileMetaData */
static void describe_file(struct parquet *p, struct bytes *out)
{
	static const char created_by[] = "reticle version " RETICLE_VERSION;
	struct thrift t = { .out = out };

	thrift_number(&t, 1, THRIFT_I32, FILE_VERSION);
	thrift_list(&t, 2, THRIFT_STRUCT, p->opts.nr_columns + 1); /* schema */
	thrift_element(&t);					   /* the root */
	thrift_binary(&t, 4, "schema", 6);
	thrift_number(&t, 5, THRIFT_I32, p->opts.nr_columns); /* num_children */
	thrift_end(&t);
	for (u32 i = 0; i < p->opts.nr_columns; i++)
		describe_column(&t, &p->opts.columns[i]);
	thrift_number(&t, 3, THRIFT_I64, (s64)p->all_rows);
	thrift_list(&t, 4, THRIFT_STRUCT, p->nr_groups);
	bytes_put(out, p->groups.p, p->groups.len);
	thrift_binary(&t, 6, created_by, sizeof(created_by) - 1);
	thrift_list(&t, 7, THRIFT_STRUCT, p->opts.nr_columns); /* column_orders: least and largest are by type */
	for (u32 i = 0; i < p->opts.nr_columns; i++) {
		thrift_element(&t);
		thrift_struct(&t, 1);
		thrift_end(&t);
		thrift_end(&t);
	}
	thrift_stop(&t);
}

bool parquet_end(struct parquet *p)
{
	u32 size;

	put_group(p);
	p->head.len = 0;
	describe_file(p, &p->head);
	size = (u32)p->head.len;
	put_little(size, 4, &p->head);
	put(p, p->head.p, p->head.len);
	put(p, MAGIC, 4);
	return !p->failed;
}
