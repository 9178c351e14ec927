/* SPDX-License-Identifier: Apache-2.0 */
/* A table whose rows are a tree, as text in perf's layout: labels, and the values to the left of them, are indented by
 * level. */
#include <string.h>

#include "view/names.h"
#include "view/table.h"

#define INDENT 3

static u32 values_width(const struct table *t)
{
	u32 width = 0;

	for (size_t k = 0; k + 1 < t->columns.n; k++)
		width += t->columns.v[k].least + (t->columns.v[k].joined ? 0 : 2);
	return width;
}

u32 table_tree_indent(const struct table *t, u32 level)
{
	return values_width(t) + (t->levels - 1 + level - 1) * INDENT + 2;
}

static void get(const struct table *t, size_t k, size_t row, struct bytes *raw, struct bytes *text, struct cell *out)
{
	raw->len = text->len = 0;
	out->kind = CELL_NONE;
	out->text = raw;
	t->columns.v[k].get(t, &t->columns.v[k], &(struct table_row){ .at = row }, out);
	table_cell_text(&t->columns.v[k], out, text);
}

/* Rows that are too light to be shown count, too, so that their limit does not move what is. */
static u32 label_width(const struct table *t, const struct table_print *how, struct bytes *raw, struct bytes *text)
{
	u32 width = 0, least = (t->levels - 1) * INDENT + NAMES_LEAST, widths[2];
	struct cell cell;

	for (size_t i = 0; i < t->nr_rows; i++) {
		get(t, t->columns.n - 1, i, raw, text, &cell);
		width = MAX(width, name_width(text->p, text->len) + (t->level(t, i) - 1) * INDENT);
	}
	if (how->whole_names)
		return width;
	/* Labels are narrowed to the room that the values leave; the deepest one keeps some of it. */
	widths[0] = values_width(t) + (t->levels - 1) * INDENT;
	widths[1] = width;
	names_fit(widths, 2, 1u << 1, how->room ? how->room : NAMES_ROOM, NAMES_LEAST);
	return MAX(widths[1], MIN(width, least));
}

static void put_head(const struct table *t, u32 width, struct bytes *out)
{
	const char *labels = t->columns.v[t->columns.n - 1].header;
	u32 before = (t->levels - 1) * INDENT;

	bytes_char(out, '#');
	bytes_repeat(out, ' ', (int)before - 1);
	for (size_t k = 0; k + 1 < t->columns.n; k++) {
		const struct table_column *c = &t->columns.v[k];
		bool goes_on = k + 2 < t->columns.n && c[1].joined;

		bytes_str(out, c->joined ? "" : k || t->levels > 1 ? "  " : " ");
		bytes_printf(out, "%*s", (int)c->least, goes_on ? "" : c->header);
	}
	bytes_str(out, "  ");
	bytes_str(out, labels);
	bytes_str(out, "\n# ");
	bytes_repeat(out, '.', (int)(before + values_width(t)) - 2);
	bytes_str(out, "  ");
	bytes_repeat(out, '.', (int)MAX(width, (u32)strlen(labels)));
	bytes_str(out, "\n#\n");
}

void table_tree_text(const struct table *t, const struct table_print *how, bool head, struct bytes *out)
{
	struct bytes raw = { 0 }, text = { 0 };
	u32 width = label_width(t, how, &raw, &text);
	size_t label = t->columns.n - 1;
	struct cell cell;

	if (head)
		put_head(t, width, out);
	for (size_t i = 0; i < t->nr_rows; i++) {
		u32 in = (t->level(t, i) - 1) * INDENT;

		if (t->wants && !t->wants(t, i))
			continue;
		bytes_repeat(out, ' ', (int)in);
		for (size_t k = 0; k < label; k++) {
			int least = (int)t->columns.v[k].least;

			get(t, k, i, &raw, &text, &cell);
			bytes_str(out, t->columns.v[k].joined ? "" : "  ");
			if (cell.kind == CELL_SHARE) {
				table_percent(cell.share.percent, least, how->color, out);
				continue;
			}
			bytes_repeat(out, ' ', least - (int)text.len);
			bytes_put(out, text.p, text.len);
		}
		bytes_repeat(out, ' ', (int)(t->levels - 1) * INDENT + 2);
		get(t, label, i, &raw, &text, &cell);
		name_put(text.p, text.len, width - in, out);
		bytes_char(out, '\n');
		if (t->draw)
			t->draw(t, i, 0, out);
	}
	bytes_free(&raw);
	bytes_free(&text);
}
