/* SPDX-License-Identifier: Apache-2.0 */
#include "view/activity_hosts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agg/activities.h"
#include "agg/trace_keys.h"
#include "codec/event_role.h"
#include "view/report.h"
#include "view/table.h"

#define NS_PER_MS 1e6

enum what { TRACE, FROM, TO, FROM_NS, TO_NS, SAMPLES, WEIGHT, RAW_WEIGHT, HOST, FUNCTIONS };

/* A trace on one host. Times are by the first host's clock; they are good if that is known. */
struct stop {
	u32 host;
	const struct trace_visit *visit;
	bool timed;
	s64 first, last;
};

struct route {
	u32 stop, nr_stops; /* in stops */
	s64 first;
	u64 length;
};

struct shown {
	u32 route, stop;
};

struct form {
	const struct activity_host *hosts;
	u32 nr_hosts;
	VEC(struct stop) stops;
	VEC(struct route) routes; /* the longest first */
	VEC(struct shown) rows;
	u64 alone; /* traces in one recording only */
	bool is_time;
	struct table table;
};

static bool measures_time(const struct profile *p, const struct profile_event *e)
{
	const struct event *event = &p->evlist->events.v[e->event];

	return event_role_of(&event->attr, event->name, MACHINE_OTHER) == ROLE_TIME;
}

/* The one that measures time, else the first. */
static const struct profile_event *choose_event(const struct profile *p)
{
	for (size_t i = 0; i < p->events.n; i++)
		if (measures_time(p, &p->events.v[i]))
			return &p->events.v[i];
	return p->events.n ? &p->events.v[0] : NULL;
}

/* False: it is no trace. */
static bool parse_trace(const char *text, u8 id[TRACE_ID])
{
	static const char digits[] = "0123456789abcdef";

	if (strlen(text) != 2 * TRACE_ID)
		return false;
	for (u32 i = 0; i < 2 * TRACE_ID; i++) {
		const char *at = strchr(digits, text[i]);

		if (!at)
			return false;
		id[i / 2] = (u8)(id[i / 2] << 4 | (at - digits));
	}
	return true;
}

static struct trace_visit *visit_of_sum(const struct activity_host *h, const struct profile *p,
					const struct activity_sum *s)
{
	u8 id[TRACE_ID] = { 0 };

	return parse_trace(trace_texts_get(p->texts, s->text), id) ? trace_visits_find(&h->visits, id) : NULL;
}

static void take_sum(struct activity_host *h, const struct profile *p, const struct activity_sum *s, u32 functions)
{
	char made_up[PROFILE_MADE_UP];
	struct trace_visit *v = visit_of_sum(h, p, s);
	struct bytes names = { 0 };

	if (!v)
		return;
	v->samples = s->samples;
	v->weight = s->self;
	for (u32 i = 0; i < MIN(s->nr_top, functions); i++)
		bytes_printf(&names, "%s%s %.0f%%", i ? ", " : "",
			     profile_frame_name(p, s->top[i].frame, made_up, sizeof(made_up)),
			     share_of(s->top[i].self, s->self));
	bytes_char(&names, 0);
	v->functions = mem_strndup((const char *)names.p, names.len);
	bytes_free(&names);
}

void activity_host_take(struct activity_host *h, const struct profile *p, u32 functions)
{
	const struct profile_event *e = choose_event(p);
	struct activity_sums sums;

	h->is_time = e && measures_time(p, e);
	for (size_t i = 0; i < p->events.n; i++) {
		activities_sum(p, &p->events.v[i], &sums);
		for (size_t k = 0; k < sums.v.n; k++) {
			struct trace_visit *v = visit_of_sum(h, p, &sums.v.v[k]);

			if (v)
				v->chosen = true;
			if (&p->events.v[i] == e)
				take_sum(h, p, &sums.v.v[k], functions);
		}
		activities_free(&sums);
	}
}

/* Times in a recording may be any. */
static u64 distance(s64 from, s64 to)
{
	return (u64)to - (u64)from;
}

static s64 shift(const struct activity_host *h)
{
	return h->bounds.low + (s64)(distance(h->bounds.low, h->bounds.high) / 2);
}

static double error(const struct activity_host *h)
{
	return (double)distance(h->bounds.low, h->bounds.high) / 2;
}

static int by_time(const void *va, const void *vb)
{
	const struct stop *a = va, *b = vb;

	if (a->timed != b->timed) /* those whose times are not known come last */
		return a->timed ? -1 : 1;
	if (a->timed && a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->host < b->host ? -1 : a->host > b->host;
}

static int by_length(const void *va, const void *vb)
{
	const struct route *a = va, *b = vb;

	if (a->length != b->length)
		return a->length > b->length ? -1 : 1;
	if (a->first != b->first)
		return a->first < b->first ? -1 : 1;
	return a->stop < b->stop ? -1 : a->stop > b->stop;
}

/* NULL: it was not there, or no sample that was asked for is of it. */
static const struct trace_visit *shown_visit(const struct activity_host *h, const u8 *id)
{
	const struct trace_visit *v = trace_visits_find(&h->visits, id);

	return v && (v->chosen || !h->filtered) ? v : NULL;
}

/* The trace's stops at this host and those after it, unless one before it has the trace, too. */
static void add_route(struct form *f, u32 from, const u8 *id)
{
	struct route r = { .stop = (u32)f->stops.n };
	s64 last = INT64_MIN;

	r.first = INT64_MAX;
	for (u32 i = 0; i < f->nr_hosts; i++) {
		const struct activity_host *h = &f->hosts[i];
		const struct trace_visit *v = shown_visit(h, id);
		bool timed = !i || clock_bounds_good(&h->bounds);
		struct stop s = { i, v, timed, 0, 0 };

		if (!v)
			continue;
		if (i < from) {
			f->stops.n = r.stop;
			return;
		}
		if (timed) {
			s.first = (s64)(v->first - (i ? (u64)shift(h) : 0));
			s.last = (s64)(v->last - (i ? (u64)shift(h) : 0));
			r.first = MIN(r.first, s.first);
			last = MAX(last, s.last);
		}
		vec_push(&f->stops, s);
		r.nr_stops++;
	}
	if (r.nr_stops < 2) {
		f->stops.n = r.stop;
		f->alone++;
		return;
	}
	r.length = last >= r.first ? distance(r.first, last) : 0;
	qsort(&f->stops.v[r.stop], r.nr_stops, sizeof(*f->stops.v), by_time);
	vec_push(&f->routes, r);
}

static void begin(struct form *f, const struct activity_host *hosts, u32 n, u32 most)
{
	*f = (struct form){ .hosts = hosts, .nr_hosts = n, .is_time = true };
	for (u32 i = 0; i < n; i++) {
		f->is_time &= hosts[i].is_time;
		for (size_t k = 0; k < hosts[i].visits.v.n; k++)
			if (shown_visit(&hosts[i], hosts[i].visits.v.v[k].id))
				add_route(f, i, hosts[i].visits.v.v[k].id);
	}
	if (f->routes.n)
		qsort(f->routes.v, f->routes.n, sizeof(*f->routes.v), by_length);
	for (u32 i = 0; i < (most ? MIN(f->routes.n, (size_t)most) : f->routes.n); i++)
		for (u32 k = 0; k < f->routes.v[i].nr_stops; k++)
			vec_push(&f->rows, (struct shown){ i, f->routes.v[i].stop + k });
}

static void end(struct form *f)
{
	vec_free(&f->stops);
	vec_free(&f->routes);
	vec_free(&f->rows);
}

static void get(const struct table *t, const struct table_column *c, const struct table_row *r, struct cell *out)
{
	const struct form *f = t->form;
	const struct route *route = &f->routes.v[f->rows.v[r->at].route];
	const struct stop *s = &f->stops.v[f->rows.v[r->at].stop];

	out->kind = c->kind;
	switch (c->what) {
	case FROM_NS:
	case TO_NS:
		out->kind = s->timed ? CELL_CHANGE : CELL_NONE;
		out->change = c->what == FROM_NS ? s->first : s->last;
		break;
	case RAW_WEIGHT:
		out->count = s->visit->weight;
		break;
	case TRACE:
		bytes_hex_of(out->text, s->visit->id, TRACE_ID);
		break;
	case FROM:
		out->real = s->timed ? (double)distance(route->first, s->first) / NS_PER_MS : NAN;
		break;
	case TO:
		out->real = s->timed ? (double)distance(route->first, s->last) / NS_PER_MS : NAN;
		break;
	case SAMPLES:
		out->count = s->visit->samples;
		break;
	case WEIGHT:
		out->real = (double)s->visit->weight / (f->is_time ? NS_PER_MS : 1);
		break;
	case HOST:
		bytes_str(out->text, f->hosts[s->host].name);
		break;
	default:
		bytes_str(out->text, s->visit->functions ? s->visit->functions : "");
	}
}

static void column(struct form *f, enum what what, enum cell_kind kind, const char *header)
{
	struct table_column *c = table_column_add(&f->table, kind, NULL, header, get);

	c->what = what;
	c->decimals = 3;
	c->left = kind == CELL_TEXT;
}

/* Why the clock of a recording is not known. */
static const char *not_known(const struct clock_bounds *b)
{
	if (!b->traces)
		return "they share no trace";
	return b->has_low && b->has_high ? "traces contradict each other (does the first one have their beginnings?)" :
					   "no trace of both begins and ends in the first one";
}

static void write_head(const struct form *f, struct bytes *out)
{
	bytes_printf(out, "# Times are those of %s.\n", f->hosts[0].name);
	for (u32 i = 1; i < f->nr_hosts; i++) {
		const struct activity_host *h = &f->hosts[i];

		if (clock_bounds_good(&h->bounds))
			bytes_printf(
				out,
				"# The clock of %s is %.6f ms ahead of that, with an error of at most %.6f ms (%llu "
				"traces).\n",
				h->name, (double)shift(h) / NS_PER_MS, error(h) / NS_PER_MS,
				(unsigned long long)h->bounds.traces);
		else
			bytes_printf(out, "# The clock of %s cannot be compared with that: %s.\n", h->name,
				     not_known(&h->bounds));
	}
	bytes_printf(out,
		     "# %zu traces are in more than one recording, and %llu in one only, which are not shown.\n#\n",
		     f->routes.n, (unsigned long long)f->alone);
}

void activity_hosts_text(const struct activity_host *hosts, u32 n, u32 most, bool quiet, struct bytes *out)
{
	const struct table_print how = { .whole_names = true, .workers = 1 };
	struct form f;

	begin(&f, hosts, n, most);
	if (!quiet)
		write_head(&f, out);
	f.table = (struct table){ .form = &f, .nr_rows = f.rows.n };
	column(&f, TRACE, CELL_TEXT, "trace_id");
	column(&f, FROM, CELL_REAL, "From ms");
	column(&f, TO, CELL_REAL, "To ms");
	column(&f, SAMPLES, CELL_COUNT, "Samples");
	column(&f, WEIGHT, CELL_REAL, f.is_time ? "CPU ms" : "Weight");
	column(&f, HOST, CELL_TEXT, "Recording");
	column(&f, FUNCTIONS, CELL_TEXT, "Hottest functions");
	table_text(&f.table, &how, !quiet, out);
	table_free(&f.table);
	if (!quiet && most && f.routes.n > most)
		bytes_printf(out, "# %zu more: --lines says how many are shown.\n", f.routes.n - most);
	end(&f);
}

void activity_hosts_csv(const struct activity_host *hosts, u32 n, u32 most, struct bytes *out)
{
	static const struct {
		enum what what;
		enum cell_kind kind;
		const char *key;
	} fields[] = {
		{ TRACE, CELL_TEXT, "trace_id" },      { HOST, CELL_TEXT, "recording" },
		{ FROM_NS, CELL_CHANGE, "from" },      { TO_NS, CELL_CHANGE, "to" },
		{ SAMPLES, CELL_COUNT, "samples" },    { RAW_WEIGHT, CELL_COUNT, "weight" },
		{ FUNCTIONS, CELL_TEXT, "functions" },
	};
	struct form f;

	begin(&f, hosts, n, most);
	f.table = (struct table){ .form = &f, .nr_rows = f.rows.n };
	for (size_t i = 0; i < ARRAY_LEN(fields); i++)
		table_column_add(&f.table, fields[i].kind, fields[i].key, NULL, get)->what = fields[i].what;
	table_csv_header(&f.table, out);
	table_csv_rows(&f.table, out);
	table_free(&f.table);
	end(&f);
}

static void json_host(const struct activity_host *h, bool first, struct json *j)
{
	bool good = clock_bounds_good(&h->bounds);

	json_object(j);
	json_set_text(j, "recording", h->name);
	json_set_u64(j, "traces", first ? h->visits.v.n : h->bounds.traces);
	if (first || good) {
		json_set_s64(j, "ahead", first ? 0 : shift(h));
		json_set_real(j, "error", first ? 0 : error(h), TABLE_DIGITS);
	}
	json_object_end(j);
}

static void json_stop(const struct form *f, const struct stop *s, struct json *j)
{
	json_object(j);
	json_set_text(j, "recording", f->hosts[s->host].name);
	if (s->timed) {
		json_set_s64(j, "from", s->first);
		json_set_s64(j, "to", s->last);
	}
	json_set_u64(j, "samples", s->visit->samples);
	json_set_u64(j, "weight", s->visit->weight);
	json_set_text(j, "functions", s->visit->functions ? s->visit->functions : "");
	json_object_end(j);
}

void activity_hosts_json(const struct activity_host *hosts, u32 n, u32 most, struct bytes *out)
{
	struct json json = { .out = out }, *j = &json;
	struct form f;
	u32 row = 0;

	begin(&f, hosts, n, most);
	json_object(j);
	json_set_list(j, "recordings");
	for (u32 i = 0; i < n; i++)
		json_host(&hosts[i], !i, j);
	json_list_end(j);
	json_set_u64(j, "alone", f.alone);
	json_set_list(j, "traces");
	while (row < f.rows.n) {
		const struct route *r = &f.routes.v[f.rows.v[row].route];

		json_line(j, "  ");
		json_object(j);
		json_set_hex(j, "trace_id", f.stops.v[r->stop].visit->id, TRACE_ID);
		json_set_list(j, "stops");
		for (u32 i = 0; i < r->nr_stops; i++, row++)
			json_stop(&f, &f.stops.v[r->stop + i], j);
		json_list_end(j);
		json_object_end(j);
	}
	json_list_end(j);
	json_object_end(j);
	json_end(j);
	end(&f);
}
