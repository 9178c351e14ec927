/* SPDX-License-Identifier: Apache-2.0 */
/* The diff as CSV and as JSON. Numbers are raw; what the method says has six decimals. */
#include "view/diff.h"

static bool any_simulated(const struct diff *d, const struct diff_opts *o)
{
	for (u32 i = 0; i < d->nr_files; i++)
		if (o->files[i].core)
			return true;
	return false;
}

/* The end of the header and of rows: the core that each recording was simulated on, when one was. */
static void csv_header_end(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	if (o->fail_above >= 0)
		bytes_str(out, ",failed");
	for (u32 i = 0; i < d->nr_files && any_simulated(d, o); i++)
		bytes_printf(out, ",simulated_%u", i);
	bytes_char(out, '\n');
}

static void put_csv(const char *text, struct bytes *out)
{
	if (*text)
		bytes_csv(out, text, strlen(text));
}

static void csv_end(const struct diff *d, const struct diff_opts *o, bool failed, struct bytes *out)
{
	if (o->fail_above >= 0)
		bytes_str(out, failed ? ",1" : ",0");
	for (u32 i = 0; i < d->nr_files && any_simulated(d, o); i++) {
		bytes_char(out, ',');
		put_csv(o->files[i].core ? o->files[i].core : "", out);
	}
	bytes_char(out, '\n');
}

static void csv_header(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	bytes_str(out, "event");
	for (u32 k = 0; k < d->nr_keys; k++)
		bytes_printf(out, ",%s", column_get(o->keys[k])->key);
	for (u32 i = 0; i < d->nr_files; i++) {
		bytes_printf(out, ",weight_%u,samples_%u,percent_%u", i, i, i);
		if (i)
			bytes_printf(out, ",%s_%u,difference_%u", diff_method_name(o->method.compute), i, i);
	}
	csv_header_end(d, o, out);
}

static void csv_numbers(const struct diff *d, const struct diff_event *e, const struct diff_row *r,
			const struct diff_opts *o, struct bytes *out)
{
	for (u32 i = 0; i < d->nr_files; i++) {
		const struct diff_cell *c = diff_cell(e, r, i);
		double value;

		bytes_printf(out, ",%llu,%llu,%.4f", (unsigned long long)c->weight, (unsigned long long)c->samples,
			     diff_share(e, r, i));
		if (!i)
			continue;
		bytes_char(out, ',');
		if (diff_value(e, r, i, &o->method, &value))
			bytes_printf(out, "%.6f", value);
		bytes_printf(out, ",%lld", (long long)(c->weight - diff_cell(e, r, 0)->weight));
	}
	csv_end(d, o, diff_failed(d, e, r, o), out);
}

/* --totals: rows without keys. */
static void csv_total(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct bytes *out)
{
	for (u32 i = 0; i < d->nr_files; i++) {
		bytes_printf(out, ",%llu,%llu", (unsigned long long)e->of[i].whole,
			     (unsigned long long)e->of[i].samples);
		if (i)
			bytes_printf(out, ",%lld", (long long)(e->of[i].whole - e->of[0].whole));
	}
	csv_end(d, o, diff_whole_failed(d, e, o), out);
}

static void csv_totals_header(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	bytes_str(out, "event");
	for (u32 i = 0; i < d->nr_files; i++) {
		bytes_printf(out, ",weight_%u,samples_%u", i, i);
		if (i)
			bytes_printf(out, ",difference_%u", i);
	}
	csv_header_end(d, o, out);
}

void diff_csv(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	if (o->totals)
		csv_totals_header(d, o, out);
	else
		csv_header(d, o, out);
	for (size_t i = 0; i < d->events.n; i++) {
		const struct diff_event *e = &d->events.v[i];

		if (o->totals) {
			put_csv(strtab_get(&d->strings, e->name), out);
			csv_total(d, e, o, out);
			continue;
		}
		for (size_t n = 0; n < e->rows.n; n++) {
			const struct diff_row *r = &e->rows.v[n];

			if (!diff_wants(d, e, r, o))
				continue;
			put_csv(strtab_get(&d->strings, e->name), out);
			for (u32 k = 0; k < d->nr_keys; k++) {
				bytes_char(out, ',');
				put_csv(strtab_get(&d->strings, r->keys[k]), out);
			}
			csv_numbers(d, e, r, o, out);
		}
	}
}

static void put_json(const char *s, struct bytes *out)
{
	bytes_char(out, '"');
	bytes_json(out, s, strlen(s));
	bytes_char(out, '"');
}

static void json_meta(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	bytes_printf(out,
		     "{\"meta\":{\"generator\":\"reticle " RETICLE_VERSION
		     "\",\"compute\":\"%s\",\"counts\":%s,\"sort\":[",
		     diff_method_name(o->method.compute), o->counts ? "true" : "false");
	for (u32 k = 0; k < d->nr_keys; k++)
		bytes_printf(out, "%s\"%s\"", k ? "," : "", column_get(o->keys[k])->key);
	bytes_str(out, "],\"files\":[");
	for (u32 i = 0; i < d->nr_files; i++) {
		const struct diff_file *f = &o->files[i];

		bytes_str(out, i ? ",{\"path\":" : "{\"path\":");
		put_json(f->path, out);
		bytes_printf(out,
			     ",\"samples\":%llu,\"lost\":%llu,\"lost_samples\":%llu,\"throttled\":%llu,\"simulated\":",
			     (unsigned long long)f->tally.samples, (unsigned long long)f->tally.lost,
			     (unsigned long long)f->tally.lost_samples, (unsigned long long)f->tally.throttled);
		if (f->core)
			put_json(f->core, out);
		else
			bytes_str(out, "null");
		bytes_char(out, '}');
	}
	bytes_str(out, "]}");
}

static void json_row(const struct diff *d, const struct diff_event *e, const struct diff_row *r,
		     const struct diff_opts *o, struct bytes *out)
{
	const char *comma = "";

	bytes_char(out, '{');
	for (u32 k = 0; k < d->nr_keys; k++) {
		bytes_printf(out, "%s\"%s\":", k ? "," : "", column_get(o->keys[k])->key);
		put_json(strtab_get(&d->strings, r->keys[k]), out);
	}
	bytes_str(out, ",\"weight\":[");
	for (u32 i = 0; i < d->nr_files; i++)
		bytes_printf(out, "%s%llu", i ? "," : "", (unsigned long long)diff_cell(e, r, i)->weight);
	bytes_str(out, "],\"samples\":[");
	for (u32 i = 0; i < d->nr_files; i++)
		bytes_printf(out, "%s%llu", i ? "," : "", (unsigned long long)diff_cell(e, r, i)->samples);
	bytes_str(out, "],\"value\":[");
	for (u32 i = 1; i < d->nr_files; i++, comma = ",") {
		double value;

		if (diff_value(e, r, i, &o->method, &value))
			bytes_printf(out, "%s%.6f", comma, value);
		else
			bytes_printf(out, "%snull", comma);
	}
	bytes_printf(out, "],\"failed\":%s}", diff_failed(d, e, r, o) ? "true" : "false");
}

static void json_event(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct bytes *out)
{
	bool first = true;

	bytes_str(out, "{\"name\":");
	put_json(strtab_get(&d->strings, e->name), out);
	bytes_str(out, ",\"files\":[");
	for (u32 i = 0; i < d->nr_files; i++)
		bytes_printf(out, "%s{\"weight\":%llu,\"whole\":%llu,\"samples\":%llu}", i ? "," : "",
			     (unsigned long long)e->of[i].weight, (unsigned long long)e->of[i].whole,
			     (unsigned long long)e->of[i].samples);
	bytes_printf(out, "],\"failed\":%s,\"rows\":[", diff_whole_failed(d, e, o) ? "true" : "false");
	for (size_t i = 0; i < e->rows.n && !o->totals; i++) {
		if (!diff_wants(d, e, &e->rows.v[i], o))
			continue;
		bytes_str(out, first ? "\n" : ",\n");
		json_row(d, e, &e->rows.v[i], o, out);
		first = false;
	}
	bytes_str(out, "\n]}");
}

void diff_json(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	struct bytes dropped = { 0 };

	json_meta(d, o, out);
	bytes_str(out, ",\n\"events\":[");
	for (size_t i = 0; i < d->events.n; i++) {
		if (i)
			bytes_str(out, ",\n");
		json_event(d, &d->events.v[i], o, out);
	}
	bytes_printf(out, "],\n\"failed\":%u}\n", diff_failures(d, o, 0, &dropped));
	bytes_free(&dropped);
}
