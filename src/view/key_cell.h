/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Key cell: a sort key of a row as a cell of a table that programs read (JSON, CSV). All tables that show keys as
 * programs read them use it, so they agree about which keys are numbers.
 */
#ifndef VIEW_KEY_CELL_H
#define VIEW_KEY_CELL_H

#include "agg/columns.h"
#include "view/table.h"

/* Sets *out, which is empty, to the row's value of the key c->what: a text, or a number. It stays empty if the row has
 * no number for that key. */
static inline void key_cell(const struct table_column *c, const struct row_view *v, struct cell *out)
{
	if (c->kind == CELL_TEXT) {
		out->kind = CELL_TEXT;
		column_text(c->what, v, out->text);
	} else if (column_number(c->what, v) != COLUMN_UNKNOWN) {
		out->kind = CELL_COUNT;
		out->count = column_number(c->what, v);
	}
}

#endif
