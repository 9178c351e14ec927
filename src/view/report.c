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
		if (event_windows(&p->events.v[i]) &&
		    !metric_table_make(t, p->evlist, event_windows(&p->events.v[i]), wanted, NULL) &&
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

		if (!event_windows(e))
			continue;
		m = m ? m : mem_zalloc((p->events.n + 1) * sizeof(*m));
		*err = metric_table_make(&m[i].table, p->evlist, event_windows(e), &wanted, to);
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

	if (o->graph == GRAPH_NONE)
		return NULL;
	if (o->graph == GRAPH_GRAPH)
		g.min_weight = (u64)ceil((double)report_graph_whole(v->event, o) * o->graph_min / 100);
	return profile_row_graph(v->profile, v->event, v->row, &g, room);
}
