/* SPDX-License-Identifier: Apache-2.0 */
/* perf's flags, where the meaning is the same. */
#include "cmd/report_options.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/commands.h"

int report_set_switch(void *field, const char *text, const struct notify *to)
{
	(void)to;
	*(int *)field = text ? 0 : 1;
	return 0;
}

int report_set_row_limit(void *field, const char *text, const struct notify *to)
{
	char *end;
	double v = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%")) || !(v >= 0 && v <= 100))
		return notify_error(to, ERR_USAGE, "option --percent-limit: '%s' is not a percentage", text);
	*(double *)field = v;
	return 0;
}

/* Of rows and of branches; a later -g has its own. The field is the config. */
int report_set_percent_limit(void *field, const char *text, const struct notify *to)
{
	struct report_config *c = field;
	int err = report_set_row_limit(&c->percent_limit, text, to);

	if (!err)
		c->graph.min = c->percent_limit;
	return err;
}

/* --metrics SET,.. or --no-metrics; the field is the config. */
static int set_metrics(void *field, const char *text, const struct notify *to)
{
	struct report_config *c = field;

	(void)to;
	c->no_metrics = !strcmp(text, "no");
	c->metric_sets = c->no_metrics ? NULL : text;
	return 0;
}

static const char *const attributions[NR_ATTRIBUTIONS] = {
	[ATTRIBUTION_ESTIMATE] = "estimate",
	[ATTRIBUTION_DISCARD] = "discard",
	[ATTRIBUTION_KEEP] = "keep",
	[ATTRIBUTION_CALLCHAIN] = "callchain",
};

static int set_attribution(void *field, const char *text, const struct notify *to)
{
	for (u32 i = 0; i < NR_ATTRIBUTIONS; i++)
		if (!strcmp(text, attributions[i])) {
			*(enum attribution *)field = i;
			return 0;
		}
	if (!strcmp(text, "returns"))
		return notify_error(to, ERR_USAGE,
				    "option --attribution: 'returns' was removed: windows in which nothing "
				    "returned are not like a function's other windows (the default, estimate, "
				    "is right for functions that call others)");
	return notify_error(to, ERR_USAGE,
			    "option --attribution: '%s' is not one of estimate, discard, keep, callchain", text);
}

/* [FILE:]START-END or START,END: hexadecimal with 0x, as code addresses of one shared object. */
static int set_address_range(void *field, const char *text, const struct notify *to)
{
	const char *colon = strrchr(text, ':');
	struct code_range *r = field;
	char *end;

	r->start = strtoull(colon ? colon + 1 : text, &end, 0);
	r->end = *end == '-' || *end == ',' ? strtoull(end + 1, &end, 0) : 0;
	if (*end || r->end <= r->start || colon == text)
		return notify_error(to, ERR_USAGE, "option --address-range: '%s' is not START-END or FILE:START-END",
				    text);
	free((char *)r->object);
	r->object = colon ? mem_strndup(text, (size_t)(colon - text)) : NULL;
	return 0;
}

/* FILE:LINE or FILE:FIRST-LAST. */
static int set_source_line(void *field, const char *text, const struct notify *to)
{
	struct code_range *r = field;
	const char *colon = strrchr(text, ':');
	char *end;

	if (!colon || colon == text)
		return notify_error(to, ERR_USAGE, "option --source-line: '%s' is not FILE:LINE or FILE:FIRST-LAST",
				    text);
	r->first_line = r->last_line = (u32)strtoul(colon + 1, &end, 10);
	if (*end == '-')
		r->last_line = (u32)strtoul(end + 1, &end, 10);
	if (*end || !r->first_line || r->last_line < r->first_line)
		return notify_error(to, ERR_USAGE, "option --source-line: '%s' is not FILE:LINE or FILE:FIRST-LAST",
				    text);
	free((char *)r->file);
	r->file = mem_strndup(text, (size_t)(colon - text));
	return 0;
}

int report_set_percentage(void *field, const char *text, const struct notify *to)
{
	if (strcmp(text, "relative") && strcmp(text, "absolute"))
		return notify_error(to, ERR_USAGE, "option --percentage: '%s' is neither relative nor absolute", text);
	*(enum percentage *)field = *text == 'r' ? PERCENTAGE_RELATIVE : PERCENTAGE_ABSOLUTE;
	return 0;
}

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct report_config, field), arg, help                                  \
	}

static const struct opt options[] = {
	SELECT_OPTS(struct report_config),
	SELECT_ROW_OPTS(struct report_config),
	OPT('s', "sort", OPT_STRING, sort, "KEYS",
	    "one row per: comm, pid, tid, cpu, dso, symbol, srcline, event, parent, time, cgroup, ...; trace, or a "
	    "field of "
	    "tracepoints"),
	OPT('F', "fields", OPT_STRING, fields, "COLUMNS",
	    "show these columns, or with + additional ones: sort keys, overhead, children, samples, period"),
	{ 'g', "call-graph", OPT_CALL, offsetof(struct report_config, graph), "[TYPE,MIN,...]",
	  "call graphs: graph, fractal, flat, folded or none; least percent; caller or callee; address or srcline; "
	  "count",
	  .set = graph_spec_set, .next_word = true },
	{ 0, "children", OPT_CALL, offsetof(struct report_config, children), NULL, "count callees with their callers",
	  .set = report_set_switch, .no = true },
	{ 'b', "branch-stack", OPT_CALL, offsetof(struct report_config, branches), NULL,
	  "count the branches in samples (default for recordings made with -b)", .set = report_set_switch,
	  .no = true },
	OPT(0, "branch-history", OPT_FLAG, branch_history, NULL,
	    "in call graphs, show on which branches the program came to each sample, before the callers"),
	OPT('G', "inverted", OPT_FLAG, inverted, NULL, "call graphs from the outermost caller down"),
	OPT(0, "max-stack", OPT_U32, max_stack, "N", "show call graphs of at most N frames"),
	{ 0, "percent-limit", OPT_CALL, 0, "PERCENT", "leave out rows and branches below this share",
	  .set = report_set_percent_limit },
	{ 0, "percentage", OPT_CALL, offsetof(struct report_config, percentage), "relative|absolute",
	  "shares of what the filters leave, or of everything (default)", .set = report_set_percentage },
	OPT(0, "ignore-callees", OPT_STRING, ignore_callees, "REGEX",
	    "count what functions of these names called as their own"),
	OPT('p', "parent", OPT_STRING, parent, "REGEX",
	    "split rows by the first caller that matches (default ^sys_|^do_page_fault)"),
	OPT('x', "exclude-other", OPT_FLAG, exclude_other, NULL, "only rows with such a parent"),
	OPT('n', "show-nr-samples", OPT_FLAG, samples, NULL, "show the number of samples"),
	OPT(0, "show-total-period", OPT_FLAG, period, NULL, "show the sum of periods"),
	OPT(0, "show-cpu-utilization", OPT_FLAG, cpu_modes, NULL,
	    "show how much of each row is of the kernel, and of user space"),
	OPT(0, "time-slice", OPT_U64, time_slice_ms, "MS",
	    "length of a slice of --sort time in milliseconds (default 100)"),
	OPT('w', "column-widths", OPT_STRING, widths, "WIDTHS", "widths of the columns, in order"),
	OPT('t', "field-separator", OPT_STRING, separator, "CHAR", "separate columns by CHAR, unaligned"),
	OPT(0, "hierarchy", OPT_FLAG, hierarchy, NULL, "show rows as a tree of the sort keys"),
	OPT(0, "csv", OPT_FLAG, csv, NULL, "print CSV"),
	OPT(0, "csv-formulas", OPT_FLAG, formulas, NULL, "in CSV, print texts that look like formulas unchanged"),
	OPT(0, "json", OPT_FLAG, json, NULL, "print JSON"),
	{ 0, "metrics", OPT_CALL, 0, "SETS",
	  "show these ratios of windows: basic, ipc, branch, calls, cache, tlb, stalls, topdown, all",
	  .set = set_metrics, .no = true },
	OPT(0, "metric", OPT_LIST, own_metrics, "NAME=FORMULA",
	    "show one more ratio, like 'MPKI=cache-misses/instructions*1000'"),
	OPT(0, "columns", OPT_STRING, metric_columns, "NAMES",
	    "show these metrics in this order; also windows, kept, discarded, calls"),
	OPT(0, "legend", OPT_FLAG, legend, NULL, "explain the columns below a table of metrics"),
	{ 0, "attribution", OPT_CALL, offsetof(struct report_config, attribution), "MODE",
	  "what metrics are based on: estimate (default; samples and windows), or windows alone: discard (both "
	  "ends in one function), keep, callchain",
	  .set = set_attribution },
	{ 0, "address-range", OPT_CALL, offsetof(struct report_config, range), "START-END",
	  "only windows within these addresses of any file, or FILE:START-END for one file",
	  .set = set_address_range },
	{ 0, "source-line", OPT_CALL, offsetof(struct report_config, range), "FILE:LINE[-LINE]",
	  "only windows within these source lines", .set = set_source_line },
	OPT('f', "force", OPT_FLAG, force, NULL, "accepted; it does not matter who owns the recording"),
	OPT(0, "stdio", OPT_FLAG, stdio, NULL, "print text (default)"),
	OPT(0, "header", OPT_FLAG, header, NULL,
	    "first show what is known about the recording, and how windows were made"),
	OPT(0, "header-only", OPT_FLAG, header_only, NULL, "show only what is known about the recording"),
	OPT(0, "stats", OPT_FLAG, stats, NULL, "show only how many records of each type there are"),
	OPT(0, "tasks", OPT_FLAG, tasks, NULL, "show only threads, and their parents"),
	OPT(0, "mmaps", OPT_FLAG, mmaps, NULL, "show only threads, and what is mapped in each"),
	OPT(0, "total-cycles", OPT_FLAG, total_cycles, NULL,
	    "show the blocks of code that took most cycles, as branch records have them (record -b)"),
	OPT('I', "show-info", OPT_FLAG, info, NULL, "with --header: topologies in full"),
	OPT(0, "inline", OPT_FLAG, inlines, NULL, "expand inlined calls (default)"),
	OPT(0, "group", OPT_FLAG, group, NULL, "show the events of a group side by side in one table"),
	OPT(0, "mem-mode", OPT_FLAG, mem_mode, NULL,
	    "show loads and stores, which weigh what they cost (see also 'reticle mem report')"),
	OPT(0, "long-names", OPT_FLAG, long_names, NULL, "show whole paths of shared objects"),
	OPT('q', "quiet", OPT_FLAG, quiet, NULL, "do not print lines that begin with #"),
	OPT('v', "verbose", OPT_COUNT, verbose, NULL, "show whole paths, and all hints on missing symbols"),
	OPT('D', "dump-raw-trace", OPT_FLAG, dump, NULL, "see 'reticle dump'"),
};

static void defaults(void *config)
{
	struct report_config *c = config;

	c->children = c->branches = -1;
	c->time_slice_ms = 100;
	graph_spec_init(&c->graph);
}

const struct command cmd_report = {
	.name = "report",
	.summary = "show which functions a recording's samples fell into",
	.args = "[options] [part of a function's name | recording]",
	.mixed = true,
	.opts = options,
	.nr_opts = ARRAY_LEN(options),
	.config_size = sizeof(struct report_config),
	.defaults = defaults,
	.run = report_run,
};
