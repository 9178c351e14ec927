/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as CSV: one header line, then one line per row of every event. A share is two fields, the raw weight and
 * its percentage of "whole". Events with windows have one more line for all their rows. Counts of the virtual PMU have
 * the core's name in a last field.
 */
#include "view/report_table.h"

void report_csv(const struct profile *p, const struct report_opts *o, struct bytes *out)
{
	struct metric_fields fields = { 0 };
	struct report_table f;

	metric_fields_make(p, o, &fields);
	/* Of no event: all tables have these columns. */
	report_table_begin(&f, p, p->events.n, o);
	report_table_csv(&f, &fields);
	table_csv_header(&f.table, out);
	report_table_end(&f);
	for (size_t i = 0; i < p->events.n; i++) {
		report_table_begin(&f, p, i, o);
		report_table_csv(&f, &fields);
		if (f.e->helper)
			f.table.nr_rows = 0;
		table_csv_rows(&f.table, out);
		report_table_end(&f);
	}
	metric_fields_free(&fields);
}
