/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Samples as rows of a table: a row for each hit, or for each access to memory. The columns are those of a table in
 * sample_rows.c, whatever the recording has, so that tables of different recordings can be put together; what a sample
 * does not have is missing.
 *
 * A stack is a number in a row. Its frames are rows of another table, once for each distinct stack, because what is
 * asked about frames (is this function in the stack?) is then answered once per stack. The number is a hash of the
 * frames' names, so the same stack has the same number in all tables that the same version has written.
 */
#ifndef VIEW_EXPORT_SAMPLE_ROWS_H
#define VIEW_EXPORT_SAMPLE_ROWS_H

#include "attrib/filter.h"
#include "attrib/resolver.h"
#include "base/strtab.h"
#include "view/export/row_writer.h"

enum row_table { TABLE_SAMPLES, TABLE_MEMORY };

struct sample_rows_opts {
	enum row_table table;
	enum row_form form;
	struct bytes *out;
	struct bytes *stacks; /* the table of stacks is written there; NULL: it is not */
	const struct procs *procs;
	struct dsos *dsos;
	struct frames *frames;
	const struct strtab *strings;
	const struct evlist *events;
	const struct deferred_chains *deferred;
	const struct sample_filter *filter;
	const struct place_filter *places;
	const struct windows *windows; /* settled: SAMPLES has columns of their counters; NULL: it has not */
	u64 samples;		       /* about so many will come */
};

struct sample_rows;

struct sample_rows *sample_rows_new(const struct sample_rows_opts *opts);
/* Writes the row of a hit, which has its full sample, if the filters keep it and, in MEMORY, it is an access. */
void sample_rows_add(struct sample_rows *r, const struct hit *h);
/* How many samples the filters left out, and with MEMORY, how many accesses. */
u64 sample_rows_filtered(const struct sample_rows *r);
/* The number of rows so far, and of distinct stacks. */
u64 sample_rows_count(const struct sample_rows *r);
u64 sample_rows_stacks(const struct sample_rows *r);
/* How many counters of windows have no column, because there are too many. */
u32 sample_rows_left_out(const struct sample_rows *r);
/* False: a table could not be finished. */
bool sample_rows_end(struct sample_rows *r);
void sample_rows_free(struct sample_rows *r);

#endif
