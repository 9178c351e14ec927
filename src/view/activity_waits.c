/* SPDX-License-Identifier: Apache-2.0 */
#include "view/activity_waits.h"

#include <string.h>

#include "agg/activity_keys.h"
#include "view/table.h"

#define NS_PER_MS 1e6

enum what { RUNNING, UNSURE, RUNNABLE, SLEEPING, BLOCKED, STOPPED, UNKNOWN, WAITS, LONGEST, OPEN, LOST, NR_SUMS, KEY };
enum place_what {
	WAITING,
	PLACE_WAITS,
	PLACE_LONGEST,
	PLACE_KEY,
	STATE,
	WHERE,
	WHERE_SYMBOL,
	WHERE_KERNEL,
	WAKER,
	WAKER_AT,
	WAKER_SYMBOL,
	WAKER_KERNEL,
	WAKER_KEY
};

/* In CSV and JSON. */
static const char *const sum_names[NR_SUMS] = {
	[RUNNING] = "running", [UNSURE] = "unsure",   [RUNNABLE] = "runnable", [SLEEPING] = "sleeping",
	[BLOCKED] = "blocked", [STOPPED] = "stopped", [UNKNOWN] = "unknown",   [WAITS] = "waits",
	[LONGEST] = "longest", [OPEN] = "open",	      [LOST] = "lost",
};

static const char *const states[NR_WAIT_STATES] = {
	[WAIT_RUNNABLE] = "runnable", [WAIT_SLEEPING] = "sleeping", [WAIT_BLOCKED] = "blocked",
	[WAIT_STOPPED] = "stopped",   [WAIT_ENDED] = "ended",
};

struct form {
	const struct profile *p;
	const struct activity_waits *w;
	VEC(u32) rows; /* of waits.sums or waits.places */
	struct table table;
};

static const char *key_text(const struct form *f, u32 activity)
{
	return strtab_get(&f->w->names->keys, activity);
}

/* For threads that work for nothing, waiting is what they are there for. */
static bool is_nothing(const struct form *f, u32 activity)
{
	return !strcmp(key_text(f, activity), ACTIVITY_NOTHING);
}

static const char *name_of(const struct form *f, u32 frame, char made_up[PROFILE_MADE_UP])
{
	return profile_frame_name(f->p, frame, made_up, PROFILE_MADE_UP);
}

/* "take_job (futex_wait_queue)" */
static void put_stack(const struct form *f, struct wait_stack at, struct bytes *out)
{
	char made_up[PROFILE_MADE_UP];

	if (at.user != ID_NONE)
		bytes_str(out, name_of(f, at.user, made_up));
	if (at.kernel == ID_NONE)
		return;
	bytes_str(out, at.user != ID_NONE ? " (" : "");
	bytes_str(out, name_of(f, at.kernel, made_up));
	bytes_str(out, at.user != ID_NONE ? ")" : "");
}

static const char *waker_name(const struct form *f, u32 waker)
{
	const struct wait_waker *w = waker == WAIT_NOBODY ? NULL : &f->w->names->wakers.v[waker];

	if (!w)
		return "[nobody yet]";
	return w->context == WAIT_BY_INTERRUPT ? "[interrupt]" :
	       w->context == WAIT_BY_SOFTIRQ   ? "[softirq]" :
						 strtab_get(f->p->strings, w->comm);
}

/* In ns, or a number. */
static u64 sum_value(const struct wait_sum *s, u32 what)
{
	switch (what) {
	case RUNNING:
		return s->running;
	case UNSURE:
		return s->unsure;
	case RUNNABLE:
		return s->runnable;
	case SLEEPING:
		return s->waiting[WAIT_SLEEPING];
	case BLOCKED:
		return s->waiting[WAIT_BLOCKED];
	case STOPPED:
		return s->waiting[WAIT_STOPPED];
	case UNKNOWN:
		return s->unknown;
	case WAITS:
		return s->waits;
	case LONGEST:
		return s->longest;
	case OPEN:
		return s->open;
	default:
		return s->lost;
	}
}

/* In text in ms, in CSV in ns. */
static void put_time(const struct table_column *c, u64 time, struct cell *out)
{
	if (c->kind == CELL_COUNT)
		out->count = time;
	else
		out->real = (double)time / NS_PER_MS;
}

static void get_sum(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;
	const struct wait_sum *s = &f->w->waits->sums.v[f->rows.v[r->at]];

	out->kind = c->kind;
	if (c->what == KEY)
		bytes_str(out->text, key_text(f, s->activity));
	else
		put_time(c, sum_value(s, c->what), out);
}

static void put_frame(const struct form *f, u32 frame, struct bytes *out)
{
	char made_up[PROFILE_MADE_UP];

	if (frame != ID_NONE)
		bytes_str(out, name_of(f, frame, made_up));
}

static void get_waker(const struct form *f, const struct table_column *c, u32 waker, struct bytes *out)
{
	const struct wait_waker *w = waker == WAIT_NOBODY ? NULL : &f->w->names->wakers.v[waker];

	if (c->what == WAKER && (w || c->header))
		bytes_str(out, waker_name(f, waker));
	else if (w && c->what == WAKER_AT)
		put_stack(f, w->at, out);
	else if (w && c->what == WAKER_SYMBOL)
		put_frame(f, w->at.user, out);
	else if (w && c->what == WAKER_KERNEL)
		put_frame(f, w->at.kernel, out);
	else if (w && c->what == WAKER_KEY && w->context == WAIT_BY_THREAD)
		bytes_str(out, key_text(f, w->activity));
}

static void get_place(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;
	const struct wait_place *p = &f->w->waits->places.v[f->rows.v[r->at]];

	out->kind = c->kind;
	switch (c->what) {
	case WAITING:
	case PLACE_LONGEST:
		put_time(c, c->what == WAITING ? p->waiting : p->longest, out);
		break;
	case PLACE_WAITS:
		out->count = p->waits;
		break;
	case PLACE_KEY:
		bytes_str(out->text, key_text(f, p->activity));
		break;
	case STATE:
		bytes_str(out->text, states[p->state]);
		break;
	case WHERE:
		put_stack(f, f->w->names->places.v[p->place], out->text);
		break;
	case WHERE_SYMBOL:
		put_frame(f, f->w->names->places.v[p->place].user, out->text);
		break;
	case WHERE_KERNEL:
		put_frame(f, f->w->names->places.v[p->place].kernel, out->text);
		break;
	default:
		get_waker(f, c, p->waker, out->text);
	}
}

static void column(struct form *f, u32 what, enum cell_kind kind, const char *header, table_get how)
{
	struct table_column *c = table_column_add(&f->table, kind, NULL, header, how);

	c->what = what;
	c->decimals = 3;
	c->left = kind == CELL_TEXT;
}

/* Those that work for nothing are the last row. */
static void choose_sums(struct form *f)
{
	const struct waits *w = f->w->waits;

	for (u32 last = 0; last < 2; last++)
		for (u32 i = 0; i < w->sums.n; i++)
			if (is_nothing(f, w->sums.v[i].activity) == last)
				vec_push(&f->rows, i);
}

static void choose_places(struct form *f, bool all)
{
	const struct waits *w = f->w->waits;

	for (u32 i = 0; i < w->places.n; i++)
		if (all || !is_nothing(f, w->places.v[i].activity))
			vec_push(&f->rows, i);
}

static bool any(const struct waits *w, u32 what)
{
	for (size_t i = 0; i < w->sums.n; i++)
		if (sum_value(&w->sums.v[i], what))
			return true;
	return false;
}

static size_t shown(const struct form *f, const struct activities_opts *o)
{
	return o->most ? MIN(f->rows.n, (size_t)o->most) : f->rows.n;
}

static void write_table(struct form *f, const struct activities_opts *o, struct bytes *out)
{
	const struct table_print how = { .whole_names = true, .workers = 1 };

	f->table.nr_rows = shown(f, o);
	table_text(&f->table, &how, !o->quiet, out);
	if (!o->quiet && f->table.nr_rows < f->rows.n)
		bytes_printf(out, "# %zu more: --lines says how many are shown.\n", f->rows.n - f->table.nr_rows);
	table_free(&f->table);
	vec_free(&f->rows);
}

static void write_sums(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
		       struct bytes *out)
{
	static const struct {
		u32 what;
		bool if_any;
		const char *header;
	} columns[] = {
		{ RUNNING, false, "Running ms" },   { UNSURE, true, "Unsure ms" },
		{ RUNNABLE, false, "Runnable ms" }, { SLEEPING, false, "Sleeping ms" },
		{ BLOCKED, false, "Blocked ms" },   { STOPPED, true, "Stopped ms" },
		{ UNKNOWN, true, "Unknown ms" },    { LONGEST, false, "Longest wait" },
	};
	struct form f = { .p = p, .w = w };

	f.table.form = &f;
	choose_sums(&f);
	for (size_t i = 0; i < ARRAY_LEN(columns); i++)
		if (!columns[i].if_any || any(w->waits, columns[i].what))
			column(&f, columns[i].what, CELL_REAL, columns[i].header, get_sum);
	column(&f, WAITS, CELL_COUNT, "Waits", get_sum);
	column(&f, KEY, CELL_TEXT, o->key, get_sum);
	write_table(&f, o, out);
}

static void write_places(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
			 struct bytes *out)
{
	struct form f = { .p = p, .w = w };

	f.table.form = &f;
	choose_places(&f, false);
	column(&f, WAITING, CELL_REAL, "Waiting ms", get_place);
	column(&f, PLACE_WAITS, CELL_COUNT, "Waits", get_place);
	column(&f, PLACE_LONGEST, CELL_REAL, "Longest", get_place);
	column(&f, PLACE_KEY, CELL_TEXT, o->key, get_place);
	column(&f, STATE, CELL_TEXT, "State", get_place);
	column(&f, WHERE, CELL_TEXT, "Waits in", get_place);
	column(&f, WAKER, CELL_TEXT, "Woken by", get_place);
	column(&f, WAKER_AT, CELL_TEXT, "in", get_place);
	column(&f, WAKER_KEY, CELL_TEXT, "which works for", get_place);
	write_table(&f, o, out);
}

static u64 sum_of(const struct waits *w, bool open)
{
	u64 n = 0;

	for (size_t i = 0; i < w->sums.n; i++)
		n += open ? w->sums.v[i].open : w->sums.v[i].lost;
	return n;
}

static void write_head(const struct activity_waits *w, struct bytes *out)
{
	u64 open = sum_of(w->waits, true), lost = sum_of(w->waits, false), never = w->waits->never_switched;

	bytes_str(out, "# Waiting, as sched_switch and sched_waking tell it.\n");
	if (lost)
		bytes_printf(out, "# Unknown is time of which it is not known what the thread did (%llu stretch%s): ",
			     (unsigned long long)lost, lost == 1 ? "" : "es");
	if (lost && w->gaps)
		bytes_printf(out, "records are missing (%llu gap%s), ", (unsigned long long)w->gaps, plural(w->gaps));
	if (lost)
		bytes_str(out, "nobody was seen to wake it, or the recording ended.\n");
	if (any(w->waits, UNSURE))
		bytes_str(out, "# Unsure is running time between two samples of different activities; each has it.\n");
	if (open)
		bytes_printf(out, "# %llu wait%s had not ended when the recording did, and count%s until then.\n",
			     (unsigned long long)open, plural(open), open == 1 ? "s" : "");
	if (never)
		bytes_printf(out, "# %llu thread%s with samples, but without switches, %s left out.\n",
			     (unsigned long long)never, plural(never), never == 1 ? "is" : "are");
	if (w->late)
		bytes_printf(out, "# %llu sample%s %s out of order, and left out.\n", (unsigned long long)w->late,
			     plural(w->late), w->late == 1 ? "is" : "are");
	bytes_str(out, "#\n");
}

void activity_waits_text(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
			 struct bytes *out)
{
	if (!o->quiet)
		write_head(w, out);
	write_sums(p, w, o, out);
	bytes_str(out, o->quiet ? "\n" : "\n# What they waited for:\n#\n");
	write_places(p, w, o, out);
	bytes_char(out, '\n');
}

static void csv_field(struct form *f, u32 what, enum cell_kind kind, const char *key, table_get how)
{
	table_column_add(&f->table, kind, key, NULL, how)->what = what;
}

static void csv_sums(struct form *f)
{
	choose_sums(f);
	csv_field(f, KEY, CELL_TEXT, "activity", get_sum);
	for (u32 i = 0; i < NR_SUMS; i++)
		csv_field(f, i, CELL_COUNT, sum_names[i], get_sum);
}

static void csv_places(struct form *f)
{
	choose_places(f, true);
	csv_field(f, PLACE_KEY, CELL_TEXT, "activity", get_place);
	csv_field(f, STATE, CELL_TEXT, "state", get_place);
	csv_field(f, WHERE_SYMBOL, CELL_TEXT, "symbol", get_place);
	csv_field(f, WHERE_KERNEL, CELL_TEXT, "kernel", get_place);
	csv_field(f, WAITING, CELL_COUNT, "waiting", get_place);
	csv_field(f, PLACE_WAITS, CELL_COUNT, "waits", get_place);
	csv_field(f, PLACE_LONGEST, CELL_COUNT, "longest", get_place);
	csv_field(f, WAKER, CELL_TEXT, "waker", get_place);
	csv_field(f, WAKER_KEY, CELL_TEXT, "waker_activity", get_place);
	csv_field(f, WAKER_SYMBOL, CELL_TEXT, "waker_symbol", get_place);
	csv_field(f, WAKER_KERNEL, CELL_TEXT, "waker_kernel", get_place);
}

void activity_waits_csv(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
			bool places, struct bytes *out)
{
	struct form f = { .p = p, .w = w };

	f.table.form = &f;
	(places ? csv_places : csv_sums)(&f);
	f.table.nr_rows = shown(&f, o);
	table_csv_header(&f.table, out);
	table_csv_rows(&f.table, out);
	table_free(&f.table);
	vec_free(&f.rows);
}

static void json_stack(const struct form *f, struct wait_stack at, struct json *j)
{
	char made_up[PROFILE_MADE_UP];

	json_set_text(j, "symbol", at.user == ID_NONE ? NULL : name_of(f, at.user, made_up));
	json_set_text(j, "kernel", at.kernel == ID_NONE ? NULL : name_of(f, at.kernel, made_up));
}

static void json_sum(const struct form *f, const struct wait_sum *s, struct json *j)
{
	json_line(j, "  ");
	json_object(j);
	json_set_text(j, "activity", key_text(f, s->activity));
	for (u32 i = 0; i < NR_SUMS; i++)
		json_set_u64(j, sum_names[i], sum_value(s, i));
	json_object_end(j);
}

static void json_waker(const struct form *f, u32 waker, struct json *j)
{
	const struct wait_waker *w = waker == WAIT_NOBODY ? NULL : &f->w->names->wakers.v[waker];

	json_key(j, "waker");
	if (!w) {
		json_null(j);
		return;
	}
	json_object(j);
	json_set_text(j, "comm", waker_name(f, waker));
	json_set_text(j, "activity", w->context == WAIT_BY_THREAD ? key_text(f, w->activity) : NULL);
	json_stack(f, w->at, j);
	json_object_end(j);
}

static void json_place(const struct form *f, const struct wait_place *p, struct json *j)
{
	json_line(j, "  ");
	json_object(j);
	json_set_text(j, "activity", key_text(f, p->activity));
	json_set_text(j, "state", states[p->state]);
	json_stack(f, f->w->names->places.v[p->place], j);
	json_set_u64(j, "waiting", p->waiting);
	json_set_u64(j, "waits", p->waits);
	json_set_u64(j, "longest", p->longest);
	json_waker(f, p->waker, j);
	json_object_end(j);
}

void activity_waits_json(const struct profile *p, const struct activity_waits *w, const struct activities_opts *o,
			 struct json *j)
{
	struct form f = { .p = p, .w = w };

	json_key(j, "waits");
	json_object(j);
	json_set_u64(j, "gaps", w->gaps);
	json_set_u64(j, "out_of_order", w->late);
	json_set_u64(j, "never_switched", w->waits->never_switched);
	json_set_list(j, "activities");
	choose_sums(&f);
	for (size_t i = 0; i < shown(&f, o); i++)
		json_sum(&f, &w->waits->sums.v[f.rows.v[i]], j);
	json_list_end(j);
	f.rows.n = 0;
	json_set_list(j, "places");
	choose_places(&f, true);
	for (size_t i = 0; i < shown(&f, o); i++)
		json_place(&f, &w->waits->places.v[f.rows.v[i]], j);
	json_list_end(j);
	json_object_end(j);
	vec_free(&f.rows);
}
