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
#include "view/names.h"
#include "view/report.h"

struct cell {
	size_t at, len;
	u32 width; /* on a terminal: characters, not bytes */
};

struct table {
	struct bytes raw, text; /* of the cells of one row; raw: one cell before control bytes are replaced */
	struct cell cells[REPORT_MAX_COLUMNS];
	u32 widths[REPORT_MAX_COLUMNS];
	struct graph_room room;
};

/* The rows of one event. */
struct rows {
	struct row_view view;
	const struct report_opts *o;
	u32 workers, nr_slots;
	struct table *tables; /* one per worker */
	struct bytes *texts;  /* by slot */
	struct bytes *out;
};

/* Columns of metrics stand behind those that all reports have. */
static const struct column *column_at(const struct report_opts *o, u32 k)
{
	static const struct column metric = { .header = "", .type = COLUMN_NUMBER };

	return o->columns[k] >= REPORT_METRIC ? &metric : column_get(o->columns[k]);
}

static u32 metric_at(const struct report_opts *o, u32 k)
{
	return o->now->table.columns[o->columns[k] - REPORT_METRIC];
}

static void render_cell(const struct row_view *v, u32 k, const struct report_opts *o, struct bytes *raw,
			struct bytes *out)
{
	const struct column *c = column_at(o, k);
	struct row_view of;

	if (o->columns[k] >= REPORT_METRIC) {
		metric_cell(&o->now->table, metric_at(o, k), v->windows, o->bare >> k & 1, out);
		return;
	}
	if (v->line) {
		of = report_column_view(v, o, k);
		v = &of;
	}
	if (c->type == COLUMN_PERCENT) {
		report_percent(share_of(column_number(o->columns[k], v), report_whole(v->event, o)), 0, false, out);
		return;
	}
	raw->len = 0;
	column_label(o->columns[k], v, raw);
	if (raw->len)
		bytes_plain(out, (const char *)raw->p, raw->len);
}

static void render_row(const struct row_view *v, const struct report_opts *o, struct table *t)
{
	t->text.len = 0;
	for (u32 k = 0; k < o->nr_columns; k++) {
		struct cell *cell = &t->cells[k];

		*cell = (struct cell){ .at = t->text.len };
		render_cell(v, k, o, &t->raw, &t->text);
		cell->len = t->text.len - cell->at;
		cell->width = name_width(t->text.p + cell->at, cell->len);
	}
}

/*
 * Work units of rows. The first rows are the heaviest; they have the graphs, and may take as long as thousands of
 * others: each is a unit of its own.
 */
#define SINGLE_ROWS 512
#define UNIT_ROWS 256
#define SLOTS_PER_WORKER 32

static size_t nr_rows(const struct rows *r)
{
	return r->o->group ? r->o->group->n : r->view.event->rows.n;
}

static size_t unit_start(const struct rows *r, u32 unit)
{
	size_t n = nr_rows(r);

	return MIN(n, unit < SINGLE_ROWS ? unit : SINGLE_ROWS + (size_t)(unit - SINGLE_ROWS) * UNIT_ROWS);
}

static u32 nr_units(const struct rows *r)
{
	size_t n = nr_rows(r);

	return (u32)(n <= SINGLE_ROWS ? n : SINGLE_ROWS + (n - SINGLE_ROWS + UNIT_ROWS - 1) / UNIT_ROWS);
}

static void measure_unit(void *ctx, u32 worker, u32 unit)
{
	const struct rows *r = ctx;
	struct row_view v = r->view;
	struct table *t = &r->tables[worker];

	for (size_t i = unit_start(r, unit); i < unit_start(r, unit + 1); i++) {
		report_set_row(&v, r->o, i);
		if (!report_wants(&v, r->o))
			continue;
		render_row(&v, r->o, t);
		for (u32 k = 0; k < r->o->nr_columns; k++)
			t->widths[k] = MAX(t->widths[k], t->cells[k].width);
	}
}

/* Beside totals the overhead is called "Self". */
static const char *header_of(const struct rows *r, u32 at)
{
	const struct report_opts *o = r->o;
	u32 column = o->columns[at];
	bool totals = false;

	if (column >= REPORT_METRIC)
		return metric_column_name(&o->now->table, metric_at(o, at));
	for (u32 k = 0; k < o->nr_columns; k++)
		totals |= o->columns[k] == COLUMN_CHILDREN;
	return column == COLUMN_OVERHEAD && totals ? "Self" : column_header(r->view.profile, column);
}

/* The width that was asked for is that of all members together. */
static u32 width_of_part(const struct report_opts *o, u32 k)
{
	u32 n = o->group && !column_is_key(o->columns[k]) ? o->group->nr_members : 1;

	return (o->widths[k] + n - 1 - o->member[k]) / n;
}

/* The columns of names, which are narrowed where the table is too wide, unless the user said how wide columns are. */
static u64 narrow_columns(const struct report_opts *o)
{
	u64 names = 0;

	for (u32 k = 0; k < o->nr_columns; k++)
		if (o->columns[k] < REPORT_METRIC && column_is_key(o->columns[k]) &&
		    column_at(o, k)->type == COLUMN_TEXT)
			names |= 1ull << k;
	return o->whole_names || o->separator ? 0 : names;
}

/* Where there is no terminal, many columns of values leave names their room: it comes on top. */
static u32 room_of(const struct report_opts *o, const u32 *widths, u64 names)
{
	u32 values = 0;

	for (u32 k = 0; k < o->nr_columns; k++)
		values += names >> k & 1 ? 0 : 2 + widths[k];
	return o->room ? o->room : MAX(NAMES_ROOM, values + NAMES_TOGETHER);
}

/* The same for all workers. */
static void settle_widths(const struct rows *r)
{
	const struct report_opts *o = r->o;
	u32 *widths = r->tables[0].widths;
	u64 names = narrow_columns(o);

	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = column_at(o, k);
		u32 width = MAX((u32)c->width, (u32)strlen(header_of(r, k)));

		for (u32 i = 0; i < r->workers; i++)
			width = MAX(width, r->tables[i].widths[k]);
		if (o->widths[k])
			width = c->type == COLUMN_TEXT ? o->widths[k] : MAX(width_of_part(o, k), (u32)c->width);
		widths[k] = width;
	}
	names_fit(widths, o->nr_columns, names, room_of(o, widths, names));
	for (u32 i = 1; i < r->workers; i++)
		memcpy(r->tables[i].widths, widths, sizeof(r->tables[i].widths));
}

static bool right_aligned(const struct column *c)
{
	return c->type == COLUMN_PERCENT || (c->type == COLUMN_NUMBER && !c->label);
}

static void write_header(const struct rows *r, const struct table *t, struct bytes *out)
{
	const struct report_opts *o = r->o;

	bytes_char(out, '#');
	for (u32 k = 0; k < o->nr_columns; k++) {
		bool goes_on = k + 1 < o->nr_columns && o->member[k + 1]; /* one header over all members */
		const char *header = goes_on ? "" : header_of(r, k);
		int pad = (int)t->widths[k] - (int)strlen(header);

		if (o->separator && k && !o->member[k])
			bytes_char(out, o->separator);
		else if (!o->member[k])
			bytes_str(out, k ? "  " : " ");
		if (o->separator) {
			header += strspn(header, " ");
			pad = 0;
		}
		if (right_aligned(column_at(o, k)))
			bytes_repeat(out, ' ', pad);
		bytes_put(out, header, MIN(strlen(header), pad < 0 ? (size_t)t->widths[k] : SIZE_MAX));
		if (!right_aligned(column_at(o, k)))
			bytes_repeat(out, ' ', pad);
	}
	bytes_char(out, '\n');
	if (o->separator)
		return;
	bytes_char(out, '#');
	for (u32 k = 0; k < o->nr_columns; k++) {
		bytes_str(out, o->member[k] ? "" : k ? "  " : " ");
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
			bytes_char(out, o->member[k] ? ' ' : o->separator);
		for (size_t i = blank; i < cells[k].len; i++)
			bytes_char(out, (char)p[i] == o->separator ? '.' : (char)p[i]);
	}
	bytes_char(out, '\n');
}

/* Ratios that are marked are grey. */
static bool is_faint(const struct row_view *v, const struct report_opts *o, u32 k)
{
	bool doubtful = false;

	if (o->color && o->columns[k] >= REPORT_METRIC)
		(void)metric_column_value(&o->now->table, metric_at(o, k), v->windows, &doubtful);
	return doubtful;
}

static void write_cell(const struct table *t, const struct cell *cell, u32 k, const struct row_view *v,
		       const struct report_opts *o, bool last, struct bytes *out)
{
	const struct column *c = column_at(o, k);
	const u8 *p = t->text.p + cell->at;
	int pad = (int)t->widths[k] - (int)cell->width;
	struct row_view of;

	if (c->type == COLUMN_PERCENT) {
		if (v->line) {
			of = report_column_view(v, o, k);
			v = &of;
		}
		report_percent(share_of(column_number(o->columns[k], v), report_whole(v->event, o)), (int)t->widths[k],
			       o->color, out);
		return;
	}
	if (right_aligned(c))
		bytes_repeat(out, ' ', pad);
	if (is_faint(v, o, k))
		bytes_str(out, "\033[90m");
	if (pad < 0 && !o->whole_names)
		name_put(p, cell->len, t->widths[k], out);
	else
		bytes_put(out, p, pad < 0 ? name_cut(p, cell->len, t->widths[k]) : cell->len);
	if (is_faint(v, o, k))
		bytes_str(out, "\033[m");
	if (!right_aligned(c) && !last)
		bytes_repeat(out, ' ', pad);
}

static void write_row(const struct row_view *v, const struct report_opts *o, struct table *t, struct bytes *out)
{
	render_row(v, o, t);
	if (o->separator) {
		write_separated(t, o, out);
		return;
	}
	for (u32 k = 0; k < o->nr_columns; k++) {
		bytes_str(out, o->member[k] ? "" : "  ");
		write_cell(t, &t->cells[k], k, v, o, k + 1 == o->nr_columns, out);
	}
	bytes_char(out, '\n');
	report_graph(v, o, &t->room, out);
}

/* The last line of a table of windows: all rows together, of which only values are shown. */
static void render_total(const struct rows *r, struct table *t)
{
	const struct report_opts *o = r->o;

	t->text.len = 0;
	for (u32 k = 0; k < o->nr_columns; k++) {
		struct cell *cell = &t->cells[k];

		*cell = (struct cell){ .at = t->text.len };
		if (o->columns[k] >= REPORT_METRIC)
			metric_cell(&o->now->table, metric_at(o, k), r->view.windows, o->bare >> k & 1, &t->text);
		else if (o->columns[k] == COLUMN_OVERHEAD)
			report_percent(share_of(r->view.event->row_weight, report_whole(r->view.event, o)), 0, false,
				       &t->text);
		else if (k + 1 == o->nr_columns && column_is_key(o->columns[k]))
			bytes_str(&t->text, "(all)");
		cell->len = t->text.len - cell->at;
		cell->width = name_width(t->text.p + cell->at, cell->len);
	}
}

static void measure_total(struct rows *r)
{
	struct table *t = &r->tables[0];

	r->view.windows = r->view.event->windows->shown;
	render_total(r, t);
	for (u32 k = 0; k < r->o->nr_columns; k++)
		t->widths[k] = MAX(t->widths[k], t->cells[k].width);
}

static void write_total(const struct rows *r)
{
	struct table *t = &r->tables[0];

	render_total(r, t);
	for (u32 k = 0; k < r->o->nr_columns; k++) {
		const struct cell *cell = &t->cells[k];
		bool left = column_is_key(r->o->columns[k]), last = k + 1 == r->o->nr_columns;

		bytes_str(r->out, "  ");
		bytes_repeat(r->out, ' ', left ? 0 : (int)t->widths[k] - (int)cell->width);
		bytes_put(r->out, t->text.p + cell->at, cell->len);
		bytes_repeat(r->out, ' ', left && !last ? (int)t->widths[k] - (int)cell->width : 0);
	}
	bytes_char(r->out, '\n');
}

/* What the share of a stack's windows is of, which the least share of a branch is compared with. */
static double path_whole(const struct row_view *v, const struct report_opts *o)
{
	const struct profile_windows *w = v->event->windows;

	if (o->fractal_paths)
		return v->windows[WINDOWS_SHORT];
	return (o->relative ? w->shown : w->total)[WINDOWS_SHORT];
}

static void write_path(const struct row_view *v, const struct report_opts *o, struct table *t, u32 node,
		       struct bytes *out)
{
	bool named = true;

	render_row(v, o, t);
	for (u32 k = 0; k < o->nr_columns; k++)
		named &= o->columns[k] != COLUMN_SYMBOL;
	for (u32 k = 0; k < o->nr_columns && !column_is_key(o->columns[k]); k++) {
		bytes_str(out, "  ");
		if (o->columns[k] >= REPORT_METRIC)
			write_cell(t, &t->cells[k], k, v, o, false, out);
		else
			bytes_repeat(out, ' ', (int)t->widths[k]);
	}
	report_windows_path(v, node, named, out);
	bytes_char(out, '\n');
}

/* Below a row: its stacks, each with what its windows say. One without callers says no more than the row. */
static void write_paths(const struct row_view *v, const struct report_opts *o, struct table *t, struct bytes *out)
{
	const struct tree_node *nodes = v->event->tree.nodes.v;
	struct window_path paths[REPORT_PATHS];
	u32 max = o->graph_limit ? MIN(o->graph_limit, REPORT_PATHS) : REPORT_PATHS;
	u32 n = profile_window_paths(v->profile, v->event, (u32)(v->row - v->event->rows.v), paths, REPORT_PATHS);
	double least = path_whole(v, o) * o->graph_min / 100;

	if (n == 1 && (!nodes[paths[0].node].parent || !nodes[nodes[paths[0].node].parent].parent))
		return;
	for (u32 i = 0; i < MIN(n, max) && paths[i].block[WINDOWS_SHORT] >= least; i++) {
		struct row_view of = *v;

		of.windows = paths[i].block;
		write_path(&of, o, t, paths[i].node, out);
	}
}

static void write_unit(void *ctx, u32 worker, u32 unit, u32 slot)
{
	const struct rows *r = ctx;
	struct row_view v = r->view;

	for (size_t i = unit_start(r, unit); i < unit_start(r, unit + 1); i++) {
		report_set_row(&v, r->o, i);
		if (!report_wants(&v, r->o))
			continue;
		write_row(&v, r->o, &r->tables[worker], &r->texts[slot]);
		if (r->o->now && r->o->paths)
			write_paths(&v, r->o, &r->tables[worker], &r->texts[slot]);
	}
}

static void put_unit(void *ctx, u32 slot)
{
	const struct rows *r = ctx;

	bytes_put(r->out, r->texts[slot].p, r->texts[slot].len);
	r->texts[slot].len = 0;
}

static void measure(struct rows *r)
{
	for (u32 i = 0; i < r->workers; i++)
		memset(r->tables[i].widths, 0, sizeof(r->tables[i].widths));
	if (!r->o->separator)
		pool_run(r->workers, nr_units(r), measure_unit, r);
	if (r->o->now)
		measure_total(r);
	settle_widths(r);
}

/* The table of e; of a group, whose first event with samples e is, that of all members. */
static void write_event(struct profile *p, struct profile_event *e, const struct report_opts *opts, struct bytes *out)
{
	struct report_opts with = report_event_opts(opts, (size_t)(e - p->events.v));
	const struct report_opts *o = &with;
	struct rows r = { { .profile = p, .event = e, .long_names = o->long_names }, o, .out = out };

	if (o->hierarchy) {
		if (!o->quiet)
			report_event_head(p, e, o->group, out);
		report_hierarchy(p, e, o, out);
		return;
	}
	r.workers = o->workers ? o->workers : pool_default_workers();
	r.nr_slots = r.workers * SLOTS_PER_WORKER;
	r.tables = mem_zalloc(r.workers * sizeof(*r.tables));
	r.texts = mem_zalloc(r.nr_slots * sizeof(*r.texts));
	do
		measure(&r);
	while (!o->separator && report_fit_step(&with, r.tables[0].widths));
	if (!o->quiet) {
		if (!o->only_table)
			report_event_head(p, e, o->group, out);
		if (o->now && !o->only_table) {
			report_windows_head(p, e, out);
			report_fit_head(o, out);
		}
		write_header(&r, &r.tables[0], out);
	}
	pool_run_in_order(r.workers, nr_units(&r), r.nr_slots, write_unit, put_unit, &r);
	if (o->now && !o->separator)
		write_total(&r);
	for (u32 i = 0; i < r.workers; i++) {
		bytes_free(&r.tables[i].text);
		bytes_free(&r.tables[i].raw);
		graph_room_free(&r.tables[i].room);
	}
	for (u32 i = 0; i < r.nr_slots; i++)
		bytes_free(&r.texts[i]);
	free(r.tables);
	free(r.texts);
}

/* Functions of one name may be of the kernel or not, inlined or called. */
static bool one_symbol(const struct profile *p)
{
	const struct frame *first = NULL;

	for (size_t i = 0; i < p->events.n; i++)
		for (size_t k = 0; k < p->events.v[i].rows.n; k++) {
			const struct row *r = &p->events.v[i].rows.v[k];
			const struct frame *f = frames_get(p->frames, (u32)profile_row_key(p, r, SORT_SYMBOL));

			if (first && (f->level != first->level || f->inlined != first->inlined))
				return false;
			first = f;
		}
	return true;
}

static bool says_one(const struct profile *p, const struct report_opts *o, enum column_id id)
{
	return o->only[id] && (id != COLUMN_SYMBOL || one_symbol(p));
}

/* A column in which all rows say the same is one line above the table, unless no key would be left or programs read
 * the fields. */
static void leave_out_columns(const struct profile *p, struct report_opts *o, struct bytes *out)
{
	struct report_opts left = *o;
	u32 keys = 0, said = 0;

	left.nr_columns = 0;
	for (u32 i = 0; i < o->nr_columns; i++) {
		enum column_id id = o->columns[i];

		keys += column_is_key(id);
		if (!says_one(p, o, id)) {
			left.widths[left.nr_columns] = o->widths[i];
			left.columns[left.nr_columns++] = o->columns[i];
			continue;
		}
		said++;
		bytes_printf(out, "# %s: ", column_get(id)->name);
		bytes_plain(out, o->only[id], strlen(o->only[id]));
		bytes_char(out, '\n');
	}
	if (said && !o->quiet)
		bytes_str(out, "#\n");
	if (said && said < keys && !o->hierarchy && !o->separator)
		*o = left;
}

/* The table of n events, of which some have samples, or not; the first one of *apart, which were too many for one,
 * says so. */
static bool write_together(struct profile *p, u32 leader, u32 n, const struct report_opts *opts, bool first,
			   u32 *apart, struct bytes *out)
{
	struct report_opts o = *opts;
	struct group_rows g;
	bool any;

	group_rows_make(p, leader, n, &g);
	if (n > 1 && !report_group_opts(&o, n))
		o.group = &g;
	any = g.first;
	if (any && !first)
		bytes_str(out, "\n\n");
	if (any && *apart && !o.quiet)
		bytes_printf(out, "# %u events are too many for one table\n#\n", *apart);
	if (any) {
		*apart = 0;
		write_event(p, g.first, &o, out);
	}
	group_rows_free(&g);
	return any;
}

/* One table for each group; where there is no group, one for all events. Those that are too many have one each. */
static void write_groups(struct profile *p, const struct report_opts *opts, struct bytes *out)
{
	const struct evlist *l = p->evlist;
	bool any = false, groups = false;
	u32 apart = 0;

	for (size_t i = 0; i < l->events.n; i++)
		groups |= l->events.v[i].leader != i;
	for (u32 leader = 0, n; leader < l->events.n; leader += n) {
		struct report_opts o = *opts;

		n = groups ? 1 : (u32)l->events.n;
		while (groups && leader + n < l->events.n && l->events.v[leader + n].leader == leader)
			n++;
		if (n > 1 && report_group_opts(&o, n)) {
			apart = n;
			groups = true; /* each is on its own from here on */
			n = 1;
		}
		any |= write_together(p, leader, n, opts, !any, &apart, out);
	}
}

void report_text(struct profile *p, const struct report_opts *opts, struct bytes *out)
{
	struct report_opts with = *opts, *o = &with;

	leave_out_columns(p, o, out);
	if (!o->quiet && !o->only_table)
		report_recording_head(p, out);
	if (o->grouped)
		write_groups(p, o, out);
	for (size_t i = 0, n = 0; i < p->events.n && !o->grouped; i++) {
		if (p->events.v[i].helper || (o->only_event && i + 1 != o->only_event))
			continue;
		if (n++)
			bytes_str(out, "\n\n");
		write_event(p, &p->events.v[i], o, out);
	}
	if (!p->events.n && !o->quiet)
		bytes_str(out, "# No samples.\n");
}
