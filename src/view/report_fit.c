/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A terminal has only so many columns, and a table of metrics is wide. What is least missed goes first: the intervals
 * of shares, the shares (Overhead stays), the numbers of windows, at last intervals, those of the first metric last.
 * Columns that were asked for stay.
 */
#include "view/report.h"

#define ROOM_OF_NAMES 32 /* of the last column: longer names may go on in the next line */

static const struct metric *shown_metric(const struct report_opts *o, u32 k)
{
	const struct metric_table *t = &o->now->table;
	u32 i = o->columns[k] >= REPORT_METRIC ? t->columns[o->columns[k] - REPORT_METRIC] : METRICS_MAX;

	return i < METRICS_MAX ? &t->metrics[i] : NULL;
}

static bool is_count(const struct report_opts *o, u32 k)
{
	u32 i = o->columns[k] >= REPORT_METRIC ? o->now->table.columns[o->columns[k] - REPORT_METRIC] : 0;

	return i == METRICS_MAX + METRIC_KEPT || i == METRICS_MAX + METRIC_DISCARD_PERCENT;
}

static bool is_share(const struct report_opts *o, u32 k)
{
	const struct metric *m = shown_metric(o, k);

	return m && m->expr.totals;
}

static bool drop_intervals_of_shares(struct report_opts *o)
{
	u64 before = o->bare;

	for (u32 k = 0; k < o->nr_columns; k++)
		if (is_share(o, k))
			o->bare |= 1ull << k;
	return o->bare != before;
}

static bool drop_last_interval(struct report_opts *o)
{
	for (u32 k = o->nr_columns; k-- > 0;)
		if (shown_metric(o, k) && !(o->bare >> k & 1)) {
			o->bare |= 1ull << k;
			return true;
		}
	return false;
}

static void drop_column(struct report_opts *o, u32 k)
{
	u64 below = o->bare & ((1ull << k) - 1), above = k + 1 < 64 ? o->bare >> (k + 1) : 0;

	for (u32 i = k; i + 1 < o->nr_columns; i++) {
		o->columns[i] = o->columns[i + 1];
		o->widths[i] = o->widths[i + 1];
	}
	o->bare = below | above << k;
	o->nr_columns--;
}

static bool drop_last(struct report_opts *o, bool (*which)(const struct report_opts *o, u32 k))
{
	for (u32 k = o->nr_columns; k-- > 0;)
		if (which(o, k)) {
			drop_column(o, k);
			return true;
		}
	return false;
}

bool report_fit_step(struct report_opts *o, const u32 *widths)
{
	u32 width = 0;

	if (!o->now || !o->room)
		return false;
	for (u32 k = 0; k < o->nr_columns; k++)
		width += 2 + (k + 1 == o->nr_columns ? MIN(widths[k], (u32)ROOM_OF_NAMES) : widths[k]);
	if (width <= o->room)
		return false;
	return drop_intervals_of_shares(o) ||
	       (!o->wanted.columns.n && (drop_last(o, is_share) || drop_last(o, is_count))) || drop_last_interval(o);
}

static bool is_shown(const struct report_opts *o, u32 column)
{
	for (u32 k = 0; k < o->nr_columns; k++)
		if (o->columns[k] == REPORT_METRIC + column)
			return true;
	return false;
}

void report_fit_head(const struct report_opts *o, struct bytes *out)
{
	const struct metric_table *t = &o->now->table;
	bool first = true;

	for (u32 i = 0; i < t->nr_columns; i++) {
		if (is_shown(o, i))
			continue;
		bytes_printf(out, "%s%s", first ? "# No room for " : ", ", metric_column_name(t, t->columns[i]));
		first = false;
	}
	if (o->bare)
		bytes_str(out, first ? "# No room for" : " and");
	if (o->bare)
		bytes_str(out, " some intervals");
	if (o->bare || !first)
		bytes_str(out, " in this terminal: --columns chooses, | cat has all\n#\n");
}
