/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables as text, in perf's layout. Lines that begin with # are the head.
 *
 * Columns are as wide as their widest cell, so all cells are rendered twice: to measure, and to write. Keeping them in
 * between would cost more memory than the rows themselves. Both times rows are distributed to several workers.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/mem.h"
#include "base/pool.h"
#include "view/names.h"
#include "view/table.h"

struct span {
	size_t at, len;
	u32 width; /* on a terminal: characters, not bytes */
	struct cell cell;
};

#define MEASURED 8192 /* a power of two: numbers of cells that a worker has measured, as many of a column as fit */

/* A cell as it was written, with its padding. */
#define WRITTEN 256 /* a power of two: cells that a worker keeps, as many of a column as fit */
#define WRITTEN_BYTES 55
struct written {
	u64 number; /* of the cell, and 1; 0: none */
	u8 len;
	u8 text[WRITTEN_BYTES];
};

/* The row that a worker is at. */
struct line {
	struct bytes raw, text; /* raw: one cell before control bytes are replaced */
	struct span *cells;
	u32 *widths;
	u64 *measured;		 /* MEASURED per column that is `alike`, by hash; NULL until one is there */
	struct written *written; /* likewise, WRITTEN */
};

struct table_text {
	const struct table *t;
	struct table_print how;
	struct line *lines;  /* one per worker */
	struct bytes *texts; /* by slot */
	u32 nr_slots;
	struct bytes *out;
};

static void render_cell(const struct table *t, size_t k, const struct table_row *r, struct line *l)
{
	const struct table_column *c = &t->columns.v[k];
	struct span *s = &l->cells[k];

	l->raw.len = 0;
	s->cell.kind = CELL_NONE;
	s->cell.text = &l->raw;
	c->get(t, c, r, &s->cell);
	s->at = l->text.len;
	table_cell_text(c, &s->cell, &l->text);
	s->len = l->text.len - s->at;
	s->width = name_width(bytes_from(&l->text, s->at), s->len);
}

static void render(const struct table *t, const struct table_row *r, struct line *l)
{
	l->text.len = 0;
	for (size_t k = 0; k < t->columns.n; k++)
		render_cell(t, k, r, l);
}

/*
 * Work units of rows. The first rows are the heaviest; they have the drawings, and may take as long as thousands of
 * others: each is a unit of its own.
 */
#define SINGLE_ROWS 512
#define UNIT_ROWS 256
#define SLOTS_PER_WORKER 32

static size_t unit_start(const struct table *t, u32 unit)
{
	return MIN(t->nr_rows, unit < SINGLE_ROWS ? unit : SINGLE_ROWS + (size_t)(unit - SINGLE_ROWS) * UNIT_ROWS);
}

static u32 nr_units(const struct table *t)
{
	size_t n = t->nr_rows;

	return (u32)(n <= SINGLE_ROWS ? n : SINGLE_ROWS + (n - SINGLE_ROWS + UNIT_ROWS - 1) / UNIT_ROWS);
}

struct table_text *table_text_new(const struct table *t, const struct table_print *how)
{
	struct table_text *x = mem_zalloc(sizeof(*x));

	x->t = t;
	x->how = *how;
	x->nr_slots = how->workers * SLOTS_PER_WORKER;
	x->lines = mem_zalloc(how->workers * sizeof(*x->lines));
	x->texts = mem_zalloc(x->nr_slots * sizeof(*x->texts));
	for (u32 i = 0; i < how->workers; i++) {
		x->lines[i].cells = mem_zalloc(t->columns.n * sizeof(struct span));
		x->lines[i].widths = mem_zalloc(t->columns.n * sizeof(u32));
	}
	return x;
}

void table_text_free(struct table_text *x)
{
	for (u32 i = 0; i < x->how.workers; i++) {
		bytes_free(&x->lines[i].text);
		bytes_free(&x->lines[i].raw);
		free(x->lines[i].cells);
		free(x->lines[i].widths);
		free(x->lines[i].measured);
		free(x->lines[i].written);
	}
	for (u32 i = 0; i < x->nr_slots; i++)
		bytes_free(&x->texts[i]);
	free(x->lines);
	free(x->texts);
	free(x);
}

u32 table_text_width(const struct table_text *x, u32 column)
{
	return x->lines[0].widths[column];
}

/* Has a cell with that text been measured, or can it be no wider than its column is in any case? Many rows share the
 * texts of their keys, and to make them is what measuring takes. */
static bool is_measured(const struct table *t, size_t k, size_t row, struct line *l)
{
	const struct table_column *c = &t->columns.v[k];
	u64 number, *slot;

	if (c->kind == CELL_SHARE && c->least >= sizeof("100.00%"))
		return true;
	if (!c->alike || row == TABLE_TOTAL)
		return false;
	if (!l->measured)
		l->measured = mem_zalloc(t->columns.n * MEASURED * sizeof(*l->measured));
	/* One more, so that 0 is none; of UINT64_MAX nothing is kept. */
	number = t->number(t, c, row) + 1;
	slot = &l->measured[k * MEASURED + hash_u64(number) % MEASURED];
	if (number && *slot == number)
		return true;
	*slot = number;
	return false;
}

static void measure_row(const struct table *t, size_t row, struct line *l)
{
	struct table_part parts[TABLE_PARTS];
	u32 n = t->parts && row != TABLE_TOTAL ? t->parts(t, row, parts) : 0;

	l->text.len = 0;
	for (size_t k = 0; k < t->columns.n; k++) {
		if (is_measured(t, k, row, l))
			continue;
		render_cell(t, k, &(struct table_row){ .at = row }, l);
		l->widths[k] = MAX(l->widths[k], l->cells[k].width);
	}
	for (u32 i = 0; i < n; i++) {
		render(t, &(struct table_row){ row, &parts[i] }, l);
		for (size_t k = 0; k < t->columns.n; k++)
			if (t->columns.v[k].of_parts)
				l->widths[k] = MAX(l->widths[k], l->cells[k].width);
	}
}

#define AHEAD 8 /* rows whose memory is asked for before they are shown: they lie all over it */

static void fetch_ahead(const struct table *t, size_t row)
{
	if (t->fetch && row + AHEAD < t->nr_rows)
		t->fetch(t, row + AHEAD);
}

static void measure_unit(void *ctx, u32 worker, u32 unit)
{
	const struct table_text *x = ctx;

	for (size_t i = unit_start(x->t, unit); i < unit_start(x->t, unit + 1); i++) {
		fetch_ahead(x->t, i);
		if (!x->t->wants || x->t->wants(x->t, i))
			measure_row(x->t, i, &x->lines[worker]);
	}
}

/* Without a terminal, names keep their room even if there are many columns of values: the table becomes wider. */
static u32 room_for(const struct table_text *x, const u32 *widths, u64 names)
{
	u32 values = 0;

	for (size_t k = 0; k < x->t->columns.n; k++)
		values += k < 64 && names >> k & 1 ? 0 : 2 + widths[k];
	return x->how.room ? x->how.room : MAX(NAMES_ROOM, values + NAMES_TOGETHER);
}

/* The same for all workers. */
static void settle_widths(struct table_text *x)
{
	const struct table *t = x->t;
	u32 *widths = x->lines[0].widths;
	u64 names = 0;

	for (size_t k = 0; k < t->columns.n; k++) {
		const struct table_column *c = &t->columns.v[k];
		u32 width = MAX(c->least, (u32)strlen(c->header));

		for (u32 i = 0; i < x->how.workers; i++)
			width = MAX(width, x->lines[i].widths[k]);
		widths[k] = !c->asked ? width : c->name ? c->asked : MAX(c->asked, c->least);
		if (c->name && k < 64)
			names |= 1ull << k;
	}
	if (!x->how.whole_names && !x->how.separator)
		names_fit(widths, (u32)t->columns.n, names, room_for(x, widths, names),
			  x->how.screen ? NAMES_SCREEN : NAMES_LEAST);
	for (u32 i = 1; i < x->how.workers; i++)
		memcpy(x->lines[i].widths, widths, t->columns.n * sizeof(*widths));
}

void table_text_measure(struct table_text *x)
{
	/* A table that is fitted to a terminal is measured several times: each time anew. */
	for (u32 i = 0; i < x->how.workers; i++) {
		memset(x->lines[i].widths, 0, x->t->columns.n * sizeof(u32));
		free(x->lines[i].measured);
		x->lines[i].measured = NULL;
		free(x->lines[i].written);
		x->lines[i].written = NULL;
	}
	if (!x->how.separator)
		pool_run(x->how.workers, nr_units(x->t), measure_unit, x);
	if (x->t->has_total && !x->how.separator)
		measure_row(x->t, TABLE_TOTAL, &x->lines[0]);
	settle_widths(x);
}

static void put_header(const struct table_text *x, size_t k, struct bytes *out)
{
	const struct table_column *c = &x->t->columns.v[k];
	bool goes_on = k + 1 < x->t->columns.n && c[1].joined;
	const char *header = goes_on ? "" : c->header;
	int width = (int)x->lines[0].widths[k], pad = width - (int)strlen(header);

	if (x->how.separator) {
		header += strspn(header, " ");
		pad = 0;
	}
	bytes_repeat(out, ' ', c->left ? 0 : pad);
	bytes_put(out, header, MIN(strlen(header), pad < 0 ? (size_t)width : SIZE_MAX));
	bytes_repeat(out, ' ', c->left && (k + 1 < x->t->columns.n || !x->how.no_ruler) ? pad : 0);
}

void table_text_head(struct table_text *x, struct bytes *out)
{
	const struct table_column *c = x->t->columns.v;

	bytes_char(out, '#');
	for (size_t k = 0; k < x->t->columns.n; k++) {
		if (x->how.separator && k && !c[k].joined)
			bytes_char(out, x->how.separator);
		else if (!c[k].joined)
			bytes_str(out, k ? "  " : " ");
		put_header(x, k, out);
	}
	bytes_char(out, '\n');
	if (x->how.separator || x->how.no_ruler)
		return;
	bytes_char(out, '#');
	for (size_t k = 0; k < x->t->columns.n; k++) {
		bytes_str(out, c[k].joined ? "" : k ? "  " : " ");
		bytes_repeat(out, '.', (int)x->lines[0].widths[k]);
	}
	bytes_str(out, "\n#\n");
}

/* A separator inside a field would shift all that follows it. */
static void put_separated(const struct table_text *x, const struct line *l, struct bytes *out)
{
	for (size_t k = 0; k < x->t->columns.n; k++) {
		const u8 *p = l->text.p + l->cells[k].at;
		size_t blank = 0;

		while (blank < l->cells[k].len && p[blank] == ' ')
			blank++;
		if (k)
			bytes_char(out, x->t->columns.v[k].joined ? ' ' : x->how.separator);
		for (size_t i = blank; i < l->cells[k].len; i++)
			bytes_char(out, (char)p[i] == x->how.separator ? '.' : (char)p[i]);
	}
	bytes_char(out, '\n');
}

/* Shares are coloured by their weight; ratios that are marked are grey. */
static void put_cell(const struct table_text *x, const struct line *l, size_t k, bool color, struct bytes *out)
{
	const struct table_column *c = &x->t->columns.v[k];
	const struct span *s = &l->cells[k];
	const u8 *p = bytes_from(&l->text, s->at);
	bool faint = color && s->cell.kind == CELL_RATIO && s->cell.ratio.doubtful;
	int pad = (int)l->widths[k] - (int)s->width;

	if (color && s->cell.kind == CELL_SHARE) {
		table_percent(s->cell.share.percent, (int)l->widths[k], true, out);
		return;
	}
	bytes_repeat(out, ' ', c->left ? 0 : pad);
	bytes_str(out, faint ? "\033[90m" : "");
	if (pad < 0 && !x->how.whole_names)
		name_put(p, s->len, l->widths[k], out);
	else
		bytes_put(out, p, pad < 0 ? name_cut(p, s->len, l->widths[k]) : s->len);
	bytes_str(out, faint ? "\033[m" : "");
	bytes_repeat(out, ' ', c->left && k + 1 < x->t->columns.n ? pad : 0);
}

/* Where a cell with that number is kept, or will be. */
static struct written *written_at(const struct table *t, size_t k, u64 number, struct line *l)
{
	if (!l->written)
		l->written = mem_zalloc(t->columns.n * WRITTEN * sizeof(*l->written));
	return &l->written[k * WRITTEN + hash_u64(number) % WRITTEN];
}

static void put_new_cell(const struct table_text *x, size_t row, size_t k, struct line *l, struct bytes *out)
{
	l->text.len = 0;
	render_cell(x->t, k, &(struct table_row){ .at = row }, l);
	put_cell(x, l, k, x->how.color && row != TABLE_TOTAL, out);
}

/* Most cells of a key have the text of one that was just written. */
static void put_alike(const struct table_text *x, size_t row, size_t k, struct line *l, struct bytes *out)
{
	u64 number = x->t->number(x->t, &x->t->columns.v[k], row) + 1;
	struct written *w = written_at(x->t, k, number, l);
	size_t at = out->len;

	if (number && w->number == number) {
		/* A copy of a fixed size is one of few instructions. */
		if (out->cap - out->len < WRITTEN_BYTES)
			bytes_grow(out, WRITTEN_BYTES);
		memcpy(out->p + out->len, w->text, WRITTEN_BYTES);
		out->len += w->len;
		return;
	}
	put_new_cell(x, row, k, l, out);
	if (out->len - at > WRITTEN_BYTES)
		return;
	w->number = number;
	w->len = (u8)(out->len - at);
	memcpy(w->text, out->p + at, w->len);
}

/* out: memory, which does not empty itself. */
static void put_row(const struct table_text *x, size_t row, struct line *l, struct bytes *out)
{
	if (x->how.separator) {
		render(x->t, &(struct table_row){ .at = row }, l);
		put_separated(x, l, out);
		return;
	}
	for (size_t k = 0; k < x->t->columns.n; k++) {
		bytes_str(out, x->t->columns.v[k].joined ? "" : "  ");
		if (x->t->columns.v[k].alike && row != TABLE_TOTAL)
			put_alike(x, row, k, l, out);
		else
			put_new_cell(x, row, k, l, out);
	}
	bytes_char(out, '\n');
}

static void put_part(const struct table_text *x, size_t row, const struct table_part *part, struct line *l,
		     struct bytes *out)
{
	const struct table *t = x->t;

	render(t, &(struct table_row){ row, part }, l);
	for (size_t k = 0; k < t->columns.n && !t->columns.v[k].key_of_row; k++) {
		bytes_str(out, "  ");
		if (t->columns.v[k].of_parts)
			put_cell(x, l, k, x->how.color, out);
		else
			bytes_repeat(out, ' ', (int)l->widths[k]);
	}
	t->part_text(t, row, part, out);
	bytes_char(out, '\n');
}

static void write_unit(void *ctx, u32 worker, u32 unit, u32 slot)
{
	const struct table_text *x = ctx;
	const struct table *t = x->t;
	struct table_part parts[TABLE_PARTS];

	for (size_t i = unit_start(t, unit); i < unit_start(t, unit + 1); i++) {
		u32 n;

		fetch_ahead(t, i);
		if (t->wants && !t->wants(t, i))
			continue;
		put_row(x, i, &x->lines[worker], &x->texts[slot]);
		if (t->draw && !x->how.separator)
			t->draw(t, i, worker, &x->texts[slot]);
		n = t->parts ? t->parts(t, i, parts) : 0;
		for (u32 k = 0; k < n; k++)
			put_part(x, i, &parts[k], &x->lines[worker], &x->texts[slot]);
	}
}

static void put_unit(void *ctx, u32 slot)
{
	const struct table_text *x = ctx;

	bytes_put(x->out, x->texts[slot].p, x->texts[slot].len);
	x->texts[slot].len = 0;
}

void table_text_rows(struct table_text *x, struct bytes *out)
{
	x->out = out;
	pool_run_in_order(x->how.workers, nr_units(x->t), x->nr_slots, write_unit, put_unit, x);
	if (x->t->has_total && !x->how.separator)
		put_row(x, TABLE_TOTAL, &x->lines[0], out);
}

void table_text(const struct table *t, const struct table_print *how, bool head, struct bytes *out)
{
	struct table_text *x = table_text_new(t, how);

	table_text_measure(x);
	if (head)
		table_text_head(x, out);
	table_text_rows(x, out);
	table_text_free(x);
}
