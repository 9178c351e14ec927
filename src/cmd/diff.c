/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle diff`: what changed from one recording to the next, function by function. perf's flags, and a verdict for
 * CI. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"
#include "base/mistake.h"
#include "cmd/commands.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/report_resolve.h"
#include "cmd/select.h"
#include "view/diff.h"

#define MOST_FAILURES 50 /* that are named */

struct config {
	struct select select;
	const char *sort, *separator;
	struct diff_method method;
	struct limit {
		double percent;
		bool given;
	} fail_above, percent_limit;
	u32 order, verbose;
	bool relative, baseline_only, formula, period, totals, csv, formulas, json, force, long_names, quiet;
};

static int set_percent(void *field, const char *text, const struct notify *to)
{
	struct limit *l = field;
	char *end;
	double v = strtod(text, &end);

	if (end == text || (*end && strcmp(end, "%")) || !(v >= 0) || isinf(v))
		return notify_error(to, ERR_USAGE, "'%s' is not a percentage", text);
	*l = (struct limit){ v, true };
	return 0;
}

static int set_percentage(void *field, const char *text, const struct notify *to)
{
	if (strcmp(text, "relative") && strcmp(text, "absolute"))
		return notify_error(to, ERR_USAGE, "option --percentage: '%s' is neither relative nor absolute", text);
	*(bool *)field = *text == 'r';
	return 0;
}

/* "1,2" */
static bool parse_weights(const char *text, struct diff_method *m)
{
	char *end;

	m->w1 = strtol(text, &end, 10);
	if (end == text || *end != ',')
		return false;
	text = end + 1;
	m->w2 = strtol(text, &end, 10);
	return end != text && !*end && llabs(m->w1) <= INT32_MAX && llabs(m->w2) <= INT32_MAX;
}

static int set_compute(void *field, const char *text, const struct notify *to)
{
	struct diff_method *m = field;

	for (u32 i = DIFF_DELTA_ABS; i <= DIFF_RATIO; i++)
		if (!strcmp(text, diff_method_name(i))) {
			m->compute = i;
			return 0;
		}
	m->compute = DIFF_WDIFF;
	if (!strncmp(text, "wdiff:", 6) && parse_weights(text + 6, m))
		return 0;
	return notify_error(to, ERR_USAGE, "option --compute: '%s' is none of delta-abs, delta, ratio, wdiff:W1,W2",
			    text);
}

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct config, field), arg, help                                         \
	}

static const struct opt opts[] = {
	{ 'c', "compute", OPT_CALL, offsetof(struct config, method), "METHOD",
	  "compare by this method: delta-abs (default), delta, ratio or wdiff:W1,W2", .set = set_compute },
	OPT('s', "sort", OPT_STRING, sort, "KEYS",
	    "one row per: comm, pid, tid, cpu, dso, symbol, srcline (default dso,symbol)"),
	OPT('o', "order", OPT_U32, order, "N", "sort by recording N; 0 is the baseline (default 1)"),
	OPT('b', "baseline-only", OPT_FLAG, baseline_only, NULL, "show only rows that are in the baseline"),
	OPT('p', "period", OPT_FLAG, period, NULL, "show the sums of periods and their differences"),
	OPT('F', "formula", OPT_FLAG, formula, NULL, "show how each value is calculated"),
	OPT(0, "totals", OPT_FLAG, totals, NULL, "show one line per event instead of rows"),
	{ 0, "fail-above", OPT_CALL, offsetof(struct config, fail_above), "PERCENT",
	  "list the rows that grew by more than this, and exit with 1", .set = set_percent },
	{ 0, "percent-limit", OPT_CALL, offsetof(struct config, percent_limit), "PERCENT",
	  "leave out rows below this share in all recordings", .set = set_percent },
	{ 0, "percentage", OPT_CALL, offsetof(struct config, relative), "relative|absolute",
	  "shares of what the filters leave, or of everything (default)", .set = set_percentage },
	SELECT_OPT('C', "comms", OPT_STRING, struct config, comms, "NAMES", "only threads with these names"),
	SELECT_OPT(0, "cpu", OPT_STRING, struct config, cpus, "CPUS", "only these CPUs, like 0-3,8"),
	SELECT_OTHER_OPTS(struct config),
	SELECT_ROW_OPTS(struct config),
	OPT('t', "field-separator", OPT_STRING, separator, "CHAR", "separate columns by CHAR, unaligned"),
	OPT(0, "csv", OPT_FLAG, csv, NULL, "print CSV"),
	OPT(0, "csv-formulas", OPT_FLAG, formulas, NULL, "in CSV, print texts that look like formulas unchanged"),
	OPT(0, "json", OPT_FLAG, json, NULL, "print JSON"),
	OPT('f', "force", OPT_FLAG, force, NULL, "accepted; it does not matter who owns the recordings"),
	OPT(0, "long-names", OPT_FLAG, long_names, NULL, "compare whole paths of shared objects"),
	OPT('q', "quiet", OPT_FLAG, quiet, NULL, "do not print lines that begin with #"),
	OPT('v', "verbose", OPT_COUNT, verbose, NULL, "the same as --long-names"),
};

static void defaults(void *config)
{
	struct config *c = config;

	c->order = 1;
}

struct run {
	const struct command_ctx *ctx;
	const struct config *c;
	struct selected selected;
	struct diff diff;
	struct diff_opts opts;
	struct diff_file files[DIFF_MAX_FILES];
	u32 simulated;
};

/* Places of data are addresses: they have nothing in common, either. Branches are not compared. */
static bool is_data_key(u32 key)
{
	return (key >= SORT_SYMBOL_DADDR && key <= SORT_DADDR) || key_is_branch(key);
}

/* Time slices and events cannot be keys: slices of two recordings have nothing in common, and events part the tables.
 * Parents are found with an option that there is not. */
static bool is_diff_key(u32 column)
{
	return column_is_key(column) && column_key(column) < SORT_FIELD && !is_data_key(column_key(column)) &&
	       column_key(column) != SORT_TIME && column != COLUMN_EVENT && column != COLUMN_PARENT;
}

static int note_no_key(const char *name, const struct notify *to)
{
	struct near near = { .want = { name, (u32)strlen(name) } };
	struct bytes known = { 0 };
	char *head;
	int err;

	for (u32 i = NR_VALUE_COLUMNS; i < NR_COLUMNS; i++)
		if (is_diff_key(i)) {
			bytes_printf(&known, "%s%s", known.len ? ", " : "", column_get(i)->name);
			near_offer(&near, column_get(i)->name);
		}
	bytes_char(&known, 0);
	head = mem_printf(
		"option --sort: '%s' is not one of %s, nor a field of a tracepoint, nor an attribute of activities",
		name, (char *)known.p);
	err = mistake_note(&(struct mistake){ .near = &near }, ERR_USAGE, head, to);
	free(head);
	bytes_free(&known);
	return err;
}

static int add_key(struct run *r, const char *name)
{
	u32 column = column_find(name, strlen(name));
	int err = 0;

	_Static_assert(MAX_FIELD_KEYS + NR_SORT_KEYS - (SORT_CYCLES - SORT_DSO_FROM + 1) <= DIFF_MAX_KEYS,
		       "each key once");
	if (column == ID_NONE)
		err = report_add_field(&r->selected.pipeline, name, note_no_key, &column, r->ctx->notify);
	else if (!is_diff_key(column))
		err = note_no_key(name, r->ctx->notify);
	if (err || memchr(r->opts.keys, (int)column, r->diff.nr_keys))
		return err;
	r->opts.keys[r->diff.nr_keys++] = (u8)column;
	if (column_key(column) < SORT_FIELD) /* else it is there already */
		r->selected.pipeline.sort_order[r->selected.pipeline.nr_sort++] = (u8)column_key(column);
	return 0;
}

static int resolve_sort(struct run *r)
{
	const char *sort = r->c->sort ? r->c->sort : "dso,symbol";
	struct name_list names;
	int err = 0;

	if (*sort == '+') {
		(void)add_key(r, "dso");
		(void)add_key(r, "symbol");
		sort++;
	}
	names = split_names(sort, &r->selected.arena);
	for (u32 i = 0; i < names.n && !err; i++)
		err = add_key(r, names.v[i]);
	if (!err && !r->diff.nr_keys)
		err = notify_error(r->ctx->notify, ERR_USAGE, "option --sort names no key");
	return err;
}

static int resolve_files(struct run *r, int argc, char **argv)
{
	static const char *const usual[] = { "perf.data.old", "perf.data" };
	const struct notify *to = r->ctx->notify;

	r->diff.nr_files = argc > 2 ? (u32)argc : 2;
	if (r->diff.nr_files > DIFF_MAX_FILES)
		return notify_error(to, ERR_USAGE, "more than %d recordings", DIFF_MAX_FILES);
	for (u32 i = 0; i < r->diff.nr_files; i++)
		r->files[i].path = argc > 1 ? argv[i] : i && argc ? argv[0] : usual[i];
	for (u32 i = 0; i < r->diff.nr_files; i++)
		if (!strcmp(r->files[i].path, "-"))
			return notify_error(to, ERR_USAGE, "recordings have to be files here, not standard input");
	if (r->c->order >= r->diff.nr_files)
		return notify_error(to, ERR_USAGE, "option --order: there is no recording %u (0 to %u)", r->c->order,
				    r->diff.nr_files - 1);
	return 0;
}

static int resolve_options(struct run *r)
{
	const struct config *c = r->c;
	const struct notify *to = r->ctx->notify;

	if (c->csv && c->json)
		return notify_error(to, ERR_USAGE, "--csv and --json exclude each other");
	if (c->separator && strlen(c->separator) != 1 && strcmp(c->separator, "\\t"))
		return notify_error(to, ERR_USAGE, "option --field-separator: '%s' is not one character",
				    c->separator);
	if (c->fail_above.given && c->method.compute == DIFF_WDIFF)
		return notify_error(to, ERR_USAGE, "--fail-above works with delta and ratio, not with wdiff");
	r->opts.method = c->method;
	r->opts.order = c->order;
	r->opts.counts = c->period;
	r->opts.formula = c->formula;
	r->opts.baseline_only = c->baseline_only;
	r->opts.totals = c->totals;
	r->opts.quiet = c->quiet;
	r->opts.percent_limit = c->percent_limit.percent;
	r->opts.fail_above = c->fail_above.given ? c->fail_above.percent : -1;
	r->opts.room = r->ctx->tty_columns;
	r->opts.separator = (char)(!c->separator ? 0 : *c->separator == '\\' ? '\t' : *c->separator);
	r->opts.files = r->files;
	r->opts.fields = r->selected.pipeline.fields;
	r->selected.pipeline.no_chains = true;
	return 0;
}

static int read_file(struct run *r, u32 i, struct progress *progress)
{
	struct report_opts o = { .relative = r->c->relative, .long_names = r->c->long_names || r->c->verbose };
	struct session *session;
	struct profile *profile;
	int err;

	r->selected.pipeline.input = r->files[i].path;
	err = pipeline_profile(&r->selected.pipeline, &session, &profile, &progress->notify);
	if (err)
		return err;
	diff_take(&r->diff, i, profile, r->opts.keys, &o);
	r->files[i].tally = profile->tally;
	if (profile->simulated.len)
		r->files[i].core = mem_strndup(profile->simulated.p, profile->simulated.len);
	r->simulated += r->files[i].core != NULL;
	profile_free(profile);
	session_close(session);
	return 0;
}

static int read_files(struct run *r)
{
	struct progress progress;
	int err = 0;

	progress_start(&progress, r->ctx->tty_err && !r->c->quiet, r->ctx->notify);
	r->selected.pipeline.session.progress = progress_report;
	r->selected.pipeline.session.progress_ctx = &progress;
	for (u32 i = 0; i < r->diff.nr_files && !err; i++)
		err = read_file(r, i, &progress);
	progress_stop(&progress);
	return err;
}

/* A comparison of nothing must not pass for a good one. */
static int check_comparable(const struct run *r)
{
	bool pairs = false;
	u64 samples = 0;

	for (size_t i = 0; i < r->diff.events.n; i++) {
		if (!diff_has_pair(&r->diff, &r->diff.events.v[i]))
			continue;
		if (r->diff.events.v[i].rows.n)
			return 0;
		pairs = true;
	}
	for (u32 i = 0; i < r->diff.nr_files; i++)
		samples += r->files[i].tally.samples;
	(void)select_note_nothing_left(&r->c->select, samples, r->ctx->notify);
	return notify_error(r->ctx->notify, ERR_NOTFOUND,
			    pairs ? "there are no rows to compare" :
				    "no event has samples in the baseline and in another recording (see reticle "
				    "evlist)");
}

static int write_diff(const struct run *r)
{
	struct output out;

	(void)output_open(&out, NULL, r->ctx->notify);
	out.bytes.formulas = r->c->formulas;
	(r->c->json ? diff_json : r->c->csv ? diff_csv : diff_text)(&r->diff, &r->opts, &out.bytes);
	return output_close(&out, r->ctx->notify);
}

/* The offending rows, one message each. */
static bool passes(const struct run *r)
{
	struct bytes text = { 0 };
	u32 n = diff_failures(&r->diff, &r->opts, MOST_FAILURES, &text);

	for (size_t at = 0; at < text.len;) {
		const char *line = (const char *)text.p + at;
		size_t len = (size_t)((const char *)memchr(line, '\n', text.len - at) - line);

		notify_error(r->ctx->notify, ERR_LIMIT, "%.*s", (int)len, line);
		at += len + 1;
	}
	if (n)
		notify_error(r->ctx->notify, ERR_LIMIT, "%u above %g%%", n, r->opts.fail_above);
	bytes_free(&text);
	return !n;
}

static void warn_of_machines(const struct run *r)
{
	const struct diff_file *base = &r->files[0], *other = base;

	if (r->simulated && r->simulated < r->diff.nr_files) {
		notify_warn(r->ctx->notify, "some of these recordings are simulated and some are not");
		return;
	}
	for (u32 i = 1; i < r->diff.nr_files && r->simulated && other == base; i++)
		if (strcmp(base->core, r->files[i].core))
			other = &r->files[i];
	if (other != base)
		notify_warn(r->ctx->notify, "%s was simulated on a different core (%s) than %s (%s)", other->path,
			    other->core, base->path, base->core);
}

static int compare(struct run *r)
{
	int err = read_files(r);

	if (err)
		return err == ERR_USAGE ? 2 : EXIT_FAILURE;
	/* What a simulated machine counted can be compared as it is. */
	r->opts.counts |= r->simulated == r->diff.nr_files;
	warn_of_machines(r);
	if (check_comparable(r))
		return EXIT_FAILURE;
	diff_sort(&r->diff, r->opts.order, &r->opts.method);
	if (write_diff(r))
		return EXIT_FAILURE;
	return passes(r) ? EXIT_SUCCESS : EXIT_FAILURE;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config;
	struct run r = { .ctx = ctx, .c = &c };
	int status = 2;

	if (select_resolve(&c.select, &r.selected, ctx->notify))
		return 2;
	if (!resolve_files(&r, argc, argv) && !resolve_sort(&r) && !resolve_options(&r))
		status = compare(&r);
	for (u32 i = 0; i < DIFF_MAX_FILES; i++)
		free(r.files[i].core);
	diff_free(&r.diff);
	selected_free(&r.selected);
	return status;
}

const struct command cmd_diff = {
	.name = "diff",
	.summary = "show what changed from one recording to the next, function by function",
	.args = "[options] [OLD [NEW...]]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.mixed = true,
	.config_size = sizeof(struct config),
	.defaults = defaults,
	.run = run,
};
