/* SPDX-License-Identifier: Apache-2.0 */
/* What text, CSV and JSON reports have in common. */
#include "view/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void report_default_columns(const struct profile *p, bool samples, bool period, struct report_opts *o)
{
	o->nr_columns = 0;
	if (p->children)
		o->columns[o->nr_columns++] = COLUMN_CHILDREN;
	o->columns[o->nr_columns++] = COLUMN_OVERHEAD;
	if (samples)
		o->columns[o->nr_columns++] = COLUMN_SAMPLES;
	if (period)
		o->columns[o->nr_columns++] = COLUMN_PERIOD;
	for (u32 i = 0; i < p->nr_sort; i++)
		o->columns[o->nr_columns++] = (u8)column_of_key(p->sort_order[i]);
}

/* Does some group give all of this? */
static bool some_group_has(const struct profile *p, const struct metrics_opts *wanted, struct metric_table *t)
{
	for (size_t i = 0; i < p->events.n; i++)
		if (p->events.v[i].windows && !metric_table_make(t, p->evlist, p->events.v[i].windows, wanted, NULL) &&
		    t->nr_columns >= wanted->columns.n && t->nr_sort >= wanted->sort.n)
			return true;
	return false;
}

/* What is wanted of metrics need not be had from each group, if each thing can be from one. */
static bool groups_have_all(const struct profile *p, const struct metrics_opts *wanted)
{
	struct metric_table *t = mem_zalloc(sizeof(*t));
	bool all = true;

	for (u32 i = 0; i < wanted->own.n && all; i++)
		all = some_group_has(p, &(struct metrics_opts){ .own = { wanted->own.v + i, 1 } }, t);
	for (u32 i = 0; i < wanted->columns.n && all; i++) {
		struct metrics_opts one = { .own = wanted->own, .columns = { wanted->columns.v + i, 1 } };

		one.lenient = true;
		all = some_group_has(p, &one, t);
	}
	for (u32 i = 0; i < wanted->sort.n && all; i++) {
		struct metrics_opts one = { .own = wanted->own, .sort = { wanted->sort.v + i, 1 }, .lenient = true };

		all = some_group_has(p, &one, t);
	}
	free(t);
	return all;
}

/* A set that was asked for may need events that no group has. */
static void note_empty_sets(const struct profile *p, const struct report_metrics *m, const struct name_list *sets,
			    const struct notify *to)
{
	for (u32 i = 0; m && i < sets->n; i++) {
		bool any = false;

		for (size_t k = 0; k < p->events.n && !any; k++)
			any = m[k].order && metric_table_has_set(&m[k].table, sets->v[i]);
		if (!any)
			notify_warn(to, "option --metrics: no group of this recording has the events that '%s' needs",
				    sets->v[i]);
	}
}

struct report_metrics *report_metrics_make(const struct profile *p, const struct report_opts *o,
					   const struct notify *to, int *err)
{
	struct metrics_opts wanted = o->wanted;
	struct report_metrics *m = NULL;

	*err = 0;
	wanted.lenient = groups_have_all(p, &o->wanted);
	for (size_t i = 0; i < p->events.n && !*err; i++) {
		const struct profile_event *e = &p->events.v[i];

		if (!e->windows)
			continue;
		m = m ? m : mem_zalloc((p->events.n + 1) * sizeof(*m));
		*err = metric_table_make(&m[i].table, p->evlist, e->windows, &wanted, to);
		if (!*err)
			m[i].order = metric_order(&m[i].table, (u32)e->rows.n);
	}
	if (*err) {
		report_metrics_free(m, p);
		return NULL;
	}
	note_empty_sets(p, m, &o->wanted.sets, to);
	return m;
}

void report_metrics_free(struct report_metrics *m, const struct profile *p)
{
	for (size_t i = 0; m && i < p->events.n; i++)
		free(m[i].order);
	free(m);
}

struct report_opts report_plain_event_opts(const struct report_opts *o, size_t event)
{
	struct report_opts with = *o;

	if (!o->metrics || !o->metrics[event].order)
		return with;
	with.now = &o->metrics[event];
	with.graph = GRAPH_NONE;
	return with;
}

struct report_opts report_event_opts(const struct report_opts *o, size_t event)
{
	struct report_opts with = report_plain_event_opts(o, event);
	u32 at = 0, n, keys;

	if (!with.now)
		return with;
	while (at < o->nr_columns && !column_is_key(o->columns[at]))
		at++;
	keys = o->nr_columns - at;
	n = MIN(with.now->table.nr_columns, REPORT_MAX_COLUMNS - o->nr_columns);
	memmove(with.columns + at + n, with.columns + at, keys);
	memmove(with.widths + at + n, with.widths + at, keys * sizeof(*with.widths));
	for (u32 i = 0; i < n; i++) {
		with.columns[at + i] = (u8)(REPORT_METRIC + i);
		with.widths[at + i] = 0;
	}
	with.nr_columns += n;
	return with;
}

int report_group_opts(struct report_opts *o, u32 members)
{
	struct report_opts to = *o;

	to.nr_columns = 0;
	for (u32 k = 0; k < o->nr_columns; k++) {
		u32 n = !column_is_key(o->columns[k]) ? members : 1;

		if (n > REPORT_MAX_COLUMNS - to.nr_columns)
			return ERR_LIMIT;
		for (u32 i = 0; i < n; i++, to.nr_columns++) {
			to.columns[to.nr_columns] = o->columns[k];
			to.widths[to.nr_columns] = o->widths[k];
			to.member[to.nr_columns] = (u8)i;
		}
	}
	*o = to;
	return 0;
}

struct row_view report_column_view(const struct row_view *v, const struct report_opts *o, u32 k)
{
	static const struct row no_row;
	static const struct profile_event no_event;
	struct row_view of = *v;

	if (column_is_key(o->columns[k]))
		return of;
	of.event = o->group->members[o->member[k]];
	of.event = of.event ? of.event : (struct profile_event *)&no_event;
	of.row = v->line->rows[o->member[k]];
	of.row = of.row ? of.row : &no_row;
	return of;
}

void report_set_row(struct row_view *v, const struct report_opts *o, size_t i)
{
	size_t row = o->now ? o->now->order[i] : i;

	v->line = o->group ? &o->group->lines[i] : NULL;
	if (v->line) {
		v->row = v->line->shown;
		return;
	}
	v->row = &v->event->rows.v[row];
	v->windows = o->now ? profile_window_row(v->event->windows, row) : NULL;
}

u64 report_whole(const struct profile_event *e, const struct report_opts *o)
{
	return o->relative ? e->row_weight : MAX(e->weight, e->unfiltered);
}

u64 report_graph_whole(const struct profile_event *e, const struct report_opts *o)
{
	return o->graph_value == GRAPH_COUNT ? e->samples : report_whole(e, o);
}

bool report_wants(const struct row_view *v, const struct report_opts *o)
{
	const struct row *r = v->row;
	u64 weight = v->profile->children ? r->total : r->self;

	return share_of(weight, report_whole(v->event, o)) >= o->percent_limit;
}

const char *report_event_name(const struct profile *p, const struct profile_event *e)
{
	return p->evlist->events.v[e->event].name;
}

/* Styles whose branches are weighed against something else than the whole get all of them, and prune themselves. */
const struct graph_node *report_row_graph(const struct row_view *v, const struct report_opts *o,
					  struct graph_room *room)
{
	struct graph_opts g = { .caller = o->caller,
				.max_depth = o->graph_depth,
				.samples = o->graph_value == GRAPH_COUNT };

	if (o->graph == GRAPH_NONE || (v->line && v->row != v->line->rows[v->event->event - o->group->leader]))
		return NULL;
	if (o->graph == GRAPH_GRAPH)
		g.min_weight = (u64)ceil((double)report_graph_whole(v->event, o) * o->graph_min / 100);
	return profile_row_graph(v->profile, v->event, v->row, &g, room);
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

void report_percent(double percent, int width, bool color, struct bytes *out)
{
	const char *paint = !color ? NULL : percent >= 5 ? "\033[31m" : percent >= 0.5 ? "\033[32m" : NULL;

	if (paint)
		bytes_str(out, paint);
	put_percent(percent, width, out);
	if (paint)
		bytes_str(out, "\033[m");
}
