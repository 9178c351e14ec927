/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writer of Apache Parquet files: flat tables, whose columns are numbers, texts or truth values, required or optional.
 * Nested columns, indexes and encryption are not written. The form of the file is described in codec/parquet.c.
 *
 * Rows are given one at a time. A row group is written when it is full, so memory holds the rows of one group, every
 * distinct text, and some hundred bytes for each group and column, which the end of the file repeats. What is written
 * is appended to `out`, which may empty itself into a file at any time: nothing is read back or changed later.
 *
 * Most rows repeat others in many columns. So columns that stand side by side can form a part, whose values are given
 * as a tuple: once, however many rows of the group have it.
 *
 * Texts may be any bytes. They are made valid UTF-8, because readers refuse a whole file for one that is not.
 */
#ifndef CODEC_PARQUET_H
#define CODEC_PARQUET_H

#include "base/bytes.h"

enum parquet_kind {
	PARQUET_S32,
	PARQUET_S64,
	PARQUET_U64,  /* for addresses: not all readers have unsigned numbers */
	PARQUET_BOOL, /* 0 or 1 */
	PARQUET_TEXT, /* what parquet_text returned */
};

struct parquet_column {
	const char *name;
	u8 kind;       /* enum parquet_kind */
	bool optional; /* rows may have none */
	u8 part;       /* its number: 0 for the first column, and for others that of the one before, or one more */
};

struct parquet_opts {
	const struct parquet_column *columns; /* they and their names outlive the writer */
	u32 nr_columns;			      /* at least 1 */
	u32 group_rows;			      /* rows of a group, at least 1; the last one has fewer */
	/* Appends `in`, packed as zstd frames, to `out`; false: it could not. NULL: pages are not packed. */
	bool (*pack)(void *ctx, const struct bytes *in, struct bytes *out);
	void *pack_ctx;
};

/* The number of rows that suits readers: those of a group are read by one thread. */
#define PARQUET_GROUP_ROWS 122880u
/* Longer texts are cut off. */
#define PARQUET_TEXT_MAX 65536u

struct parquet;

struct parquet *parquet_new(const struct parquet_opts *opts, struct bytes *out);
/* A text for cells of any column, by which it is known until the end; equal texts have equal ids. */
u32 parquet_text(struct parquet *p, const char *s, size_t n);
/* A value for each column of the part, and whether it is missing, which only optional ones may be. Returns a number by
 * which the tuple is known until the group is full. Each is in a row of the group, and the first rows with them are in
 * the order of their numbers. */
u32 parquet_tuple(struct parquet *p, u32 part, const u64 *values, const bool *missing);
/* A row of a tuple for each part. True: the group was full, and numbers of tuples are not valid any more. */
bool parquet_row_of(struct parquet *p, const u32 *tuples);
/* A row of tuples of its own; one value for each column. */
void parquet_row(struct parquet *p, const u64 *values, const bool *missing);
/* Writes what is left and the end of the file. False: packing failed, and the file is of no use. */
bool parquet_end(struct parquet *p);
void parquet_free(struct parquet *p);

#endif
