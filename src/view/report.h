/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Report: a profile as a table, as text in the layout of `perf report --stdio`, as CSV and as JSON. All three write
 * into a struct bytes, which empties itself into a file (base/bytes.h). Options and profile are not changed; the state
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
	u32 widths[REPORT_MAX_COLUMNS]; /* of the columns in order; wider text is cut; 0: the width of the text */

	enum graph_style graph;
	enum graph_value graph_value;
	double graph_min; /* percent: lighter branches are left out */
	u32 graph_limit;  /* branches per level; 0: all */
	u32 graph_depth;  /* frames per stack; 0: all */
	bool caller;	  /* outermost frame first */
	/* Is this row's graph drawn in text? NULL: those of all rows are. Called by several threads. */
	bool (*draws)(void *ctx, const struct row_view *v);
	void *draws_ctx;
	bool repeat_name; /* the graph starts with the symbol even if the row does */

	/* By column: the value, if the filters leave only one, which is then shown above the table; or NULL. */
	const char *only[NR_COLUMNS];
	double percent_limit; /* rows below are left out */
	u32 most_rows;	      /* the largest number of rows of a text table; 0: all */
	bool relative;	      /* percentages are of what the filters leave, not of everything recorded */
	bool hide_unresolved;
	bool long_names;
	bool cuts;	 /* list the files in which stacks are cut */
	bool hierarchy;	 /* rows as a tree of their keys */
	bool quiet;	 /* no lines that begin with # */
	bool only_table; /* of those lines, only the names of the columns */
	bool whole_head; /* everything about how windows were made, instead of one line */
	bool legend;	 /* below a table of metrics, explain its columns */
	u32 only_event;	 /* 1 + index in the profile; 0: all */
	bool color;
	u32 room;	  /* columns of the terminal; 0: there is none */
	bool whole_names; /* columns of names are as wide as their text, or as widths[] says, whatever the room */
	char separator;	  /* fields are separated by it and not padded; 0: aligned columns */

	struct metrics_opts wanted;	      /* for report_metrics_make */
	bool paths;			      /* below a row with windows, show those of each of its stacks */
	bool fractal_paths;		      /* graph_min is of the row, not of the whole */
	const struct report_metrics *metrics; /* by event of the profile; NULL: windows are not shown */
	const char *left_out;		      /* the option that leaves out metrics of this recording, or NULL */
	bool grouped;			      /* events of a group in one table; if there is no group, all events */
};

/* Decides what is shown about windows. NULL, with *err 0, if no event has any. Free it with report_metrics_free. */
struct report_metrics *report_metrics_make(const struct profile *p, const struct report_opts *o,
					   const struct notify *to, int *err);
void report_metrics_free(struct report_metrics *m, const struct profile *p);
/* Says how the event's windows were made and how many were used, in lines that begin with #; only one line unless
 * whole. */
void report_windows_head(const struct profile *p, const struct profile_event *e, bool whole, struct bytes *out);
/* Says how the table could be improved. */
void report_windows_foot(const struct profile *p, const struct profile_event *e, const struct metric_table *t,
			 struct bytes *out);
/* Explains the columns of metrics, in lines that begin with #. */
void report_windows_legend(const struct metric_table *t, struct bytes *out);
/* "within lines 3-5 of a.c" */
void report_windows_range(const struct code_range *r, struct bytes *out);
/* "leaf < caller < its caller": the stack that ends in a node. A leaf that the row already names is left out, unless
 * it is inlined or alone. */
void report_windows_path(const struct row_view *v, u32 node, bool named, struct bytes *out);
void report_text(const struct profile *p, const struct report_opts *o, struct bytes *out);
void report_csv(const struct profile *p, const struct report_opts *o, struct bytes *out);
/* {"meta":{},"tally":{},"events":[{"name","weight","samples","whole","samples","rows":[{column: value, ...,
 * "graph":[]}]}]}. Weights are raw; a percentage is a weight of the event's "whole". Of a group (--group) the numbers
 * of the event are in "members":[{"name","weight","whole","samples"}], and values are lists with one for each of them.
 */
void report_json(const struct profile *p, const struct report_opts *o, struct bytes *out);

/* The default columns of a profile. */
void report_default_columns(const struct profile *p, bool samples, bool period, struct report_opts *o);

/* Is the row part of the table? */
bool report_wants(const struct row_view *v, const struct report_opts *o);
/* The value that is 100 %; the same in call graphs, where it may be a number of samples. */
u64 report_whole(const struct profile_event *e, const struct report_opts *o);
u64 report_graph_whole(const struct profile_event *e, const struct report_opts *o);
const char *report_event_name(const struct profile *p, const struct profile_event *e);
/* The row's stacks in the form that the options ask for, or NULL. */
const struct graph_node *report_row_graph(const struct row_view *v, const struct report_opts *o,
					  struct graph_room *room);

/* The lines above the text tables: how far the recording can be trusted; the name and weight of an event, or of its
 * group. */
void report_recording_head(const struct profile *p, struct bytes *out);
/* The same counts as a member of the object that the caller opened. */
void report_tally_json(const struct profile *p, struct json *j);
/* Of these lines, and of these members, what is said of stacks. */
void report_stack_ends(const struct profile *p, struct bytes *out);
void report_stacks_json(const struct profile *p, struct json *j);
/* More lines: the files in which stacks are cut. */
void report_stack_cuts(const struct profile *p, struct bytes *out);
void report_event_head(const struct profile *p, const struct profile_event *e, const struct group_rows *g,
		       struct bytes *out);

/* Writes this graph below the row's line, in the style of o. */
void report_graph(const struct row_view *v, const struct report_opts *o, struct graph_room *room, struct bytes *out);
/* The same as a member of the row's object, if there is a graph. */
void report_graph_json(const struct row_view *v, const struct report_opts *o, struct graph_room *room, struct json *j);

#endif
