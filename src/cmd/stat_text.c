/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdio.h>

#include "cmd/stat.h"

static const char *const states[] = {
	[COUNT_NONE] = "<not counted>",
	[COUNT_UNSUPPORTED] = "<not supported>",
	[COUNT_UNMODELLED] = "<not modelled>",
};

static bool is_clock(const struct counted *e)
{
	return e->attr.type == PERF_TYPE_SOFTWARE &&
	       (e->attr.config == PERF_COUNT_SW_TASK_CLOCK || e->attr.config == PERF_COUNT_SW_CPU_CLOCK);
}

/* 1234567 -> "1,234,567" */
static const char *grouped(u64 v, char *buf, size_t size)
{
	char digits[24];
	int n = snprintf(digits, sizeof(digits), "%llu", (unsigned long long)v);
	size_t at = 0;

	for (int i = 0; i < n && at + 2 < size; i++) {
		if (i && !((n - i) % 3))
			buf[at++] = ',';
		buf[at++] = digits[i];
	}
	buf[at] = 0;
	return buf;
}

/* As it is shown: clocks in ms, scaled events in their unit, else whole numbers. */
static const char *value_text(const struct counted *e, double value, bool group, char *buf, size_t size)
{
	if (is_clock(e))
		snprintf(buf, size, "%.2f", value * 1e-6);
	else if (e->unit && e->scale > 0)
		snprintf(buf, size, "%.2f", value * e->scale);
	else if (group)
		grouped((u64)llround(value), buf, size);
	else
		snprintf(buf, size, "%.0f", value);
	return buf;
}

static const char *unit_text(const struct counted *e)
{
	return is_clock(e) ? "msec" : e->unit ? e->unit : "";
}

static double share_of_time(const struct counted *e)
{
	return e->enabled_ns ? 100.0 * (double)e->running_ns / (double)e->enabled_ns : 100;
}

static void put_metric(const struct stat_metric *m, struct bytes *out)
{
	if (!m->unit && m->per_kilo < 0)
		return;
	bytes_str(out, " # ");
	if (m->unit)
		bytes_printf(out, *m->unit == '%' ? "%8.2f%s" : "%8.3f %s", m->value, m->unit);
	if (m->per_kilo >= 0)
		bytes_printf(out, "%s%.2f MPKI", m->unit ? ", " : "", m->per_kilo);
}

static void put_event(const struct stat_view *v, const struct counted *e, struct bytes *out)
{
	struct stat_metric m;
	char value[64];
	double error, mean;

	if (e->state != COUNT_OK || !e->values.n) {
		bytes_printf(out, "%18s %-4s %s\n", states[e->state ? e->state : COUNT_NONE], unit_text(e), e->name);
		return;
	}
	mean = stat_mean(e, &error);
	stat_metric(v->r, e, &m);
	bytes_printf(out, "%18s %-4s %-25s", value_text(e, mean, true, value, sizeof(value)), unit_text(e), e->name);
	put_metric(&m, out);
	if (v->r->runs > 1)
		bytes_printf(out, "  ( +- %5.2f%% )", error);
	if (e->running_ns < e->enabled_ns)
		bytes_printf(out, "  (%.2f%%)", share_of_time(e));
	bytes_char(out, '\n');
}

static void put_command(const struct stat_view *v, struct bytes *out)
{
	for (u32 i = 0; v->command[i]; i++) {
		bytes_str(out, i ? " " : "");
		bytes_plain(out, v->command[i], strlen(v->command[i]));
	}
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

static void put_threads(const struct stat_view *v, struct bytes *out)
{
	const struct counter_result *r = v->r;
	char text[64], who[32];

	for (size_t t = 0; t < r->threads.n; t++) {
		snprintf(who, sizeof(who), "%u/%u", r->threads.v[t].pid, r->threads.v[t].tid);
		for (size_t i = 0; i < r->events.n; i++) {
			const struct counted *e = &r->events.v[i];

			if (e->state == COUNT_OK)
				bytes_printf(out, "%16s %18s %-4s %s\n", who,
					     value_text(e, (double)r->threads.v[t].counts[vpmu_count_of(&e->attr)],
							true, text, sizeof(text)),
					     unit_text(e), e->name);
		}
		bytes_char(out, '\n');
	}
}

static double mean_seconds(const struct counter_result *r)
{
	double sum = 0;

	for (size_t i = 0; i < r->seconds.n; i++)
		sum += r->seconds.v[i];
	return r->seconds.n ? sum / (double)r->seconds.n : 0;
}

void stat_text(const struct stat_view *v, struct bytes *out)
{
	const struct counter_result *r = v->r;

	bytes_str(out, "\n Performance counter stats for '");
	put_command(v, out);
	bytes_char(out, '\'');
	if (r->simulated)
		bytes_printf(out, ", simulated (%s)", r->core);
	if (r->runs > 1)
		bytes_printf(out, " (%u runs)", r->runs);
	bytes_str(out, ":\n\n");
	if (v->per_thread)
		put_threads(v, out);
	for (size_t i = 0; i < r->events.n; i++)
		put_event(v, &r->events.v[i], out);
	if (r->simulated)
		put_slots(r, out);
	bytes_char(out, '\n');
	if (r->simulated)
		bytes_printf(out, "%18.9f seconds of virtual time, %zu thread%s\n",
			     (double)r->totals[VC_TIME_NS] * 1e-9, r->threads.n, r->threads.n == 1 ? "" : "s");
	bytes_printf(out, "%18.9f seconds time elapsed%s\n\n", mean_seconds(r), r->simulated ? " (simulating)" : "");
	bytes_printf(out, "%18.9f seconds user\n%18.9f seconds sys\n\n", r->user, r->system);
}

static void put_fields(const struct stat_view *v, const struct counted *e, const char *who, double value,
		       struct bytes *out)
{
	struct stat_metric m = { 0 };
	const char *sep = v->separator;
	bool known = e->state == COUNT_OK && e->values.n;
	char text[64];

	if (!who)
		stat_metric(v->r, e, &m);
	else
		bytes_printf(out, "%s%s", who, sep);
	bytes_printf(out, "%s%s%s%s%s%s%llu%s%.2f%s",
		     known ? value_text(e, value, false, text, sizeof(text)) :
			     states[e->state ? e->state : COUNT_NONE],
		     sep, unit_text(e), sep, e->name, sep, (unsigned long long)e->running_ns, sep,
		     known ? share_of_time(e) : 0, sep);
	if (m.unit)
		bytes_printf(out, "%.2f%s%s", m.value, sep, m.unit);
	else
		bytes_str(out, sep);
	bytes_char(out, '\n');
}

void stat_fields(const struct stat_view *v, struct bytes *out)
{
	const struct counter_result *r = v->r;
	double error;
	char who[32];

	if (r->simulated)
		bytes_printf(out, "# simulated (%s)\n", r->core);
	for (size_t t = 0; v->per_thread && t < r->threads.n; t++) {
		snprintf(who, sizeof(who), "%u/%u", r->threads.v[t].pid, r->threads.v[t].tid);
		for (size_t i = 0; i < r->events.n; i++)
			put_fields(v, &r->events.v[i], who,
				   (double)r->threads.v[t].counts[vpmu_count_of(&r->events.v[i].attr)], out);
	}
	for (size_t i = 0; i < r->events.n && !v->per_thread; i++)
		put_fields(v, &r->events.v[i], NULL, stat_mean(&r->events.v[i], &error), out);
}
