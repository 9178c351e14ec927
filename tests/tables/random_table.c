/* SPDX-License-Identifier: Apache-2.0 */
/*
 * random_table SEED ROWS FILE: writes a table of so many rows to FILE as Parquet, and to standard output what it
 * holds, a JSON list for each row: numbers, true and false, null where the value is missing, and texts as their bytes
 * in hexadecimal, of which many are no UTF-8. Kinds, shapes and sizes of everything follow from the seed.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include <zstd.h>

#include "base/random.h"
#include "codec/parquet.h"

#define MAX_COLUMNS 12u
#define NR_KINDS (PARQUET_TEXT + 1)

/* How the values of a column lie. */
enum shape { CONSTANT, FEW, RUNS, ASCENDING, ANY, NR_SHAPES };

struct shape_of {
	enum shape shape;
	u32 missing; /* of 256 */
	u64 last, distinct;
};

static bool pack(void *ctx, const struct bytes *in, struct bytes *out)
{
	size_t room = ZSTD_compressBound(in->len), n;

	(void)ctx;
	bytes_grow(out, room);
	n = ZSTD_compress(out->p + out->len, room, in->p, in->len, 1);
	out->len += ZSTD_isError(n) ? 0 : n;
	return !ZSTD_isError(n);
}

static u64 next_number(u64 *seed, struct shape_of *s)
{
	switch (s->shape) {
	case CONSTANT:
		break;
	case FEW:
		s->last = random_below(seed, s->distinct) * 0x9e3779b97f4a7c15;
		break;
	case RUNS:
		s->last = random_below(seed, 20) ? s->last : random_next(seed);
		break;
	case ASCENDING:
		s->last += random_below(seed, s->distinct);
		break;
	default:
		s->last = random_next(seed) >> random_below(seed, 64);
	}
	return s->last;
}

/* The bytes of a text follow from its number: mostly letters, at times anything. */
static void make_text(u64 number, struct bytes *out)
{
	u64 seed = number, len = random_below(&seed, random_below(&seed, 8) ? 12 : 100);
	bool letters = random_below(&seed, 3);

	if (!random_below(&seed, 4000))
		len = PARQUET_TEXT_MAX - 3 + random_below(&seed, 8);
	out->len = 0;
	for (u64 i = 0; i < len; i++)
		bytes_u8(out, (u8)(letters ? 'a' + random_below(&seed, 26) : random_next(&seed)));
}

static void show_text(const struct bytes *text)
{
	putchar('"');
	for (size_t i = 0; i < text->len; i++)
		printf("%02x", text->p[i]);
	putchar('"');
}

static void show_number(u32 kind, u64 v)
{
	if (kind == PARQUET_BOOL)
		printf(v ? "true" : "false");
	else if (kind == PARQUET_U64)
		printf("%llu", (unsigned long long)v);
	else
		printf("%lld", kind == PARQUET_S32 ? (long long)(int)v : (long long)v);
}

static void make_row(struct parquet *p, const struct parquet_column *columns, struct shape_of *shapes, u32 n,
		     u64 *seed, struct bytes *text)
{
	u64 values[MAX_COLUMNS];
	bool missing[MAX_COLUMNS];

	for (u32 i = 0; i < n; i++) {
		printf(i ? "," : "[");
		values[i] = next_number(seed, &shapes[i]);
		missing[i] = columns[i].optional && random_below(seed, 256) < shapes[i].missing;
		if (columns[i].kind == PARQUET_BOOL)
			values[i] &= 1;
		if (columns[i].kind == PARQUET_TEXT)
			make_text(values[i], text);
		if (missing[i])
			printf("null");
		else if (columns[i].kind == PARQUET_TEXT)
			show_text(text);
		else
			show_number(columns[i].kind, values[i]);
		if (columns[i].kind == PARQUET_TEXT)
			values[i] = parquet_text(p, (const char *)text->p, text->len);
	}
	printf("]\n");
	parquet_row(p, values, missing);
}

int main(int argc, char **argv)
{
	u64 seed = argc == 4 ? strtoull(argv[1], NULL, 10) : 0, rows = argc == 4 ? strtoull(argv[2], NULL, 10) : 0;
	u32 n = 1 + (u32)random_below(&seed, MAX_COLUMNS);
	struct parquet_column columns[MAX_COLUMNS];
	struct shape_of shapes[MAX_COLUMNS];
	char names[MAX_COLUMNS][16];
	struct parquet_opts o = { .columns = columns, .nr_columns = n };
	struct bytes text = { 0 }, out = { 0 };
	struct parquet *p;
	FILE *file;
	int status;

	if (argc != 4)
		return 2;
	for (u32 i = 0; i < n; i++) {
		snprintf(names[i], sizeof(names[i]), "column%u", i);
		columns[i] =
			(struct parquet_column){ names[i], (u8)random_below(&seed, NR_KINDS), random_below(&seed, 2),
						 i ? (u8)(columns[i - 1].part + random_below(&seed, 2)) : 0 };
		shapes[i] = (struct shape_of){ (enum shape)random_below(&seed, NR_SHAPES),
					       (u32)random_below(&seed, 4) * 128, random_next(&seed),
					       1 + random_below(&seed, 1u << random_below(&seed, 18)) };
	}
	o.group_rows = 1 + (u32)random_below(&seed, random_below(&seed, 2) ? PARQUET_GROUP_ROWS : 500);
	o.pack = random_below(&seed, 4) ? pack : NULL;
	p = parquet_new(&o, &out);
	for (u64 i = 0; i < rows; i++)
		make_row(p, columns, shapes, n, &seed, &text);
	status = parquet_end(p) ? 0 : 1;
	file = fopen(argv[3], "w");
	if (!file || fwrite(out.p, 1, out.len, file) != out.len || fclose(file))
		status = 1;
	parquet_free(p);
	bytes_free(&text);
	bytes_free(&out);
	return status;
}
