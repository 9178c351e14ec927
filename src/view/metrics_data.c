/* SPDX-License-Identifier: Apache-2.0 */
#include "view/metrics_data.h"

#include <math.h>
#include <string.h>

#define DIGITS 9

static const char *const fault_keys[NR_WINDOW_FAULTS] = {
	[WINDOW_SOUND] = "filtered",	  [WINDOW_FIRST] = "first", [WINDOW_OTHER_THREAD] = "other_thread",
	[WINDOW_THROTTLED] = "throttled", [WINDOW_LOST] = "lost",   [WINDOW_MULTIPLEXED] = "multiplexed",
	[WINDOW_BACKWARDS] = "backwards", [WINDOW_EMPTY] = "empty", [WINDOW_PAUSED] = "paused",
};

static void put_counts(const double *block, struct json *j)
{
	json_set_object(j, "windows");
	json_set_real(j, "short", block[WINDOWS_SHORT], DIGITS);
	json_set_real(j, "kept", block[WINDOWS_KEPT], DIGITS);
	json_set_real(j, "discarded", block[WINDOWS_DISCARDED], DIGITS);
	json_set_real(j, "clusters", block[WINDOWS_CLUSTERS], DIGITS);
	json_set_object(j, "excluded");
	for (u32 i = 0; i < NR_WINDOW_FAULTS; i++)
		json_set_real(j, fault_keys[i], block[WINDOWS_EXCLUDED + i], DIGITS);
	json_object_end(j);
	json_object_end(j);
}

static void put_sums(const struct metric_table *t, const double *block, struct json *j)
{
	const struct window_group *g = &t->windows->group;

	json_set_object(j, "sums");
	for (u32 i = 0; i < g->nr; i++) {
		json_key_text(j, t->evlist->events.v[g->events[i]].name);
		json_real(j, window_sum(block, i), DIGITS);
	}
	json_object_end(j);
}

void metrics_json_block(const struct metric_table *t, const double *block, struct json *j)
{
	put_counts(block, j);
	put_sums(t, block, j);
	json_set_object(j, "metrics");
	for (u32 i = 0; i < t->nr_metrics; i++) {
		struct metric_value v;

		metric_value(t, i, block, &v);
		json_key_text(j, t->metrics[i].name);
		json_object(j);
		json_set_real(j, "value", v.value, DIGITS);
		json_set_real(j, "low", v.low, DIGITS);
		json_set_real(j, "high", v.high, DIGITS);
		json_set_real(j, "variance", v.variance, DIGITS);
		json_set_bool(j, "doubtful", v.doubtful);
		json_set_real(j, "numerator", v.num, DIGITS);
		json_set_real(j, "denominator", v.den, DIGITS);
		json_object_end(j);
	}
	json_object_end(j);
}

void metrics_json_event(const struct profile *p, const struct metric_table *t, struct json *j)
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
	json_set_real(j, "short_mean", (double)g->sum_short / (double)g->nr_short, DIGITS);
	json_set_u64(j, "long_windows", g->nr_long);
	json_set_real(j, "long_mean", (double)g->sum_long / (double)g->nr_long, DIGITS);
	json_set_object(j, "formulas");
	for (u32 i = 0; i < t->nr_metrics; i++) {
		json_key_text(j, t->metrics[i].name);
		json_text(j, t->metrics[i].formula);
	}
	json_object_end(j);
	json_object_end(j);
	metrics_json_block(t, t->windows->shown, j);
}

void metrics_json_paths(const struct row_view *v, const struct metric_table *t, struct json *j)
{
	struct window_path paths[REPORT_PATHS];
	u32 n = profile_window_paths(v->profile, v->event, (u32)(v->row - v->event->rows.v), paths, REPORT_PATHS);
	const struct tree_node *nodes = v->event->tree.nodes.v;
	char made_up[PROFILE_MADE_UP];

	json_set_list(j, "paths");
	for (u32 i = 0; i < n; i++) {
		json_object(j);
		json_set_list(j, "frames");
		for (u32 at = paths[i].node; at && nodes[at].parent; at = nodes[at].parent)
			json_text(j, profile_frame_name(v->profile, nodes[at].frame, made_up, sizeof(made_up)));
		json_list_end(j);
		metrics_json_block(t, paths[i].block, j);
		json_object_end(j);
	}
	json_list_end(j);
}

static const char *const csv_counts[] = { "windows", "kept", "discarded", "excluded", "clusters" };
static const char *const csv_parts[] = { "", "_low", "_high", "_variance", "_numerator", "_denominator" };

static u32 find_metric(const struct metric_table *t, const char *name)
{
	for (u32 i = 0; t && i < t->nr_metrics; i++)
		if (!strcmp(t->metrics[i].name, name))
			return i;
	return ID_NONE;
}

static bool has_field(const struct metric_fields *f, const char *name)
{
	for (size_t i = 0; i < f->metrics.n; i++)
		if (!strcmp(f->metrics.v[i]->name, name))
			return true;
	return false;
}

static const char *member_name(const struct metric_table *t, u32 member)
{
	return t->evlist->events.v[t->windows->group.events[member]].name;
}

static u32 find_member(const struct metric_table *t, const char *name)
{
	for (u32 i = 0; t && i < t->windows->group.nr; i++)
		if (!strcmp(member_name(t, i), name))
			return i;
	return ID_NONE;
}

static void add_fields(const struct metric_table *t, struct metric_fields *out)
{
	for (u32 k = 0; k < t->nr_columns; k++)
		if (t->columns[k] < METRICS_MAX && !has_field(out, t->metrics[t->columns[k]].name))
			vec_push(&out->metrics, &t->metrics[t->columns[k]]);
	for (u32 k = 0; k < t->windows->group.nr; k++) {
		bool known = false;

		for (size_t i = 0; i < out->events.n && !known; i++)
			known = !strcmp(out->events.v[i], member_name(t, k));
		if (!known)
			vec_push(&out->events, member_name(t, k));
	}
}

void metrics_csv_fields(const struct profile *p, const struct report_opts *o, struct metric_fields *out)
{
	for (size_t i = 0; o->metrics && i < p->events.n; i++)
		if (o->metrics[i].order)
			add_fields(&o->metrics[i].table, out);
}

void metrics_csv_fields_free(struct metric_fields *f)
{
	vec_free(&f->metrics);
	vec_free(&f->events);
}

static void put_header(const char *before, const char *name, const char *after, struct bytes *out)
{
	struct bytes field = { 0 };

	bytes_printf(&field, "%s%s%s", before, name, after);
	bytes_char(out, ',');
	bytes_csv(out, (const char *)field.p, field.len);
	bytes_free(&field);
}

void metrics_csv_header(const struct metric_fields *f, struct bytes *out)
{
	for (u32 i = 0; i < ARRAY_LEN(csv_counts); i++)
		bytes_printf(out, ",%s", csv_counts[i]);
	for (size_t i = 0; i < f->events.n; i++)
		put_header("sum:", f->events.v[i], "", out);
	for (size_t i = 0; i < f->metrics.n; i++)
		for (u32 k = 0; k < ARRAY_LEN(csv_parts); k++)
			put_header("", f->metrics.v[i]->name, csv_parts[k], out);
}

static void put_csv(double v, struct bytes *out)
{
	bytes_char(out, ',');
	if (isfinite(v))
		bytes_real(out, v, DIGITS);
}

void metrics_csv_block(const struct metric_fields *f, const struct metric_table *t, const double *block,
		       struct bytes *out)
{
	double excluded = 0;

	for (u32 i = 0; t && i < NR_WINDOW_FAULTS; i++)
		excluded += block[WINDOWS_EXCLUDED + i];
	put_csv(t ? block[WINDOWS_SHORT] : NAN, out);
	put_csv(t ? block[WINDOWS_KEPT] : NAN, out);
	put_csv(t ? block[WINDOWS_DISCARDED] : NAN, out);
	put_csv(t ? excluded : NAN, out);
	put_csv(t ? block[WINDOWS_CLUSTERS] : NAN, out);
	for (size_t i = 0; i < f->events.n; i++) {
		u32 member = find_member(t, f->events.v[i]);

		put_csv(member != ID_NONE ? window_sum(block, member) : NAN, out);
	}
	for (size_t i = 0; i < f->metrics.n; i++) {
		u32 metric = find_metric(t, f->metrics.v[i]->name);
		struct metric_value v = { NAN, NAN, NAN, NAN, NAN, NAN, NAN, false };

		if (metric != ID_NONE)
			metric_value(t, metric, block, &v);
		put_csv(v.value, out);
		put_csv(v.low, out);
		put_csv(v.high, out);
		put_csv(v.variance, out);
		put_csv(v.num, out);
		put_csv(v.den, out);
	}
}
