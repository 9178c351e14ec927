/* SPDX-License-Identifier: Apache-2.0 */
/* Which tables a report has: one of each event, or with --group one of each group of events. */
#include "view/report_table.h"

struct each {
	const struct profile *p;
	report_each_fn fn;
	void *ctx;
};

/* The table of n events of the evlist, of which some have samples, or not. apart: as for fn. */
static bool make_one(const struct each *e, u32 leader, u32 n, u32 apart)
{
	struct group_rows g;
	bool any;

	group_rows_make(e->p, leader, n, &g);
	any = g.first;
	if (any)
		e->fn((size_t)(g.first - e->p->events.v), n > 1 ? &g : NULL, apart, e->ctx);
	group_rows_free(&g);
	return any;
}

/* Where there is no group, all events are one. Those that are too many have a table each, and the first of them tells.
 */
static void make_groups(const struct each *e, const struct report_opts *o, bool text)
{
	const struct evlist *l = e->p->evlist;
	bool groups = false;
	u32 apart = 0;

	for (size_t i = 0; i < l->events.n; i++)
		groups |= l->events.v[i].leader != i;
	for (u32 leader = 0, n; leader < l->events.n; leader += n) {
		n = groups ? 1 : (u32)l->events.n;
		while (groups && leader + n < l->events.n && l->events.v[leader + n].leader == leader)
			n++;
		if (n > 1 && (text ? !report_group_fits(o, n) : n > REPORT_MAX_COLUMNS)) {
			apart = n;
			groups = true; /* each is on its own from here on */
			n = 1;
		}
		if (make_one(e, leader, n, apart))
			apart = 0;
	}
}

void report_each(const struct profile *p, const struct report_opts *o, bool text, report_each_fn fn, void *ctx)
{
	if (o->grouped)
		make_groups(&(struct each){ p, fn, ctx }, o, text);
	for (size_t i = 0; i < p->events.n && !o->grouped; i++)
		fn(i, NULL, 0, ctx);
}
