/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows: writes a table row by row, as CSV with a line of names, or as Parquet (codec/parquet.h). Both hold the same
 * values. In CSV a missing value is an empty field, a truth value is true or false, and numbers are decimal, because
 * that is what databases read without being told.
 */
#ifndef VIEW_EXPORT_ROW_WRITER_H
#define VIEW_EXPORT_ROW_WRITER_H

#include "codec/parquet.h"

enum row_form { ROWS_CSV, ROWS_PARQUET };

struct row_writer;

/* columns outlive the writer. out->formulas is observed. */
struct row_writer *row_writer_new(enum row_form form, const struct parquet_column *columns, u32 nr_columns,
				  struct bytes *out);
/* As parquet_text, parquet_tuple, parquet_row_of, parquet_row, parquet_end and parquet_free. */
u32 row_writer_text(struct row_writer *w, const char *s, size_t n);
u32 row_writer_tuple(struct row_writer *w, u32 part, const u64 *values, const bool *missing);
bool row_writer_row_of(struct row_writer *w, const u32 *tuples);
void row_writer_row(struct row_writer *w, const u64 *values, const bool *missing);
bool row_writer_end(struct row_writer *w);
void row_writer_free(struct row_writer *w);

#endif
