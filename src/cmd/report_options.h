/* SPDX-License-Identifier: Apache-2.0 */
/* The options of `reticle report`: cmd/report_options.c parses them into this. */
#ifndef CMD_REPORT_OPTIONS_H
#define CMD_REPORT_OPTIONS_H

#include "agg/window_rows.h"
#include "cmd/graph_spec.h"
#include "cmd/select.h"

enum percentage { PERCENTAGE_ABSOLUTE, PERCENTAGE_RELATIVE };

struct report_config {
	const char *word; /* that is no option and no recording, or NULL */
	struct select select;
	const char *sort, *fields, *widths, *separator;
	struct graph_spec graph;
	int children, branches; /* -1: as the recording suggests */
	enum percentage percentage;
	double percent_limit;
	bool no_metrics;
	const char *metric_sets, *metric_columns;
	struct opt_list own_metrics;
	enum attribution attribution;
	struct code_range range;
	u32 max_stack, verbose;
	u64 time_slice_ms;
	const char *parent, *ignore_callees; /* regular expressions */
	bool exclude_other, group, mem_mode;
	bool stats, tasks, mmaps; /* of the recording, in place of the table */
	bool branch_history;	  /* branches before the callers, in call graphs */
	bool total_cycles;	  /* blocks of code in place of functions */
	bool cpu_modes;		  /* columns for the kernel, and for user space */
	bool inverted, samples, period, csv, formulas, json, force, stdio, inlines, info, header, header_only, legend,
		quiet, dump, long_names, hierarchy;
};

/* What options do that several commands have (struct opt's set): one that is given, or given with no-, whose field
 * becomes 1 or 0; --percentage, whose field is an enum percentage; --percent-limit, whose field is a double, or where
 * there are call graphs the config. */
int report_set_switch(void *field, const char *text, const struct notify *to);
int report_set_percentage(void *field, const char *text, const struct notify *to);
int report_set_row_limit(void *field, const char *text, const struct notify *to);
int report_set_percent_limit(void *field, const char *text, const struct notify *to);

/* The command's run; cmd/report.c. */
int report_run(const struct command_ctx *ctx, const void *config, int argc, char **argv);

#endif
