/* SPDX-License-Identifier: Apache-2.0 */
/* The diff's form: the rows of one event, or one row for each event as a whole, as a table for each printer. */
#ifndef VIEW_DIFF_TABLE_H
#define VIEW_DIFF_TABLE_H

#include "view/diff.h"
#include "view/table.h"

struct diff_table {
	const struct diff *d;
	const struct diff_opts *o;
	const struct diff_event *e; /* NULL: the rows are events */
	u32 lines;		    /* of each event, if the rows are events */
	struct arena names;	    /* of columns */
	struct table table;
};

/* If e is NULL there is one row for each event as a whole. */
void diff_table_begin(struct diff_table *f, const struct diff *d, const struct diff_event *e,
		      const struct diff_opts *o);
/* The columns for each printer; those of CSV are the same for all events. */
void diff_table_text(struct diff_table *f);
void diff_table_text_totals(struct diff_table *f); /* a line for each event and recording but the baseline */
void diff_table_csv(struct diff_table *f);
void diff_table_json(struct diff_table *f);
void diff_table_end(struct diff_table *f);

#endif
