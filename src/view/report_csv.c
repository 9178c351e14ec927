/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as CSV: one header line, then one line per row of every event. A share is two fields, the raw weight and
 * the percentage that it makes of "whole". Events with windows have one more line, of all their rows. What the virtual
 * PMU counted has the core's name in a last field.
 */
#include <string.h>

#include "view/metrics_data.h"

static void write_header(const struct profile *p, const struct report_opts *o, const struct metric_fields *metrics,
			 struct bytes *out)
{
	bytes_str(out, "event,whole");
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = column_get(o->columns[k]);

		if (o->columns[k] == COLUMN_EVENT)
			continue;
		bytes_printf(out, ",%s", column_json(p, o->columns[k]));
		if (c->type == COLUMN_PERCENT)
			bytes_printf(out, ",%s_percent", c->key);
	}
	if (o->metrics)
		metrics_csv_header(metrics, out);
	if (p->simulated.len)
		bytes_str(out, ",simulated");
	bytes_char(out, '\n');
}

static void write_text(const struct row_view *v, u32 column, struct bytes *raw, struct bytes *out)
{
	raw->len = 0;
	column_text(column, v, raw);
	if (raw->len)
		bytes_csv(out, (const char *)raw->p, raw->len);
}

/* What comes behind the columns. */
static void write_rest(const struct row_view *v, const struct report_opts *o, const struct metric_fields *metrics,
		       struct bytes *out)
{
	if (o->metrics)
		metrics_csv_block(metrics, o->now ? &o->now->table : NULL, v->windows, out);
	if (v->profile->simulated.len) {
		bytes_char(out, ',');
		bytes_csv(out, v->profile->simulated.p, v->profile->simulated.len);
	}
	bytes_char(out, '\n');
}

/* All rows of an event with windows together: "(all)" in place of the last key. */
static void write_total(const struct row_view *v, const struct report_opts *o, const struct metric_fields *metrics,
			struct bytes *out)
{
	const char *event = report_event_name(v->profile, v->event);
	u64 whole = report_whole(v->event, o), weight = v->event->row_weight;
	u32 last = o->nr_columns;

	while (last && !column_is_key(o->columns[last - 1]))
		last--;
	bytes_csv(out, event, strlen(event));
	bytes_printf(out, ",%llu", (unsigned long long)whole);
	for (u32 k = 0; k < o->nr_columns; k++) {
		bool percent = column_get(o->columns[k])->type == COLUMN_PERCENT;

		if (o->columns[k] == COLUMN_EVENT)
			continue;
		bytes_char(out, ',');
		if (o->columns[k] == COLUMN_OVERHEAD)
			bytes_printf(out, "%llu,%.4f", (unsigned long long)weight, share_of(weight, whole));
		else
			bytes_str(out, percent ? "," : k + 1 == last ? "(all)" : "");
	}
	write_rest(v, o, metrics, out);
}

/* The event comes first in any case: the row's own where all events are in one table. */
static void write_row(const struct row_view *v, const struct report_opts *o, const struct metric_fields *metrics,
		      struct bytes *raw, struct bytes *out)
{
	const char *event = report_event_name(v->profile, v->event);
	u64 whole = report_whole(v->event, o);

	if (v->profile->sort_keys >> SORT_EVENT & 1)
		write_text(v, COLUMN_EVENT, raw, out);
	else
		bytes_csv(out, event, strlen(event));
	bytes_printf(out, ",%llu", (unsigned long long)whole);
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = column_get(o->columns[k]);

		if (o->columns[k] == COLUMN_EVENT)
			continue;
		bytes_char(out, ',');
		if (c->number && column_number(o->columns[k], v) != COLUMN_UNKNOWN)
			bytes_dec(out, column_number(o->columns[k], v));
		if (c->type == COLUMN_PERCENT)
			bytes_printf(out, ",%.4f", share_of(column_number(o->columns[k], v), whole));
		if (c->text)
			write_text(v, o->columns[k], raw, out);
	}
	write_rest(v, o, metrics, out);
}

void report_csv(struct profile *p, const struct report_opts *o, struct bytes *out)
{
	struct row_view v = { .profile = p, .long_names = o->long_names };
	struct metric_fields metrics = { 0 };
	struct bytes raw = { 0 };

	metrics_csv_fields(p, o, &metrics);
	write_header(p, o, &metrics, out);
	for (size_t i = 0; i < p->events.n; i++) {
		const struct report_opts of = report_plain_event_opts(o, i);

		v.event = &p->events.v[i];
		for (size_t k = 0; k < v.event->rows.n && !v.event->helper; k++) {
			report_set_row(&v, &of, k);
			if (report_wants(&v, &of))
				write_row(&v, &of, &metrics, &raw, out);
		}
		v.windows = of.now ? v.event->windows->shown : NULL;
		if (of.now)
			write_total(&v, &of, &metrics, out);
	}
	metrics_csv_fields_free(&metrics);
	bytes_free(&raw);
}
