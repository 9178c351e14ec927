/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle export`: a recording for other programs' eyes. One row per format. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/export_branches.h"
#include "cmd/export_rows.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/select.h"
#include "view/export/flamegraph.h"
#include "view/export/stacks.h"
#include "view/report.h"

struct config {
	struct select select;
	const char *to, *output, *event, *title, *colors, *binary, *rows, *stacks;
	u32 width;
	const char *min_width;
	bool pid, tid, samples, mark_kernel, inverted, formulas;
};

/* What is written: a bit each, and sets of them. */
enum exported {
	EXPORT_SVG = 1u << 0,
	EXPORT_FOLDED = 1u << 1,
	EXPORT_REPORT = 1u << 2,   /* the report's rows, of all events */
	EXPORT_BRANCHES = 1u << 3, /* cmd/export_branches.h */
	EXPORT_PARQUET = 1u << 4,
	EXPORT_CSV_ROWS = 1u << 5,
	EXPORT_STACKS = EXPORT_SVG | EXPORT_FOLDED,	/* of one event, grouped by thread */
	EXPORT_ROWS = EXPORT_PARQUET | EXPORT_CSV_ROWS, /* cmd/export_rows.h */
};

struct exporter {
	const char *name, *extension, *summary;
	enum exported what;
	/* Of a profile: stacks, and the report. */
	void (*write)(struct profile *p, struct profile_event *e, const struct config *c, struct bytes *out);
	enum branch_form branches;
};

static void write_folded(struct profile *p, struct profile_event *e, const struct config *c, struct bytes *out)
{
	struct folded_opts o = { .samples = c->samples, .mark_kernel = c->mark_kernel };

	view_folded(p, e, &o, out);
}

static void write_svg(struct profile *p, struct profile_event *e, const struct config *c, struct bytes *out)
{
	struct flamegraph_opts o = {
		.title = c->title,
		.width = c->width,
		.min_width = strtod(c->min_width, NULL),
		.icicle = c->inverted,
		.samples = c->samples,
		.palette = flamegraph_palette(c->colors),
	};

	view_flamegraph(p, e, &o, out);
}

static void write_csv(struct profile *p, struct profile_event *e, const struct config *c, struct bytes *out)
{
	struct report_opts o = { 0 };

	(void)e;
	(void)c;
	report_default_columns(p, true, false, &o);
	report_csv(p, &o, out);
}

static void write_json(struct profile *p, struct profile_event *e, const struct config *c, struct bytes *out)
{
	struct report_opts o = { .graph = GRAPH_GRAPH, .graph_min = 0.5, .caller = p->children };

	(void)e;
	(void)c;
	report_default_columns(p, true, false, &o);
	report_json(p, &o, out);
}

static const struct exporter exporters[] = {
	{ "svg", ".svg", "flame graph for a browser", EXPORT_SVG, write_svg },
	{ "folded", ".folded", "one line per stack, for flame graph programs", EXPORT_FOLDED, write_folded },
	{ "csv", ".csv", "the report's rows", EXPORT_REPORT, write_csv },
	{ "json", ".json", "the report's rows and call graphs", EXPORT_REPORT, write_json },
	{ "bolt", ".preagg", "one binary's branches, for perf2bolt -pa", EXPORT_BRANCHES, .branches = BRANCHES_BOLT },
	{ "fdata", ".fdata", "the same for llvm-bolt itself", EXPORT_BRANCHES, .branches = BRANCHES_FDATA },
	{ "autofdo", ".afdo", "one binary's profile, for clang -fprofile-sample-use", EXPORT_BRANCHES,
	  .branches = BRANCHES_AUTOFDO },
	{ "branches", ".branches", "one binary's branches: how often taken and mispredicted", EXPORT_BRANCHES,
	  .branches = BRANCHES_CSV },
	{ "parquet", ".parquet", "every sample, for databases", EXPORT_PARQUET },
};

/* With --rows, CSV is not of the report. */
static const struct exporter csv_rows = { "csv", ".csv", "every sample, for databases", EXPORT_CSV_ROWS, NULL };

static const char *const row_tables[] = { [TABLE_SAMPLES] = "samples", [TABLE_MEMORY] = "memory" };

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct config, field), arg, help                                         \
	}

static const struct opt opts[] = {
	SELECT_OPTS(struct config),
	OPT(0, "to", OPT_STRING, to, "FORMAT",
	    "svg, folded, csv, json, bolt, fdata, autofdo, branches or parquet (default: by the ending of the "
	    "output's name)"),
	OPT('o', "output", OPT_STRING, output, "FILE", "write here (- for standard output, the default)"),
	OPT(0, "event", OPT_STRING, event, "NAME", "write the stacks of this event (default: the first one)"),
	OPT(0, "by-pid", OPT_FLAG, pid, NULL, "show processes of the same name separately"),
	OPT(0, "by-tid", OPT_FLAG, tid, NULL, "show threads of the same name separately"),
	OPT(0, "samples", OPT_FLAG, samples, NULL, "count samples instead of adding up their periods"),
	OPT(0, "annotate-kernel", OPT_FLAG, mark_kernel, NULL, "folded: append _[k] to kernel functions"),
	OPT(0, "binary", OPT_STRING, binary, "NAME",
	    "bolt, fdata, autofdo, branches: those of this file, by path, name or build id (default: the file with "
	    "the most)"),
	OPT(0, "rows", OPT_STRING, rows, "TABLE",
	    "parquet, csv: write this table: samples (the default of parquet), or memory (accesses)"),
	OPT(0, "stacks", OPT_STRING, stacks, "FILE", "parquet, csv --rows: write the frames of stacks here"),
	OPT(0, "csv-formulas", OPT_FLAG, formulas, NULL, "csv --rows: write texts that look like formulas unchanged"),
	OPT(0, "title", OPT_STRING, title, "TEXT", "svg: the title"),
	OPT(0, "width", OPT_U32, width, "PIXELS", "svg: width of the picture (1200)"),
	OPT(0, "min-width", OPT_STRING, min_width, "PIXELS", "svg: leave out narrower boxes (0.1)"),
	OPT(0, "inverted", OPT_FLAG, inverted, NULL, "svg: outermost callers at the top (icicles)"),
	OPT(0, "colors", OPT_STRING, colors, "NAME", "svg: hot, cool or gray"),
};

/* Not 1200 and so on, so that it is known what was given. */
static void defaults(void *config)
{
	struct config *c = config;

	c->width = ID_NONE;
}

static void set_picture(struct config *c)
{
	c->width = c->width == ID_NONE ? 1200 : c->width;
	c->min_width = c->min_width ? c->min_width : "0.1";
	c->colors = c->colors ? c->colors : "hot";
}

static const struct exporter *find_exporter(const struct config *c)
{
	size_t n = c->output ? strlen(c->output) : 0;

	for (u32 i = 0; i < ARRAY_LEN(exporters); i++) {
		size_t ext = strlen(exporters[i].extension);

		if (c->to ? !strcmp(c->to, exporters[i].name) :
			    n > ext && !strcmp(c->output + n - ext, exporters[i].extension))
			return c->rows && !strcmp(exporters[i].name, csv_rows.name) ? &csv_rows : &exporters[i];
	}
	return NULL;
}

/* A missing or unknown format is answered with the list. */
static int note_formats(const struct config *c, const struct notify *to)
{
	struct bytes list = { 0 };

	for (u32 i = 0; i < ARRAY_LEN(exporters); i++)
		bytes_printf(&list, "%s%s (%s)", i ? ", " : "", exporters[i].name, exporters[i].summary);
	bytes_char(&list, 0);
	if (c->to)
		notify_error(to, ERR_USAGE, "'%s' is not a format; the formats are: %s", c->to, (char *)list.p);
	else
		notify_error(to, ERR_USAGE, "no format is given: name one of these with --to: %s", (char *)list.p);
	bytes_free(&list);
	return ERR_USAGE;
}

static int check_picture(const struct config *c, const struct notify *to)
{
	char *end;
	double least = strtod(c->min_width, &end);

	if (end == c->min_width || *end || !(least >= 0))
		return notify_error(to, ERR_USAGE, "option --min-width: '%s' is not a number of pixels", c->min_width);
	if (c->width < 200 || c->width > 100000)
		return notify_error(to, ERR_USAGE, "option --width: %u is not between 200 and 100000", c->width);
	if (flamegraph_palette(c->colors) == ID_NONE)
		return notify_error(to, ERR_USAGE, "option --colors: '%s' is none of hot, cool, gray", c->colors);
	return 0;
}

/* Options that a format has no use for are refused with it. */
static int check_options(const struct config *c, const struct exporter *x, const struct notify *to)
{
	static const char stacks[] = "svg and folded", svg[] = "svg";
	const struct {
		const char *name;
		bool given;
		u32 of; /* enum exported */
		const char *formats;
	} options[] = {
		{ "event", c->event, EXPORT_STACKS, stacks },
		{ "by-pid", c->pid, EXPORT_STACKS, stacks },
		{ "by-tid", c->tid, EXPORT_STACKS, stacks },
		{ "samples", c->samples, EXPORT_STACKS, stacks },
		{ "annotate-kernel", c->mark_kernel, EXPORT_FOLDED, "folded" },
		{ "title", c->title, EXPORT_SVG, svg },
		{ "width", c->width != ID_NONE, EXPORT_SVG, svg },
		{ "min-width", c->min_width, EXPORT_SVG, svg },
		{ "inverted", c->inverted, EXPORT_SVG, svg },
		{ "colors", c->colors, EXPORT_SVG, svg },
		{ "binary", c->binary, EXPORT_BRANCHES, "bolt, fdata, autofdo and branches" },
		{ "rows", c->rows, EXPORT_ROWS, "parquet and csv" },
		{ "stacks", c->stacks, EXPORT_ROWS, "parquet, and --to csv --rows" },
		{ "csv-formulas", c->formulas, EXPORT_CSV_ROWS, "csv --rows" },
	};

	for (u32 i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].given && !(options[i].of & x->what))
			return notify_error(to, ERR_USAGE, "option --%s works only with --to %s", options[i].name,
					    options[i].formats);
	if (c->select.activity && x->what == EXPORT_BRANCHES)
		return notify_error(to, ERR_USAGE, "option --activity does not work with --to %s: branches have none",
				    x->name);
	return 0;
}

static int parse_rows(const struct config *c, enum row_table *table, const struct notify *to)
{
	*table = TABLE_SAMPLES;
	if (!c->rows)
		return 0;
	while (*table < ARRAY_LEN(row_tables) && strcmp(c->rows, row_tables[*table]))
		++*table;
	if (*table == ARRAY_LEN(row_tables))
		return notify_error(to, ERR_USAGE, "option --rows: '%s' is none of samples, memory", c->rows);
	if (*table == TABLE_MEMORY && c->select.itrace)
		return notify_error(to, ERR_USAGE,
				    "option --itrace does not work with --rows memory: an operation is one row, "
				    "whatever events it caused");
	return 0;
}

static void group_by(const struct config *c, const struct exporter *x, struct pipeline_opts *o)
{
	o->children = x->what == EXPORT_REPORT;
	if (x->what == EXPORT_REPORT)
		return;
	o->sort_order[o->nr_sort++] = SORT_COMM;
	if (c->pid)
		o->sort_order[o->nr_sort++] = SORT_PID;
	if (c->tid)
		o->sort_order[o->nr_sort++] = SORT_TID;
}

/* The event whose stacks are meant; with several and none named, says which one it took. NULL: there is none. */
static struct profile_event *choose_event(struct profile *p, const struct config *c, const struct notify *to)
{
	for (size_t i = 0; c->event && i < p->events.n; i++)
		if (!strcmp(report_event_name(p, &p->events.v[i]), c->event))
			return &p->events.v[i];
	if (c->event)
		(void)notify_at(to, NOTE_ERROR, ERR_NOTFOUND, select_input(&c->select), NO_OFFSET,
				"no samples of event '%s' (see reticle evlist)", c->event);
	else if (!p->events.n)
		(void)notify_at(to, NOTE_ERROR, ERR_NOTFOUND, select_input(&c->select), NO_OFFSET,
				"the recording contains no samples (or the filters leave none)");
	if (c->event || !p->events.n)
		return NULL;
	if (p->events.n > 1)
		notify_warn(to, "%zu events have samples; this is for '%s' (choose with --event)", p->events.n,
			    report_event_name(p, &p->events.v[0]));
	return &p->events.v[0];
}

static int export(const struct config *c, const struct exporter *x, struct profile *p, const struct notify *to)
{
	struct profile_event *e = NULL;
	struct output file;
	int err;

	if (x->what & EXPORT_STACKS) {
		e = choose_event(p, c, to);
		if (!e)
			return ERR_NOTFOUND;
	}
	err = output_open(&file, c->output, to);
	if (err)
		return err;
	x->write(p, e, c, &file.bytes);
	return output_close(&file, to);
}

static int export_profile(const struct config *c, const struct exporter *x, const struct pipeline_opts *o,
			  const struct notify *to)
{
	struct session *session;
	struct profile *profile;
	int err = pipeline_profile(o, &session, &profile, to);

	if (err)
		return err;
	err = export(c, x, profile, to);
	if (CMD_FREES) {
		profile_free(profile);
		session_close(session);
	}
	return err;
}

static int export_as(const struct config *c, const struct exporter *x, enum row_table table,
		     const struct pipeline_opts *o, const struct notify *to)
{
	const struct export_rows_opts rows = {
		.table = table,
		.form = x->what == EXPORT_PARQUET ? ROWS_PARQUET : ROWS_CSV,
		.formulas = c->formulas,
		.output = c->output,
		.stacks = c->stacks,
	};

	if (x->what == EXPORT_BRANCHES)
		return export_branches(o, x->branches, c->binary, c->output, to);
	return x->what & EXPORT_ROWS ? export_rows(o, &rows, to) : export_profile(c, x, o, to);
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config named = *(const struct config *)config, *c = &named;
	const struct exporter *x = find_exporter(c);
	enum row_table table;
	struct progress progress;
	struct selected s;
	int err;

	if (input_word(&named.select.input, argc, argv, ctx->notify))
		return 2;
	if (!x ? note_formats(c, ctx->notify) : check_options(c, x, ctx->notify))
		return 2;
	set_picture(c);
	if (check_picture(c, ctx->notify) || parse_rows(c, &table, ctx->notify))
		return 2;
	if (select_resolve(&c->select, &s, ctx->notify))
		return 2;
	group_by(c, x, &s.pipeline);
	s.pipeline.no_rows = x->what != EXPORT_REPORT;
	progress_start(&progress, ctx->tty_err, ctx->notify);
	s.pipeline.session.progress = progress_report;
	s.pipeline.session.progress_ctx = &progress;
	err = export_as(c, x, table, &s.pipeline, &progress.notify);
	progress_stop(&progress);
	selected_free(&s);
	return !err ? EXIT_SUCCESS : err == ERR_USAGE ? 2 : EXIT_FAILURE;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "write a recording as a flame graph, stacks, CSV, JSON or Parquet, or for optimisers",
	.args = "[--to FORMAT] [-o FILE] [options]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.defaults = defaults,
	.mixed = true,
	.run = run,
};
