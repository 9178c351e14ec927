/* SPDX-License-Identifier: Apache-2.0 */
/* What text, CSV and JSON reports have in common. */
#include "view/report.h"

#include <math.h>

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

u64 report_whole(const struct profile_event *e, const struct report_opts *o)
{
	return o->relative ? e->row_weight : MAX(e->weight, e->unfiltered);
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
	struct graph_opts g = { .caller = o->caller, .max_depth = o->graph_depth };

	if (o->graph == GRAPH_NONE)
		return NULL;
	if (o->graph == GRAPH_GRAPH)
		g.min_weight = (u64)((double)report_whole(v->event, o) * o->graph_min / 100);
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
