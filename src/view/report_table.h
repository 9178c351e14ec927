/* SPDX-License-Identifier: Apache-2.0 */
/* The report's form: the rows of one event, or of a group of events side by side, as a table for each printer. */
#ifndef VIEW_REPORT_TABLE_H
#define VIEW_REPORT_TABLE_H

#include "view/report.h"
#include "view/table.h"

/* What a table of the report is made of: all that changes while a report is written. */
struct report_table {
	const struct profile *p;
	const struct profile_event *e; /* of a group: the first one that has samples */
	const struct report_opts *o;
	const struct report_metrics *metrics; /* of e, when its table is one of metrics; or NULL */
	const struct group_rows *group;	      /* whose values have a column per member; or NULL */
	struct graph_room *rooms;	      /* per worker, for drawings; NULL: no graphs */
	u32 nr_rooms;
	struct table table;
};

/* The fields of all events' metrics in CSV, as far as they are columns, and of their groups' members, each name once;
 * where an event lacks one its fields are empty. */
struct metric_fields {
	VEC(const struct metric *) metrics;
	VEC(const char *) events;
};

/* What is shown of event number `event` of p. */
void report_table_begin(struct report_table *f, const struct profile *p, size_t event, const struct report_opts *o);
/* The columns for each printer; of a group, set f->group before. */
void report_table_text(struct report_table *f, u32 workers);
void report_table_csv(struct report_table *f, const struct metric_fields *fields);
/* Returns the number of the first column of what all rows together have, too. */
u32 report_table_json(struct report_table *f);
void report_table_end(struct report_table *f);

/* Whether so many members fit into one table. */
bool report_group_fits(const struct report_opts *o, u32 members);
/* The column of the event's metrics that column k of the table is, or ID_NONE. */
u32 report_table_metric(const struct report_table *f, size_t k);

/* Where the table is wider than the terminal: leaves something out. False: nothing to be done. */
bool report_fit_step(struct report_table *f, const struct table_text *x);
/* Says what was left out. */
void report_fit_head(const struct report_table *f, struct bytes *out);

void metric_fields_make(const struct profile *p, const struct report_opts *o, struct metric_fields *out);
void metric_fields_free(struct metric_fields *f);

/* Room for the graphs of so many workers, when there are graphs. */
void report_table_rooms(struct report_table *f, u32 workers);

/* The rows as a tree of their keys, as text: a table of its own. */
void report_hierarchy(struct report_table *f, const struct table_print *how, struct bytes *out);

#endif
