/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Metrics: ratios of what windows counted, one table of them for all views.
 *
 * A metric is a formula over roles (codec/event_role.h). The recorded events decide which metrics a table shows: the
 * usual set first, then others that use the remaining members.
 *
 * By default, values are based on samples and windows together: see metric/estimate.c, which begins with the reasons.
 * The rest of this comment is about windows alone.
 *
 * A ratio R of sums over n clusters of windows has the variance g' C g, where g is the formula's gradient and C the
 * covariance of the sums, n/(n-1) (sum of products - product of sums / n). The interval is Student's, with n - 1
 * degrees of freedom. For shares of a total, n is the number of clusters of all rows, because it is as random that a
 * cluster is in this row as what it counted; and the kept windows of each row stand for all that ended there
 * (agg/window_rows.h). If the numerator counts something so rare that few clusters have any, the variance is at least
 * that of two more clusters: that none was seen does not mean that there are none. This is done for any formula: its
 * numerator is taken as linear in the sums, and the clusters are those of the rare event that adds most.
 *
 * The cost of a call (METRIC_PER_CALL) is not a sum of windows: it is everything that the samples of a row stand for,
 * divided by the calls that another event counts (agg/window_calls.c). Both are counts of samples, whose relative
 * variance is one divided by their number.
 */
#ifndef METRIC_METRICS_H
#define METRIC_METRICS_H

#include "agg/window_rows.h"
#include "base/bytes.h"
#include "metric/expr.h"

#define METRICS_MAX 40
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
	bool lenient; /* leave out metrics that the group's events do not give, because those of another group may */
	struct name_list sort; /* metrics, or names of metric_counts, the first one first; none: rows as they are */
};

struct metric {
	char name[32];
	char formula[128];
	const char *help; /* an explanation in words; NULL: the formula is shown instead */
	u8 decimals;
	bool per_call; /* not a formula over windows: the weight of the row's samples divided by its calls */
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
	double value; /* NAN: the divisor is zero */
	double num, den;
	double variance, half; /* of the value; half the 95 % interval. NAN: fewer than two clusters */
	double low, high;      /* the 95 % interval; need not lie evenly around the value */
	bool doubtful;	       /* there are so few data, or it may be so far off, that tables mark it */
};

/* Chooses metrics and binds them. ERR_USAGE, noted, if something that the user named does not exist. */
int metric_table_make(struct metric_table *t, const struct evlist *l, const struct profile_windows *w,
		      const struct metrics_opts *o, const struct notify *to);
void metric_value(const struct metric_table *t, u32 metric, const double *block, struct metric_value *out);
/* A column's number, by which rows are sorted. NAN: none. doubtful: set if tables mark the value; may be NULL. */
double metric_column_value(const struct metric_table *t, u32 column, const double *block, bool *doubtful);
const char *metric_column_name(const struct metric_table *t, u32 column);

/* For each of n numbers of times: the part of the leader's counts that would lie in rows in which this metric is not
 * marked, with so many times as many samples. Only of an estimate to which samples contribute. */
void metric_certain_parts(const struct metric_table *t, u32 metric, size_t rows, const double *times, u32 n,
			  double *parts);

/* Indices of the n rows in the order in which the table shows them. Caller frees. */
u32 *metric_order(const struct metric_table *t, u32 n);

/* Has the table a metric of that set ("all": of any)? */
bool metric_table_has_set(const struct metric_table *t, const char *set);
/* Can it be a metric's name, before the recording is known? */
bool metric_name_possible(const char *name, const struct metrics_opts *o);

/* The value as text tables show it: NAN if its interval is wider than the value, or if nothing was counted. */
void metric_shown_value(const struct metric_table *t, u32 metric, const double *block, struct metric_value *out);
/* "4.91±0.02", "~1.2", "2821±12K", "-" for NAN; bare: without the interval. */
void metric_put(const struct metric_value *v, int decimals, bool bare, struct bytes *out);

#endif
