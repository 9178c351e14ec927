/* SPDX-License-Identifier: Apache-2.0 */
/* The diff as CSV and as JSON. Numbers are raw; what the method says has six decimals. */
#include "base/json.h"
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

static void json_meta(const struct diff *d, const struct diff_opts *o, struct json *j)
{
	json_set_object(j, "meta");
	json_set_text(j, "generator", "reticle " RETICLE_VERSION);
	json_set_text(j, "compute", diff_method_name(o->method.compute));
	json_set_bool(j, "counts", o->counts);
	json_set_list(j, "sort");
	for (u32 k = 0; k < d->nr_keys; k++)
		json_text(j, column_get(o->keys[k])->key);
	json_list_end(j);
	json_set_list(j, "files");
	for (u32 i = 0; i < d->nr_files; i++) {
		const struct diff_file *f = &o->files[i];

		json_object(j);
		json_set_text(j, "path", f->path);
		json_set_u64(j, "samples", f->tally.samples);
		json_set_u64(j, "lost", f->tally.lost);
		json_set_u64(j, "lost_samples", f->tally.lost_samples);
		json_set_u64(j, "throttled", f->tally.throttled);
		json_set_text(j, "simulated", f->core);
		json_object_end(j);
	}
	json_list_end(j);
	json_object_end(j);
}

static void json_row(const struct diff *d, const struct diff_event *e, const struct diff_row *r,
		     const struct diff_opts *o, struct json *j)
{
	json_object(j);
	for (u32 k = 0; k < d->nr_keys; k++)
		json_set_text(j, column_get(o->keys[k])->key, strtab_get(&d->strings, r->keys[k]));
	json_set_list(j, "weight");
	for (u32 i = 0; i < d->nr_files; i++)
		json_u64(j, diff_cell(e, r, i)->weight);
	json_list_end(j);
	json_set_list(j, "samples");
	for (u32 i = 0; i < d->nr_files; i++)
		json_u64(j, diff_cell(e, r, i)->samples);
	json_list_end(j);
	json_set_list(j, "value");
	for (u32 i = 1; i < d->nr_files; i++) {
		double value;

		if (diff_value(e, r, i, &o->method, &value))
			json_fixed(j, value, 6);
		else
			json_null(j);
	}
	json_list_end(j);
	json_set_bool(j, "failed", diff_failed(d, e, r, o));
	json_object_end(j);
}

static void json_event(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct json *j)
{
	json_object(j);
	json_set_text(j, "name", strtab_get(&d->strings, e->name));
	json_set_list(j, "files");
	for (u32 i = 0; i < d->nr_files; i++) {
		json_object(j);
		json_set_u64(j, "weight", e->of[i].weight);
		json_set_u64(j, "whole", e->of[i].whole);
		json_set_u64(j, "samples", e->of[i].samples);
		json_object_end(j);
	}
	json_list_end(j);
	json_set_bool(j, "failed", diff_whole_failed(d, e, o));
	json_set_list(j, "rows");
	for (size_t i = 0; i < e->rows.n && !o->totals; i++) {
		if (!diff_wants(d, e, &e->rows.v[i], o))
			continue;
		json_line(j, "");
		json_row(d, e, &e->rows.v[i], o, j);
	}
	json_list_end_line(j);
	json_object_end(j);
}

void diff_json(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	struct json j = { .out = out };
	struct bytes dropped = { 0 };

	json_object(&j);
	json_meta(d, o, &j);
	json_line(&j, "");
	json_set_list(&j, "events");
	for (size_t i = 0; i < d->events.n; i++) {
		if (i)
			json_line(&j, "");
		json_event(d, &d->events.v[i], o, &j);
	}
	json_list_end(&j);
	json_line(&j, "");
	json_set_u64(&j, "failed", diff_failures(d, o, 0, &dropped));
	json_object_end(&j);
	json_end(&j);
	bytes_free(&dropped);
}
