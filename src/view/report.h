/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: a profile as a table, in text as `perf report --stdio` lays it out, in CSV and in JSON. All three write into
 * a struct bytes, which empties itself into a file (base/bytes.h). Options and profile stay as they are; what changes
 * while a report is written is in struct report_table (view/report_table.h).
 */
#ifndef VIEW_REPORT_H
#define VIEW_REPORT_H

#include "agg/columns.h"
#include "agg/group_rows.h"
#include "base/json.h"
#include "metric/metrics.h"

enum graph_style {
	GRAPH_NONE,
	GRAPH_GRAPH,   /* branches with their share of the event */
	GRAPH_FRACTAL, /* branches with their share of the branch above */
	GRAPH_FLAT,    /* one block per stack */
	GRAPH_FOLDED,  /* one line per stack */
};

enum graph_value { GRAPH_PERCENT, GRAPH_PERIOD, GRAPH_COUNT };

#define REPORT_MAX_COLUMNS 64

/* How an event with windows is shown. */
struct report_metrics {
	struct metric_table table;
	u32 *order; /* of its rows */
};

struct report_opts {
	u8 columns[REPORT_MAX_COLUMNS]; /* enum column_id, as shown */
	u32 nr_columns;
	u32 workers;			/* threads; 0: one per CPU */
	u32 widths[REPORT_MAX_COLUMNS]; /* of the columns in order, wider text is cut; 0: what the text needs */

	enum graph_style graph;
	enum graph_value graph_value;
	double graph_min; /* percent: lighter branches are left out */
	u32 graph_limit;  /* branches per level; 0: all */
	u32 graph_depth;  /* frames per stack; 0: all */
	bool caller;	  /* outermost frame first */
	bool repeat_name; /* below rows that start with the symbol, too, the graph starts with it */

	/* By column: what the filters leave of it when that is one value, which stands above the table then; or NULL.
	 */
	const char *only[NR_COLUMNS];
	double percent_limit; /* rows below are left out */
	u32 most_rows;	      /* of a text table, so many at most, the first ones; 0: all */
	bool relative;	      /* percentages are of what the filters left, not of everything recorded */
	bool hide_unresolved;
	bool long_names;
	bool hierarchy;	 /* rows as a tree of their keys */
	bool quiet;	 /* no lines that begin with # */
	bool only_table; /* of those, only the names of the columns */
	bool whole_head; /* all that is known of how windows were made, not one line of it */
	bool legend;	 /* below a table of metrics: what its columns say */
	u32 only_event;	 /* 1 + index in the profile; 0: all */
	bool color;
	u32 room;	  /* columns of the terminal; 0: there is none */
	bool whole_names; /* columns of names are as wide as they need, or as widths[] says, whatever the room */
	char separator;	  /* fields are parted by it and not padded; 0: aligned columns */

	struct metrics_opts wanted;	      /* for report_metrics_make */
	bool paths;			      /* below a row with windows, those of each of its stacks */
	bool fractal_paths;		      /* graph_min is of the row, not of the whole */
	const struct report_metrics *metrics; /* by event of the profile, or NULL: nothing is shown of windows */
	bool grouped;			      /* events of a group in one table; of none, all of them */
};

/* Settles what is shown of windows. NULL, with *err 0, when no event has any. Free it with report_metrics_free. */
struct report_metrics *report_metrics_make(const struct profile *p, const struct report_opts *o,
					   const struct notify *to, int *err);
void report_metrics_free(struct report_metrics *m, const struct profile *p);
/* Says how the event's windows were made and what became of them; lines that begin with #, one unless whole. */
void report_windows_head(const struct profile *p, const struct profile_event *e, bool whole, struct bytes *out);
/* What is to be said of a table that could be better, and how. */
void report_windows_foot(const struct profile_event *e, struct bytes *out);
/* Says what the columns of metrics are; lines that begin with #. */
void report_windows_legend(const struct metric_table *t, struct bytes *out);
/* "within lines 3-5 of a.c" */
void report_windows_range(const struct code_range *r, struct bytes *out);
/* "leaf < caller < its caller": the stack that ends in a node. A leaf that the row names is left out, unless it is
 * inlined or alone. */
void report_windows_path(const struct row_view *v, u32 node, bool named, struct bytes *out);
void report_text(const struct profile *p, const struct report_opts *o, struct bytes *out);
void report_csv(const struct profile *p, const struct report_opts *o, struct bytes *out);
/* {"meta":{},"tally":{},"events":[{"name","weight","samples","whole","samples","rows":[{column: value, ...,
 * "graph":[]}]}]}. Weights are raw; a percentage is a weight of the event's "whole". */
void report_json(const struct profile *p, const struct report_opts *o, struct bytes *out);

/* The columns that a profile is shown with when the user named none. */
void report_default_columns(const struct profile *p, bool samples, bool period, struct report_opts *o);

/* Whether the row belongs into the table. */
bool report_wants(const struct row_view *v, const struct report_opts *o);
/* What 100 % stands for; and in call graphs, where it may be a number of samples. */
u64 report_whole(const struct profile_event *e, const struct report_opts *o);
u64 report_graph_whole(const struct profile_event *e, const struct report_opts *o);
const char *report_event_name(const struct profile *p, const struct profile_event *e);
/* The row's stacks as the options want them, or NULL. */
const struct graph_node *report_row_graph(const struct row_view *v, const struct report_opts *o,
					  struct graph_room *room);

/* What stands above the text tables: how far the recording can be trusted; an event's name and weight, or its group's.
 */
void report_recording_head(const struct profile *p, struct bytes *out);
void report_event_head(const struct profile *p, const struct profile_event *e, const struct group_rows *g,
		       struct bytes *out);

/* Writes that graph below the row's line, in the style of o. */
void report_graph(const struct row_view *v, const struct report_opts *o, struct graph_room *room, struct bytes *out);
/* The same as a member of the row's object, where there is one. */
void report_graph_json(const struct row_view *v, const struct report_opts *o, struct graph_room *room, struct json *j);

#endif
