/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle export --to parquet`, and `--to csv --rows TABLE`: samples, one by one, as rows of a table. */
#ifndef CMD_EXPORT_ROWS_H
#define CMD_EXPORT_ROWS_H

#include "cmd/select.h"
#include "view/export/sample_rows.h"

struct export_rows_opts {
	enum row_table table;
	enum row_form form;
	bool formulas;		     /* CSV: texts that look like formulas stay as they are */
	const char *output;	     /* NULL or "-": standard output */
	const char *stacks;	     /* the file for the frames of stacks; NULL: they are not written */
	const struct select *select; /* where the pipeline's options come from */
};

/* Errors are noted. */
int export_rows(const struct pipeline_opts *o, const struct export_rows_opts *rows, const struct notify *to);

#endif
