/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The report as CSV: one header line, then one line per row of every event. A share is two fields, the raw weight and
 * the percentage that it makes of "whole". What the virtual PMU counted has the core's name in a last field.
 */
#include <string.h>

#include "view/metrics_data.h"

static void write_header(const struct profile *p, const struct report_opts *o, const struct metric_fields *metrics,
			 struct bytes *out)
{
	bytes_str(out, "event,whole");
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = &columns[o->columns[k]];

		if (o->columns[k] == COLUMN_EVENT)
			continue;
		bytes_printf(out, ",%s", c->key);
		if (c->type == COLUMN_PERCENT)
			bytes_printf(out, ",%s_percent", c->key);
	}
	if (o->metrics)
		metrics_csv_header(metrics, out);
	if (p->simulated.len)
		bytes_str(out, ",simulated");
	bytes_char(out, '\n');
}

static void write_text(const struct row_view *v, const struct column *c, struct bytes *raw, struct bytes *out)
{
	raw->len = 0;
	c->text(v, raw);
	if (raw->len)
		bytes_csv(out, (const char *)raw->p, raw->len);
}

/* The event comes first in any case: the row's own where all events are in one table. */
static void write_row(const struct row_view *v, const struct report_opts *o, const struct metric_fields *metrics,
		      struct bytes *raw, struct bytes *out)
{
	const char *event = report_event_name(v->profile, v->event);
	u64 whole = report_whole(v->event, o);

	if (v->profile->sort_keys >> SORT_EVENT & 1)
		write_text(v, &columns[COLUMN_EVENT], raw, out);
	else
		bytes_csv(out, event, strlen(event));
	bytes_printf(out, ",%llu", (unsigned long long)whole);
	for (u32 k = 0; k < o->nr_columns; k++) {
		const struct column *c = &columns[o->columns[k]];

		if (o->columns[k] == COLUMN_EVENT)
			continue;
		bytes_char(out, ',');
		if (c->number && c->number(v) != COLUMN_UNKNOWN)
			bytes_dec(out, c->number(v));
		if (c->type == COLUMN_PERCENT)
			bytes_printf(out, ",%.4f", share_of(c->number(v), whole));
		if (c->text)
			write_text(v, c, raw, out);
	}
	if (o->metrics)
		metrics_csv_block(metrics, o->now ? &o->now->table : NULL, v->windows, out);
	if (v->profile->simulated.len) {
		bytes_char(out, ',');
		bytes_csv(out, v->profile->simulated.p, v->profile->simulated.len);
	}
	bytes_char(out, '\n');
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
		for (size_t k = 0; k < v.event->rows.n; k++) {
			report_set_row(&v, &of, k);
			if (report_wants(&v, &of))
				write_row(&v, &of, &metrics, &raw, out);
		}
	}
	vec_free(&metrics.metrics);
	bytes_free(&raw);
}
