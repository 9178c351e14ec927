/* SPDX-License-Identifier: Apache-2.0 */
/* The report's form: the rows of one event, or of a group of events side by side, as a table for each printer. */
#ifndef VIEW_REPORT_TABLE_H
#define VIEW_REPORT_TABLE_H

#include "view/report.h"
#include "view/table.h"

/* The state of a table of the report: everything that changes while a report is written. */
struct report_table {
	const struct profile *p;
	const struct profile_event *e; /* for a group: the first event that has samples */
	const struct report_opts *o;
	const struct report_metrics *metrics; /* of e, if its table shows metrics; or NULL */
	const struct group_rows *group;	      /* the group, if values have a column per member; or NULL */
	struct graph_room *rooms;	      /* per worker, for drawings; NULL: no graphs */
	u32 nr_rooms;
	u64 without_values; /* metrics that are not columns, as no row has a value (report_fit_empty) */
	struct table table;
};

/* The CSV fields of all events' metrics that are columns, and of their groups' members, each name once; if an event
 * lacks one, its fields are empty. */
struct metric_fields {
	VEC(const struct metric *) metrics;
	VEC(const char *) events;
};

/* Calls fn for each table: with the number of its event in p, or with a group (--group) and the number of its first
 * event that has samples. apart: this event is the first of that many that did not fit into one table; else 0. As
 * text, REPORT_MAX_COLUMNS fit into one; else that many events, which bounds what a recording of thousands of them
 * takes. */
typedef void (*report_each_fn)(size_t event, const struct group_rows *group, u32 apart, void *ctx);
void report_each(const struct profile *p, const struct report_opts *o, bool text, report_each_fn fn, void *ctx);

/* Prepares the table for event number `event` of p. */
void report_table_begin(struct report_table *f, const struct profile *p, size_t event, const struct report_opts *o);
/* The columns for each printer; for a group, set f->group before. */
void report_table_text(struct report_table *f, u32 workers);
void report_table_csv(struct report_table *f, const struct metric_fields *fields);
/* Returns the number of the first column that is also in the line for all rows. */
u32 report_table_json(struct report_table *f);
void report_table_end(struct report_table *f);

/* Does this number of members fit into one table? */
bool report_group_fits(const struct report_opts *o, u32 members);
/* The number of column k of the table among the event's metrics, or ID_NONE. */
u32 report_table_metric(const struct report_table *f, size_t k);

/* Of windows of a clock: leaves out the metrics of which no row has a value, unless the user chose what is shown, and
 * says so in a line. */
void report_fit_empty(struct report_table *f, struct bytes *out);
/* If the table is wider than the terminal, leaves something out. False: nothing had to be left out. */
bool report_fit_step(struct report_table *f, const struct table_text *x);
/* Says what was left out. */
void report_fit_head(const struct report_table *f, struct bytes *out);

void metric_fields_make(const struct profile *p, const struct report_opts *o, struct metric_fields *out);
void metric_fields_free(struct metric_fields *f);

/* Memory for the graphs of this number of workers, if there are graphs. */
void report_table_rooms(struct report_table *f, u32 workers);

/* The name of the table's event; of a group, "{cycles,branches}", without the braces if it is just all events. */
void report_table_name(const struct report_table *f, struct bytes *out);
/* With --group the fields of CSV are of this many events of the evlist: 0 without it, and where they are too many. */
u32 report_table_events(const struct profile *p, const struct report_opts *o);
/* Names column c of CSV after that event. */
void report_table_name_field(const struct profile *p, u32 event, struct table_column *c);
/* The columns behind all others in CSV that each form has. */
void report_table_simulated(const struct profile *p, struct table *t, table_get get);
/* The member of the table's group that a column of values is of: c->nth, or where the column is named after an event
 * of the evlist (c->key_of), that event, if it is in the group. ID_NONE: it is not. The only event of a table is 0. */
u32 report_table_member(const struct report_table *f, const struct table_column *c);

/* The rows as a tree of their keys: a table of its own. For CSV's header, of no event. */
void report_hierarchy(struct report_table *f, const struct table_print *how, struct bytes *out);
void report_hierarchy_csv(struct report_table *f, struct bytes *out);
void report_hierarchy_json(struct report_table *f, struct json *j);

#endif
