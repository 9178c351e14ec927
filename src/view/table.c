/* SPDX-License-Identifier: Apache-2.0 */
#include "view/table.h"

#include <math.h>
#include <stdlib.h>

struct table_column *table_column_add(struct table *t, enum cell_kind kind, const char *key, const char *header,
				      table_get get)
{
	vec_push(&t->columns,
		 (struct table_column){
			 .kind = kind, .key = key, .header = header, .get = get, .left = kind == CELL_TEXT });
	return &t->columns.v[t->columns.n - 1];
}

void table_column_drop(struct table *t, u32 column)
{
	for (size_t i = column; i + 1 < t->columns.n; i++)
		t->columns.v[i] = t->columns.v[i + 1];
	t->columns.n--;
}

void table_free(struct table *t)
{
	vec_free(&t->columns);
	*t = (struct table){ 0 };
}

/* "%*.2f%%": twice per row, and printf takes its time over a double. */
static void put_percent(double percent, int width, struct bytes *out)
{
	u64 hundredths = (u64)llrint(percent * 100);
	char text[32];
	int at = sizeof(text);

	text[--at] = '%';
	for (int digits = 0; digits < 3 || hundredths; digits++, hundredths /= 10) {
		if (digits == 2)
			text[--at] = '.';
		text[--at] = (char)('0' + hundredths % 10);
	}
	bytes_repeat(out, ' ', width - ((int)sizeof(text) - at));
	bytes_put(out, text + at, sizeof(text) - (size_t)at);
}

void table_percent(double percent, int width, bool color, struct bytes *out)
{
	const char *paint = !color ? NULL : percent >= 5 ? "\033[31m" : percent >= 0.5 ? "\033[32m" : NULL;

	if (paint)
		bytes_str(out, paint);
	put_percent(percent, width, out);
	if (paint)
		bytes_str(out, "\033[m");
}

void table_cell_text(const struct table_column *c, const struct cell *cell, struct bytes *out)
{
	switch (cell->kind) {
	case CELL_NONE:
		break;
	case CELL_COUNT:
		bytes_dec(out, cell->count);
		break;
	case CELL_CHANGE:
		bytes_printf(out, "%+lld", (long long)cell->change);
		break;
	case CELL_SHARE:
		put_percent(cell->share.percent, 0, out);
		break;
	case CELL_REAL:
		if (isnan(cell->real))
			bytes_str(out, c->unknown ? c->unknown : "-");
		else
			bytes_printf(out, c->sign ? "%+.*f%s" : "%.*f%s", c->decimals, cell->real,
				     c->percent ? "%" : "");
		break;
	case CELL_RATIO:
		metric_put(&cell->ratio, c->decimals, c->bare, out);
		break;
	case CELL_MARK:
		bytes_str(out, cell->mark ? "yes" : "");
		break;
	case CELL_TEXT:
		if (cell->text->len)
			bytes_plain(out, (const char *)cell->text->p, cell->text->len);
		break;
	}
}
