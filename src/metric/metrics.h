/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: ratios of what windows counted, one table of them for all views.
 *
 * A metric is a formula over roles (codec/event_role.h). Which ones a table shows follows from the events that were
 * recorded: the usual set first, then whatever else says something of the other members.
 *
 * By default what is shown rests on samples and on windows together: metric/estimate.c, which begins with the reasons.
 * What follows is about windows alone.
 *
 * A ratio R of sums over n clusters of windows has the variance g' C g, where g is the formula's gradient and C the
 * covariance of the sums, n/(n-1) (sum of products - product of sums / n). The interval is Student's, with n - 1
 * degrees of freedom. Shares of a total take all rows' clusters for n: that a cluster lies in this row is as random as
 * what it counted; and the kept windows of each row stand for all that ended there (agg/window_rows.h). Where the
 * numerator counts something so rare that few clusters have any, the variance is at least that of two clusters more:
 * none seen does not mean that there are none. That holds for any formula: its numerator is taken as linear in the
 * sums, and the clusters are of that of its rare events which adds most.
 *
 * What a call takes (METRIC_PER_CALL) is no sum of windows: all that the samples of a row stand for, by the calls that
 * another event tells of (agg/window_calls.h). Both are counts of samples, whose relative variance is one by their
 * number.
 */
#ifndef METRIC_METRICS_H
#define METRIC_METRICS_H

#include "agg/window_rows.h"
#include "base/bytes.h"
#include "metric/expr.h"

#define METRICS_MAX 32
#define METRIC_SORTS 8
#define METRIC_PER_CALL "self/calls" /* a formula, of a kind */
#define METRIC_FEW_WINDOWS 30	     /* rows with fewer kept windows are marked */

struct metric_def {
	const char *name; /* header in tables; what options call it, in any case */
	const char *set;
	const char *formula;
	u8 decimals;
	const char *help;
};
extern const struct metric_def metric_defs[];
extern const u32 nr_metric_defs;

/* What the user asked for. */
struct metrics_opts {
	struct name_list sets;	  /* none: by what was recorded */
	struct name_list own;	  /* "name=formula" */
	struct name_list columns; /* none: all of the sets */
	bool lenient;		  /* leave out what the group's events do not give; another group's may */
	struct name_list sort;	  /* metrics, or names of metric_counts, the first one first; none: rows as they are */
};

struct metric {
	char name[32];
	char formula[128];
	const char *help; /* what it says, in words; NULL: the formula has to do */
	u8 decimals;
	bool per_call; /* no formula over windows: the weight of the row's samples by its calls */
	struct metric_expr expr;
};

/* Besides metrics, tables can show and be sorted by these numbers of windows. */
enum metric_count { METRIC_WINDOWS, METRIC_KEPT, METRIC_DISCARD_PERCENT, METRIC_CALLS, NR_METRIC_COUNTS };
extern const char *const metric_count_names[NR_METRIC_COUNTS]; /* "#", "kept", "disc%", "calls" */
extern const char *const metric_count_help[NR_METRIC_COUNTS];

/* Which of them, in order: metrics by their index, counts from METRICS_MAX on. */
struct metric_table {
	const struct profile_windows *windows;
	const struct evlist *evlist;
	struct metric metrics[METRICS_MAX];
	u32 nr_metrics;
	u8 columns[METRICS_MAX + NR_METRIC_COUNTS];
	u32 nr_columns;
	u8 sort[METRIC_SORTS]; /* as columns */
	u32 nr_sort;	       /* 0: rows as they are */
};

struct metric_value {
	double value; /* NAN: nothing to divide by */
	double num, den;
	double variance, half; /* of the value; half the 95 % interval. NAN: fewer than two clusters */
	double low, high;      /* the 95 % interval; need not lie evenly around the value */
	bool doubtful;	       /* rests on so little, or may be so far off, that tables mark it */
};

/* Chooses and binds. ERR_USAGE, noted, when something that was named is not there. */
int metric_table_make(struct metric_table *t, const struct evlist *l, const struct profile_windows *w,
		      const struct metrics_opts *o, const struct notify *to);
void metric_value(const struct metric_table *t, u32 metric, const double *block, struct metric_value *out);
/* A column's number: what rows are sorted by. NAN: none. doubtful: is it one that tables mark? Or NULL. */
double metric_column_value(const struct metric_table *t, u32 column, const double *block, bool *doubtful);
const char *metric_column_name(const struct metric_table *t, u32 column);

/* Indices of the n rows in the order in which the table shows them. Caller frees. */
u32 *metric_order(const struct metric_table *t, u32 n);

/* Has the table a metric of that set ("all": of any)? */
bool metric_table_has_set(const struct metric_table *t, const char *set);
/* Can it be a metric's name, before the recording is known? */
bool metric_name_possible(const char *name, const struct metrics_opts *o);

/* The value as tables for eyes show it: NAN where its interval is wider than it is, or nothing was counted. */
void metric_shown_value(const struct metric_table *t, u32 metric, const double *block, struct metric_value *out);
/* "4.91±0.02", "~1.2", "2821±12K", "-" for NAN; bare: without the interval. */
void metric_put(const struct metric_value *v, int decimals, bool bare, struct bytes *out);

#endif
