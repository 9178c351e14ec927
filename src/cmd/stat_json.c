/* SPDX-License-Identifier: Apache-2.0 */
/* Counts are whole numbers here, whatever their unit, so that they can be compared exactly. */
#include "cmd/stat.h"

static const char *const states[] = {
	[COUNT_OK] = "counted",
	[COUNT_NONE] = "not counted",
	[COUNT_UNSUPPORTED] = "not supported",
	[COUNT_UNMODELLED] = "not modelled",
};

static void put_string(const char *s, struct bytes *out)
{
	bytes_char(out, '"');
	bytes_json(out, s, strlen(s));
	bytes_char(out, '"');
}

static void put_name(const char *name, bool first, struct bytes *out)
{
	bytes_printf(out, "%s\"%s\":", first ? "" : ",", name);
}

static void put_event(const struct stat_view *v, const struct counted *e, struct bytes *out)
{
	bool known = e->state == COUNT_OK && e->values.n;
	struct stat_metric m;

	stat_metric(v->r, e, &m);
	put_name("name", true, out);
	put_string(e->name, out);
	put_name("state", false, out);
	put_string(states[known || e->state ? e->state : COUNT_NONE], out);
	put_name("value", false, out);
	if (known)
		bytes_dec(out, e->values.v[e->values.n - 1]);
	else
		bytes_str(out, "null");
	if (v->r->runs > 1) {
		put_name("values", false, out);
		for (size_t i = 0; i < e->values.n; i++)
			bytes_printf(out, "%s%llu", i ? "," : "[", (unsigned long long)e->values.v[i]);
		bytes_str(out, e->values.n ? "]" : "[]");
	}
	if (e->enabled_ns)
		bytes_printf(out, ",\"enabled_ns\":%llu,\"running_ns\":%llu", (unsigned long long)e->enabled_ns,
			     (unsigned long long)e->running_ns);
	if (m.unit) {
		bytes_printf(out, ",\"metric\":%.6g,\"metric_unit\":", m.value);
		put_string(m.unit, out);
	}
	if (m.per_kilo >= 0)
		bytes_printf(out, ",\"per_1000_instructions\":%.6g", m.per_kilo);
}

static void put_threads(const struct counter_result *r, struct bytes *out)
{
	put_name("threads", false, out);
	bytes_char(out, '[');
	for (size_t t = 0; t < r->threads.n; t++) {
		const struct counted_thread *thread = &r->threads.v[t];

		bytes_printf(out, "%s\n  {\"pid\":%u,\"tid\":%u,\"values\":{", t ? "," : "", thread->pid, thread->tid);
		for (size_t i = 0, n = 0; i < r->events.n; i++) {
			if (r->events.v[i].state != COUNT_OK)
				continue;
			bytes_str(out, n++ ? "," : "");
			put_string(r->events.v[i].name, out);
			bytes_printf(out, ":%llu",
				     (unsigned long long)thread->counts[vpmu_count_of(&r->events.v[i].attr)]);
		}
		bytes_str(out, "}}");
	}
	bytes_char(out, ']');
}

void stat_json(const struct stat_view *v, struct bytes *out)
{
	const struct counter_result *r = v->r;

	bytes_str(out, "{\"command\":[");
	for (u32 i = 0; v->command[i]; i++) {
		bytes_str(out, i ? "," : "");
		put_string(v->command[i], out);
	}
	bytes_str(out, "],\"simulated\":");
	if (r->simulated)
		put_string(r->core, out);
	else
		bytes_str(out, "null");
	bytes_printf(out, ",\"runs\":%u,\"status\":%d,\n\"events\":[", r->runs, r->status);
	for (size_t i = 0; i < r->events.n; i++) {
		bytes_str(out, i ? ",\n  {" : "\n  {");
		put_event(v, &r->events.v[i], out);
		bytes_char(out, '}');
	}
	bytes_char(out, ']');
	if (v->per_thread)
		put_threads(r, out);
	if (r->simulated)
		bytes_printf(out, ",\n\"virtual_ns\":%llu", (unsigned long long)r->totals[VC_TIME_NS]);
	bytes_printf(out, ",\n\"elapsed\":%.9f,\"user\":%.6f,\"system\":%.6f}\n",
		     r->seconds.n ? r->seconds.v[r->seconds.n - 1] : 0, r->user, r->system);
}
