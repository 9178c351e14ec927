/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A table of metrics may be wider than the terminal. The least important parts are left out first: the intervals of
 * shares, then shares (except Overhead), then numbers of windows, and finally intervals, those of the first metric
 * last. On a screen, where lines do not go on below, ratios follow, the last one first. Columns that the user asked
 * for stay.
 *
 * However much room there is: where windows are of a clock, as on machines without a PMU, what they count is rare, and
 * most of it is noise. A ratio of which no row has a value is then a sentence above the table instead of a column.
 */
#include <math.h>

#include "codec/event_role.h"
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

static bool is_of_clock(const struct report_table *f)
{
	const struct event *leader = &f->p->evlist->events.v[event_windows(f->e)->group.leader];

	return event_role_of(&leader->attr, leader->name, false) == ROLE_TIME;
}

static bool row_has_value(const struct report_table *f, const struct table_column *c, size_t at)
{
	struct cell cell = { 0 };

	c->get(&f->table, c, &(struct table_row){ .at = at }, &cell);
	return !isnan(cell.ratio.value);
}

static bool has_values(const struct report_table *f, const struct table_column *c)
{
	for (size_t at = 0; at < f->table.nr_rows; at++)
		if (row_has_value(f, c, at))
			return true;
	return false;
}

/* "CPI (1.20±0.01 in all)" */
static void put_without_values(const struct report_table *f, const struct table_column *c, struct bytes *out)
{
	struct cell all = { 0 };

	bytes_str(out, c->header);
	c->get(&f->table, c, &(struct table_row){ .at = TABLE_TOTAL }, &all);
	if (isnan(all.ratio.value))
		return;
	bytes_str(out, " (");
	metric_put(&all.ratio, c->decimals, false, out);
	bytes_str(out, " in all)");
}

void report_fit_empty(struct report_table *f, struct bytes *out)
{
	const struct metrics_opts *wanted = &f->o->wanted;
	u32 n = 0;

	if (!f->metrics || !is_of_clock(f) || f->o->only_table || wanted->columns.n || wanted->own.n || wanted->sets.n)
		return;
	for (size_t k = 0; k < f->table.columns.n;) {
		const struct table_column *c = &f->table.columns.v[k];

		if (!is_metric(f, k) || has_values(f, c)) {
			k++;
			continue;
		}
		bytes_str(out, n++ ? ", " : "# No row has a value of ");
		put_without_values(f, c, out);
		f->without_values |= 1ull << report_table_metric(f, k);
		table_column_drop(&f->table, (u32)k);
	}
	if (n)
		bytes_str(out, ": --columns shows such columns.\n");
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
		if (is_shown(f, t->columns[i]) || f->without_values >> t->columns[i] & 1)
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
