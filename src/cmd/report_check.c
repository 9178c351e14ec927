/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report_check.h"

/* A table must not claim a check that its samples could not make. */
static int check_attribution(const struct profile *p, enum attribution a, const struct notify *to)
{
	for (size_t i = 0; a == ATTRIBUTION_CALLCHAIN && i < p->events.n; i++) {
		const struct window_group *g =
			event_windows(&p->events.v[i]) ? &event_windows(&p->events.v[i])->group : NULL;

		if (g && !(p->evlist->events.v[g->leader].attr.sample_type & PERF_SAMPLE_CALLCHAIN))
			return notify_error(to, ERR_USAGE,
					    "option --attribution callchain: samples of '%s' have no stacks; record "
					    "with -g",
					    report_event_name(p, &p->events.v[i]));
	}
	return 0;
}

/* A range that nothing lies in is a mistake: the table would be one of discarded windows. */
static int check_range(const struct profile *p, const struct code_range *r, const struct notify *to)
{
	struct bytes range = { 0 };
	struct code_seen seen = { 0 };
	u64 windows = 0;

	for (size_t i = 0; i < p->events.n; i++) {
		windows += event_windows(&p->events.v[i]) != NULL;
		seen = event_windows(&p->events.v[i]) ? event_windows(&p->events.v[i])->seen : seen;
	}
	if (!windows || !code_range_given(r) || seen.inside)
		return 0;
	report_windows_range(r, &range);
	bytes_char(&range, 0);
	if (seen.file && r->file)
		notify_error(to, ERR_USAGE, "no window begins or ends %s, only in lines from %u to %u",
			     (char *)range.p, seen.first_line, seen.last_line);
	else
		notify_error(to, ERR_USAGE, "no window begins or ends %s%s", (char *)range.p,
			     seen.file ? "" :
			     r->file   ? ": no source line is known for that file" :
			     r->object ? ", nor in any other part of it" :
					 "");
	bytes_free(&range);
	return ERR_USAGE;
}

int report_check_windows(const struct profile *p, enum attribution a, const struct code_range *r,
			 const struct notify *to)
{
	int err = check_attribution(p, a, to);

	return err ? err : check_range(p, r, to);
}

const char *report_excludes_metrics(const struct report_config *c, const struct profile *p)
{
	u64 keys = p ? p->sort_keys : 0;

	if (c->no_metrics)
		return "--no-metrics";
	if (c->fields && *c->fields != '+')
		return "--fields";
	if (c->hierarchy)
		return "--hierarchy";
	if (c->group)
		return "--group";
	if (c->branches == 1 || (p && p->branches))
		return "--branch-stack";
	if (c->branch_history)
		return "--branch-history";
	if (keys >> SORT_EVENT & 1)
		return "--sort event";
	if (c->parent)
		return "--parent";
	if (keys >> SORT_PARENT & 1)
		return "--sort parent";
	return c->ignore_callees && p && p->has_chains ? "--ignore-callees" : NULL;
}

static int check_alone(const struct report_config *c, const char *which, bool of_samples, const struct notify *to)
{
	const struct select *s = &c->select;
	const struct {
		bool given;
		const char *option;
		bool of_samples; /* it chooses samples, or how a table is written */
	} others[] = {
		{ c->csv, "--csv", true },
		{ c->sort, "--sort" },
		{ c->fields, "--fields" },
		{ c->parent, "--parent" },
		{ c->exclude_other, "--exclude-other" },
		{ c->ignore_callees, "--ignore-callees" },
		{ c->branches == 1 && !of_samples, "--branch-stack" },
		{ c->branch_history, "--branch-history" },
		{ c->hierarchy, "--hierarchy" },
		{ c->group, "--group" },
		{ c->separator, "--field-separator" },
		{ s->comms, "--comms", true },
		{ s->pids, "--pid", true },
		{ s->tids, "--tid", true },
		{ s->cpus, "--cpu", true },
		{ s->time, "--time", true },
		{ s->activity, "--activity" },
		{ s->dsos, "--dsos" },
		{ s->symbols, "--symbols" },
		{ s->symbol_part, "a part of a function's name" },
		{ s->hide_unresolved, "--hide-unresolved" },
		{ of_samples && c->mem_mode, "--mem-mode" },
		{ of_samples && s->itrace, "--itrace" },
		{ of_samples && c->header, "--header" },
		{ of_samples && c->legend, "--legend" },
		{ of_samples && (c->metric_sets || c->own_metrics.n), "--metrics and --metric" },
		{ of_samples && c->metric_columns, "--columns" },
		{ of_samples && code_range_given(&c->range), "--address-range and --source-line" },
		{ of_samples && c->widths && strcmp(c->widths, "0"), "-w other than 0" },
	};

	for (u32 i = 0; i < ARRAY_LEN(others); i++)
		if (others[i].given && !(of_samples && others[i].of_samples))
			return notify_error(to, ERR_USAGE, "%s is %s: it cannot be combined with %s", which,
					    of_samples ? "a table of its own" : "not a table", others[i].option);
	return 0;
}

/* Those do not read a recording that was not named. */
static int check_word(const struct report_config *c, const char *which, const struct notify *to)
{
	if (!c->word)
		return 0;
	return notify_error(to, ERR_USAGE,
			    "'%s' is not a recording, and %s cannot be combined with a part of a "
			    "function's name",
			    c->word, which);
}

int report_check_recording(const struct report_config *c, const struct notify *to)
{
	const char *which = c->mmaps ? "--mmaps" : c->tasks ? "--tasks" : c->stats ? "--stats" : "--header-only";

	if (check_word(c, which, to))
		return ERR_USAGE;
	if (!c->stats && !c->tasks && !c->mmaps)
		return 0;
	if (c->stats && (c->tasks || c->mmaps))
		return notify_error(to, ERR_USAGE, "--stats and %s exclude each other", which);
	if (c->total_cycles)
		return notify_error(to, ERR_USAGE, "%s and --total-cycles exclude each other", which);
	return check_alone(c, which, false, to);
}

int report_check_cycles(const struct report_config *c, const struct notify *to)
{
	return check_word(c, "--total-cycles", to) ? ERR_USAGE : check_alone(c, "--total-cycles", true, to);
}
