/* SPDX-License-Identifier: Apache-2.0 */
/* The diff as CSV and as JSON. Numbers are raw; the method's value has six decimals. */
#include "view/diff_table.h"

static void csv_rows(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, bool header,
		     struct bytes *out)
{
	struct diff_table f;

	diff_table_begin(&f, d, e, o);
	diff_table_csv(&f);
	if (header)
		table_csv_header(&f.table, out);
	if (e || o->totals)
		table_csv_rows(&f.table, out);
	diff_table_end(&f);
}

void diff_csv(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	csv_rows(d, NULL, o, true, out);
	for (size_t i = 0; i < d->events.n && !o->totals; i++)
		csv_rows(d, &d->events.v[i], o, false, out);
}

static void json_meta(const struct diff *d, const struct diff_opts *o, struct json *j)
{
	json_set_object(j, "meta");
	json_set_text(j, "generator", "reticle " RETICLE_VERSION);
	json_set_text(j, "compute", diff_method_name(o->method.compute));
	json_set_bool(j, "counts", o->counts);
	json_set_list(j, "sort");
	for (u32 k = 0; k < d->nr_keys; k++)
		json_text(j, diff_key_name(o, k));
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

static void json_rows(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct json *j)
{
	struct diff_table f;

	diff_table_begin(&f, d, e, o);
	diff_table_json(&f);
	table_json_rows(&f.table, j);
	diff_table_end(&f);
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
	if (!o->totals)
		json_rows(d, e, o, j);
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
