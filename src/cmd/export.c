/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle export`: a recording for other programs' eyes. One row per format. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/export_about.h"
#include "cmd/export_branches.h"
#include "cmd/export_push.h"
#include "cmd/export_rows.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/push.h"
#include "cmd/select.h"
#include "view/export/flamegraph.h"
#include "view/export/gzip.h"
#include "view/export/stacks.h"
#include "view/report.h"

struct config {
	struct select select;
	const char *to, *output, *event, *title, *colors, *binary, *rows, *stacks;
	u32 width;
	const char *min_width;
	bool pid, tid, samples, mark_kernel, inverted, formulas;
	const char *push;
	struct opt_list push_headers;
	u32 push_retries;
	struct push_target target; /* what --push says */
	/* What came of it, for who asks; then notes of sending go there, too. */
	struct push_outcome *outcome;
	const struct notify *sending;
};

/* What is written: a bit each, and sets of them. */
enum exported {
	EXPORT_SVG = 1u << 0,
	EXPORT_FOLDED = 1u << 1,
	EXPORT_REPORT = 1u << 2,   /* the report's rows, of all events */
	EXPORT_BRANCHES = 1u << 3, /* cmd/export_branches.h */
	EXPORT_PARQUET = 1u << 4,
	EXPORT_CSV_ROWS = 1u << 5,
	EXPORT_PROFILE = 1u << 6, /* of all events, grouped by thread and activity: view/export/about.h */
	EXPORT_STACKS = EXPORT_SVG | EXPORT_FOLDED,	/* of one event, grouped by thread */
	EXPORT_ROWS = EXPORT_PARQUET | EXPORT_CSV_ROWS, /* cmd/export_rows.h */
};

/* A profile, for those who write it. */
struct exported_profile {
	const struct config *config;
	const struct source *src;
	struct profile *p;
	struct profile_event *e; /* EXPORT_STACKS */
};

struct exporter {
	const char *name, *extension, *summary;
	enum exported what;
	/* Of a profile: stacks, the report, and the whole. */
	void (*write)(const struct exported_profile *x, struct bytes *out);
	bool gzip;	  /* the file is packed */
	const char *type; /* of what is sent, for HTTP; NULL: it is not to be sent */
	enum branch_form branches;
};

static void write_folded(const struct exported_profile *x, struct bytes *out)
{
	struct folded_opts o = { .samples = x->config->samples, .mark_kernel = x->config->mark_kernel };

	view_folded(x->p, x->e, &o, out);
}

static void write_svg(const struct exported_profile *x, struct bytes *out)
{
	const struct config *c = x->config;
	struct flamegraph_opts o = {
		.title = c->title,
		.width = c->width,
		.min_width = strtod(c->min_width, NULL),
		.icicle = c->inverted,
		.samples = c->samples,
		.palette = flamegraph_palette(c->colors),
	};

	view_flamegraph(x->p, x->e, &o, out);
}

static void write_csv(const struct exported_profile *x, struct bytes *out)
{
	struct report_opts o = { 0 };

	report_default_columns(x->p, true, false, &o);
	report_csv(x->p, &o, out);
}

static void write_json(const struct exported_profile *x, struct bytes *out)
{
	struct report_opts o = { .graph = GRAPH_GRAPH, .graph_min = 0.5, .caller = x->p->children };

	report_default_columns(x->p, true, false, &o);
	report_json(x->p, &o, out);
}

static void write_pprof(const struct exported_profile *x, struct bytes *out)
{
	struct export_about about;

	profile_about(x->src, x->p, !x->config->select.no_inline, &about);
	view_pprof(x->p, &about, out);
}

static void write_otlp(const struct exported_profile *x, struct bytes *out)
{
	struct export_about about;

	profile_about(x->src, x->p, !x->config->select.no_inline, &about);
	view_otlp(x->p, &about, out);
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
	{ "pprof", ".pb.gz", "stacks of all events with their activities, for pprof, Pyroscope and Parca",
	  EXPORT_PROFILE, write_pprof, .gzip = true, .type = "application/octet-stream" },
	{ "otlp", ".otlp", "the same as OpenTelemetry's profiles", EXPORT_PROFILE, write_otlp,
	  .type = "application/x-protobuf" },
	{ "parquet", ".parquet", "every sample, for databases", EXPORT_PARQUET },
};

/* With --rows, CSV is not of the report. */
static const struct exporter csv_rows = { "csv", ".csv", "every sample, for databases", EXPORT_CSV_ROWS };

static const char *const row_tables[] = { [TABLE_SAMPLES] = "samples", [TABLE_MEMORY] = "memory" };

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct config, field), arg, help                                         \
	}

static const struct opt opts[] = {
	SELECT_OPTS(struct config),
	SELECT_PLACE_OPTS(struct config, select, 'd', 'S', 'U', "samples of"),
	OPT(0, "to", OPT_STRING, to, "FORMAT",
	    "svg, folded, csv, json, bolt, fdata, autofdo, branches, pprof, otlp or parquet (default: by the ending "
	    "of the "
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
	OPT(0, "push", OPT_STRING, push, "URL|@FILE",
	    "pprof, otlp: send it there by HTTP POST, instead of writing it"),
	OPT(0, "push-header", OPT_LIST, push_headers, "HEADER", "with --push: send this, too; may be repeated"),
	OPT(0, "push-retries", OPT_U32, push_retries, "N",
	    "with --push: try so many more times if the server is busy or away (5)"),
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
	c->push_retries = ID_NONE;
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
	static const char stacks[] = "svg and folded", svg[] = "svg", profiles[] = "pprof and otlp";
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
		{ "push", c->push, EXPORT_PROFILE, profiles },
		{ "push-header", c->push_headers.n, EXPORT_PROFILE, profiles },
		{ "push-retries", c->push_retries != ID_NONE, EXPORT_PROFILE, profiles },
	};

	for (u32 i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].given && !(options[i].of & x->what))
			return notify_error(to, ERR_USAGE, "option --%s works only with --to %s", options[i].name,
					    options[i].formats);
	if (select_place_option(&c->select) && x->what == EXPORT_BRANCHES)
		return notify_error(to, ERR_USAGE,
				    "option %s does not work with --to %s: all branches of one file are written "
				    "(choose it with --binary)",
				    select_place_option(&c->select), x->name);
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
	o->addresses = x->what == EXPORT_PROFILE;
	o->sort_order[o->nr_sort++] = SORT_COMM;
	if (c->pid || x->what == EXPORT_PROFILE)
		o->sort_order[o->nr_sort++] = SORT_PID;
	if (c->tid || x->what == EXPORT_PROFILE)
		o->sort_order[o->nr_sort++] = SORT_TID;
	if (x->what == EXPORT_PROFILE)
		o->sort_order[o->nr_sort++] = SORT_ACTIVITY;
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
	else if (!p->events.n && p->tally.samples)
		select_note_empty(&c->select, p, to);
	else if (!p->events.n)
		(void)notify_at(to, NOTE_ERROR, ERR_NOTFOUND, select_input(&c->select), NO_OFFSET,
				"the recording contains no samples");
	if (c->event || !p->events.n)
		return NULL;
	if (p->events.n > 1)
		notify_warn(to, "%zu events have samples; this is for '%s' (choose with --event)", p->events.n,
			    report_event_name(p, &p->events.v[0]));
	return &p->events.v[0];
}

static struct http_request request_of(const struct config *c, const struct exporter *x)
{
	/* A profile for pprof is packed by itself. */
	return (struct http_request){ c->target.url, &c->target.headers, x->type, !x->gzip };
}

/* 0 or what push_check says. */
static int check_push(struct config *c, const struct exporter *x, const struct notify *to)
{
	struct http_request r;
	int err;

	if (!c->push && (c->push_headers.n || c->push_retries != ID_NONE))
		return notify_error(to, ERR_USAGE, "option --%s works only with --push",
				    c->push_headers.n ? "push-header" : "push-retries");
	if (c->push && c->output)
		return notify_error(to, ERR_USAGE, "options --push and --output cannot be combined");
	err = c->push ? push_target_read(c->push, &c->push_headers, &c->target, to) : 0;
	if (err || !c->push)
		return err;
	r = request_of(c, x);
	return push_check(&r, to);
}

/* A message cannot be written while it empties itself into a file (codec/proto.h). */
static int write_message(const struct exporter *x, const struct exported_profile *profile, bool gzip,
			 struct bytes *out, const struct notify *to)
{
	struct bytes plain = { 0 };
	bool written = true;

	x->write(profile, &plain);
	if (gzip)
		written = gzip_pack(&plain, out);
	else
		bytes_put(out, plain.p, plain.len);
	bytes_free(&plain);
	return written ? 0 : notify_error(to, ERR_LIMIT, "there is no memory to pack the profile");
}

static int send(const struct exporter *x, const struct exported_profile *profile, const struct notify *to)
{
	const struct config *c = profile->config;
	struct http_request r = request_of(c, x);
	struct push_outcome outcome = { 0 };
	struct bytes body = { 0 };
	int err = write_message(x, profile, true, &body, to);

	if (!err)
		err = push_send(&r, c->push_retries == ID_NONE ? PUSH_RETRIES : c->push_retries, &body, &outcome,
				c->outcome ? c->sending : to);
	if (c->outcome)
		*c->outcome = outcome;
	bytes_free(&body);
	return err;
}

static int export(const struct exporter *x, const struct exported_profile *profile, const struct notify *to)
{
	struct output file;
	int err = output_open(&file, profile->config->output, to);

	if (err)
		return err;
	if (x->what == EXPORT_PROFILE)
		err = write_message(x, profile, x->gzip, &file.bytes, to);
	else
		x->write(profile, &file.bytes);
	if (!err)
		return output_close(&file, to);
	output_drop(&file);
	return err;
}

static int export_profile(const struct config *c, const struct exporter *x, const struct pipeline_opts *o,
			  const struct notify *to)
{
	struct exported_profile made = { .config = c };
	struct session *session;
	int err = pipeline_profile(o, &session, &made.p, to);

	if (err)
		return err;
	made.src = session->src;
	made.e = x->what & EXPORT_STACKS ? choose_event(made.p, c, to) : NULL;
	if (c->outcome && !made.p->events.n)
		c->outcome->end = PUSH_EMPTY;
	else if (!(x->what & EXPORT_STACKS) && (!made.p->events.n || x->what == EXPORT_REPORT))
		select_note_empty(&c->select, made.p, to);
	if (x->what & EXPORT_STACKS && !made.e)
		err = ERR_NOTFOUND;
	else if (c->outcome && c->outcome->end == PUSH_EMPTY)
		err = 0;
	else if (c->push && !made.p->events.n)
		err = notify_error(to, ERR_NOTFOUND, "the profile is empty, so it is not sent");
	else
		err = c->push ? send(x, &made, to) : export(x, &made, to);
	if (CMD_FREES) {
		profile_free(made.p);
		session_close(session);
	} else {
		session_keep(session);
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
		.select = &c->select,
	};

	if (x->what == EXPORT_BRANCHES)
		return export_branches(o, x->branches, c->binary, c->output, &c->select, to);
	return x->what & EXPORT_ROWS ? export_rows(o, &rows, to) : export_profile(c, x, o, to);
}

static bool is_binary(const struct exporter *x)
{
	return x->what == EXPORT_PROFILE || x->what == EXPORT_PARQUET;
}

/* What is left when all options are known to be right. */
static int export_checked(const struct config *c, const struct exporter *x, enum row_table table,
			  const struct command_ctx *ctx)
{
	struct progress progress;
	struct selected s;
	int err = select_resolve(&c->select, &s, ctx->notify);

	if (err)
		return ERR_USAGE;
	group_by(c, x, &s.pipeline);
	s.pipeline.no_rows = x->what != EXPORT_REPORT;
	progress_start(&progress, ctx->tty_err, ctx->notify);
	s.pipeline.session.progress = progress_report;
	s.pipeline.session.progress_ctx = &progress;
	err = export_as(c, x, table, &s.pipeline, &progress.notify);
	progress_stop(&progress);
	selected_free(&s);
	return err;
}

static int check_and_export(struct config *c, const struct command_ctx *ctx)
{
	const struct exporter *x = find_exporter(c);
	enum row_table table;
	int err;

	if (!x ? note_formats(c, ctx->notify) : check_options(c, x, ctx->notify))
		return ERR_USAGE;
	err = check_push(c, x, ctx->notify);
	if (err)
		return err;
	if (ctx->tty_out && is_binary(x) && !c->push && (!c->output || !strcmp(c->output, "-")))
		return notify_error(ctx->notify, ERR_USAGE, "%s is not for a terminal: write it to a file with -o",
				    x->name);
	set_picture(c);
	if (check_picture(c, ctx->notify) || parse_rows(c, &table, ctx->notify))
		return ERR_USAGE;
	return export_checked(c, x, table, ctx);
}

void export_push(const struct export_push *p, const struct notify *making, const struct notify *sending,
		 struct push_outcome *out)
{
	const struct command_ctx ctx = { .notify = making };
	struct config c = { .to = p->format,
			    .push = p->to,
			    .push_headers = *p->headers,
			    .select = { .input = p->input, .no_cache = p->no_cache },
			    .width = ID_NONE,
			    .outcome = out,
			    .sending = sending };

	*out = (struct push_outcome){ PUSH_NOT_MADE };
	/* Who is changing the file may be in the middle of it. */
	if (export_push_check(p, sending))
		out->end = PUSH_LATER;
	else
		(void)check_and_export(&c, &ctx);
	push_target_free(&c.target);
}

/* It is read each time that something is sent, and nobody is to wait for it. */
static int check_is_file(const char *word, const struct notify *to)
{
	struct stat st;

	if (*word != '@' || stat(word + 1, &st) || S_ISREG(st.st_mode))
		return 0;
	return notify_error(to, ERR_USAGE, "option --push: %s is no file", word + 1);
}

int export_push_check(const struct export_push *p, const struct notify *to)
{
	struct config c = { .to = p->format, .push = p->to, .push_headers = *p->headers, .push_retries = ID_NONE };
	const struct exporter *x = find_exporter(&c);
	int err = !x ? note_formats(&c, to) : 0;

	if (!err && x->what != EXPORT_PROFILE)
		err = notify_error(to, ERR_USAGE, "option --push-format: '%s' is none of otlp, pprof", p->format);
	if (!err)
		err = check_is_file(p->to, to);
	if (!err)
		err = check_push(&c, x, to);
	push_target_free(&c.target);
	return err;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config;
	int err;

	if (input_word(&c.select.input, argc, argv, ctx->notify))
		return 2;
	err = check_and_export(&c, ctx);
	push_target_free(&c.target);
	return !err ? EXIT_SUCCESS : err == ERR_USAGE ? 2 : EXIT_FAILURE;
}

const struct command cmd_export = {
	.name = "export",
	.summary = "write a recording as a flame graph, stacks, CSV, JSON or Parquet, for optimisers, or for other "
		   "profilers",
	.args = "[--to FORMAT] [-o FILE] [options]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.defaults = defaults,
	.mixed = true,
	.run = run,
};
