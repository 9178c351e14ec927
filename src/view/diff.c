/* SPDX-License-Identifier: Apache-2.0 */
/* Common to all outputs of a diff: the texts of the rows' keys, which rows are shown, and which rows fail. */
#include "view/diff.h"

#include <math.h>

/* Functions without a name cannot be told from one build to another: one row for all of an object's. */
static bool unresolved(const struct row_view *v)
{
	const struct frame *f = frames_get(v->profile->frames, (u32)profile_row_key(v->profile, v->row, SORT_SYMBOL));

	return f->sym == ID_NONE && !f->inlined;
}

static void put_unresolved(const struct row_view *v, struct bytes *out)
{
	const struct frame *f = frames_get(v->profile->frames, (u32)profile_row_key(v->profile, v->row, SORT_SYMBOL));
	const struct dso *dso = dsos_at(v->profile->dsos, f->dso);

	if (!f->dso)
		bytes_str(out, "[unknown]");
	else
		bytes_printf(out, "[unresolved in %s]", v->long_names ? dso->path : dso->short_name);
}

static const char *field_of(const struct diff_opts *o, u32 nth)
{
	u32 key = column_key(o->keys[nth]);

	return key >= SORT_FIELD ? o->fields[key - SORT_FIELD] : NULL;
}

const char *diff_key_header(const struct diff_opts *o, u32 nth)
{
	const char *field = field_of(o, nth), *header = column_get(o->keys[nth])->header;

	return field ? field : header + strspn(header, " ");
}

const char *diff_key_name(const struct diff_opts *o, u32 nth)
{
	const char *field = field_of(o, nth);

	return field ? field : column_get(o->keys[nth])->key;
}

static void key_text(const struct row_view *v, u32 column, struct bytes *out)
{
	const struct column *c = column_get(column);

	out->len = 0;
	if (column == COLUMN_SYMBOL && unresolved(v))
		put_unresolved(v, out);
	else if (c->text)
		column_text(column, v, out);
	else if (column_number(column, v) != COLUMN_UNKNOWN)
		bytes_dec(out, column_number(column, v));
}

static void take_row(struct diff *d, u32 event, u32 file, const struct row_view *v, const u8 *keys, struct bytes *text)
{
	u32 ids[DIFF_MAX_KEYS] = { 0 };
	char level = 0;

	for (u32 k = 0; k < d->nr_keys; k++) {
		key_text(v, keys[k], text);
		ids[k] = text->len ? strtab_intern(&d->strings, (const char *)text->p, text->len) : 0;
		if (keys[k] == COLUMN_SYMBOL)
			level = frames_get(v->profile->frames, (u32)profile_row_key(v->profile, v->row, SORT_SYMBOL))
					->level;
	}
	diff_add(d, event, file, ids, level, v->row->self, v->row->samples);
}

void diff_take(struct diff *d, u32 file, struct profile *p, const u8 *keys, const struct report_opts *o)
{
	struct bytes text = { 0 };

	for (size_t i = 0; i < p->events.n; i++) {
		struct profile_event *pe = &p->events.v[i];
		struct row_view v = { .profile = p, .event = pe, .long_names = o->long_names };
		u32 event = diff_event(d, report_event_name(p, pe));
		struct diff_whole *whole = &d->events.v[event].of[file];

		/* Two events of one name are one here. */
		whole->whole += report_whole(pe, o);
		whole->weight += pe->weight;
		whole->samples += pe->samples;
		whole->present = true;
		for (size_t k = 0; k < pe->rows.n; k++) {
			v.row = &pe->rows.v[k];
			take_row(d, event, file, &v, keys, &text);
		}
	}
	bytes_free(&text);
}

bool diff_wants(const struct diff *d, const struct diff_event *e, const struct diff_row *r, const struct diff_opts *o)
{
	double share = 0;

	if (o->baseline_only && !diff_cell(e, r, 0)->samples)
		return false;
	for (u32 i = 0; i < d->nr_files; i++)
		share = MAX(share, diff_share(e, r, i));
	return share >= o->percent_limit;
}

bool diff_has_pair(const struct diff *d, const struct diff_event *e)
{
	for (u32 i = 1; i < d->nr_files; i++)
		if (e->of[0].present && e->of[i].present)
			return true;
	return false;
}

u32 diff_failed(const struct diff *d, const struct diff_event *e, const struct diff_row *r, const struct diff_opts *o)
{
	if (o->fail_above < 0 || o->totals || !diff_wants(d, e, r, o))
		return 0;
	for (u32 i = 1; i < d->nr_files; i++)
		if (e->of[0].present && diff_growth(e, r, i, &o->method, o->counts) > o->fail_above)
			return i;
	return 0;
}

/* Shares add up to 100 however long a recording is; only counts make a whole that can grow. */
u32 diff_whole_failed(const struct diff *d, const struct diff_event *e, const struct diff_opts *o)
{
	if (o->fail_above < 0 || (!o->counts && !o->totals))
		return 0;
	for (u32 i = 1; i < d->nr_files; i++)
		if (e->of[0].present && diff_growth_of_whole(e, i) > o->fail_above)
			return i;
	return 0;
}

static void put_growth(double growth, struct bytes *out)
{
	if (isinf(growth))
		bytes_str(out, "new");
	else
		bytes_printf(out, "%+.2f%%", growth);
}

static void put_failure(const struct diff *d, const struct diff_event *e, const struct diff_row *r, u32 file,
			const struct diff_opts *o, struct bytes *out)
{
	const char *name = strtab_get(&d->strings, e->name);
	u64 old = r ? diff_cell(e, r, 0)->weight : e->of[0].whole,
	    new = r ? diff_cell(e, r, file)->weight : e->of[file].whole;

	bytes_plain(out, name, strlen(name));
	bytes_str(out, r ? ": " : ": the whole");
	for (u32 k = 0; r && k < d->nr_keys; k++) {
		const char *key = strtab_get(&d->strings, r->keys[k]);

		if (k)
			bytes_char(out, ' ');
		bytes_plain(out, key, strlen(key));
	}
	bytes_str(out, ": ");
	if (o->counts || !r || o->method.compute == DIFF_RATIO)
		bytes_printf(out, "%llu -> %llu", (unsigned long long)old, (unsigned long long)new);
	else
		bytes_printf(out, "%.2f%% -> %.2f%%", diff_share(e, r, 0), diff_share(e, r, file));
	bytes_str(out, ", ");
	put_growth(r ? diff_growth(e, r, file, &o->method, o->counts) : diff_growth_of_whole(e, file), out);
	if (r && o->method.compute != DIFF_RATIO)
		bytes_str(out, " of the whole");
	if (d->nr_files > 2) {
		bytes_str(out, " in ");
		bytes_plain(out, o->files[file].path, strlen(o->files[file].path));
	}
	bytes_char(out, '\n');
}

u32 diff_failures(const struct diff *d, const struct diff_opts *o, u32 most, struct bytes *out)
{
	u32 n = 0;

	for (size_t i = 0; i < d->events.n; i++) {
		const struct diff_event *e = &d->events.v[i];
		u32 file = diff_whole_failed(d, e, o);

		if (file && n++ < most)
			put_failure(d, e, NULL, file, o, out);
		for (size_t k = 0; k < e->rows.n; k++) {
			file = diff_failed(d, e, &e->rows.v[k], o);
			if (file && n++ < most)
				put_failure(d, e, &e->rows.v[k], file, o, out);
		}
	}
	if (n > most)
		bytes_printf(out, "... and %u more\n", n - most);
	return n;
}

const char *diff_method_name(enum diff_compute compute)
{
	static const char *const names[] = {
		[DIFF_DELTA_ABS] = "delta-abs",
		[DIFF_DELTA] = "delta",
		[DIFF_RATIO] = "ratio",
		[DIFF_WDIFF] = "wdiff",
	};

	return names[compute];
}
