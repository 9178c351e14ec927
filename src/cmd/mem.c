/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reticle mem: what loads and stores cost, and where their data lie. Its report is 'reticle report --mem-mode' with
 * columns for everything that was recorded; as in perf, options may come before or after its verb.
 */
#include <stdio.h>
#include <string.h>

#include "cmd/commands.h"
#include "cmd/memory_record.h"
#include "cmd/report_options.h"
#include "cmd/rights.h"
#include "cmd/select.h"

struct mem_config {
	struct report_config report; /* first: option rows of report fill it */
	const char *type;
	bool phys_data, data_page_size;
	u32 ldlat;
};

#define LOAD_SORT "local_weight,mem,symbol,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked"
/* Stores have no weight, and do not wait for other caches' answers. */
#define STORE_SORT "mem,symbol,dso,symbol_daddr,dso_daddr,tlb,locked"

static int set_type(void *field, const char *text, const struct notify *to)
{
	const char *types[] = { "load", "store", "load,store" };

	for (u32 i = 0; i < ARRAY_LEN(types); i++)
		if (!strcmp(text, types[i])) {
			*(const char **)field = types[i];
			return 0;
		}
	return notify_error(to, ERR_USAGE, "option --type: '%s' is not load, store or load,store", text);
}

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct mem_config, field), arg, help                                     \
	}
_Static_assert(offsetof(struct mem_config, report) == 0, "option rows of report are used as they are");
#define REPORT(letter, name, kind, field, arg, help) OPT(letter, name, kind, report.field, arg, help)

static const struct opt options[] = {
	{ 't', "type", OPT_CALL, offsetof(struct mem_config, type), "TYPE",
	  "columns for load, store or load,store (default)", .set = set_type },
	OPT('p', "phys-data", OPT_FLAG, phys_data, NULL, "a column of physical addresses"),
	OPT(0, "data-page-size", OPT_FLAG, data_page_size, NULL, "a column of the page size of the data"),
	OPT(0, "ldlat", OPT_U32, ldlat, "CYCLES", "record: only loads that take at least this long (default: 30)"),
	SELECT_OPTS(struct report_config),
	SELECT_ROW_OPTS(struct report_config),
	REPORT('s', "sort", OPT_STRING, sort, "KEYS",
	       "one row per: mem, snoop, tlb, locked, blocked, symbol_daddr, dcacheline, local_weight, symbol, ..."),
	REPORT('F', "fields", OPT_STRING, fields, "COLUMNS",
	       "show these columns, or with + additional ones: sort keys, overhead, samples, period"),
	{ 0, "percent-limit", OPT_CALL, 0, "PERCENT", "leave out rows below this share",
	  .set = report_set_percent_limit },
	REPORT('w', "column-widths", OPT_STRING, widths, "WIDTHS", "widths of the columns, in order"),
	REPORT('x', "field-separator", OPT_STRING, separator, "CHAR", "separate columns by CHAR, unaligned"),
	REPORT(0, "hierarchy", OPT_FLAG, hierarchy, NULL, "show rows as a tree of the sort keys"),
	REPORT(0, "csv", OPT_FLAG, csv, NULL, "print CSV"),
	REPORT(0, "json", OPT_FLAG, json, NULL, "print JSON"),
	REPORT('f', "force", OPT_FLAG, force, NULL, "accepted; it does not matter who owns the recording"),
	REPORT(0, "stdio", OPT_FLAG, stdio, NULL, "print text (default)"),
	REPORT(0, "header", OPT_FLAG, header, NULL, "first show what is known about the recording"),
	REPORT('q', "quiet", OPT_FLAG, quiet, NULL, "do not print lines that begin with #"),
	REPORT('v', "verbose", OPT_COUNT, verbose, NULL, "show whole paths, and all hints on missing symbols"),
};

static void defaults(void *config)
{
	struct mem_config *c = config;

	cmd_report.defaults(&c->report);
	c->type = "load,store";
	c->ldlat = 30;
	c->report.mem_mode = c->report.samples = true;
}

/* The keys of rows where none are named. */
static const char *usual_sort(const struct mem_config *c, char *text, size_t size)
{
	if (!strcmp(c->type, "store"))
		snprintf(text, size, STORE_SORT "%s%s", c->phys_data ? ",phys_daddr" : "",
			 c->data_page_size ? ",data_page_size" : "");
	else if (c->phys_data || c->data_page_size)
		snprintf(text, size, LOAD_SORT "%s%s", c->phys_data ? ",phys_daddr" : "",
			 c->data_page_size ? ",data_page_size" : "");
	else
		return NULL; /* as report --mem-mode */
	return text;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	const struct mem_config *c = config;
	struct report_config r = c->report;
	char sort[256];

	const struct memory_record record = { .loads = strstr(c->type, "load"),
					      .stores = strstr(c->type, "store"),
					      .ldlat = c->ldlat,
					      .phys = c->phys_data,
					      .data_page_size = c->data_page_size };

	if (argc && !strcmp(argv[0], "record"))
		return memory_record(ctx, &record, argc, argv);
	if (!argc || strcmp(argv[0], "report")) {
		notify_error(ctx->notify, ERR_USAGE,
			     "say record or report: 'reticle mem record' samples loads and stores, 'reticle mem "
			     "report' shows them");
		return 2;
	}
	rights_drop();
	if (!r.sort && !r.fields)
		r.sort = usual_sort(c, sort, sizeof(sort));
	return report_run(ctx, &r, argc - 1, argv + 1);
}

const struct command cmd_mem = {
	.name = "mem",
	.summary = "show what loads and stores cost, and where their data lie",
	.args = "[options] record [options of record] [--] COMMAND | report [options] [recording]",
	.verb = "report",
	.keeps_rights = true, /* for its record; report gives them up */
	.opts = options,
	.nr_opts = ARRAY_LEN(options),
	.config_size = sizeof(struct mem_config),
	.defaults = defaults,
	.run = run,
};
