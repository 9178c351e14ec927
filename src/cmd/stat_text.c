/* SPDX-License-Identifier: Apache-2.0 */
#include <stdio.h>

#include "cmd/stat.h"

#define VALUE_WIDTH 18
#define NAME_WIDTH 32
#define NAME_WIDTH_UNCOUNTED 25
#define UNIT_WIDTH 4
#define METRIC_WIDTH 35
#define LINES_PER_HEAD 25
#define COMM_WIDTH 16
#define ID_WIDTH 8

struct text {
	const struct stat_view *v;
	struct bytes *out;
	int unit_width;
};

static void put_metric(const struct text *x, const struct stat_metric *m)
{
	size_t from = x->out->len;

	if (m->unit) {
		bytes_str(x->out, " # ");
		bytes_printf(x->out,
			     m->percent	      ? "%*.*f%%" :
			     m->decimals == 2 ? "%*.*f " :
						"%*.*f",
			     m->decimals == 2 ? 7 : 8, m->decimals, m->value);
		bytes_printf(x->out, " %s", m->unit);
	}
	if (m->per_kilo >= 0)
		bytes_printf(x->out, "%s%.2f MPKI", m->unit ? ", " : " # ", m->per_kilo);
	bytes_repeat(x->out, ' ', METRIC_WIDTH - (int)(x->out->len - from));
}

/* Nobody reads blanks at a line's end. */
static void end_line(struct bytes *out)
{
	while (out->len && out->p[out->len - 1] == ' ')
		out->len--;
	bytes_char(out, '\n');
}

static void put_time(const struct text *x)
{
	if (x->v->interval)
		bytes_printf(x->out, "%16.9f ", x->v->r->since_start);
}

static void put_key(const struct text *x, const struct stat_table *t, size_t key, u32 cells)
{
	const struct count_key *k = &t->keys.v[key];
	char name[64];
	const char *id;

	stat_key_name(t, k, name, sizeof(name));
	switch (x->v->by) {
	case COUNT_BY_ALL:
		break;
	case COUNT_BY_CPU:
		bytes_printf(x->out, "%-10s ", name);
		break;
	case COUNT_BY_CORE:
	case COUNT_BY_DIE:
		bytes_printf(x->out, "%-*s %4u ", x->v->by == COUNT_BY_CORE ? 15 : 12, name, cells);
		break;
	case COUNT_BY_SOCKET:
	case COUNT_BY_NODE:
		bytes_printf(x->out, "%-6s %4u ", name, cells);
		break;
	case COUNT_BY_THREAD:
		if (x->v->r->simulated) {
			bytes_printf(x->out, "%*s ", COMM_WIDTH + 1 + ID_WIDTH, name);
			break;
		}
		id = strrchr(name, '-') + 1;
		bytes_printf(x->out, "%*.*s%-*s ", COMM_WIDTH, (int)(id - name) - 1, name, ID_WIDTH + 1, id - 1);
		break;
	}
}

/* What is usually said beside the event; and below that, or in its place, values of -M. */
static void put_metrics(const struct text *x, const struct stat_table *t, size_t key, size_t event)
{
	struct stat_formula_value f;
	struct stat_metric m;
	bool first;

	stat_metric(t, key, event, &m);
	first = !m.unit && m.per_kilo < 0;
	if (!first)
		put_metric(x, &m);
	for (size_t i = 0; t->view->formulas && stat_formula_at(t, key, event, &i, &f); first = false) {
		if (!first) {
			end_line(x->out);
			put_time(x);
			put_key(x, t, key, 0);
			bytes_repeat(x->out, ' ', VALUE_WIDTH + 1 + x->unit_width + 1 + NAME_WIDTH);
		}
		put_metric(x, &(struct stat_metric){ .value = f.value,
						     .decimals = f.decimals == 2 ? 2 : 3,
						     .unit = f.name,
						     .per_kilo = -1 });
	}
	if (first)
		put_metric(x, &m);
}

static void put_cell(void *ctx, const struct stat_table *t, size_t key, size_t event)
{
	const struct text *x = ctx;
	const struct stat_cell *c = stat_table_cell(t, key, event);
	const char *state = stat_state(c);
	char value[64];

	put_time(x);
	put_key(x, t, key, c->cells);
	bytes_printf(x->out, "%*s %-*s %-*s", VALUE_WIDTH,
		     state ? state : stat_value(c, !x->v->plain, value, sizeof(value)), x->unit_width, stat_unit(c->e),
		     state ? NAME_WIDTH_UNCOUNTED : NAME_WIDTH, c->e->name);
	if (c->e->cgroup)
		bytes_printf(x->out, " %s", c->e->cgroup);
	if (!state) {
		put_metrics(x, t, key, event);
		if (c->error > 0)
			bytes_printf(x->out, "  ( +-%6.2f%% )", c->error);
		if (c->percent < 100)
			bytes_printf(x->out, "  (%.2f%%)", c->percent);
	}
	end_line(x->out);
}

/* Where the slots of the simulated pipeline went. */
static void put_slots(const struct counter_result *r, struct bytes *out)
{
	static const struct {
		const char *name;
		u32 count;
	} parts[] = {
		{ "retiring", VC_SLOTS_RETIRING },
		{ "bad speculation", VC_SLOTS_BAD_SPECULATION },
		{ "frontend", VC_SLOTS_FRONTEND },
		{ "backend", VC_SLOTS_BACKEND },
	};

	if (r->models != VPMU_MODEL_ALL || !r->totals[VC_SLOTS])
		return;
	bytes_str(out, "\n             slots:");
	for (u32 i = 0; i < ARRAY_LEN(parts); i++)
		bytes_printf(out, "%s %.1f%% %s", i ? "," : "",
			     100.0 * (double)r->totals[parts[i].count] / (double)r->totals[VC_SLOTS], parts[i].name);
	bytes_char(out, '\n');
}

static void put_target(const struct stat_view *v, struct bytes *out)
{
	const struct target_opts *t = v->target;

	if (t->pids) {
		bytes_printf(out, "process id '%s'", t->pids);
	} else if (t->tids) {
		bytes_printf(out, "thread id '%s'", t->tids);
	} else if (t->cpus) {
		bytes_printf(out, "'CPU(s) %s'", t->cpus);
	} else if (t->system_wide || t->cgroups) {
		bytes_str(out, "'system wide'");
	} else {
		bytes_char(out, '\'');
		for (u32 i = 0; t->command && t->command[i]; i++) {
			bytes_str(out, i ? " " : "");
			bytes_plain(out, t->command[i], strlen(t->command[i]));
		}
		bytes_char(out, '\'');
	}
}

static void put_head(const struct stat_view *v, struct bytes *out)
{
	bytes_str(out, "\n Performance counter stats for ");
	put_target(v, out);
	if (v->r->simulated)
		bytes_printf(out, ", simulated (%s)", v->r->core);
	if (v->r->runs > 1)
		bytes_printf(out, " (%u runs)", v->r->runs);
	bytes_str(out, ":\n\n");
}

static void put_interval_head(const struct stat_view *v, struct bytes *out)
{
	static const char *const where[] = {
		[COUNT_BY_ALL] = "            ",
		[COUNT_BY_CPU] = "CPU                    ",
		[COUNT_BY_CORE] = "core            cpus             ",
		[COUNT_BY_DIE] = "die          cpus             ",
		[COUNT_BY_SOCKET] = "socket cpus             ",
		[COUNT_BY_NODE] = "node   cpus             ",
		[COUNT_BY_THREAD] = "            comm-pid                  ",
	};

	if (!(v->nr % LINES_PER_HEAD))
		bytes_printf(out, "#           time %scounts unit events\n", where[v->by]);
}

/* The mean over several runs, with as many digits as three of its error need. */
static void put_elapsed(const struct stat_view *v, struct bytes *out)
{
	double mean = stat_seconds(v), squares = 0, error, top = 1;
	size_t n = v->r->seconds.n;
	int digits = 2;

	if (n < 2) {
		bytes_printf(out, "%18.9f seconds time elapsed%s\n", mean, v->r->simulated ? " (simulating)" : "");
		return;
	}
	for (size_t i = 0; i < n; i++)
		squares += (v->r->seconds.v[i] - mean) * (v->r->seconds.v[i] - mean);
	error = __builtin_sqrt(squares / (double)(n - 1) / (double)n);
	while (digits < 9 && error < top) {
		top /= 10;
		digits++;
	}
	bytes_printf(out, "%18.*f +- %.*f seconds time elapsed  ( +-%6.2f%% )\n", digits, mean, digits, error,
		     mean > 0 ? 100 * error / mean : 0);
}

static void put_end(const struct stat_view *v, struct bytes *out)
{
	const struct counter_result *r = v->r;
	const struct target_opts *t = v->target;

	if (r->events.n)
		bytes_char(out, '\n');
	if (r->simulated)
		bytes_printf(out, "%18.9f seconds of virtual time, %zu thread%s\n",
			     (double)r->totals[VC_TIME_NS] * 1e-9, r->threads.n, plural(r->threads.n));
	put_elapsed(v, out);
	bytes_char(out, '\n');
	if (r->runs == 1 && t->command && !t->system_wide && !t->cpus && !t->pids && !t->tids && !t->cgroups)
		bytes_printf(out, "%18.9f seconds user\n%18.9f seconds sys\n\n\n", r->user, r->system);
}

void stat_text(const struct stat_view *v, struct bytes *out)
{
	struct text x = { v, out, UNIT_WIDTH };
	struct stat_table t;

	for (size_t i = 0; i < v->r->events.n; i++)
		x.unit_width = MAX(x.unit_width, (int)strlen(stat_unit(&v->r->events.v[i])));
	stat_table_make(&t, v);
	if (v->interval)
		put_interval_head(v, out);
	else
		put_head(v, out);
	stat_table_walk(&t, &x, put_cell);
	stat_table_free(&t);
	if (v->interval)
		return;
	if (v->r->simulated && v->by == COUNT_BY_ALL)
		put_slots(v->r, out);
	put_end(v, out);
}
