/* SPDX-License-Identifier: Apache-2.0 */
/* Common to text, CSV and JSON: the rows, and the cells of values and keys. */
#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"
#include "base/mem.h"
#include "view/key_cell.h"
#include "view/report_table.h"

static size_t row_number(const struct report_table *f, size_t at)
{
	return f->metrics ? f->metrics->order[at] : at;
}

static struct row_view view_of(const struct report_table *f, size_t at)
{
	return (struct row_view){
		.profile = f->p,
		.event = f->e,
		.row = f->group ? f->group->lines[at].shown : &f->e->rows.v[row_number(f, at)],
		.long_names = f->o->long_names,
	};
}

/* What a column of values shows of a row of a group: the member's part. */
static struct row_view member_view(const struct report_table *f, size_t at, u32 member)
{
	static const struct row no_row;
	static const struct profile_event no_event;
	struct row_view v = view_of(f, at);

	if (f->group) {
		v.event = f->group->members[member] ? f->group->members[member] : &no_event;
		v.row = f->group->lines[at].rows[member] ? f->group->lines[at].rows[member] : &no_row;
	}
	return v;
}

static bool wants(const struct table *t, size_t row)
{
	const struct report_table *f = t->form;
	const struct row_view v = view_of(f, row);

	return report_wants(&v, f->o);
}

static void put_share(u64 part, u64 whole, struct cell *out)
{
	out->kind = CELL_SHARE;
	out->share.part = part;
	out->share.percent = share_of(part, whole);
}

u32 report_table_member(const struct report_table *f, const struct table_column *c)
{
	if (!c->key_of)
		return c->nth;
	if (f->group)
		return c->nth - f->group->leader < f->group->nr_members ? c->nth - f->group->leader : ID_NONE;
	return c->nth == f->e->event ? 0 : ID_NONE;
}

/* A value of the row: c->what is the column. */
static void get_value(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct report_table *f = t->form;
	struct row_view v;
	u64 number;
	u32 member;

	if (r->at == TABLE_TOTAL) {
		if (c->what == COLUMN_OVERHEAD)
			put_share(f->e->row_weight, report_whole(f->e, f->o), out);
		return;
	}
	member = report_table_member(f, c);
	if (member == ID_NONE)
		return;
	v = member_view(f, r->at, member);
	number = column_number(c->what, &v);
	if (c->kind == CELL_SHARE) {
		put_share(number, report_whole(v.event, f->o), out);
	} else if (number != COLUMN_UNKNOWN) {
		out->kind = CELL_COUNT;
		out->count = number;
	}
}

/* The key that says of which rows a total is. */
#define KEY_OF_TOTAL 1

static bool total_key(const struct table_column *c, const struct table_row *r, struct cell *out)
{
	if (r->at != TABLE_TOTAL)
		return false;
	if (c->nth == KEY_OF_TOTAL) {
		out->kind = CELL_TEXT;
		bytes_str(out->text, "(all)");
	}
	return true;
}

/* A key as tables show it. */
static void get_label(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	struct row_view v;

	if (total_key(c, r, out) || r->part)
		return;
	v = view_of(t->form, r->at);
	out->kind = CELL_TEXT;
	column_label(c->what, &v, out->text);
}

/* Rows are told apart by it. */
static u64 number_of_key(const struct table *t, const struct table_column *c, size_t row)
{
	return profile_row_key(((const struct report_table *)t->form)->p, view_of(t->form, row).row,
			       column_key(c->what));
}

#define FRAMES_BEHIND 4 /* rows between the one whose keys are asked for and the one whose keys are there */

/* Asks for the keys of a row, and for the places that are named by the keys of an earlier one, which have arrived by
 * now. */
static void fetch(const struct table *t, size_t row)
{
	const struct report_table *f = t->form;
	const struct profile *p = f->p;
	const u64 *keys = view_of(f, row).row->keys;

	__builtin_prefetch(keys);
	__builtin_prefetch(keys + p->nr_sort - 1);
	if (row < FRAMES_BEHIND)
		return;
	keys = view_of(f, row - FRAMES_BEHIND).row->keys;
	for (u32 i = 0; i < p->nr_sort; i++)
		if (sort_key_row(p->sort_order[i])->word)
			__builtin_prefetch(frames_get(p->frames, (u32)keys[i]));
}

/* A key as programs read it. */
static void get_key(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	struct row_view v;

	if (total_key(c, r, out))
		return;
	v = view_of(t->form, r->at);
	key_cell(c, &v, out);
}

/* --- metrics --- */

static const double *block_of(const struct report_table *f, const struct table_row *r)
{
	const struct profile_windows *w = event_windows(f->e);

	return r->part ? r->part->of : r->at == TABLE_TOTAL ? w->shown : profile_window_row(w, row_number(f, r->at));
}

/* c->what: as metric_table.columns has it. */
static void get_metric(const struct table *t, const struct table_column *c, const struct table_row *r,
		       struct cell *out)
{
	const struct report_table *f = t->form;
	const struct metric_table *m = &f->metrics->table;

	out->kind = c->kind;
	if (c->kind == CELL_RATIO)
		metric_shown_value(m, c->what, block_of(f, r), &out->ratio);
	else
		out->real = metric_column_value(m, c->what, block_of(f, r), NULL);
}

/* Everything that a ratio's interval was made of; c->what is a metric, or ID_NONE. */
static void get_ratio(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct report_table *f = t->form;

	if (c->what == ID_NONE)
		return;
	out->kind = CELL_RATIO;
	metric_value(&f->metrics->table, c->what, block_of(f, r), &out->ratio);
}

/* c->what: a place in the block; all reasons not to use a window together have ALL_EXCLUDED. */
#define ALL_EXCLUDED 1000

static void get_window_count(const struct table *t, const struct table_column *c, const struct table_row *r,
			     struct cell *out)
{
	const struct report_table *f = t->form;
	const double *block;

	if (!f->metrics || c->what == ID_NONE)
		return;
	block = block_of(f, r);
	out->kind = CELL_REAL;
	out->real = c->what == ALL_EXCLUDED ? 0 : block[c->what];
	for (u32 i = 0; c->what == ALL_EXCLUDED && i < NR_WINDOW_FAULTS; i++)
		out->real += block[WINDOWS_EXCLUDED + i];
}

u32 report_table_metric(const struct report_table *f, size_t k)
{
	return f->table.columns.v[k].get == get_metric ? f->table.columns.v[k].what : ID_NONE;
}

static u32 metric_parts(const struct table *t, size_t row, struct table_part *out)
{
	const struct report_table *f = t->form;
	struct window_path paths[TABLE_PARTS];
	u32 n = profile_window_paths(f->p, f->e, (u32)row_number(f, row), paths, TABLE_PARTS);

	for (u32 i = 0; i < n; i++)
		out[i] = (struct table_part){ paths[i].node, paths[i].block };
	return n;
}

/* What the share of a stack's windows is of, which the least share of a branch is compared with. */
static double path_whole(const struct report_table *f, size_t row)
{
	const struct profile_windows *w = event_windows(f->e);

	if (f->o->fractal_paths)
		return profile_window_row(w, row_number(f, row))[WINDOWS_SHORT];
	return (f->o->relative ? w->shown : w->total)[WINDOWS_SHORT];
}

/* For eyes: not the light ones, and a stack without callers says no more than the row. */
static u32 shown_parts(const struct table *t, size_t row, struct table_part *out)
{
	const struct report_table *f = t->form;
	const struct tree_node *nodes = f->e->tree.nodes.v;
	double least = path_whole(f, row) * f->o->graph_min / 100;
	u32 n = metric_parts(t, row, out), shown = 0;

	if (n == 1 && (!nodes[out[0].id].parent || !nodes[nodes[out[0].id].parent].parent))
		return 0;
	n = f->o->graph_limit ? MIN(f->o->graph_limit, n) : n;
	while (shown < n && ((const double *)out[shown].of)[WINDOWS_SHORT] >= least)
		shown++;
	return shown;
}

static void part_text(const struct table *t, size_t row, const struct table_part *part, struct bytes *out)
{
	const struct report_table *f = t->form;
	const struct row_view v = view_of(f, row);
	bool named = true;

	for (u32 k = 0; k < f->o->nr_columns; k++)
		named &= f->o->columns[k] != COLUMN_SYMBOL;
	report_windows_path(&v, part->id, named, out);
}

static void part_json(const struct table *t, size_t row, const struct table_part *part, struct json *j)
{
	const struct report_table *f = t->form;
	const struct tree_node *nodes = f->e->tree.nodes.v;
	char made_up[PROFILE_MADE_UP];

	(void)row;
	json_set_list(j, "frames");
	for (u32 at = part->id; at && nodes[at].parent; at = nodes[at].parent)
		json_text(j, profile_frame_name(f->p, nodes[at].frame, made_up, sizeof(made_up)));
	json_list_end(j);
}

/* --- graphs --- */

/* Of a group, the first member's stacks are drawn, below rows that it has. */
static bool is_drawn(const struct report_table *f, size_t at, const struct row *row)
{
	return !f->group || row == f->group->lines[at].rows[f->e->event - f->group->leader];
}

static void draw(const struct table *t, size_t row, u32 worker, struct bytes *out)
{
	const struct report_table *f = t->form;
	const struct row_view v = view_of(f, row);

	if (is_drawn(f, row, v.row))
		report_graph(&v, f->o, &f->rooms[worker], out);
}

static void draw_json(const struct table *t, size_t row, struct json *j)
{
	const struct report_table *f = t->form;
	const struct row_view v = view_of(f, row);

	if (is_drawn(f, row, v.row))
		report_graph_json(&v, f->o, &f->rooms[0], j);
}

/* --- forms --- */

void report_table_begin(struct report_table *f, const struct profile *p, size_t event, const struct report_opts *o)
{
	*f = (struct report_table){ .p = p, .o = o };
	if (event >= p->events.n)
		return;
	f->e = &p->events.v[event];
	if (o->metrics && o->metrics[event].order)
		f->metrics = &o->metrics[event];
}

void report_table_rooms(struct report_table *f, u32 workers)
{
	if (f->metrics || f->o->graph == GRAPH_NONE)
		return;
	f->nr_rooms = workers;
	f->rooms = mem_zalloc(workers * sizeof(*f->rooms));
}

/* Of so many rows that are shown, the number of all up to the last of them. */
static size_t rows_up_to(const struct report_table *f, size_t rows, u32 most)
{
	size_t at = 0;

	for (u32 n = 0; at < rows && n < most; at++)
		n += wants(&f->table, at);
	return at;
}

static void set_rows(struct report_table *f, u32 workers)
{
	struct table *t = &f->table;

	t->form = f;
	t->nr_rows = f->group ? f->group->n : f->e ? f->e->rows.n : 0;
	t->has_total = f->metrics != NULL;
	t->wants = wants;
	report_table_rooms(f, workers);
}

void report_table_end(struct report_table *f)
{
	for (u32 i = 0; i < f->nr_rooms; i++)
		graph_room_free(&f->rooms[i]);
	free(f->rooms);
	table_free(&f->table);
}

bool report_group_fits(const struct report_opts *o, u32 members)
{
	u32 n = 0;

	for (u32 k = 0; k < o->nr_columns; k++)
		n += column_is_key(o->columns[k]) ? 1 : members;
	return n <= REPORT_MAX_COLUMNS;
}

/* Beside totals the overhead is called "Self". */
static const char *header_of(const struct report_table *f, u32 column)
{
	bool totals = false;

	for (u32 k = 0; k < f->o->nr_columns; k++)
		totals |= f->o->columns[k] == COLUMN_CHILDREN;
	return column == COLUMN_OVERHEAD && totals ? "Self" : column_header(f->p, column);
}

/* The width that was asked for is that of all members together. */
static void add_values(struct report_table *f, u32 k)
{
	const struct column *of = column_get(f->o->columns[k]);
	u32 n = f->group ? f->group->nr_members : 1;

	for (u32 i = 0; i < n; i++) {
		struct table_column *c =
			table_column_add(&f->table, of->type == COLUMN_PERCENT ? CELL_SHARE : CELL_COUNT, of->key,
					 header_of(f, f->o->columns[k]), get_value);

		c->what = f->o->columns[k];
		c->nth = i;
		c->joined = i > 0;
		c->least = of->width;
		c->asked = (f->o->widths[k] + n - 1 - i) / n;
	}
}

/* Columns of names are narrowed where the table is too wide. */
static void add_label(struct report_table *f, u32 k)
{
	const struct column *of = column_get(f->o->columns[k]);
	struct table_column *c =
		table_column_add(&f->table, CELL_TEXT, of->key, header_of(f, f->o->columns[k]), get_label);

	c->what = f->o->columns[k];
	c->nth = k + 1 == f->o->nr_columns ? KEY_OF_TOTAL : 0;
	c->least = of->width;
	c->asked = f->o->widths[k];
	c->left = of->type == COLUMN_TEXT || of->label;
	c->name = of->type == COLUMN_TEXT;
	c->key_of_row = true;
	c->alike = !of->of_row;
}

static void add_metrics(struct report_table *f)
{
	const struct metric_table *m = &f->metrics->table;

	for (u32 i = 0; i < m->nr_columns && i + f->o->nr_columns < REPORT_MAX_COLUMNS; i++) {
		u32 column = m->columns[i];
		bool count = column >= METRICS_MAX;
		struct table_column *c = table_column_add(&f->table, count ? CELL_REAL : CELL_RATIO, NULL,
							  metric_column_name(m, column), get_metric);

		c->what = column;
		c->decimals = count ? column == METRICS_MAX + METRIC_DISCARD_PERCENT : m->metrics[column].decimals;
		c->of_parts = true;
	}
}

void report_table_text(struct report_table *f, u32 workers)
{
	const struct report_opts *o = f->o;
	bool metrics = false;

	set_rows(f, workers);
	if (o->most_rows)
		f->table.nr_rows = rows_up_to(f, f->table.nr_rows, o->most_rows);
	f->table.draw = f->rooms ? draw : NULL;
	f->table.parts = f->metrics && o->paths ? shown_parts : NULL;
	f->table.part_text = part_text;
	f->table.number = number_of_key;
	f->table.fetch = f->group ? NULL : fetch;
	for (u32 k = 0; k < o->nr_columns; k++) {
		if (column_is_key(o->columns[k]) && f->metrics && !metrics) {
			add_metrics(f);
			metrics = true;
		}
		if (column_is_key(o->columns[k]))
			add_label(f, k);
		else
			add_values(f, k);
	}
	if (f->metrics && !metrics)
		add_metrics(f);
}

/* A column for programs: keys have their numbers or texts. */
static struct table_column *add_data(struct report_table *f, u32 column)
{
	const struct column *of = column_get(column);
	bool key = column_is_key(column);
	struct table_column *c =
		table_column_add(&f->table,
				 of->type == COLUMN_PERCENT ? CELL_SHARE :
				 of->number		    ? CELL_COUNT :
							      CELL_TEXT,
				 of->number ? of->key : column_json(f->p, column), NULL, key ? get_key : get_value);

	c->what = column;
	c->key_of_row = key;
	c->foreign = key && column_key(column) >= SORT_FIELD;
	return c;
}

/* The same, for a group with a value of each member. */
static void add_data_of_all(struct report_table *f, u32 column)
{
	u32 n = f->group && !column_is_key(column) ? f->group->nr_members : 1;

	for (u32 i = 0; i < n; i++) {
		struct table_column *c = add_data(f, column);

		c->nth = i;
		c->listed = f->group && !c->key_of_row;
	}
}

static void add_count(struct report_table *f, const char *key, u32 what, const char *outer, const char *inner)
{
	struct table_column *c = table_column_add(&f->table, CELL_REAL, key, NULL, get_window_count);

	c->what = what;
	c->decimals = TABLE_ALL_DECIMALS;
	c->in[0] = outer;
	c->in[1] = inner;
	c->of_parts = true;
}

static void add_ratio(struct report_table *f, const char *key, u32 metric, const char *outer)
{
	struct table_column *c = table_column_add(&f->table, CELL_RATIO, key, NULL, get_ratio);

	c->what = metric;
	c->in[0] = outer;
	c->foreign = true;
	c->of_parts = true;
}

static const char *member_name(const struct metric_table *t, u32 member)
{
	return t->evlist->events.v[t->windows->group.events[member]].name;
}

u32 report_table_json(struct report_table *f)
{
	static const char *const faults[NR_WINDOW_FAULTS] = {
		[WINDOW_SOUND] = "filtered",	  [WINDOW_FIRST] = "first", [WINDOW_OTHER_THREAD] = "other_thread",
		[WINDOW_THROTTLED] = "throttled", [WINDOW_LOST] = "lost",   [WINDOW_MULTIPLEXED] = "multiplexed",
		[WINDOW_BACKWARDS] = "backwards", [WINDOW_EMPTY] = "empty", [WINDOW_PAUSED] = "paused",
	};
	const struct metric_table *m = f->metrics ? &f->metrics->table : NULL;
	u32 first;

	set_rows(f, 1);
	f->table.draw_json = f->rooms ? draw_json : NULL;
	f->table.parts = m && f->o->paths ? metric_parts : NULL;
	f->table.part_json = part_json;
	f->table.parts_key = "paths";
	for (u32 k = 0; k < f->o->nr_columns; k++)
		add_data_of_all(f, f->o->columns[k]);
	first = (u32)f->table.columns.n;
	if (!m)
		return first;
	add_count(f, "short", WINDOWS_SHORT, "windows", NULL);
	add_count(f, "kept", WINDOWS_KEPT, "windows", NULL);
	add_count(f, "discarded", WINDOWS_DISCARDED, "windows", NULL);
	add_count(f, "clusters", WINDOWS_CLUSTERS, "windows", NULL);
	for (u32 i = 0; i < NR_WINDOW_FAULTS; i++)
		add_count(f, faults[i], WINDOWS_EXCLUDED + i, "windows", "excluded");
	for (u32 i = 0; i < m->windows->group.nr; i++) {
		add_count(f, member_name(m, i), WINDOW_COUNTS + i, "sums", NULL);
		f->table.columns.v[f->table.columns.n - 1].foreign = true;
	}
	for (u32 i = 0; i < m->nr_metrics; i++)
		add_ratio(f, m->metrics[i].name, i, "metrics");
	return first;
}

/* --- CSV --- */

static u32 find_metric(const struct metric_table *t, const char *name)
{
	for (u32 i = 0; t && i < t->nr_metrics; i++)
		if (!strcmp(t->metrics[i].name, name))
			return i;
	return ID_NONE;
}

static u32 find_member(const struct metric_table *t, const char *name)
{
	for (u32 i = 0; t && i < t->windows->group.nr; i++)
		if (!strcmp(member_name(t, i), name))
			return i;
	return ID_NONE;
}

static bool has_metric(const struct metric_fields *f, const char *name)
{
	for (size_t i = 0; i < f->metrics.n; i++)
		if (!strcmp(f->metrics.v[i]->name, name))
			return true;
	return false;
}

static bool has_event(const struct metric_fields *f, const char *name)
{
	for (size_t i = 0; i < f->events.n; i++)
		if (!strcmp(f->events.v[i], name))
			return true;
	return false;
}

void metric_fields_make(const struct profile *p, const struct report_opts *o, struct metric_fields *out)
{
	for (size_t i = 0; o->metrics && i < p->events.n; i++) {
		const struct metric_table *t = &o->metrics[i].table;

		if (!o->metrics[i].order)
			continue;
		for (u32 k = 0; k < t->nr_columns; k++)
			if (t->columns[k] < METRICS_MAX && !has_metric(out, t->metrics[t->columns[k]].name))
				vec_push(&out->metrics, &t->metrics[t->columns[k]]);
		for (u32 k = 0; k < t->windows->group.nr; k++)
			if (!has_event(out, member_name(t, k)))
				vec_push(&out->events, member_name(t, k));
	}
}

void metric_fields_free(struct metric_fields *f)
{
	vec_free(&f->metrics);
	vec_free(&f->events);
}

/* The event comes first in any case: the row's own where all events are in one table. */
static void get_event(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct report_table *f = t->form;
	struct row_view v;

	(void)c;
	out->kind = CELL_TEXT;
	if (r->at == TABLE_TOTAL || !(f->p->sort_keys >> SORT_EVENT & 1)) {
		report_table_name(f, out->text);
		return;
	}
	v = view_of(f, r->at);
	column_text(COLUMN_EVENT, &v, out->text);
}

static void get_whole(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct report_table *f = t->form;
	u32 member = report_table_member(f, c);
	const struct profile_event *e;

	(void)r;
	if (member == ID_NONE)
		return;
	e = f->group ? f->group->members[member] : f->e;
	out->kind = CELL_COUNT;
	out->count = e ? report_whole(e, f->o) : 0;
}

void report_table_name(const struct report_table *f, struct bytes *out)
{
	const struct event *events = f->p->evlist->events.v;
	bool group = f->group && events[f->group->leader].group_members > 1;

	if (!f->group) {
		bytes_str(out, report_event_name(f->p, f->e));
		return;
	}
	bytes_str(out, group ? "{" : "");
	for (u32 i = 0; i < f->group->nr_members; i++)
		bytes_printf(out, "%s%s", i ? "," : "", events[f->group->leader + i].name);
	bytes_str(out, group ? "}" : "");
}

u32 report_table_events(const struct profile *p, const struct report_opts *o)
{
	size_t n = p->evlist->events.n;

	return o->grouped && n <= REPORT_MAX_COLUMNS ? (u32)n : 0;
}

void report_table_name_field(const struct profile *p, u32 event, struct table_column *c)
{
	const struct event *events = p->evlist->events.v;
	u32 before = 0;

	for (u32 i = 0; i < event; i++)
		before += !strcmp(events[i].name, events[event].name);
	c->key_of = events[event].name;
	c->key_number = before ? before + 1 : 0;
}

/* As there is one header for all groups, a field for each event. column: NR_COLUMNS stands for its whole. */
static void add_events_data(struct report_table *f, u32 column)
{
	u32 n = report_table_events(f->p, f->o);

	for (u32 i = 0; i < n; i++) {
		struct table_column *c = column == NR_COLUMNS ?
						 table_column_add(&f->table, CELL_COUNT, "whole", NULL, get_whole) :
						 add_data(f, column);

		c->what = column;
		c->nth = i;
		report_table_name_field(f->p, i, c);
	}
}

static void get_core(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct report_table *f = t->form;

	(void)c;
	(void)r;
	out->kind = CELL_TEXT;
	bytes_put(out->text, f->p->simulated.p, f->p->simulated.len);
}

static void add_metric_fields(struct report_table *f, const struct metric_fields *fields)
{
	const struct metric_table *m = f->metrics ? &f->metrics->table : NULL;

	add_count(f, "windows", WINDOWS_SHORT, NULL, NULL);
	add_count(f, "kept", WINDOWS_KEPT, NULL, NULL);
	add_count(f, "discarded", WINDOWS_DISCARDED, NULL, NULL);
	add_count(f, "excluded", ALL_EXCLUDED, NULL, NULL);
	add_count(f, "clusters", WINDOWS_CLUSTERS, NULL, NULL);
	for (size_t i = 0; i < fields->events.n; i++) {
		u32 member = find_member(m, fields->events.v[i]);

		add_count(f, fields->events.v[i], member != ID_NONE ? WINDOW_COUNTS + member : ID_NONE, NULL, NULL);
		f->table.columns.v[f->table.columns.n - 1].key_prefix = "sum:";
	}
	for (size_t i = 0; i < fields->metrics.n; i++)
		add_ratio(f, fields->metrics.v[i]->name, find_metric(m, fields->metrics.v[i]->name), NULL);
}

void report_table_simulated(const struct profile *p, struct table *t, table_get get)
{
	if (p->simulated.len)
		table_column_add(t, CELL_TEXT, "simulated", NULL, get);
}

void report_table_csv(struct report_table *f, const struct metric_fields *fields)
{
	const struct report_opts *o = f->o;
	u32 last = ID_NONE;

	set_rows(f, 1);
	table_column_add(&f->table, CELL_TEXT, "event", NULL, get_event);
	if (o->grouped)
		add_events_data(f, NR_COLUMNS);
	else
		table_column_add(&f->table, CELL_COUNT, "whole", NULL, get_whole);
	for (u32 k = 0; k < o->nr_columns; k++) {
		if (o->columns[k] == COLUMN_EVENT)
			continue;
		if (o->grouped && !column_is_key(o->columns[k]))
			add_events_data(f, o->columns[k]);
		else
			add_data(f, o->columns[k]);
		last = column_is_key(o->columns[k]) ? (u32)f->table.columns.n - 1 : last;
	}
	if (last != ID_NONE)
		f->table.columns.v[last].nth = KEY_OF_TOTAL;
	if (o->metrics)
		add_metric_fields(f, fields);
	report_table_simulated(f->p, &f->table, get_core);
}
