/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as CSV: one header line, then one line per row of every event, or of every group (--group), where each
 * event has fields of its own. A share is two fields, the raw weight and its percentage of "whole". Events with
 * windows have one more line for all their rows. Counts of the virtual PMU have the core's name in a last field.
 */
#include "view/report_table.h"

struct csv {
	const struct profile *p;
	const struct report_opts *o;
	const struct metric_fields *fields;
	struct bytes *out;
};

/* event: as for report_table_begin; of none, the header, as all tables have the same columns. */
static void put_table(size_t event, const struct group_rows *group, u32 apart, void *ctx)
{
	struct csv *c = ctx;
	struct report_table f;

	(void)apart;
	if (!group && event < c->p->events.n && c->p->events.v[event].helper)
		return;
	report_table_begin(&f, c->p, event, c->o);
	f.group = group;
	if (c->o->hierarchy) {
		report_hierarchy_csv(&f, c->out);
		report_table_end(&f);
		return;
	}
	report_table_csv(&f, c->fields);
	if (f.e)
		table_csv_rows(&f.table, c->out);
	else
		table_csv_header(&f.table, c->out);
	report_table_end(&f);
}

void report_csv(const struct profile *p, const struct report_opts *o, struct bytes *out)
{
	struct metric_fields fields = { 0 };
	struct report_opts own = *o;
	struct csv c = { p, &own, &fields, out };

	own.grouped = report_table_events(p, o) > 0;
	metric_fields_make(p, o, &fields);
	put_table(p->events.n, NULL, 0, &c);
	report_each(p, &own, false, put_table, &c);
	metric_fields_free(&fields);
}
