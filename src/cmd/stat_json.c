/* SPDX-License-Identifier: Apache-2.0 */
/* Counts are whole numbers here, whatever their unit, so that they can be compared exactly. */
#include "cmd/stat.h"

#include <stdio.h>

#include "base/json.h"

static const char *const states[] = {
	[COUNT_OK] = "counted",
	[COUNT_NONE] = "not counted",
	[COUNT_UNSUPPORTED] = "not supported",
	[COUNT_UNMODELLED] = "not modelled",
};

static void put_unit(const struct stat_metric *m, struct json *j)
{
	char unit[64];

	snprintf(unit, sizeof(unit), "%s%s", m->percent ? "% " : "", m->unit);
	json_text(j, unit);
}

static void put_event(const struct stat_table *t, size_t event, struct json *j)
{
	const struct stat_view *v = t->view;
	const struct counted *e = &v->r->events.v[event];
	bool known = e->state == COUNT_OK && e->values.n;
	struct stat_metric m;

	stat_metric(t, 0, event, &m);
	json_object(j);
	json_set_text(j, "name", e->name);
	json_set_text(j, "state", states[known || e->state ? e->state : COUNT_NONE]);
	json_key(j, "value");
	if (known)
		json_u64(j, e->values.v[e->values.n - 1]);
	else
		json_null(j);
	if (v->r->runs > 1) {
		json_set_list(j, "values");
		for (size_t i = 0; i < e->values.n; i++)
			json_u64(j, e->values.v[i]);
		json_list_end(j);
	}
	if (e->enabled_ns) {
		json_set_u64(j, "enabled_ns", e->enabled_ns / MAX(v->r->runs, 1u));
		json_set_u64(j, "running_ns", e->running_ns / MAX(v->r->runs, 1u));
	}
	if (m.unit) {
		json_set_real(j, "metric", m.value, 6);
		json_key(j, "metric_unit");
		put_unit(&m, j);
	}
	if (m.per_kilo >= 0)
		json_set_real(j, "per_1000_instructions", m.per_kilo, 6);
	json_object_end(j);
}

/* Those of -M. */
static void put_formulas(const struct stat_table *t, struct json *j)
{
	struct stat_formula_value f;

	json_line(j, "");
	json_set_list(j, "metrics");
	for (size_t event = 0; event < t->view->r->events.n; event++) {
		for (size_t i = 0; stat_formula_at(t, 0, event, &i, &f);) {
			json_object(j);
			json_set_text(j, "name", f.name);
			json_set_real(j, "value", f.value, 6);
			json_object_end(j);
		}
	}
	json_list_end(j);
}

static void put_threads(const struct counter_result *r, struct json *j)
{
	json_set_list(j, "threads");
	for (size_t t = 0; t < r->threads.n; t++) {
		const struct counted_thread *thread = &r->threads.v[t];

		json_line(j, "  ");
		json_object(j);
		json_set_u64(j, "pid", thread->pid);
		json_set_u64(j, "tid", thread->tid);
		json_set_object(j, "values");
		for (size_t i = 0; i < r->events.n; i++) {
			if (r->events.v[i].state != COUNT_OK)
				continue;
			json_key_text(j, r->events.v[i].name);
			json_u64(j, thread->counts[vpmu_count_of(&r->events.v[i].attr)]);
		}
		json_object_end(j);
		json_object_end(j);
	}
	json_list_end(j);
}

void stat_json(const struct stat_view *v, struct bytes *out)
{
	const struct counter_result *r = v->r;
	const struct stat_view all = {
		.r = r, .by = COUNT_BY_ALL, .target = v->target, .places = v->places, .formulas = v->formulas
	};
	struct json json = { .out = out }, *j = &json;
	struct stat_table t;

	json_object(j);
	json_set_list(j, "command");
	for (u32 i = 0; v->target->command && v->target->command[i]; i++)
		json_text(j, v->target->command[i]);
	json_list_end(j);
	json_set_text(j, "simulated", r->simulated ? r->core : NULL);
	json_set_u64(j, "runs", r->runs);
	json_set_s64(j, "status", r->status);
	json_line(j, "");
	json_set_list(j, "events");
	stat_table_make(&t, &all);
	for (size_t i = 0; i < r->events.n; i++) {
		json_line(j, "  ");
		put_event(&t, i, j);
	}
	json_list_end(j);
	if (v->formulas)
		put_formulas(&t, j);
	stat_table_free(&t);
	if (v->by == COUNT_BY_THREAD)
		put_threads(r, j);
	if (r->simulated) {
		json_line(j, "");
		json_set_u64(j, "virtual_ns", r->totals[VC_TIME_NS]);
	}
	json_line(j, "");
	json_key(j, "elapsed");
	json_fixed(j, r->seconds.n ? r->seconds.v[r->seconds.n - 1] : 0, 9);
	json_key(j, "user");
	json_fixed(j, r->user, 6);
	json_key(j, "system");
	json_fixed(j, r->system, 6);
	json_object_end(j);
	json_end(j);
}
