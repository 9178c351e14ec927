/* SPDX-License-Identifier: Apache-2.0 */
#ifndef VIEW_KEY_CELL_H
#define VIEW_KEY_CELL_H

#include "agg/columns.h"
#include "view/table.h"

/* The row's key c->what as programs read it: its text, or its number; nothing if it has none. */
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
