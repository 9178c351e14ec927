/* SPDX-License-Identifier: Apache-2.0 */
/* The head of a table of windows: how they were made, how many were used, and what can be concluded. */
#include <math.h>
#include <string.h>

#include "view/report.h"

#define LONG_WINDOW 50000  /* counts of the leader: such a window spans many functions */
#define MOST_DISCARDED 0.2 /* of the windows that can be judged, before a line is said about it */
#define FEW_WINDOWS 1000   /* with fewer in the recording, most values of most functions are uncertain */
#define ENOUGH_WINDOWS 3000
#define ENOUGH_CERTAIN 0.8	     /* of the leader's counts, in rows whose first ratio is not marked */
#define MOST_OFTEN_SIMULATED 1000000 /* per second: windows are then still rare beside what is between them */
#define MOST_OFTEN 50000	     /* of real PMUs, half of what the kernel allows by default */

static void put_name(const struct profile *p, u32 event, struct bytes *out)
{
	const char *name = p->evlist->events.v[event].name;

	bytes_plain(out, name, strlen(name));
}

/* Without terms and modifiers. */
static void put_bare_name(const struct profile *p, u32 event, struct bytes *out)
{
	const char *name = p->evlist->events.v[event].name;

	bytes_plain(out, name, strcspn(name, "/:"));
}

static void put_mean(u64 sum, u64 n, struct bytes *out)
{
	bytes_printf(out, "%.*f", sum / n < 10000, (double)sum / (double)n);
}

/* How the recording says that windows were made. */
static const char *mode_name(const struct window_group *g)
{
	static const char *const names[] = {
		[WINDOWS_PLAIN] = "one period all the time, every window is used",
		[WINDOWS_TERMS] = "short and long periods in turn",
		[WINDOWS_TWIN] = "two leaders with the same period, one following the other",
		[WINDOWS_REFRESH] = "short periods in bursts",
		[WINDOWS_SEEN] = "short and long windows, judging by the counts",
	};

	return names[g->mode];
}

static void put_lengths(const struct profile *p, const struct window_group *g, struct bytes *out)
{
	if (!g->nr_short)
		return;
	bytes_str(out, "# Windows: ");
	put_mean(g->sum_short, g->nr_short, out);
	bytes_char(out, ' ');
	put_bare_name(p, g->leader, out);
	bytes_str(out, " on average");
	if (g->nr_long) {
		bytes_str(out, ", between long ones of ");
		put_mean(g->sum_long, g->nr_long, out);
	}
	bytes_printf(out, " (%s", mode_name(g));
	if (g->schedule.batch_count > 1)
		bytes_printf(out, ", bursts of %u", g->schedule.batch_count);
	if (g->schedule.jitter_long == SCHEDULE_JITTER_FULL)
		bytes_str(out, ", long ones of random length");
	else if (g->schedule.jitter_short || g->schedule.jitter_long)
		bytes_printf(out, ", jitter %llu and %llu", (unsigned long long)g->schedule.jitter_short,
			     (unsigned long long)g->schedule.jitter_long);
	bytes_str(out, ")\n");
}

/* Rows are lines, of which a window that lies in one is not known to have stayed there. */
static bool in_no_row(const struct profile_windows *w)
{
	return w->unit == UNIT_ADDRESS && w->attribution != ATTRIBUTION_KEEP;
}

static const char *rule_name(const struct profile_windows *w, bool range)
{
	if (in_no_row(w))
		return "kept, because windows cannot be attributed to lines";
	switch (w->attribution) {
	case ATTRIBUTION_KEEP:
		return range ? "kept when both ends lie" : "kept wherever they began";
	case ATTRIBUTION_CALLCHAIN:
		return "kept when both ends have the same stack";
	default:
		return w->unit == UNIT_ANY    ? "kept, because rows do not separate code" :
		       w->unit == UNIT_OBJECT ? "kept when both ends lie in one object" :
						"kept when both ends lie in one function";
	}
}

void report_windows_range(const struct code_range *r, struct bytes *out)
{
	if (r->end) {
		bytes_printf(out, "within addresses %#llx-%#llx of ", (unsigned long long)r->start,
			     (unsigned long long)r->end);
		bytes_plain(out, r->object ? r->object : "any file", strlen(r->object ? r->object : "any file"));
	}
	if (!r->file)
		return;
	bytes_printf(out, "%swithin lines %u-%u of ", r->end ? " and " : "", r->first_line, r->last_line);
	bytes_plain(out, r->file, strlen(r->file));
}

static const char *const fault_names[NR_WINDOW_FAULTS] = {
	[WINDOW_SOUND] = "after samples that were left out",
	[WINDOW_FIRST] = "first ones",
	[WINDOW_OTHER_THREAD] = "during which the thread changed",
	[WINDOW_THROTTLED] = "throttled",
	[WINDOW_LOST] = "with records lost",
	[WINDOW_MULTIPLEXED] = "multiplexed",
	[WINDOW_BACKWARDS] = "with a counter that decreased",
	[WINDOW_EMPTY] = "of twins with no distance between them",
	[WINDOW_PAUSED] = "over a pause",
};

static void put_fate(const struct profile_windows *w, struct bytes *out)
{
	const double *t = w->shown;
	double judged = t[WINDOWS_KEPT] + t[WINDOWS_DISCARDED];
	bool first = true, range = code_range_given(&w->range);

	bytes_printf(out, "# Of %.0f windows ", t[WINDOWS_SHORT]);
	if (judged < t[WINDOWS_SHORT])
		bytes_printf(out, "%.0f can be judged; of these ", judged);
	bytes_printf(out, "%.0f are %s", t[WINDOWS_KEPT], rule_name(w, range));
	if (range) {
		bytes_str(out, w->attribution == ATTRIBUTION_KEEP ? " " : ", ");
		report_windows_range(&w->range, out);
	}
	bytes_printf(out, ", and %.0f (%.1f%%) are discarded", t[WINDOWS_DISCARDED],
		     100 * t[WINDOWS_DISCARDED] / fmax(1, judged));
	for (u32 i = 0; i < NR_WINDOW_FAULTS; i++) {
		if (!t[WINDOWS_EXCLUDED + i])
			continue;
		bytes_printf(out, "%s%s (%.0f)", first ? "; excluded: " : ", ", fault_names[i],
			     t[WINDOWS_EXCLUDED + i]);
		first = false;
	}
	bytes_char(out, '\n');
}

/* An event of the group, but its leader, whose samples have exact addresses? */
static bool has_exact_samples(const struct profile_windows *w)
{
	for (u32 i = 0; i < w->group.nr; i++)
		if (w->group.events[i] != w->group.leader && w->samples[i] > 0)
			return true;
	return false;
}

/* How many more windows shorter ones would keep cannot be told from here: calls that are shorter still stay so. */
static void put_loss(const struct profile_windows *w, struct bytes *out)
{
	double judged = w->shown[WINDOWS_KEPT] + w->shown[WINDOWS_DISCARDED];
	double lost = w->shown[WINDOWS_DISCARDED] / fmax(1, judged);

	if (w->attribution == ATTRIBUTION_KEEP || code_range_given(&w->range) || in_no_row(w) ||
	    judged < METRIC_FEW_WINDOWS || lost <= MOST_DISCARDED)
		return;
	bytes_printf(out,
		     "# %.0f%% of the windows reach from one function into another, because calls are short "
		     "compared with them: rows are based on the others",
		     100 * lost);
	if (w->attribution == ATTRIBUTION_ESTIMATE && has_exact_samples(w))
		bytes_str(out, ", and mostly on events with their own samples");
	bytes_str(out, " (shorter ones: record --window=short=N).\n");
}

static bool is_estimate(const struct profile_windows *w)
{
	return w->attribution == ATTRIBUTION_ESTIMATE;
}

/* Does the table use samples of what windows count? They are of whole functions. */
static bool uses_samples(const struct profile_windows *w)
{
	return is_estimate(w) && !code_range_given(&w->range);
}

/* Names of members: "instructions, branch-misses and cache-misses". */
static void put_members(const struct profile *p, const struct window_group *g, u32 members, struct bytes *out)
{
	for (u32 i = 0; i < g->nr; i++) {
		u32 left = members & ~((2u << i) - 1);

		if (!(members >> i & 1))
			continue;
		put_bare_name(p, g->events[i], out);
		bytes_str(out, !left ? "" : left & (left - 1) ? ", " : " and ");
	}
}

/* Of which members operations stand for another number than was counted. */
static void put_unlike(const struct profile *p, const struct profile_windows *w, u32 i, struct bytes *out)
{
	if (isfinite(w->stand_for[i]))
		bytes_printf(out, "# Arm SPE's operations stand for %.0f%% of the ", 100 * w->stand_for[i]);
	else
		bytes_str(out, "# Arm SPE's operations stand for more than the 0 ");
	put_bare_name(p, w->group.events[i], out);
	bytes_str(out, " that were counted (lost data, micro-operations, or what no operation did): ");
	bytes_str(out, w->samples[i] > 0 ? "intervals include the difference.\n" : "they are not used for them.\n");
}

/* Why operations of Arm SPE are not used for this table, or not for all that they could. */
static void put_unused(const struct profile *p, const struct profile_windows *w, struct bytes *out)
{
	if (!uses_samples(w))
		return;
	if (p->tally.uncounted)
		bytes_printf(out, "# The operations that Arm SPE sampled are not used for this table: %s.\n",
			     p->tally.uncounted);
	for (u32 i = 0; i < w->group.nr; i++)
		if (w->operations >> i & 1 && (w->unlike[i] > 0 || !(w->samples[i] > 0)))
			put_unlike(p, w, i, out);
}

/* What operations of Arm SPE are used for. */
static void put_operations(const struct profile *p, const struct profile_windows *w, struct bytes *out)
{
	u32 used = 0;

	for (u32 i = 0; uses_samples(w) && i < w->group.nr; i++)
		if (w->operations >> i & 1 && w->samples[i] > 0)
			used |= 1u << i;
	if (!used)
		return;
	bytes_str(out, "# Samples of ");
	put_members(p, &w->group, used, out);
	bytes_str(out, " are operations that Arm SPE sampled, with exact addresses");
	if (!w->exact) {
		bytes_str(out, "; those of ");
		put_bare_name(p, w->group.leader, out);
		bytes_str(out, " are late, so ratios to it are marked where calls are short");
	}
	bytes_str(out, ".\n");
}

static void put_inexact(const struct profile_windows *w, struct bytes *out)
{
	if (!uses_samples(w) || has_exact_samples(w))
		return;
	bytes_str(out,
		  in_no_row(w) ?
			  "# No event has samples with exact addresses; without them nothing is known about lines.\n" :
			  "# No event has samples with exact addresses, so functions whose calls are shorter "
			  "than a window cannot be separated from their callers.\n");
}

/* What the numbers rest on, and what their signs mean. */
static void put_sources(const struct profile *p, const struct profile_event *e, struct bytes *out)
{
	const struct profile_windows *w = event_windows(e);
	bool any = false;

	if (!is_estimate(w)) {
		bytes_printf(out, "# ± is a 95%% interval; ~ marks rows of fewer than %d kept windows.\n",
			     METRIC_FEW_WINDOWS);
		return;
	}
	for (u32 i = 0; uses_samples(w) && i < w->group.nr; i++) {
		if (w->group.events[i] == w->group.leader || !(w->samples[i] > 0))
			continue;
		bytes_str(out, any	    ? ", " :
			       in_no_row(w) ? "# Numbers are based on samples alone: " :
					      "# Numbers are based on windows and on separate samples: ");
		put_bare_name(p, w->group.events[i], out);
		any = true;
	}
	bytes_printf(out,
		     "%s# ± is a 95%% interval, including what counts of other functions in the windows may add; ~ "
		     "marks intervals wider than a quarter of the value%s; - stands for intervals wider than the "
		     "value, or for values without counts. An interval of at most a twentieth of the whole program's "
		     "value is small enough for both.\n",
		     any ? ".\n" : "", any ? "" : ", and rows that lost most of their windows");
}

/* The one line that stands above each table; --header has the others. */
static void put_short_head(const struct profile *p, const struct profile_windows *w, struct bytes *out)
{
	const double *t = w->shown;
	double judged = t[WINDOWS_KEPT] + t[WINDOWS_DISCARDED];
	bool range = code_range_given(&w->range);

	bytes_str(out, "# Windows: ");
	if (in_no_row(w))
		bytes_str(out, "they cannot be attributed to lines, so numbers are based on samples alone");
	else
		bytes_printf(out, "%.0f of %.0f kept, %.1f%% discarded", t[WINDOWS_KEPT], judged,
			     100 * t[WINDOWS_DISCARDED] / fmax(1, judged));
	if (!in_no_row(w) && w->group.nr_short) {
		bytes_str(out, ", of ");
		put_mean(w->group.sum_short, w->group.nr_short, out);
		bytes_char(out, ' ');
		put_bare_name(p, w->group.leader, out);
	}
	if (range) {
		bytes_str(out, ", ");
		report_windows_range(&w->range, out);
	}
	bytes_str(out, "; ± is a 95% interval, ~ ");
	if (is_estimate(w))
		bytes_str(out, "wider than a quarter of the value, - wider than the value, or nothing was counted");
	else
		bytes_printf(out, "fewer than %d windows", METRIC_FEW_WINDOWS);
	bytes_str(out, " (--header: more, --legend: columns)\n");
	put_operations(p, w, out);
}

/* How often to sample for enough windows of the same work, in two digits; 0: that is not known, or too often. */
static u64 wanted_frequency(const struct profile *p, const struct window_group *g)
{
	const struct attr *a = &p->evlist->events.v[g->leader].attr;
	double exact = (double)a->sample_period * ENOUGH_WINDOWS / (double)g->nr_short;
	u64 wanted, step = 1;

	if (!(a->flags & ATTR_FREQ) || exact > (p->simulated.len ? MOST_OFTEN_SIMULATED : MOST_OFTEN))
		return 0;
	wanted = (u64)exact;
	while (wanted / step >= 10)
		step *= 10;
	step = MAX(step / 2, (u64)1);
	return (wanted + step - 1) / step * step;
}

/* A program that runs for a tenth of a second has a hundred windows, which are not enough for more than a few rows. */
static void put_few(const struct profile *p, const struct window_group *g, struct bytes *out)
{
	u64 wanted;

	if (!g->nr_short || g->nr_short >= FEW_WINDOWS || g->mode == WINDOWS_PLAIN)
		return;
	bytes_printf(out, "# There %s only %llu window%s, so most intervals are wide: record for longer",
		     g->nr_short == 1 ? "is" : "are", (unsigned long long)g->nr_short, plural(g->nr_short));
	wanted = wanted_frequency(p, g);
	if (wanted)
		bytes_printf(out, ", or more often (record -F %llu)", (unsigned long long)wanted);
	bytes_str(out, ".\n");
}

/* The first metric of the table that is a ratio of a row's own counts; nr_metrics: none. */
static u32 first_ratio(const struct metric_table *t)
{
	for (u32 i = 0; i < t->nr_columns; i++)
		if (t->columns[i] < METRICS_MAX && !t->metrics[t->columns[i]].expr.totals &&
		    !t->metrics[t->columns[i]].per_call)
			return t->columns[i];
	return t->nr_metrics;
}

/* Do exact samples tell all that it reads? Only then more of them make it more certain: that addresses are late, or
 * windows lost, stays what it is. */
static bool rests_on_samples(const struct profile_windows *w, const struct metric *m)
{
	for (u32 i = 0; i < w->group.nr; i++)
		if (m->expr.members >> i & 1 && !(w->samples[i] > 0))
			return false;
	return uses_samples(w) && w->exact;
}

/* A program that spreads its time over many functions has few samples in each of them. */
static void put_flat(const struct profile *p, const struct profile_event *e, const struct metric_table *t,
		     struct bytes *out)
{
	static const double times[] = { 1, 2, 3, 4, 5, 6, 8, 10, 15, 20, 30, 50, 100 };
	const struct profile_windows *w = event_windows(e);
	double parts[ARRAY_LEN(times)];
	u32 ratio = first_ratio(t), i = 0;

	if (ratio == t->nr_metrics || !rests_on_samples(w, &t->metrics[ratio]) || w->group.nr_short < FEW_WINDOWS)
		return;
	metric_certain_parts(t, ratio, e->rows.n, times, ARRAY_LEN(times), parts);
	while (i < ARRAY_LEN(times) && parts[i] < ENOUGH_CERTAIN)
		i++;
	if (i == 0 || i == ARRAY_LEN(times))
		return;
	bytes_printf(out, "# Rows in which %s is not marked have %.0f%% of the ", metric_column_name(t, ratio),
		     floor(100 * parts[0]));
	put_bare_name(p, w->group.leader, out);
	bytes_printf(out, ": about %.0f times as many samples (record for longer, or more often) make it %.0f%%.\n",
		     times[i], 100 * ENOUGH_CERTAIN);
}

void report_windows_foot(const struct profile *p, const struct profile_event *e, const struct metric_table *t,
			 struct bytes *out)
{
	const struct profile_windows *w = event_windows(e);
	const struct window_group *g = &w->group;

	put_few(p, g, out);
	put_flat(p, e, t, out);
	put_loss(w, out);
	put_inexact(w, out);
	put_unused(p, w, out);
	if (g->nr_short && g->sum_short / g->nr_short > LONG_WINDOW && !g->schedule.period_short)
		bytes_str(out, "# Such long windows span many functions: ratios tend towards the mean of all. For "
			       "short windows, add alt-period= to the leader's terms.\n");
}

void report_windows_head(const struct profile *p, const struct profile_event *e, bool whole, struct bytes *out)
{
	const struct profile_windows *w = event_windows(e);

	if (!whole) {
		put_short_head(p, w, out);
		return;
	}
	bytes_str(out, "# Group: ");
	for (u32 i = 0; i < w->group.nr; i++) {
		bytes_str(out, i ? ", " : "");
		put_name(p, w->group.events[i], out);
	}
	bytes_str(out, " (one table per event: --no-metrics; what columns mean: --legend)\n");
	put_lengths(p, &w->group, out);
	put_fate(w, out);
	put_sources(p, e, out);
	put_operations(p, w, out);
}

static void put_legend_row(const char *name, const char *text, const char *formula, int width, struct bytes *out)
{
	bytes_printf(out, "# %-*s  %s", width, name, text ? text : formula);
	if (text && formula)
		bytes_printf(out, " (%s)", formula);
	bytes_char(out, '\n');
}

void report_windows_legend(const struct metric_table *t, struct bytes *out)
{
	int width = 0;

	for (u32 i = 0; i < t->nr_columns; i++)
		width = MAX(width, (int)strlen(metric_column_name(t, t->columns[i])));
	bytes_str(out, "\n#\n# What the columns mean:\n");
	for (u32 i = 0; i < t->nr_columns; i++) {
		u32 column = t->columns[i];
		const char *name = metric_column_name(t, column);

		if (column < METRICS_MAX)
			put_legend_row(name, t->metrics[column].help, t->metrics[column].formula, width, out);
		else
			put_legend_row(name, metric_count_help[column - METRICS_MAX], NULL, width, out);
	}
}

static void put_frame(const struct row_view *v, u32 node, const char *before, struct bytes *out)
{
	u32 frame = v->event->tree.nodes.v[node].frame;
	char made_up[PROFILE_MADE_UP];
	const char *name = profile_frame_name(v->profile, frame, made_up, sizeof(made_up));

	bytes_str(out, before);
	bytes_plain(out, name, strlen(name));
	if (frames_get(v->profile->frames, frame)->inlined)
		bytes_str(out, " (inlined)");
}

void report_windows_path(const struct row_view *v, u32 node, bool named, struct bytes *out)
{
	const struct tree_node *nodes = v->event->tree.nodes.v;
	u32 up = nodes[node].parent;
	bool callers = up && nodes[up].parent;

	bytes_str(out, "   ");
	if (node && (named || !callers || frames_get(v->profile->frames, nodes[node].frame)->inlined))
		put_frame(v, node, " ", out);
	for (; up && nodes[up].parent; up = nodes[up].parent)
		put_frame(v, up, " < ", out);
}
