/* SPDX-License-Identifier: Apache-2.0 */
#include "view/report_table.h"

static void write_meta(const struct profile *p, const struct report_opts *o, struct json *j)
{
	json_set_object(j, "meta");
	json_set_text(j, "generator", "reticle " RETICLE_VERSION);
	json_set_list(j, "sort");
	for (u32 i = 0; i < p->nr_sort; i++)
		json_text(j, column_json(p, column_of_key(p->sort_order[i])));
	json_list_end(j);
	json_set_bool(j, "children", p->children);
	json_set_bool(j, "call_graph", p->has_chains);
	json_set_bool(j, "caller", o->caller);
	json_set_real(j, "percent_limit", o->percent_limit, 6);
	json_set_u64(j, "time_slice_ns", p->time_slice_ns);
	json_key(j, "simulated");
	if (p->simulated.len)
		json_str(j, p->simulated.p, p->simulated.len);
	else
		json_null(j);
	json_object_end(j);
}

void report_tally_json(const struct profile *p, struct json *j)
{
	const struct tally *t = &p->tally;
	const struct {
		const char *name;
		u64 value;
	} fields[] = {
		{ "samples", t->samples },
		{ "filtered", t->filtered },
		{ "lost", t->lost },
		{ "lost_samples", t->lost_samples },
		{ "throttled", t->throttled },
		{ "undecodable", t->undecodable },
		{ "broken_records", t->broken_records },
		{ "unknown_records", t->unknown_records },
		{ "frames", t->frames },
		{ "unresolved_frames", t->unresolved },
		{ "user_stacks", t->stacks },
		{ "broken_stacks", t->broken },
		{ "first_time_ns", t->first_time },
		{ "last_time_ns", t->last_time },
		{ "aux_lost", t->aux_lost },
		{ "aux_truncated", t->aux_truncated },
		{ "aux_collisions", t->aux_collisions },
		{ "aux_operations", t->aux_operations },
		{ "aux_broken", t->aux_broken },
		{ "aux_bad_bytes", t->aux_bad_bytes },
		{ "aux_unknown_packets", t->aux_unknown_packets },
		{ "aux_left_out_bytes", t->aux_left_out },
		{ "left_out_bytes", t->left_out_bytes },
	};

	json_line(j, "");
	json_set_object(j, "tally");
	for (u32 i = 0; i < ARRAY_LEN(fields); i++)
		json_set_u64(j, fields[i].name, fields[i].value);
	report_stacks_json(p, j);
	json_object_end(j);
}

/* Which members' samples are operations of Arm SPE, or could have been; or why none is. */
static void write_operations(const struct profile *p, const struct profile_windows *w, struct json *j)
{
	if (p->tally.uncounted)
		json_set_text(j, "operations_left_out", p->tally.uncounted);
	if (!w->operations)
		return;
	json_set_list(j, "operations");
	for (u32 i = 0; i < w->group.nr; i++) {
		if (!(w->operations >> i & 1))
			continue;
		json_object(j);
		json_set_text(j, "event", p->evlist->events.v[w->group.events[i]].name);
		json_set_real(j, "stand_for", w->stand_for[i], TABLE_DIGITS);
		json_set_bool(j, "used", w->samples[i] > 0);
		json_object_end(j);
	}
	json_list_end(j);
}

/* How the event's windows were made. */
static void write_group(const struct profile *p, const struct metric_table *t, struct json *j)
{
	static const char *const modes[] = { [WINDOWS_PLAIN] = "plain",
					     [WINDOWS_TERMS] = "terms",
					     [WINDOWS_TWIN] = "twin",
					     [WINDOWS_REFRESH] = "refresh",
					     [WINDOWS_SEEN] = "seen" };
	static const char *const attributions[NR_ATTRIBUTIONS] = { [ATTRIBUTION_ESTIMATE] = "estimate",
								   [ATTRIBUTION_DISCARD] = "discard",
								   [ATTRIBUTION_KEEP] = "keep",
								   [ATTRIBUTION_CALLCHAIN] = "callchain" };
	const struct window_group *g = &t->windows->group;

	json_set_object(j, "group");
	json_set_text(j, "leader", p->evlist->events.v[g->leader].name);
	json_set_text(j, "mode", modes[g->mode]);
	json_set_text(j, "attribution", attributions[t->windows->attribution]);
	if (code_range_given(&t->windows->range)) {
		struct bytes range = { 0 };

		report_windows_range(&t->windows->range, &range);
		json_set_str(j, "range", (const char *)range.p, range.len);
		bytes_free(&range);
	}
	json_set_u64(j, "short_windows", g->nr_short);
	json_set_real(j, "short_mean", (double)g->sum_short / (double)g->nr_short, TABLE_DIGITS);
	json_set_u64(j, "long_windows", g->nr_long);
	json_set_real(j, "long_mean", (double)g->sum_long / (double)g->nr_long, TABLE_DIGITS);
	write_operations(p, t->windows, j);
	json_set_object(j, "formulas");
	for (u32 i = 0; i < t->nr_metrics; i++) {
		json_key_text(j, t->metrics[i].name);
		json_text(j, t->metrics[i].formula);
	}
	json_object_end(j);
	json_object_end(j);
}

static void write_numbers(const struct profile_event *e, const struct report_opts *o, struct json *j)
{
	json_set_u64(j, "weight", e ? e->weight : 0);
	json_set_u64(j, "whole", e ? report_whole(e, o) : 0);
	json_set_u64(j, "samples", e ? e->samples : 0);
}

/* Of a group, the events whose values are in lists in its rows. */
static void write_members(const struct report_table *f, struct json *j)
{
	json_set_list(j, "members");
	for (u32 i = 0; i < f->group->nr_members; i++) {
		json_object(j);
		json_set_text(j, "name", f->p->evlist->events.v[f->group->leader + i].name);
		write_numbers(f->group->members[i], f->o, j);
		json_object_end(j);
	}
	json_list_end(j);
}

static void write_about(const struct report_table *f, struct json *j)
{
	struct bytes name = { 0 };

	report_table_name(f, &name);
	json_set_str(j, "name", (const char *)name.p, name.len);
	bytes_free(&name);
	if (f->group)
		write_members(f, j);
	else
		write_numbers(f->e, f->o, j);
}

struct events {
	const struct profile *p;
	const struct report_opts *o;
	bool any;
	struct json *j;
};

static void write_event(size_t event, const struct group_rows *group, u32 apart, void *ctx)
{
	struct events *to = ctx;
	struct json *j = to->j;
	struct report_table f;
	u32 first;

	(void)apart;
	if (to->any)
		json_line(j, "");
	to->any = true;
	report_table_begin(&f, to->p, event, to->o);
	f.group = group;
	first = report_table_json(&f);
	json_object(j);
	write_about(&f, j);
	if (f.metrics)
		write_group(to->p, &f.metrics->table, j);
	if (f.table.has_total)
		table_json_members(&f.table, &(struct table_row){ .at = TABLE_TOTAL }, first, j);
	json_set_list(j, "rows");
	if (to->o->hierarchy)
		report_hierarchy_json(&f, j);
	else
		table_json_rows(&f.table, j);
	json_list_end_line(j);
	json_object_end(j);
	report_table_end(&f);
}

void report_json(const struct profile *p, const struct report_opts *o, struct bytes *out)
{
	struct json j = { .out = out };

	json_object(&j);
	write_meta(p, o, &j);
	report_tally_json(p, &j);
	json_line(&j, "");
	json_set_list(&j, "events");
	report_each(p, o, false, write_event, &(struct events){ p, o, false, &j });
	json_list_end(&j);
	json_object_end(&j);
	json_end(&j);
}
