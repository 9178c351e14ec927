/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report_resolve.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mistake.h"
#include "cmd/report_check.h"

static int add_key(struct pipeline_opts *o, u32 column)
{
	for (u32 i = 0; i < o->nr_sort; i++)
		if (column_of_key(o->sort_order[i]) == column)
			return 0;
	if (column_is_key(column))
		o->sort_order[o->nr_sort++] = (u8)column_key(column);
	return 0;
}

static int note_unknown_column(const char *option, const char *name, const struct notify *to)
{
	struct near near = { .want = { name, (u32)MIN(strlen(name), (size_t)UINT32_MAX) } };
	struct bytes known = { 0 };
	char *head;
	int err;

	for (u32 i = 0; i < column_of_key(SORT_FIELD); i++)
		if (column_is_key(i) || !strcmp(option, "--fields")) {
			bytes_printf(&known, "%s%s", known.len ? ", " : "", column_get(i)->name);
			near_offer(&near, column_get(i)->name);
		}
	for (u32 i = 0; i < nr_metric_defs && strcmp(option, "--fields"); i++)
		near_offer(&near, metric_defs[i].name);
	bytes_char(&known, 0);
	head = mem_printf("option %s: '%s' is not one of %s, nor %sa field of a tracepoint", option, name,
			  (char *)known.p, strcmp(option, "--fields") ? "a metric or " : "");
	err = mistake_note(&(struct mistake){ .near = &near }, ERR_USAGE, head, to);
	free(head);
	bytes_free(&known);
	return err;
}

static int note_no_key(const char *name, const struct notify *to)
{
	return note_unknown_column("--sort", name, to);
}

static int note_no_field(const char *name, const struct notify *to)
{
	return note_unknown_column("--fields", name, to);
}

int report_add_field(struct pipeline_opts *o, const char *name, int (*unknown)(const char *, const struct notify *),
		     u32 *column, const struct notify *to)
{
	u32 i = 0;

	while (i < o->nr_fields && strcmp(o->fields[i], name))
		i++;
	*column = column_of_key(SORT_FIELD + i);
	if (i < o->nr_fields)
		return 0;
	if (i == MAX_FIELD_KEYS)
		return notify_error(to, ERR_USAGE, "more than %d columns are fields of tracepoints", MAX_FIELD_KEYS);
	o->no_field[i] = unknown;
	o->sort_order[o->nr_sort++] = (u8)(SORT_FIELD + i);
	o->fields[o->nr_fields++] = name;
	return 0;
}

/* Rows are in order of this, after what was named before. */
static void add_order(struct pipeline_opts *o, u32 column)
{
	u32 by = column_get(column)->measures ? COLUMN_OVERHEAD : column; /* measures follow rows */

	if (!memchr(o->row_order, (int)by, o->nr_row_order))
		o->row_order[o->nr_row_order++] = (u8)by;
}

static bool shows(const struct report_opts *o, u32 column)
{
	return memchr(o->columns, (int)column, o->nr_columns);
}

static int add_column(struct pipeline_opts *p, struct report_opts *o, u32 column, const struct notify *to)
{
	if (shows(o, column))
		return 0;
	if (o->nr_columns == REPORT_MAX_COLUMNS)
		return notify_error(to, ERR_USAGE, "more than %d columns", REPORT_MAX_COLUMNS);
	o->columns[o->nr_columns++] = (u8)column;
	p->measures |= column_get(column)->measures;
	return 0;
}

#define USUAL_SORT "comm,dso,symbol"
/* As in perf. */
#define MEM_SORT                                                                                                      \
	"local_weight,mem,symbol,dso,symbol_daddr,dso_daddr,snoop,tlb,locked,blocked,local_ins_lat,p_stage_cyc"

#define HISTORY_SORT "srcline,symbol,dso"

static const char *usual_sort(const struct report_config *c)
{
	return c->mem_mode ? MEM_SORT : c->branch_history ? HISTORY_SORT : USUAL_SORT;
}

/* --sort: keys, with "+" in front added to the usual ones. Values (overhead, ...) are shown; metrics order the
 * rows. Beside --fields, which then has been applied, what is named is shown behind those and orders the rows. */
static int apply_sort(const char *text, const char *usual, struct selected *s, struct report_opts *o,
		      const struct notify *to)
{
	struct name_list names = split_names(text && *text == '+' ? text + 1 : text, &s->arena);
	struct name_list first = split_names(usual, &s->arena);
	const char *metrics[METRIC_SORTS];
	bool alone = !o->nr_columns;
	u32 n = 0;
	int err = 0;

	for (u32 i = 0; (!text || *text == '+') && i < first.n; i++)
		add_key(&s->pipeline, column_find(first.v[i], strlen(first.v[i])));
	s->pipeline.nr_usual = alone ? s->pipeline.nr_sort : 0;
	for (u32 i = 0; i < names.n && !err; i++) {
		u32 column = column_find(names.v[i], strlen(names.v[i]));

		if (column == COLUMN_CHILDREN && alone) {
			continue; /* it is there where there are totals */
		} else if (column != ID_NONE && alone && !column_is_key(column)) {
			err = add_column(&s->pipeline, o, column, to);
		} else if (column != ID_NONE) {
			add_key(&s->pipeline, column);
		} else if (!metric_name_possible(names.v[i], &o->wanted)) {
			err = report_add_field(&s->pipeline, names.v[i], note_no_key, &column, to);
		} else if (n == METRIC_SORTS) {
			return notify_error(to, ERR_USAGE, "option --sort: more than %d metrics", METRIC_SORTS);
		} else {
			metrics[n++] = names.v[i];
			continue;
		}
		if (!err && !alone) {
			add_order(&s->pipeline, column);
			err = add_column(&s->pipeline, o, column, to);
		}
	}
	if (n)
		o->wanted.sort = (struct name_list){ arena_copy(&s->arena, metrics, n * sizeof(*metrics)), n };
	return err;
}

/* Does --fields say all columns, or only some more? */
static bool only_fields(const struct report_config *c)
{
	return c->fields && *c->fields != '+';
}

/* --fields: exactly these columns, or with "+" in front these, too; those that are keys become keys. */
static int apply_fields(const char *text, struct selected *s, struct report_opts *o, const struct notify *to)
{
	struct name_list names = split_names(text + (*text == '+'), &s->arena);

	for (u32 i = 0; i < names.n; i++) {
		u32 column = column_find(names.v[i], strlen(names.v[i]));
		int err =
			column != ID_NONE ? 0 : report_add_field(&s->pipeline, names.v[i], note_no_field, &column, to);

		if (!err)
			err = add_column(&s->pipeline, o, column, to);
		if (err)
			return err;
		add_key(&s->pipeline, column);
	}
	return 0;
}

/* Columns beside the usual ones, or those of --fields. */
static int apply_more(const struct report_config *c, struct selected *s, struct report_opts *o,
		      const struct notify *to)
{
	int err = c->fields && !only_fields(c) ? apply_fields(c->fields, s, o, to) : 0;

	for (u32 i = COLUMN_KERNEL; !err && c->cpu_modes && i <= COLUMN_USER; i++)
		err = add_column(&s->pipeline, o, i, to);
	return err;
}

static int apply_widths(const char *text, struct selected *s, struct report_opts *o, const struct notify *to)
{
	struct name_list names = split_names(text, &s->arena);

	o->whole_names = true;
	for (u32 i = 0; i < names.n && i < REPORT_MAX_COLUMNS; i++) {
		char *end;
		unsigned long width = strtoul(names.v[i], &end, 10);

		if (*end || width > 4096)
			return notify_error(to, ERR_USAGE, "option --column-widths: '%s' is not a width", names.v[i]);
		o->widths[i] = (u32)width;
	}
	return 0;
}

/* What is shown of windows, where the recording has any. */
static void resolve_windows(const struct report_config *c, struct selected *s, struct report_opts *o,
			    struct window_use *w)
{
	o->wanted.sets = split_names(c->metric_sets, &s->arena);
	o->wanted.columns = split_names(c->metric_columns, &s->arena);
	o->wanted.own = (struct name_list){ c->own_metrics.v, c->own_metrics.n };
	o->paths = c->graph.given && c->graph.style != GRAPH_NONE;
	o->fractal_paths = c->graph.style == GRAPH_FRACTAL;
	*w = (struct window_use){
		.attribution = c->attribution, .range = c->range, .chains = o->paths, .children = c->children == 1
	};
	if (!report_excludes_metrics(c, NULL))
		s->pipeline.windows = w;
}

static const char *only_one(const struct name_list *list)
{
	return list->n == 1 ? list->v[0] : NULL;
}

/* What does not go together, or makes no sense. */
static int check_forms(const struct report_config *c, const struct selected *s, const struct notify *to)
{
	if (c->csv && c->json)
		return notify_error(to, ERR_USAGE, "--csv and --json exclude each other");
	if (c->hierarchy && (c->fields || c->separator))
		return notify_error(to, ERR_USAGE,
				    "--hierarchy indents names by their level: it cannot be combined with %s",
				    c->fields ? "--fields" : "-t; try --csv");
	if (c->hierarchy && s->pipeline.measures)
		return notify_error(to, ERR_USAGE,
				    "--hierarchy sums up overheads and samples only: it cannot be combined with %s",
				    c->cpu_modes ? "--show-cpu-utilization" : "measured columns");
	if (c->group && memchr(s->pipeline.sort_order, SORT_EVENT, s->pipeline.nr_sort))
		return notify_error(to, ERR_USAGE, "--group and --sort event exclude each other");
	/* Without a recording it can be no field of its tracepoints: then it is not the recording that is wrong first.
	 */
	if (s->pipeline.nr_fields && strcmp(select_input(&c->select), "-") && access(select_input(&c->select), F_OK))
		return s->pipeline.no_field[0](s->pipeline.fields[0], to);
	if (c->branch_history && (c->branches == 1 || c->mem_mode))
		return notify_error(to, ERR_USAGE, "--branch-history and %s exclude each other",
				    c->mem_mode ? "--mem-mode" : "--branch-stack");
	if (c->mem_mode && c->branches == 1)
		return notify_error(to, ERR_USAGE, "--branch-stack and --mem-mode exclude each other");
	if (c->separator && (strlen(c->separator) != 1 && strcmp(c->separator, "\\t")))
		return notify_error(to, ERR_USAGE, "option --field-separator: '%s' is not one character",
				    c->separator);
	return 0;
}

/* A way through one function is seen by its addresses alone. */
static enum graph_key graph_key(const struct report_config *c)
{
	return c->branch_history && c->graph.key == GRAPH_KEY_FUNCTION ? GRAPH_KEY_ADDRESS : c->graph.key;
}

static enum branch_view branch_view(const struct report_config *c)
{
	if (c->branch_history)
		return BRANCHES_HISTORY;
	return c->branches < 0 ? BRANCHES_AUTO : c->branches ? BRANCHES_ON : BRANCHES_OFF;
}

/* Everything that can be settled before the recording is read. */
int report_resolve(const struct report_config *c, struct selected *s, struct report_opts *o, struct window_use *w,
		   const struct notify *to)
{
	int err = select_resolve(&c->select, s, to);

	if (!err)
		resolve_windows(c, s, o, w);
	if (!err && only_fields(c))
		err = apply_fields(c->fields, s, o, to);
	if (!err && (c->sort || !only_fields(c)))
		err = apply_sort(c->sort, usual_sort(c), s, o, to);
	for (u32 i = 0; only_fields(c) && i < o->nr_columns; i++)
		add_order(&s->pipeline, o->columns[i]);
	w->default_sort |= !s->pipeline.nr_sort;
	s->pipeline.branches = branch_view(c);
	if (c->mem_mode) {
		s->pipeline.branches = BRANCHES_OFF;
		s->pipeline.costs = true;
		s->pipeline.children = false;
		s->pipeline.windows = NULL;
	}
	if (!err)
		err = apply_more(c, s, o, to);
	for (u32 i = 0; c->fields && i < o->nr_columns; i++)
		w->default_sort &= !column_is_key(o->columns[i]); /* rows have to have them */
	if (!err && c->widths)
		err = apply_widths(c->widths, s, o, to);
	if (!err)
		err = check_forms(c, s, to);
	if (err)
		return err;
	o->graph = c->graph.style;
	o->graph_value = c->graph.value;
	o->graph_min = c->graph.min;
	o->graph_limit = c->graph.limit;
	o->graph_depth = c->max_stack;
	o->percent_limit = MAX(c->percent_limit, 0.0);
	o->repeat_name = only_fields(c) || (c->sort && strncmp(c->sort, "sym", 3));
	o->relative = c->percentage == PERCENTAGE_RELATIVE;
	o->long_names = c->long_names || c->verbose;
	o->cuts = c->verbose || c->header;
	o->quiet = c->quiet;
	o->legend = c->legend;
	o->whole_head = c->header;
	o->separator = (char)(!c->separator ? 0 : *c->separator == '\\' ? '\t' : *c->separator);
	if (o->separator || c->csv)
		o->graph = GRAPH_NONE;
	/* As in perf whatever the table has of totals. */
	o->caller = c->inverted || (c->graph.ordered ? c->graph.caller : c->children != 0);
	o->hierarchy = c->hierarchy;
	o->grouped = c->group;
	o->only[COLUMN_COMM] = only_one(&s->pipeline.samples.comms);
	o->only[COLUMN_DSO] = only_one(&s->pipeline.rows.places.dsos);
	o->only[COLUMN_SYMBOL] = only_one(&s->pipeline.rows.places.symbols);
	s->pipeline.children = c->children != 0 && !c->hierarchy && (!only_fields(c) || shows(o, COLUMN_CHILDREN));
	s->pipeline.no_chains = !s->pipeline.children && o->graph == GRAPH_NONE;
	s->pipeline.graph_key = c->json || o->graph != GRAPH_NONE ? graph_key(c) : GRAPH_KEY_FUNCTION;
	s->pipeline.time_slice_ns = c->time_slice_ms * 1000000;
	return 0;
}

/* The usual columns, with those of --fields=+... after them; values stand before the keys. */
void report_choose_columns(const struct report_config *c, const struct profile *p, struct report_opts *o)
{
	struct report_opts more = *o;

	o->caller &= c->inverted || p->has_chains;
	if (only_fields(c))
		return;
	o->nr_columns = 0;
	report_default_columns(p, c->samples, c->period, o);
	for (u32 i = 0; i < more.nr_columns && o->nr_columns < REPORT_MAX_COLUMNS; i++) {
		u32 at = o->nr_columns;

		if (shows(o, more.columns[i]))
			continue;
		while (!column_is_key(more.columns[i]) && at && o->columns[at - 1] > more.columns[i])
			at--; /* keys come after all values */
		memmove(o->columns + at + 1, o->columns + at, o->nr_columns - at);
		o->columns[at] = more.columns[i];
		o->nr_columns++;
	}
}

/* The option that asks for something that takes windows, or NULL. */
static const char *asks_for_windows(const struct report_config *c, const struct metrics_opts *w)
{
	if (w->sets.n)
		return "--metrics";
	if (w->own.n)
		return "--metric";
	if (w->columns.n)
		return "--columns";
	if (w->sort.n)
		return "--sort by a metric";
	if (c->no_metrics)
		return NULL; /* the others say how metrics are made */
	if (code_range_given(&c->range))
		return c->range.file ? "--source-line" : "--address-range";
	return c->attribution != ATTRIBUTION_ESTIMATE ? "--attribution" : NULL;
}

/* The option because of which the head says that metrics are left out, or NULL. Who asks for none, or for exactly
 * these columns, knows it. */
static const char *leaves_out_windows(const struct report_config *c, const struct profile *p, const char *without)
{
	if (!without || c->no_metrics || (c->fields && *c->fields != '+'))
		return NULL;
	for (size_t i = 0; i < p->evlist->events.n; i++)
		if (window_event(&p->evlist->events.v[i]))
			return without;
	return NULL;
}

/* What the options say of metrics, on what the recording has. */
int report_settle_metrics(const struct profile *p, const struct report_config *c, struct report_opts *o,
			  const struct notify *to)
{
	const char *without = report_excludes_metrics(c, p), *asks = asks_for_windows(c, &o->wanted);
	int err;

	if (without && p->events.n && asks)
		return notify_error(to, ERR_USAGE,
				    "%s and %s exclude each other, because with %s there are no metrics of functions",
				    without, asks, without);
	o->left_out = leaves_out_windows(c, p, without);
	err = report_check_windows(p, c->attribution, &c->range, to);
	if (err)
		return err;
	o->metrics = report_metrics_make(p, o, to, &err);
	if (err || o->metrics || !p->events.n || !asks)
		return err;
	return notify_error(
		to, ERR_USAGE,
		"the recording has no windows to make metrics from: record a group that reads its counters, "
		"like -e '{cycles,instructions}:S'");
}
