/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as text, laid out as `perf report --stdio` does it, so that eyes and scripts find what they are used to.
 * Lines beginning with # are the head; ours says in addition how much of the recording can be trusted.
 *
 * Columns are as wide as their widest cell, so all cells are rendered twice: to measure, and to write. Keeping them in
 * between would cost more memory than the rows themselves.
 */
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"
#include "view/report.h"

struct cell {
	size_t at, len;
	u32 width; /* on a terminal: characters, not bytes */
};

struct table {
	struct bytes raw, text; /* of the cells of one row; raw: one cell before control bytes are replaced */
	struct cell cells[REPORT_MAX_COLUMNS];
	u32 widths[REPORT_MAX_COLUMNS];
};

static u32 text_width(const u8 *p, size_t n)
{
	u32 width = 0;

	for (size_t i = 0; i < n; i++)
		width += (p[i] & 0xc0) != 0x80;
	return width;
}

/* How many bytes hold the first `width` characters. */
static size_t cut_at(const u8 *p, size_t n, u32 width)
{
	size_t i = 0;

	for (; i < n; i++)
		if ((p[i] & 0xc0) != 0x80 && !width--)
			break;
	return i;
}

static void render_cell(const struct row_view *v, const struct column *c, const struct report_opts *o,
			struct bytes *raw, struct bytes *out)
{
	if (c->type == COLUMN_PERCENT) {
		report_percent(share_of(c->number(v), report_whole(v->event, o)), 0, false, out);
		return;
	}
	raw->len = 0;
	if (c->label)
		c->label(v, raw);
	else if (c->text)
		c->text(v, raw);
	else
		bytes_dec(raw, c->number(v));
	if (raw->len)
		bytes_plain(out, (const char *)raw->p, raw->len);
}

static void render_row(const struct row_view *v, const struct report_opts *o, struct table *t)
{
	t->text.len = 0;
	for (u32 k = 0; k < o->nr_columns; k++) {
		struct cell *cell = &t->cells[k];

		*cell = (struct cell){ .at = t->text.len };
		render_cell(v, &columns[o->columns[k]], o, &t->raw, &t->text);
		cell->len = t->text.len - cell->at;
		cell->width = text_width(t->text.p + cell->at, cell->len);
	}
}

#define MEASURE_ROWS 4096 /* per work unit */

struct measure {
	struct row_view view;
	const struct report_opts *o;
	struct table *tables; /* one per worker */
};

static void measure_unit(void *ctx, u32 worker, u32 unit)
{
	const struct measure *m = ctx;
	const struct profile_event *e = m->view.event;
	struct row_view v = m->view;
	struct table *t = &m->tables[worker];

	for (size_t i = (size_t)unit * MEASURE_ROWS; i < MIN(e->rows.n, (size_t)(unit + 1) * MEASURE_ROWS); i++) {
		v.row = &e->rows.v[i];
		if (!report_wants(&v, m->o))
			continue;
		render_row(&v, m->o, t);
		for (u32 k = 0; k < m->o->nr_columns; k++)
			t->widths[k] = MAX(t->widths[k], t->cells[k].width);
	}
}

static void measure_rows(const struct row_view *v, const struct report_opts *o, struct table *t)
{
	u32 workers = o->workers ? o->workers : pool_default_workers();
	u32 units = (u32)(v->event->rows.n / MEASURE_ROWS) + 1;
	struct measure m = { *v, o, mem_zalloc(workers * sizeof(*t)) };

	pool_run(workers, units, measure_unit, &m);
	for (u32 i = 0; i < workers; i++) {
		for (u32 k = 0; k < o->nr_columns; k++)
			t->widths[k] = MAX(t->widths[k], m.tables[i].widths[k]);
		bytes_free(&m.tables[i].text);
		bytes_free(&m.tables[i].raw);
	}
	free(m.tables);
}

/* Beside totals the overhead is called "Self". */
static const char *header_of(const struct report_opts *o, u32 column)
{
	bool totals = false;

	for (u32 k = 0; k < o->nr_columns; k++)
		totals |= o->columns[k] == COLUMN_CHILDREN;
	return column == COLUMN_OVERHEAD && totals ? "Self" : columns[column].header;
}

static void settle_widths(const struct report_opts *o, struct table *t)
{
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = &columns[o->columns[k]];

		t->widths[k] = MAX(t->widths[k], MAX((u32)c->width, (u32)strlen(header_of(o, o->columns[k]))));
		if (o->widths[k])
			t->widths[k] = c->type == COLUMN_TEXT ? o->widths[k] : MAX(o->widths[k], (u32)c->width);
	}
}

static bool right_aligned(const struct column *c)
{
	return c->type == COLUMN_PERCENT || (c->type == COLUMN_NUMBER && !c->label);
}

static void write_header(const struct report_opts *o, const struct table *t, struct bytes *out)
{
	bytes_char(out, '#');
	for (u32 k = 0; k < o->nr_columns; k++) {
		const char *header = header_of(o, o->columns[k]);
		int pad = (int)t->widths[k] - (int)strlen(header);

		if (o->separator && k)
			bytes_char(out, o->separator);
		else
			bytes_str(out, k ? "  " : " ");
		if (o->separator) {
			header += strspn(header, " ");
			pad = 0;
		}
		if (right_aligned(&columns[o->columns[k]]))
			bytes_repeat(out, ' ', pad);
		bytes_put(out, header, MIN(strlen(header), pad < 0 ? (size_t)t->widths[k] : SIZE_MAX));
		if (!right_aligned(&columns[o->columns[k]]))
			bytes_repeat(out, ' ', pad);
	}
	bytes_char(out, '\n');
	if (o->separator)
		return;
	bytes_char(out, '#');
	for (u32 k = 0; k < o->nr_columns; k++) {
		bytes_str(out, k ? "  " : " ");
		bytes_repeat(out, '.', (int)t->widths[k]);
	}
	bytes_str(out, "\n#\n");
}

/* A separator inside a field would shift all that follows it. */
static void write_separated(const struct table *t, const struct report_opts *o, struct bytes *out)
{
	const struct cell *cells = t->cells;

	for (u32 k = 0; k < o->nr_columns; k++) {
		const u8 *p = t->text.p + cells[k].at;
		size_t blank = 0;

		while (blank < cells[k].len && p[blank] == ' ')
			blank++;
		if (k)
			bytes_char(out, o->separator);
		for (size_t i = blank; i < cells[k].len; i++)
			bytes_char(out, (char)p[i] == o->separator ? '.' : (char)p[i]);
	}
	bytes_char(out, '\n');
}

static void write_cell(const struct table *t, const struct cell *cell, u32 k, const struct row_view *v,
		       const struct report_opts *o, bool last, struct bytes *out)
{
	const struct column *c = &columns[o->columns[k]];
	const u8 *p = t->text.p + cell->at;
	int pad = (int)t->widths[k] - (int)cell->width;

	if (c->type == COLUMN_PERCENT) {
		report_percent(share_of(c->number(v), report_whole(v->event, o)), (int)t->widths[k], o->color, out);
		return;
	}
	if (right_aligned(c))
		bytes_repeat(out, ' ', pad);
	bytes_put(out, p, pad < 0 ? cut_at(p, cell->len, t->widths[k]) : cell->len);
	if (!right_aligned(c) && !last)
		bytes_repeat(out, ' ', pad);
}

static void write_rows(struct row_view *v, const struct report_opts *o, struct table *t, struct bytes *out)
{
	for (size_t i = 0; i < v->event->rows.n; i++) {
		v->row = &v->event->rows.v[i];
		if (!report_wants(v, o))
			continue;
		render_row(v, o, t);
		if (o->separator) {
			write_separated(t, o, out);
			continue;
		}
		for (u32 k = 0; k < o->nr_columns; k++) {
			bytes_str(out, "  ");
			write_cell(t, &t->cells[k], k, v, o, k + 1 == o->nr_columns, out);
		}
		bytes_char(out, '\n');
		report_graph(v, o, out);
	}
}

/* "402 ", "5K", "12M": as perf shortens the number of samples. */
static void write_short_number(u64 n, struct bytes *out)
{
	static const char units[] = " KMGT";
	u32 unit = 0;

	for (; n > 1000 && unit < 4; unit++)
		n /= 1000;
	bytes_printf(out, "%llu%c", (unsigned long long)n, units[unit]);
}

static void write_event_head(const struct profile *p, const struct profile_event *e, struct bytes *out)
{
	const char *name = report_event_name(p, e);
	bool one_table = p->sort_keys >> SORT_EVENT & 1;

	bytes_str(out, "# Samples: ");
	write_short_number(e->samples, out);
	bytes_str(out, " of event");
	if (one_table && p->evlist->events.n > 1) {
		bytes_str(out, "s");
		for (size_t i = 0; i < p->evlist->events.n; i++) {
			const char *each = p->evlist->events.v[i].name;

			bytes_str(out, i ? ", '" : " '");
			bytes_plain(out, each, strlen(each));
			bytes_char(out, '\'');
		}
	} else {
		bytes_str(out, " '");
		bytes_plain(out, name, strlen(name));
		bytes_char(out, '\'');
	}
	bytes_printf(out, "\n# Event count (approx.): %llu\n#\n", (unsigned long long)e->weight);
}

static void write_event(struct profile *p, struct profile_event *e, const struct report_opts *o, struct bytes *out)
{
	struct row_view v = { .profile = p, .event = e, .long_names = o->long_names };
	struct table t = { 0 };

	if (!o->separator)
		measure_rows(&v, o, &t);
	settle_widths(o, &t);
	if (!o->quiet) {
		write_event_head(p, e, out);
		write_header(o, &t, out);
	}
	write_rows(&v, o, &t, out);
	bytes_free(&t.text);
	bytes_free(&t.raw);
}

static void write_count(const char *what, u64 n, struct bytes *out)
{
	if (n)
		bytes_printf(out, ", %llu %s", (unsigned long long)n, what);
}

/* How far the numbers below can be trusted. The counts that are always there come first. */
static void write_tally(const struct tally *t, struct bytes *out)
{
	bytes_printf(out, "# Total Lost Samples: %llu\n#\n", (unsigned long long)t->lost_samples);
	bytes_printf(out, "# Recording: %llu samples, %llu lost, %llu throttled", (unsigned long long)t->samples,
		     (unsigned long long)(t->lost + t->lost_samples), (unsigned long long)t->throttled);
	write_count("left out by filters", t->filtered, out);
	write_count("undecodable", t->undecodable, out);
	write_count("broken records", t->broken_records, out);
	write_count("records of unknown type", t->unknown_records, out);
	write_count("AUX records lost", t->aux_lost, out);
	write_count("AUX records truncated", t->aux_truncated, out);
	write_count("bytes of the file not read", t->left_out_bytes, out);
	bytes_printf(out, "\n# Quality: %.2f%% of frames unresolved", share_of(t->unresolved, t->frames));
	if (t->stacks)
		bytes_printf(out, ", %.2f%% of user stacks broken", share_of(t->broken, t->stacks));
	bytes_str(out, "\n#\n");
}

void report_text(struct profile *p, const struct report_opts *o, struct bytes *out)
{
	if (!o->quiet)
		write_tally(&p->tally, out);
	for (size_t i = 0; i < p->events.n; i++) {
		if (i)
			bytes_str(out, "\n\n");
		write_event(p, &p->events.v[i], o, out);
	}
	if (!p->events.n && !o->quiet)
		bytes_str(out, "# No samples.\n");
}
