/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of metrics may be wider than the terminal. The least important parts are left out first: the intervals of
 * shares, then shares (except Overhead), then numbers of windows, and finally intervals, those of the first metric
 * last. On a screen, where lines do not go on below, ratios follow, the last one first. Columns that the user asked
 * for stay.
 */
#include "view/report_table.h"

#define ROOM_OF_NAMES 32u  /* of the last column: longer names may go on in the next line */
#define LEAST_OF_NAMES 18u /* to which it should not be narrowed for the sake of other columns */

static const struct metric *shown_metric(const struct report_table *f, size_t k)
{
	u32 i = report_table_metric(f, k);

	return i < METRICS_MAX ? &f->metrics->table.metrics[i] : NULL;
}

static bool is_metric(const struct report_table *f, size_t k)
{
	return shown_metric(f, k) != NULL;
}

static bool is_count(const struct report_table *f, size_t k)
{
	u32 i = report_table_metric(f, k);

	return i == METRICS_MAX + METRIC_KEPT || i == METRICS_MAX + METRIC_DISCARD_PERCENT;
}

static bool is_share(const struct report_table *f, size_t k)
{
	const struct metric *m = shown_metric(f, k);

	return m && m->expr.totals;
}

static bool drop_interval(struct report_table *f, size_t k)
{
	bool before = f->table.columns.v[k].bare;

	f->table.columns.v[k].bare = true;
	return !before;
}

static bool drop_intervals_of_shares(struct report_table *f)
{
	bool dropped = false;

	for (size_t k = 0; k < f->table.columns.n; k++)
		if (is_share(f, k))
			dropped |= drop_interval(f, k);
	return dropped;
}

static bool drop_last_interval(struct report_table *f)
{
	for (size_t k = f->table.columns.n; k-- > 0;)
		if (shown_metric(f, k) && drop_interval(f, k))
			return true;
	return false;
}

static bool drop_last(struct report_table *f, bool (*which)(const struct report_table *f, size_t k))
{
	for (size_t k = f->table.columns.n; k-- > 0;)
		if (which(f, k)) {
			table_column_drop(&f->table, (u32)k);
			return true;
		}
	return false;
}

/* All but one. */
static bool drop_last_metric(struct report_table *f)
{
	u32 n = 0;

	for (size_t k = 0; k < f->table.columns.n; k++)
		n += shown_metric(f, k) != NULL;
	return n > 1 && drop_last(f, is_metric);
}

bool report_fit_step(struct report_table *f, const struct table_text *x)
{
	size_t n = f->table.columns.n;
	u32 width = 0;

	if (!f->metrics || !f->o->room)
		return false;
	for (u32 k = 0; k < n; k++) {
		u32 w = table_text_width(x, k);

		width += 2 + (k + 1 == n ? MAX(MIN(w, ROOM_OF_NAMES), LEAST_OF_NAMES) : w);
	}
	if (width <= f->o->room)
		return false;
	return drop_intervals_of_shares(f) ||
	       (!f->o->wanted.columns.n && (drop_last(f, is_share) || drop_last(f, is_count))) ||
	       drop_last_interval(f) || (f->o->only_table && !f->o->wanted.columns.n && drop_last_metric(f));
}

static bool is_shown(const struct report_table *f, u32 column)
{
	for (size_t k = 0; k < f->table.columns.n; k++)
		if (report_table_metric(f, k) == column)
			return true;
	return false;
}

void report_fit_head(const struct report_table *f, struct bytes *out)
{
	const struct metric_table *t = &f->metrics->table;
	bool first = true, bare = false;

	for (u32 i = 0; i < t->nr_columns; i++) {
		if (is_shown(f, t->columns[i]))
			continue;
		bytes_printf(out, "%s%s", first ? "# No room for " : ", ", metric_column_name(t, t->columns[i]));
		first = false;
	}
	for (size_t k = 0; k < f->table.columns.n; k++)
		bare |= f->table.columns.v[k].bare;
	if (bare)
		bytes_str(out, first ? "# No room for some intervals" : " and some intervals");
	if (bare || !first)
		bytes_str(out, " in this terminal: --columns chooses columns, | cat shows all\n#\n");
}
