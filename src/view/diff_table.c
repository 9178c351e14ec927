/* SPDX-License-Identifier: Apache-2.0 */
#include "view/diff_table.h"

#include <math.h>
#include <stdio.h>

/* What a column shows of a row, or of an event as a whole. Its nth is a recording, or a key. */
enum what {
	WEIGHT,
	SAMPLES,
	CHANGE, /* of the weight, since the baseline */
	SHARE,
	KNOWN_SHARE, /* for eyes: nothing where the recording lacks the row */
	VALUE,
	GROWTH, /* of the event as a whole */
	FORMULA,
	FAILED,
	KEY,
	LABEL, /* the key for eyes */
	EVENT,
	EVENT_OF, /* "cycles of FILE", where that is in question */
	CORE,
};

static struct diff_cell cell_at(const struct diff_event *e, const struct diff_row *r, u32 file)
{
	const struct diff_whole *whole = &e->of[file];

	return r ? *diff_cell(e, r, file) : (struct diff_cell){ whole->whole, whole->samples };
}

static void put_formula(const struct diff_event *e, const struct diff_row *r, u32 file, const struct diff_method *m,
			struct bytes *out)
{
	unsigned long long old = diff_cell(e, r, 0)->weight, new = diff_cell(e, r, file)->weight;

	if (m->compute == DIFF_RATIO)
		bytes_printf(out, "%llu / %llu", new, old);
	else if (m->compute == DIFF_WDIFF)
		bytes_printf(out, "(%llu * %lld) - (%llu * %lld)", new, (long long)m->w2, old, (long long)m->w1);
	else
		bytes_printf(out, "(%llu * 100 / %llu) - (%llu * 100 / %llu)", new,
			     (unsigned long long)e->of[file].whole, old, (unsigned long long)e->of[0].whole);
}

static void get(const struct table *t, const struct table_column *c, const struct table_row *at, struct cell *out)
{
	const struct diff_table *f = t->form;
	const struct diff_event *e = f->e ? f->e : &f->d->events.v[at->at / f->lines];
	const struct diff_row *r = f->e ? &e->rows.v[at->at] : NULL;
	u32 nth = f->e || !c->nth ? c->nth : c->nth + (u32)(at->at % f->lines);

	out->kind = c->kind;
	switch ((enum what)c->what) {
	case WEIGHT:
		out->count = cell_at(e, r, nth).weight;
		break;
	case SAMPLES:
		out->count = cell_at(e, r, nth).samples;
		break;
	case CHANGE:
		out->change = (s64)(cell_at(e, r, nth).weight - cell_at(e, r, 0).weight);
		break;
	case SHARE:
	case KNOWN_SHARE:
		out->real = diff_share(e, r, nth);
		if (c->what == KNOWN_SHARE && !cell_at(e, r, nth).samples)
			out->kind = CELL_NONE;
		break;
	case VALUE:
		if (!cell_at(e, r, nth).samples)
			out->kind = CELL_NONE;
		else if (!diff_value(e, r, nth, &f->o->method, &out->real))
			out->real = NAN;
		break;
	case GROWTH:
		out->kind = e->of[0].whole ? CELL_REAL : CELL_NONE;
		out->real = diff_growth_of_whole(e, nth);
		break;
	case FORMULA:
		put_formula(e, r, nth, &f->o->method, out->text);
		break;
	case FAILED:
		out->mark = r ? diff_failed(f->d, e, r, f->o) : diff_whole_failed(f->d, e, f->o);
		break;
	case KEY:
	case LABEL:
		if (c->what == LABEL && f->o->keys[nth] == COLUMN_SYMBOL)
			frame_put_level(r->level, out->text);
		bytes_str(out->text, strtab_get(&f->d->strings, r->keys[nth]));
		break;
	case EVENT:
	case EVENT_OF:
		bytes_str(out->text, strtab_get(&f->d->strings, e->name));
		if (c->what == EVENT_OF && f->d->nr_files > 2)
			bytes_printf(out->text, " of %s", f->o->files[nth].path);
		break;
	case CORE:
		if (f->o->files[nth].core)
			bytes_str(out->text, f->o->files[nth].core);
		break;
	}
}

static bool wants(const struct table *t, size_t row)
{
	const struct diff_table *f = t->form;

	return diff_wants(f->d, f->e, &f->e->rows.v[row], f->o);
}

void diff_table_begin(struct diff_table *f, const struct diff *d, const struct diff_event *e,
		      const struct diff_opts *o)
{
	*f = (struct diff_table){ .d = d, .e = e, .o = o, .lines = 1 };
	f->table.form = f;
	f->table.nr_rows = e ? e->rows.n : d->events.n;
	f->table.wants = e ? wants : NULL;
}

void diff_table_end(struct diff_table *f)
{
	table_free(&f->table);
	arena_free(&f->names);
}

/* "weight_1" */
static const char *numbered(struct diff_table *f, const char *name, char part, u32 nr)
{
	char text[64];
	int n = snprintf(text, sizeof(text), "%s%c%u", name, part, nr);

	return arena_strndup(&f->names, text, (size_t)n);
}

static struct table_column *add(struct diff_table *f, enum cell_kind kind, const char *name, enum what what, u32 nth)
{
	struct table_column *c = table_column_add(&f->table, kind, name, name, get);

	c->what = what;
	c->nth = nth;
	c->decimals = 6;
	return c;
}

/* With more than two recordings, a header says which one it is of. */
static struct table_column *add_text(struct diff_table *f, enum cell_kind kind, const char *name, enum what what,
				     u32 file, u32 least)
{
	struct table_column *c =
		add(f, kind, f->e && f->d->nr_files > 2 ? numbered(f, name, '/', file) : name, what, file);

	c->least = least;
	c->left = false;
	return c;
}

static void add_value(struct diff_table *f, u32 file)
{
	static const struct {
		const char *header;
		u8 least, decimals;
		bool points;
	} values[] = {
		[DIFF_DELTA_ABS] = { "Delta Abs", 9, 2, true },
		[DIFF_DELTA] = { "Delta", 7, 2, true },
		[DIFF_RATIO] = { "Ratio", 14, 6, false },
		[DIFF_WDIFF] = { "Weighted diff", 14, 0, false },
	};
	enum diff_compute m = f->o->method.compute;
	struct table_column *c = add_text(f, CELL_REAL, values[m].header, VALUE, file, values[m].least);

	c->decimals = values[m].decimals;
	c->sign = c->percent = values[m].points;
	c->unknown = "N/A";
}

void diff_table_text(struct diff_table *f)
{
	struct table_column *c = add_text(f, CELL_REAL, "Baseline", KNOWN_SHARE, 0, 8);

	c->decimals = 2;
	c->percent = true;
	if (f->o->counts)
		add_text(f, CELL_COUNT, "Base period", WEIGHT, 0, 14);
	for (u32 i = 1; i < f->d->nr_files; i++) {
		add_value(f, i);
		if (f->o->formula)
			add_text(f, CELL_TEXT, "Formula", FORMULA, i, 0);
		if (!f->o->counts)
			continue;
		add_text(f, CELL_COUNT, "Period", WEIGHT, i, 14);
		add_text(f, CELL_CHANGE, "Difference", CHANGE, i, 14);
	}
	for (u32 k = 0; k < f->d->nr_keys; k++)
		add(f, CELL_TEXT, diff_key_header(f->o, k), LABEL, k)->name = true;
}

/* Each line is of another recording, with which the baseline is compared. */
void diff_table_text_totals(struct diff_table *f)
{
	struct table_column *c;

	f->lines = f->d->nr_files - 1;
	f->table.nr_rows *= f->lines;
	add_text(f, CELL_COUNT, "Baseline", WEIGHT, 0, 18);
	add_text(f, CELL_COUNT, "Total", WEIGHT, 1, 18);
	add_text(f, CELL_CHANGE, "Difference", CHANGE, 1, 18);
	c = add_text(f, CELL_REAL, "Percent", GROWTH, 1, 9);
	c->decimals = 2;
	c->sign = c->percent = true;
	add(f, CELL_TEXT, "Event", EVENT_OF, 1);
}

static void add_keys(struct diff_table *f)
{
	for (u32 k = 0; k < f->d->nr_keys; k++)
		add(f, CELL_TEXT, diff_key_name(f->o, k), KEY, k);
}

/* At the end, when a recording was simulated: the core that each of them was simulated on. */
void diff_table_csv(struct diff_table *f)
{
	bool simulated = false, rows = !f->o->totals;

	add(f, CELL_TEXT, "event", EVENT, 0);
	if (rows)
		add_keys(f);
	for (u32 i = 0; i < f->d->nr_files; i++) {
		simulated |= f->o->files[i].core != NULL;
		add(f, CELL_COUNT, numbered(f, "weight", '_', i), WEIGHT, i);
		add(f, CELL_COUNT, numbered(f, "samples", '_', i), SAMPLES, i);
		if (rows)
			add(f, CELL_REAL, numbered(f, "percent", '_', i), SHARE, i)->decimals = 4;
		if (i && rows)
			add(f, CELL_REAL, numbered(f, diff_method_name(f->o->method.compute), '_', i), VALUE, i);
		if (i)
			add(f, CELL_CHANGE, numbered(f, "difference", '_', i), CHANGE, i);
	}
	if (f->o->fail_above >= 0)
		add(f, CELL_MARK, "failed", FAILED, 0);
	for (u32 i = 0; i < f->d->nr_files && simulated; i++)
		add(f, CELL_TEXT, numbered(f, "simulated", '_', i), CORE, i);
}

static void add_list(struct diff_table *f, enum cell_kind kind, const char *name, enum what what, u32 first)
{
	for (u32 i = first; i < f->d->nr_files; i++)
		add(f, kind, name, what, i)->listed = true;
}

void diff_table_json(struct diff_table *f)
{
	add_keys(f);
	add_list(f, CELL_COUNT, "weight", WEIGHT, 0);
	add_list(f, CELL_COUNT, "samples", SAMPLES, 0);
	add_list(f, CELL_REAL, "value", VALUE, 1);
	add(f, CELL_MARK, "failed", FAILED, 0);
}
