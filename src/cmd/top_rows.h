/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of the table on the screen of `reticle top`: which lines are whose, and whose call graphs are shown. */
#ifndef CMD_TOP_ROWS_H
#define CMD_TOP_ROWS_H

#include "base/vec.h"
#include "view/report.h"

/* Whose call graphs are shown: those of all rows but the ones named, or of none but these. */
struct top_open {
	bool all;
	VEC(u64) but; /* rows, by what they show */
};

void top_open_all(struct top_open *o, bool all);
void top_open_copy(struct top_open *to, const struct top_open *from);
void top_open_free(struct top_open *o);

/* The options with which a table was written, and what decides about it besides. */
struct top_rows {
	struct report_opts shown;
	struct top_open open;
	u32 *order; /* of the rows, where metrics say it; NULL: rows as they are */
};

/* Lets r->shown draw the graphs of those rows alone that r->open names. r stays where it is. */
void top_rows_choose_graphs(struct top_rows *r);
/*
 * The row that a line belongs to: its own, or one of its call graph. 0 is the first line below the names of the
 * columns; *first: the row's own one. False: there is none, or the lines are no rows.
 */
bool top_row_at(const struct top_rows *r, const struct profile *p, u32 line, struct row_view *out, u32 *first);
/* Shows the row's call graph in the next table, or hides it. */
void top_open_flip(struct top_open *o, const struct top_rows *r, const struct row_view *v);
void top_rows_free(struct top_rows *r);

#endif
