/* SPDX-License-Identifier: Apache-2.0 */
/* What a metric is for some windows, and how sure: see metric/metrics.h. */
#include <math.h>
#include <string.h>

#include "metric/metric_impl.h"
#include "metric/student.h"

/* What shares are of. */
static const double *all_rows(const struct metric_table *t)
{
	return t->windows->whole ? t->windows->whole : t->windows->total;
}

/* g' C g, where C is the covariance of n clusters' sums: C(a, b) = n/(n-1) (moment(a, b) - sum(a) sum(b) / n). */
static double spread(const struct metric_table *t, const double *block, const double *g, bool totals, double n)
{
	const double *all = all_rows(t);
	u32 nr = t->windows->group.nr;
	double v = 0, along = 0;

	for (u32 a = 0; a < nr; a++) {
		double ga = g[a], ta = totals ? g[WINDOW_MEMBERS + a] : 0;

		along += ga * window_sum(block, a) + ta * window_sum(all, a);
		for (u32 b = 0; b < nr; b++) {
			double gb = g[b], tb = totals ? g[WINDOW_MEMBERS + b] : 0;

			if (ga == 0 && ta == 0)
				break;
			/* What the row and all rows have in common is the row's own. */
			v += (ga * gb + ga * tb + ta * gb) * window_moment(block, nr, a, b);
			if (totals)
				v += ta * tb * window_moment(all, nr, a, b);
		}
	}
	return MAX(0.0, n / (n - 1) * (v - along * along / n));
}

double metric_spread(const struct metric_table *t, const double *block, const double *g, double n)
{
	return spread(t, block, g, false, n);
}

#define FEW_CLUSTERS 30

/* How many clusters of one size would give this sum and moment. */
static double effective(double sum, double moment)
{
	return moment > 0 ? sum * sum / moment : 0;
}

/*
 * A formula's numerator or denominator as what it is near these sums: so much for each count of a member, of the row's
 * and of all rows'. A sum of events is one event then.
 */
struct linear {
	double of[EXPR_VARS];
	bool row, totals; /* which of them it speaks of */
	bool grows;	  /* with each count, or stays */
};

static void linear_at(const struct metric_table *t, const struct metric_expr *x, u32 node, const double *block,
		      struct linear *out)
{
	*out = (struct linear){ .grows = true };
	metric_expr_value(x, node, block + WINDOW_COUNTS, all_rows(t) + WINDOW_COUNTS, out->of);
	for (u32 i = 0; i < EXPR_VARS; i++) {
		*(i < WINDOW_MEMBERS ? &out->row : &out->totals) |= out->of[i] != 0;
		out->grows &= out->of[i] >= 0; /* NAN is not */
	}
}

/* The second moment of two of them, in the same clusters. */
static double moment_of(const struct metric_table *t, const double *block, const double *a, const double *b)
{
	u32 nr = t->windows->group.nr;
	double v = 0;

	for (u32 i = 0; i < nr; i++)
		for (u32 k = 0; k < nr && a[i] != 0; k++)
			if (b[k] != 0)
				v += a[i] * b[k] * window_moment(block, nr, i, k);
	return v;
}

/*
 * Of a part of something (a percentage of sums): few clusters have anything of it, or few have anything else. The
 * variance is that of a proportion to which two clusters with and two without it were added (Agresti and Coull). 0:
 * neither is so.
 */
static double part_spread(const struct metric_table *t, const struct linear *num, const struct linear *den,
			  const double *block, const struct metric_value *v)
{
	const double *whole = den->totals ? all_rows(t) : block, *of = den->of + (den->totals ? WINDOW_MEMBERS : 0);
	double moment = moment_of(t, block, num->of, num->of), all_moment = moment_of(t, whole, of, of);
	double all = effective(v->den, all_moment) + 4, others, part;

	others = all_moment + moment;
	others -= 2 * (den->totals ? moment : moment_of(t, block, num->of, of));
	if (MIN(effective(v->num, moment), effective(v->den - v->num, others)) >= FEW_CLUSTERS)
		return 0;
	part = (v->num / v->den * (all - 4) + 2) / all;
	return part * (1 - part) / all;
}

/* Is the numerator, as it is here, a part of the denominator? */
static bool is_part(const struct metric_expr *x, const struct linear *num, const struct linear *den,
		    const struct metric_value *v)
{
	return x->scale == 100 && x->den < EXPR_NODES && num->grows && !num->totals && den->grows &&
	       den->row != den->totals && v->num >= 0 && v->num <= v->den;
}

/*
 * The numerator's variance with two more clusters that hold an event of which few have any: as much of it as those
 * have that were seen, or one count. Of several such events it is the one that adds most. Where other events of the
 * numerator are common, that is on top of the variance that was found. 0: no event is rare.
 */
static double rare_spread(const struct metric_table *t, const struct linear *num, const double *block, double found)
{
	u32 nr = t->windows->group.nr;
	double rare[WINDOW_MEMBERS] = { 0 }, most = 0, clusters = block[WINDOWS_CLUSTERS];
	bool any = false, all = true;

	for (u32 i = 0; i < nr; i++) {
		double sum = window_sum(block, i), moment = window_moment(block, nr, i, i);
		double seen = effective(sum, moment);

		if (num->of[i] == 0)
			continue;
		if (seen >= FEW_CLUSTERS || seen >= clusters / 2) {
			all = false;
			continue;
		}
		any = true;
		rare[i] = num->of[i];
		most = MAX(most, fabs(num->of[i]) * (sum > 0 ? moment / sum : 1));
	}
	if (!any)
		return 0;
	return (all ? moment_of(t, block, rare, rare) : found) + 2 * most * most;
}

/*
 * The least variance. What few clusters have may come in some that were not seen: two more are added. Where all
 * clusters are alike, a spread of nothing is not believed either, as rare ones may differ: two are taken to be off by
 * as much as is usual for counts, their square root. found: the variance that the clusters show.
 */
static double least_spread(const struct metric_table *t, const struct metric_expr *x, const double *block,
			   const struct metric_value *v, double found)
{
	double size = x->scale / v->den, clusters = block[WINDOWS_CLUSTERS], least = 0;
	struct linear num, den = { 0 };

	if (!v->den || (x->totals && block == all_rows(t)))
		return 0;
	linear_at(t, x, x->num, block, &num);
	if (!num.row)
		return 0;
	for (u32 i = 0; clusters >= FEW_CLUSTERS && i < t->windows->group.nr; i++)
		least += 2 * num.of[i] * num.of[i] * window_sum(block, i) / clusters;
	least *= size * size;
	if (x->den < EXPR_NODES)
		linear_at(t, x, x->den, block, &den);
	if (is_part(x, &num, &den, v))
		least = MAX(least, x->scale * x->scale * part_spread(t, &num, &den, block, v));
	else
		least = MAX(least, size * size * rare_spread(t, &num, block, found / (size * size)));
	return isfinite(least) ? least : 0;
}

/* A share's block, for which kept windows stand for all that ended there. */
static const double *scaled(const struct metric_table *t, const double *block, double *room)
{
	u32 nr = t->windows->group.nr;

	if (block == t->windows->total || !t->windows->whole)
		return block == t->windows->total ? all_rows(t) : block;
	if (block == t->windows->shown)
		return t->windows->shown_whole;
	memset(room, 0, window_stride(nr) * sizeof(*room));
	window_block_merge_scaled(room, nr, block, window_scale(block));
	return room;
}

static void value_of(const struct metric_table *t, const struct metric_expr *x, const double *block,
		     struct metric_value *out)
{
	const double *row = block + WINDOW_COUNTS, *total = all_rows(t) + WINDOW_COUNTS;
	double gradient[EXPR_VARS], clusters = block[WINDOWS_CLUSTERS];
	double n = x->totals ? t->windows->total[WINDOWS_CLUSTERS] : clusters;

	out->value = metric_expr_value(x, x->root, row, total, gradient);
	out->num = metric_expr_value(x, x->num, row, total, NULL);
	out->den = x->den == EXPR_NODES ? 1 : metric_expr_value(x, x->den, row, total, NULL);
	out->variance = out->half = out->low = out->high = NAN;
	out->doubtful = false;
	if (!isfinite(out->value) || !clusters) {
		out->value = NAN;
		return;
	}
	if (clusters < 2)
		return;
	out->variance = spread(t, block, gradient, x->totals, n);
	out->variance = MAX(out->variance, least_spread(t, x, block, out, out->variance));
	out->half = student_95(clusters - 1) * sqrt(out->variance);
}

/* The interval, from the half of it; and whether so little is behind the value that it is marked. */
static void finish(struct metric_value *v, double behind)
{
	v->low = v->value - v->half;
	v->high = v->value + v->half;
	v->doubtful = behind < METRIC_FEW_WINDOWS;
}

void metric_per_call(const double *block, struct metric_value *out)
{
	double samples = block[WINDOWS_SHORT], calls = block[WINDOWS_CALL_SAMPLES];

	*out = (struct metric_value){ NAN, block[WINDOWS_WEIGHT], block[WINDOWS_CALLS], NAN, NAN, NAN, NAN, false };
	if (out->den) {
		out->value = out->num / out->den;
		if (samples >= 2) {
			out->variance = out->value * out->value * (1 / samples + (calls > 0 ? 1 / calls : 0));
			out->half = student_95(samples - 1) * sqrt(out->variance);
		}
	}
	finish(out, samples);
}

void metric_by_windows(const struct metric_table *t, const struct metric_expr *x, const double *block,
		       struct metric_value *out)
{
	double room[WINDOW_STRIDE_MAX];

	value_of(t, x, x->totals ? scaled(t, block, room) : block, out);
	finish(out, block[WINDOWS_KEPT]);
}
