/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The diff as text. Columns are as wide as their widest cell: cells are rendered once to measure and once to write, as
 * in the report.
 */
#include <stdio.h>

#include "view/diff.h"
#include "view/names.h"

struct place {
	const struct diff *d;
	const struct diff_opts *o;
	const struct diff_event *e;
	const struct diff_row *r;
};

struct slot {
	const struct kind *kind;
	u32 file, key; /* whichever the kind is about */
	u32 width;
};

struct kind {
	const char *header;
	u32 width; /* least */
	bool left;
	void (*put)(const struct place *p, const struct slot *s, struct bytes *out);
};

/* Per recording, the baseline's, and the keys. */
#define MAX_SLOTS (DIFF_MAX_FILES * 4 + 2 + DIFF_MAX_KEYS)

struct table {
	struct slot slots[MAX_SLOTS];
	u32 n;
	struct bytes cell;
};

static void put_baseline(const struct place *p, const struct slot *s, struct bytes *out)
{
	(void)s;
	if (diff_cell(p->e, p->r, 0)->samples)
		bytes_printf(out, "%.2f%%", diff_share(p->e, p->r, 0));
}

static void put_period(const struct place *p, const struct slot *s, struct bytes *out)
{
	bytes_dec(out, diff_cell(p->e, p->r, s->file)->weight);
}

static void put_change(const struct place *p, const struct slot *s, struct bytes *out)
{
	bytes_printf(out, "%+lld",
		     (long long)(diff_cell(p->e, p->r, s->file)->weight - diff_cell(p->e, p->r, 0)->weight));
}

static void put_delta(const struct place *p, const struct slot *s, struct bytes *out)
{
	double value;

	if (diff_value(p->e, p->r, s->file, &p->o->method, &value))
		bytes_printf(out, "%+.2f%%", value);
}

static void put_ratio(const struct place *p, const struct slot *s, struct bytes *out)
{
	double value;

	if (diff_value(p->e, p->r, s->file, &p->o->method, &value))
		bytes_printf(out, "%.6f", value);
	else if (diff_cell(p->e, p->r, s->file)->samples)
		bytes_str(out, "N/A");
}

static void put_weighted(const struct place *p, const struct slot *s, struct bytes *out)
{
	double value;

	if (diff_value(p->e, p->r, s->file, &p->o->method, &value))
		bytes_printf(out, "%.0f", value);
	else if (diff_cell(p->e, p->r, s->file)->samples)
		bytes_str(out, "N/A");
}

static void put_formula(const struct place *p, const struct slot *s, struct bytes *out)
{
	unsigned long long old = diff_cell(p->e, p->r, 0)->weight, new = diff_cell(p->e, p->r, s->file)->weight;
	const struct diff_method *m = &p->o->method;

	switch (m->compute) {
	case DIFF_RATIO:
		bytes_printf(out, "%llu / %llu", new, old);
		break;
	case DIFF_WDIFF:
		bytes_printf(out, "(%llu * %lld) - (%llu * %lld)", new, (long long)m->w2, old, (long long)m->w1);
		break;
	default:
		bytes_printf(out, "(%llu * 100 / %llu) - (%llu * 100 / %llu)", new,
			     (unsigned long long)p->e->of[s->file].whole, old, (unsigned long long)p->e->of[0].whole);
	}
}

static void put_key(const struct place *p, const struct slot *s, struct bytes *out)
{
	const char *text = strtab_get(&p->d->strings, p->r->keys[s->key]);

	if (p->o->keys[s->key] == COLUMN_SYMBOL)
		bytes_printf(out, "[%c] ", p->r->level);
	bytes_plain(out, text, strlen(text));
}

static const struct kind baseline = { "Baseline", 8, false, put_baseline };
static const struct kind base_period = { "Base period", 14, false, put_period };
static const struct kind period = { "Period", 14, false, put_period };
static const struct kind change = { "Difference", 14, false, put_change };
static const struct kind formula = { "Formula", 0, false, put_formula };
static const struct kind key = { NULL, 0, true, put_key };
static const struct kind values[] = {
	[DIFF_DELTA_ABS] = { "Delta Abs", 9, false, put_delta },
	[DIFF_DELTA] = { "Delta", 7, false, put_delta },
	[DIFF_RATIO] = { "Ratio", 14, false, put_ratio },
	[DIFF_WDIFF] = { "Weighted diff", 14, false, put_weighted },
};

/* With more than two recordings, a column says which one it is of. */
static void put_header(const struct diff *d, const struct diff_opts *o, const struct slot *s, struct bytes *out)
{
	const char *header = s->kind == &key ? column_get(o->keys[s->key])->header : s->kind->header;

	bytes_str(out, header + strspn(header, " "));
	if (s->kind != &key && d->nr_files > 2)
		bytes_printf(out, "/%u", s->file);
}

static void add_slot(struct table *t, const struct kind *kind, u32 file, u32 at)
{
	t->slots[t->n++] = (struct slot){ kind, file, at, kind->width };
}

static void lay_out(const struct diff *d, const struct diff_opts *o, struct table *t)
{
	add_slot(t, &baseline, 0, 0);
	if (o->counts)
		add_slot(t, &base_period, 0, 0);
	for (u32 i = 1; i < d->nr_files; i++) {
		add_slot(t, &values[o->method.compute], i, 0);
		if (o->formula)
			add_slot(t, &formula, i, 0);
		if (o->counts) {
			add_slot(t, &period, i, 0);
			add_slot(t, &change, i, 0);
		}
	}
	for (u32 k = 0; k < d->nr_keys; k++)
		add_slot(t, &key, 0, k);
}

static u32 render(struct table *t, const struct place *p, const struct slot *s)
{
	t->cell.len = 0;
	if (p->r)
		s->kind->put(p, s, &t->cell);
	else
		put_header(p->d, p->o, s, &t->cell);
	return name_width(t->cell.p, t->cell.len);
}

/* All of a table's keys are names. */
static void fit(struct table *t, u32 room)
{
	u32 widths[MAX_SLOTS];
	u64 names = 0;

	for (u32 k = 0; k < t->n; k++) {
		widths[k] = t->slots[k].width;
		names |= t->slots[k].kind == &key && k < 64 ? 1ull << k : 0;
	}
	names_fit(widths, t->n, names, room);
	for (u32 k = 0; k < t->n; k++)
		t->slots[k].width = widths[k];
}

static void measure(struct table *t, struct place *p)
{
	p->r = NULL;
	for (u32 k = 0; k < t->n; k++)
		t->slots[k].width = MAX(t->slots[k].kind->width, render(t, p, &t->slots[k]));
	for (size_t i = 0; i < p->e->rows.n; i++) {
		p->r = &p->e->rows.v[i];
		if (!diff_wants(p->d, p->e, p->r, p->o))
			continue;
		for (u32 k = 0; k < t->n; k++)
			t->slots[k].width = MAX(t->slots[k].width, render(t, p, &t->slots[k]));
	}
	if (!p->o->separator && !p->o->whole_names)
		fit(t, p->o->room ? p->o->room : NAMES_ROOM);
}

/* A separator inside a field would shift all that follows it. */
static void put_separated(const struct table *t, char separator, struct bytes *out)
{
	for (size_t i = 0; i < t->cell.len; i++)
		bytes_char(out, (char)t->cell.p[i] == separator ? '.' : (char)t->cell.p[i]);
}

/* r NULL: the header. */
static void put_line(struct table *t, const struct place *p, struct bytes *out)
{
	if (!p->r)
		bytes_char(out, '#');
	for (u32 k = 0; k < t->n; k++) {
		const struct slot *s = &t->slots[k];
		u32 width = render(t, p, s);
		int pad = p->o->separator ? 0 : (int)s->width - (int)width;

		if (p->o->separator && k)
			bytes_char(out, p->o->separator);
		else if (!p->o->separator || !p->r)
			bytes_str(out, k || p->r ? "  " : " ");
		if (!s->kind->left)
			bytes_repeat(out, ' ', pad);
		if (p->o->separator)
			put_separated(t, p->o->separator, out);
		else
			name_put(t->cell.p, t->cell.len, s->width, out);
		if (s->kind->left && (k + 1 < t->n || !p->r))
			bytes_repeat(out, ' ', pad);
	}
	bytes_char(out, '\n');
}

static void put_dots(const struct table *t, struct bytes *out)
{
	bytes_char(out, '#');
	for (u32 k = 0; k < t->n; k++) {
		bytes_str(out, k ? "  " : " ");
		bytes_repeat(out, '.', (int)t->slots[k].width);
	}
	bytes_str(out, "\n#\n");
}

static void put_event_name(const struct diff *d, const struct diff_event *e, struct bytes *out)
{
	const char *name = strtab_get(&d->strings, e->name);

	bytes_str(out, "# Event '");
	bytes_plain(out, name, strlen(name));
	bytes_char(out, '\'');
}

static void put_table(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct bytes *out)
{
	struct place p = { d, o, e, NULL };
	struct table t = { 0 };

	lay_out(d, o, &t);
	measure(&t, &p);
	p.r = NULL;
	if (!o->quiet) {
		put_event_name(d, e, out);
		bytes_str(out, "\n#\n");
		put_line(&t, &p, out);
		if (!o->separator)
			put_dots(&t, out);
	}
	for (size_t i = 0; i < e->rows.n; i++) {
		p.r = &e->rows.v[i];
		if (diff_wants(d, e, p.r, o))
			put_line(&t, &p, out);
	}
	bytes_free(&t.cell);
}

static void put_total(const struct diff *d, const struct diff_event *e, u32 file, const struct diff_opts *o,
		      struct bytes *out)
{
	u64 old = e->of[0].whole, new = e->of[file].whole;
	const char *name = strtab_get(&d->strings, e->name), *path = o->files[file].path;
	char percent[32] = "";
	char sep = o->separator;

	if (old)
		snprintf(percent, sizeof(percent), "%+.2f%%", diff_growth_of_whole(e, file));
	bytes_printf(out, sep ? "%llu" : "  %18llu", (unsigned long long)old);
	bytes_printf(out, sep ? "%c%llu" : "%c%19llu", sep ? sep : ' ', (unsigned long long)new);
	bytes_printf(out, sep ? "%c%+lld" : "%c%19lld", sep ? sep : ' ', (long long)(new - old));
	bytes_printf(out, sep ? "%c%s" : "%c%10s", sep ? sep : ' ', percent);
	if (sep)
		bytes_char(out, sep);
	else
		bytes_str(out, "  ");
	bytes_plain(out, name, strlen(name));
	if (d->nr_files > 2) {
		bytes_str(out, " of ");
		bytes_plain(out, path, strlen(path));
	}
	bytes_char(out, '\n');
}

static void put_totals(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	if (!o->quiet)
		bytes_str(out, "#           Baseline               Total          Difference    Percent  Event\n");
	for (size_t i = 0; i < d->events.n; i++)
		for (u32 k = 1; k < d->nr_files; k++)
			put_total(d, &d->events.v[i], k, o, out);
}

/* How far the numbers below can be trusted. */
static void put_files(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	bytes_str(out, "# Data files:\n");
	for (u32 i = 0; i < d->nr_files; i++) {
		const struct diff_file *f = &o->files[i];

		bytes_printf(out, "#  [%u] ", i);
		bytes_plain(out, f->path, strlen(f->path));
		bytes_printf(out, "%s: %llu samples, %llu lost, %llu throttled", i ? "" : " (Baseline)",
			     (unsigned long long)f->tally.samples, (unsigned long long)tally_lost(&f->tally),
			     (unsigned long long)f->tally.throttled);
		if (f->core) {
			bytes_str(out, ", simulated (");
			bytes_plain(out, f->core, strlen(f->core));
			bytes_char(out, ')');
		}
		bytes_char(out, '\n');
	}
	bytes_str(out, "#\n");
}

/* Events that only some recordings have: nothing to compare. */
static void put_alone(const struct diff *d, const struct diff_event *e, const struct diff_opts *o, struct bytes *out)
{
	put_event_name(d, e, out);
	bytes_str(out, " has samples in");
	for (u32 i = 0, n = 0; i < d->nr_files; i++)
		if (e->of[i].present) {
			bytes_str(out, n++ ? ", " : " ");
			bytes_plain(out, o->files[i].path, strlen(o->files[i].path));
		}
	bytes_str(out, " only\n");
}

void diff_text(const struct diff *d, const struct diff_opts *o, struct bytes *out)
{
	u32 tables = 0;

	if (!o->quiet)
		put_files(d, o, out);
	if (o->totals) {
		put_totals(d, o, out);
		return;
	}
	for (size_t i = 0; i < d->events.n; i++) {
		const struct diff_event *e = &d->events.v[i];

		if (!diff_has_pair(d, e))
			continue;
		if (tables++)
			bytes_char(out, '\n');
		put_table(d, e, o, out);
	}
	for (size_t i = 0; i < d->events.n && !o->quiet; i++)
		if (!diff_has_pair(d, &d->events.v[i])) {
			bytes_str(out, "#\n");
			put_alone(d, &d->events.v[i], o, out);
		}
}
