/* SPDX-License-Identifier: Apache-2.0 */
#include "view/activities.h"

#include <string.h>

#include "agg/columns.h"
#include "agg/trace_keys.h"
#include "codec/event_role.h"
#include "view/activity_waits.h"
#include "view/report.h"
#include "view/table.h"

#define NS_PER_MS 1e6
#define SURE 3.0 /* standard errors from which on a difference is shown */

enum what { EVENT, SHARE, SAMPLES, TIME, WEIGHT, KEY, FUNCTIONS, HEAVY, OTHERS, ERRORS, FUNCTION };

struct form {
	const struct profile *p;
	const struct profile_event *e;
	const struct activities_opts *o;
	struct activity_sums sums;
	struct activity_causes causes;
	bool is_time; /* weights are nanoseconds */
	struct table table;
};

static void put_name(const struct profile *p, u32 frame, struct bytes *out)
{
	char made_up[PROFILE_MADE_UP];
	const char *name = profile_frame_name(p, frame, made_up, sizeof(made_up));

	bytes_str(out, name);
}

static const char *event_name(const struct form *f)
{
	return f->p->evlist->events.v[f->e->event].name;
}

/* "parse 41%, read 20%": shares of the activity. */
static void put_functions(const struct form *f, const struct activity_sum *s, struct bytes *out)
{
	for (u32 i = 0; i < MIN(s->nr_top, f->o->functions); i++) {
		bytes_str(out, i ? ", " : "");
		put_name(f->p, s->top[i].frame, out);
		bytes_printf(out, " %.0f%%", share_of(s->top[i].self, s->self));
	}
}

static void get(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;
	const struct activity_sum *s = &f->sums.v.v[r->at];

	out->kind = c->kind;
	switch (c->what) {
	case EVENT:
		bytes_str(out->text, event_name(f));
		break;
	case SHARE:
		out->share.part = s->self;
		out->share.percent = share_of(s->self, f->e->weight);
		break;
	case SAMPLES:
		out->count = s->samples;
		break;
	case TIME:
		out->real = (double)s->self / NS_PER_MS;
		break;
	case WEIGHT:
		out->count = s->self;
		break;
	case KEY:
		bytes_str(out->text, trace_texts_get(f->p->texts, s->text));
		break;
	default:
		put_functions(f, s, out->text);
	}
}

/* Times are in ms in text, and in ns in CSV, whose columns have no header. */
static void get_cause(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;
	const struct activity_cause *cause = &f->causes.v.v[r->at];
	double unit = f->is_time && c->header ? NS_PER_MS : 1;

	out->kind = c->kind;
	if (c->what == EVENT)
		bytes_str(out->text, event_name(f));
	else if (c->what == FUNCTION)
		put_name(f->p, cause->function, out->text);
	else
		out->real = c->what == HEAVY  ? cause->heavy / unit :
			    c->what == OTHERS ? cause->others / unit :
						cause->errors;
}

static struct table_column *column(struct form *f, enum what what, enum cell_kind kind, const char *header,
				   table_get how)
{
	struct table_column *c = table_column_add(&f->table, kind, NULL, header, how);

	c->what = what;
	c->decimals = f->is_time ? 3 : 1;
	c->left = kind == CELL_TEXT;
	return c;
}

static struct table_column *field(struct form *f, enum what what, enum cell_kind kind, const char *key, table_get how)
{
	struct table_column *c = table_column_add(&f->table, kind, key, NULL, how);

	c->what = what;
	return c;
}

static u32 nr_shown(const struct form *f)
{
	return f->o->most ? (u32)MIN(f->sums.v.n, (size_t)f->o->most) : (u32)f->sums.v.n;
}

static void write_table(struct form *f, struct bytes *out)
{
	const struct table_print how = { .whole_names = true, .workers = 1 };

	f->table = (struct table){ .form = f, .nr_rows = nr_shown(f) };
	column(f, SHARE, CELL_SHARE, "Overhead", get);
	column(f, SAMPLES, CELL_COUNT, "Samples", get);
	if (f->is_time)
		column(f, TIME, CELL_REAL, "CPU ms", get);
	else
		column(f, WEIGHT, CELL_COUNT, "Weight", get);
	column(f, KEY, CELL_TEXT, f->o->key, get);
	if (f->o->functions)
		column(f, FUNCTIONS, CELL_TEXT, "Hottest functions", get);
	table_text(&f->table, &how, !f->o->quiet, out);
	table_free(&f->table);
	if (!f->o->quiet && nr_shown(f) < f->sums.v.n)
		bytes_printf(out, "# %zu more: --lines says how many are shown.\n", f->sums.v.n - nr_shown(f));
}

static bool is_sure(const struct activity_cause *c)
{
	return c->errors >= SURE;
}

/* Those that are sure, the largest difference first. */
static void keep_sure(struct activity_causes *c)
{
	size_t kept = 0;

	for (size_t i = 0; i < c->v.n; i++)
		if (is_sure(&c->v.v[i]))
			c->v.v[kept++] = c->v.v[i];
	c->v.n = kept;
}

static void write_causes(struct form *f, struct bytes *out)
{
	const struct table_print how = { .whole_names = true, .workers = 1 };
	const struct activity_causes *c = &f->causes;
	double unit = f->is_time ? NS_PER_MS : 1;

	if (!f->o->quiet)
		bytes_printf(out,
			     "#\n# The %llu heaviest of %llu activities took %.3f%s on average, the others %.3f%s. "
			     "Functions that take more in them, by at least %.0f standard errors, per activity:\n#\n",
			     (unsigned long long)c->nr_heavy, (unsigned long long)(c->nr_heavy + c->nr_others),
			     c->heavy / unit, f->is_time ? " ms" : "", c->others / unit, f->is_time ? " ms" : "",
			     SURE);
	f->table = (struct table){ .form = f, .nr_rows = f->o->most ? MIN(c->v.n, (size_t)f->o->most) : c->v.n };
	column(f, HEAVY, CELL_REAL, f->is_time ? "Heavy ms" : "Heavy", get_cause);
	column(f, OTHERS, CELL_REAL, f->is_time ? "Others ms" : "Others", get_cause);
	column(f, ERRORS, CELL_REAL, "Std errors", get_cause)->decimals = 1;
	column(f, FUNCTION, CELL_TEXT, "Symbol", get_cause);
	table_text(&f->table, &how, !f->o->quiet, out);
	table_free(&f->table);
}

static void begin(struct form *f, const struct profile *p, const struct profile_event *e,
		  const struct activities_opts *o)
{
	const struct event *event = &p->evlist->events.v[e->event];

	*f = (struct form){ .p = p, .e = e, .o = o };
	f->is_time = event_role_of(&event->attr, event->name, MACHINE_OTHER) == ROLE_TIME;
	activities_sum(p, e, &f->sums);
	if (o->slow > 0)
		activities_compare(p, e, o->slow, &f->causes);
	keep_sure(&f->causes);
}

static void end(struct form *f)
{
	activities_free(&f->sums);
	activity_causes_free(&f->causes);
}

static bool has_table(const struct activities_opts *o, const struct profile_event *e)
{
	return !o->waits || (e->event != o->aside[0] && e->event != o->aside[1]);
}

void activities_text(const struct profile *p, const struct activities_opts *o, struct bytes *out)
{
	if (!o->quiet)
		report_recording_head(p, out);
	for (size_t i = 0; i < p->events.n; i++) {
		struct form f;

		if (!has_table(o, &p->events.v[i]))
			continue;
		begin(&f, p, &p->events.v[i], o);
		if (!o->quiet) {
			report_event_head(p, f.e, NULL, out);
			bytes_str(out, "#\n");
		}
		write_table(&f, out);
		if (o->slow > 0)
			write_causes(&f, out);
		bytes_char(out, '\n');
		end(&f);
	}
	if (o->waits)
		activity_waits_text(p, o->waits, o, out);
}

/* --- CSV --- */

static void csv_rows(struct form *f, bool header, struct bytes *out)
{
	f->table = (struct table){ .form = f, .nr_rows = nr_shown(f) };
	field(f, EVENT, CELL_TEXT, "event", get);
	field(f, KEY, CELL_TEXT, "activity", get);
	field(f, SAMPLES, CELL_COUNT, "samples", get);
	field(f, SHARE, CELL_SHARE, "weight", get);
	field(f, FUNCTIONS, CELL_TEXT, "functions", get);
	if (header)
		table_csv_header(&f->table, out);
	else
		table_csv_rows(&f->table, out);
	table_free(&f->table);
}

static void csv_causes(struct form *f, bool header, struct bytes *out)
{
	f->table = (struct table){ .form = f, .nr_rows = f->causes.v.n };
	field(f, EVENT, CELL_TEXT, "event", get_cause);
	field(f, FUNCTION, CELL_TEXT, "symbol", get_cause);
	field(f, HEAVY, CELL_REAL, "heavy", get_cause)->decimals = 1;
	field(f, OTHERS, CELL_REAL, "others", get_cause)->decimals = 1;
	field(f, ERRORS, CELL_REAL, "standard_errors", get_cause)->decimals = 2;
	if (header)
		table_csv_header(&f->table, out);
	else
		table_csv_rows(&f->table, out);
	table_free(&f->table);
}

void activities_csv(const struct profile *p, const struct activities_opts *o, enum activity_table which,
		    struct bytes *out)
{
	void (*rows)(struct form * f, bool header, struct bytes *out) =
		which == ACTIVITY_CAUSES ? csv_causes : csv_rows;
	struct form f = { .p = p, .o = o };

	if (which == ACTIVITY_WAITS || which == ACTIVITY_PLACES) {
		activity_waits_csv(p, o->waits, o, which == ACTIVITY_PLACES, out);
		return;
	}
	rows(&f, true, out);
	for (size_t i = 0; i < p->events.n; i++) {
		begin(&f, p, &p->events.v[i], o);
		rows(&f, false, out);
		end(&f);
	}
}

/* --- JSON --- */

static void json_function(const struct profile *p, u32 frame, struct json *j)
{
	struct bytes name = { 0 };

	put_name(p, frame, &name);
	json_set_str(j, "symbol", (const char *)name.p, name.len);
	bytes_free(&name);
}

static void json_activity(const struct form *f, const struct activity_sum *s, struct json *j)
{
	json_object(j);
	json_set_text(j, "activity", trace_texts_get(f->p->texts, s->text));
	json_set_u64(j, "samples", s->samples);
	json_set_u64(j, "weight", s->self);
	json_set_list(j, "functions");
	for (u32 i = 0; i < MIN(s->nr_top, f->o->functions); i++) {
		json_object(j);
		json_function(f->p, s->top[i].frame, j);
		json_set_u64(j, "weight", s->top[i].self);
		json_object_end(j);
	}
	json_list_end(j);
	json_object_end(j);
}

static void json_causes(const struct form *f, struct json *j)
{
	json_set_u64(j, "heavy_activities", f->causes.nr_heavy);
	json_set_u64(j, "other_activities", f->causes.nr_others);
	json_set_list(j, "causes");
	for (size_t i = 0; i < f->causes.v.n; i++) {
		const struct activity_cause *c = &f->causes.v.v[i];

		json_line(j, "   ");
		json_object(j);
		json_function(f->p, c->function, j);
		json_key(j, "heavy");
		json_fixed(j, c->heavy, 1);
		json_key(j, "others");
		json_fixed(j, c->others, 1);
		json_key(j, "standard_errors");
		json_fixed(j, c->errors, 2);
		json_object_end(j);
	}
	json_list_end(j);
}

void activities_json(const struct profile *p, const struct activities_opts *o, struct bytes *out)
{
	struct json json = { .out = out }, *j = &json;

	json_object(j);
	json_set_text(j, "by", o->key);
	json_set_u64(j, "samples", p->tally.samples);
	json_set_list(j, "events");
	for (size_t i = 0; i < p->events.n; i++) {
		struct form f;

		begin(&f, p, &p->events.v[i], o);
		json_object(j);
		json_set_text(j, "event", event_name(&f));
		json_set_u64(j, "weight", f.e->weight);
		json_set_list(j, "activities");
		for (u32 k = 0; k < nr_shown(&f); k++) {
			json_line(j, "  ");
			json_activity(&f, &f.sums.v.v[k], j);
		}
		json_list_end(j);
		if (o->slow > 0)
			json_causes(&f, j);
		json_object_end(j);
		end(&f);
	}
	json_list_end(j);
	if (o->waits)
		activity_waits_json(p, o->waits, o, j);
	json_object_end(j);
	json_end(j);
}
