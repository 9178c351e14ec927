/* SPDX-License-Identifier: Apache-2.0 */
/* The output for scripts: one line per count, as fields (-x) or as an object (-j). Both have perf's fields. */
#include <stdio.h>

#include "base/json.h"
#include "cmd/stat.h"

struct fields {
	const struct stat_view *v;
	struct bytes *out;
};

/* Of the means of several runs. Intervals are of one, but have the field, too, as in perf: then all lines have as
 * many. */
static bool has_errors(const struct stat_view *v)
{
	return v->interval ? v->repeated : v->r->runs > 1;
}

static bool counts_cells(enum count_by by)
{
	return by != COUNT_BY_ALL && by != COUNT_BY_CPU && by != COUNT_BY_THREAD;
}

static void put_begin(const struct fields *x, const struct stat_table *t, size_t key, const struct stat_cell *c)
{
	const char *sep = x->v->separator;
	char name[64];

	if (x->v->interval)
		bytes_printf(x->out, "%16.9f%s", x->v->r->since_start, sep);
	else if (x->v->intervals)
		bytes_printf(x->out, "%16s%s", "summary", sep);
	stat_key_name(t, &t->keys.v[key], name, sizeof(name));
	if (*name)
		bytes_printf(x->out, "%s%s", name, sep);
	if (counts_cells(x->v->by))
		bytes_printf(x->out, "%u%s", c->cells, sep);
}

static void put_formula_fields(const struct fields *x, const struct stat_table *t, size_t key, size_t event,
			       bool first)
{
	const struct stat_cell *c = stat_table_cell(t, key, event);
	struct stat_formula_value f;
	const char *sep = x->v->separator;

	for (size_t i = 0; t->view->formulas && stat_formula_at(t, key, event, &i, &f);) {
		if (!first) {
			bytes_char(x->out, '\n');
			put_begin(x, t, key, c);
			bytes_printf(x->out, "%s%s%s%s%s%s%s", sep, sep, c->e->cgroup ? sep : "", sep, sep,
				     has_errors(x->v) ? sep : "", sep);
		}
		bytes_printf(x->out, "%.*f%s%s", f.decimals, f.value, sep, f.name);
		first = false;
	}
	if (first)
		bytes_str(x->out, sep);
}

static void put_fields(void *ctx, const struct stat_table *t, size_t key, size_t event)
{
	const struct fields *x = ctx;
	const struct stat_cell *c = stat_table_cell(t, key, event);
	const char *sep = x->v->separator, *state = stat_state(c);
	struct stat_metric m;
	char value[64];

	stat_metric(t, key, event, &m);
	put_begin(x, t, key, c);
	bytes_printf(x->out, "%s%s%s%s%s%s", state ? state : stat_value(c, false, value, sizeof(value)), sep,
		     stat_unit(c->e), sep, c->e->name, sep);
	if (c->e->cgroup)
		bytes_printf(x->out, "%s%s", c->e->cgroup, sep);
	if (has_errors(x->v))
		bytes_printf(x->out, "%.2f%%%s", c->error, sep);
	bytes_printf(x->out, "%llu%s%.2f%s", (unsigned long long)c->running_ns, sep, c->percent, sep);
	if (m.unit)
		bytes_printf(x->out, "%.*f%s%s", m.decimals, m.value, sep, m.unit);
	put_formula_fields(x, t, key, event, !m.unit);
	bytes_char(x->out, '\n');
}

void stat_fields(const struct stat_view *v, struct bytes *out)
{
	struct fields x = { v, out };
	struct stat_table t;

	if (v->r->simulated)
		bytes_printf(out, "# simulated (%s)\n", v->r->core);
	stat_table_make(&t, v);
	stat_table_walk(&t, &x, put_fields);
	stat_table_free(&t);
}

static void set_where(const struct fields *x, const struct stat_table *t, size_t key, const struct stat_cell *c,
		      struct json *j)
{
	static const char *const names[] = {
		[COUNT_BY_CPU] = "cpu",	      [COUNT_BY_CORE] = "core", [COUNT_BY_DIE] = "die",
		[COUNT_BY_SOCKET] = "socket", [COUNT_BY_NODE] = "node", [COUNT_BY_THREAD] = "thread",
	};
	char name[64];

	if (x->v->interval) {
		json_key(j, "interval");
		json_fixed(j, x->v->r->since_start, 9);
	}
	if (x->v->by == COUNT_BY_ALL)
		return;
	stat_key_name(t, &t->keys.v[key], name, sizeof(name));
	json_set_text(j, names[x->v->by], x->v->by == COUNT_BY_CPU ? name + strlen("CPU") : name);
	if (counts_cells(x->v->by))
		json_set_u64(j, "aggregate-number", c->cells);
}

static void set_metric(struct json *j, double value, const char *unit)
{
	json_key(j, "metric-value");
	json_fixed(j, value, 6);
	json_set_text(j, "metric-unit", unit ? unit : "");
}

static void put_line(void *ctx, const struct stat_table *t, size_t key, size_t event)
{
	const struct fields *x = ctx;
	const struct stat_cell *c = stat_table_cell(t, key, event);
	const char *state = stat_state(c), *unit = stat_unit(c->e);
	struct json json = { .out = x->out, .spaced = true }, *j = &json;
	struct stat_formula_value f;
	struct stat_metric m;
	char value[64];

	stat_metric(t, key, event, &m);
	/* perf's numbers are texts here: in milliseconds where the unit says so. */
	snprintf(value, sizeof(value), "%.6f",
		 !strcmp(unit, "msec") ? c->value * 1e-6 :
		 c->e->scale > 0       ? c->value * c->e->scale :
					 c->value);
	json_object(j);
	set_where(x, t, key, c, j);
	json_set_text(j, "counter-value", state ? state : value);
	json_set_text(j, "unit", unit);
	json_set_text(j, "event", c->e->name);
	if (c->e->cgroup)
		json_set_text(j, "cgroup", c->e->cgroup);
	if (has_errors(x->v)) {
		json_key(j, "variance");
		json_fixed(j, c->error, 2);
	}
	json_set_u64(j, "event-runtime", c->running_ns);
	json_key(j, "pcnt-running");
	json_fixed(j, c->percent, 2);
	for (size_t i = 0; !m.unit && t->view->formulas && stat_formula_at(t, key, event, &i, &f);)
		m = (struct stat_metric){ .value = f.value, .unit = f.name };
	set_metric(j, m.unit ? m.value : 0, m.unit);
	json_object_end(j);
	json_end(j);
	for (size_t i = 0; t->view->formulas && stat_formula_at(t, key, event, &i, &f);) {
		if (f.name == m.unit)
			continue;
		json_object(j);
		set_where(x, t, key, c, j);
		set_metric(j, f.value, f.name);
		json_object_end(j);
		json_end(j);
	}
}

void stat_lines(const struct stat_view *v, struct bytes *out)
{
	struct fields x = { v, out };
	struct stat_table t;

	stat_table_make(&t, v);
	stat_table_walk(&t, &x, put_line);
	stat_table_free(&t);
}
