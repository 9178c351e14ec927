/* SPDX-License-Identifier: Apache-2.0 */
/* reticle activity: the requests that a server's threads worked for, and what each of them took. */
#include <stdlib.h>
#include <string.h>

#include "agg/activity_keys.h"
#include "cmd/commands.h"
#include "cmd/header.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/rights.h"
#include "cmd/select.h"
#include "pass/order.h"
#include "pass/trace_visits.h"
#include "pass/waits.h"
#include "view/activities.h"
#include "view/activity_hosts.h"
#include "view/activity_waits.h"

#define LINES 20
#define FUNCTIONS 3

struct config {
	struct select select;
	const char *by, *slow, *table;
	u32 lines, functions;
	bool csv, formulas, json, quiet, header;
};

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct config, field), arg, help                                         \
	}

static const struct opt options[] = {
	SELECT_OPTS(struct config),
	SELECT_PLACE_OPTS(struct config, select, 'd', 'S', 'U', "samples of"),
	OPT(0, "by", OPT_STRING, by, "KEY",
	    "tell activities apart by this: trace_id, span_id, root_span_id, service or an attribute"),
	OPT(0, "lines", OPT_U32, lines, "N", "show at most N activities; 0: all (default: 20)"),
	OPT(0, "functions", OPT_U32, functions, "N", "show N functions of each, at most 8 (default: 3)"),
	OPT(0, "slow", OPT_STRING, slow, "PERCENT",
	    "compare functions of the heaviest PERCENT with those of the others"),
	OPT(0, "csv", OPT_FLAG, csv, NULL, "print CSV"),
	OPT(0, "table", OPT_STRING, table, "NAME", "with --csv: activities (default), causes, waits or places"),
	OPT(0, "csv-formulas", OPT_FLAG, formulas, NULL, "in CSV, print texts that look like formulas unchanged"),
	OPT(0, "json", OPT_FLAG, json, NULL, "print JSON"),
	OPT(0, "header", OPT_FLAG, header, NULL, "first show what is known about the recording"),
	OPT('q', "quiet", OPT_FLAG, quiet, NULL, "do not print lines that begin with #"),
};

static void defaults(void *config)
{
	struct config *c = config;

	c->lines = LINES;
	c->functions = FUNCTIONS;
}

static int no_key(const char *name, const struct notify *to)
{
	return notify_error(
		to, ERR_USAGE,
		"--by: '%s' is none of trace_id, span_id, root_span_id, service, nor an attribute that any "
		"process of this recording has",
		name);
}

/* What says most: requests of one route are alike. Those that are to be compared are single ones. */
static const char *usual_key(const struct session *s, bool single)
{
	return single ? "span_id" : timelines_has_attribute(&s->timelines, "http.route") ? "http.route" : "trace_id";
}

static int set_keys(const struct config *c, const struct session *s, struct selected *sel, struct activities_opts *o,
		    const struct notify *to)
{
	char *end = NULL;

	if (!s->timelines.all.n)
		return notify_error(to, ERR_NOTFOUND,
				    "%s has no activities: record with --activity a program that says which it works "
				    "for (doc/activities.md)",
				    s->src->path);
	if (c->slow) {
		o->slow = strtod(c->slow, &end) / 100;
		if (end == c->slow || (*end && strcmp(end, "%")) || !(o->slow > 0 && o->slow < 1))
			return notify_error(to, ERR_USAGE, "--slow: '%s' is no percentage between 0 and 100", c->slow);
	}
	o->key = c->by ? c->by : usual_key(s, c->slow);
	o->most = c->lines;
	o->functions = MIN(c->functions, (u32)ACTIVITY_TOP);
	o->quiet = c->quiet;
	sel->pipeline.fields[0] = o->key;
	sel->pipeline.nr_fields = 1;
	sel->pipeline.no_field[0] = no_key;
	sel->pipeline.sort_order[0] = SORT_FIELD;
	sel->pipeline.sort_order[1] = SORT_SYMBOL;
	sel->pipeline.nr_sort = 2;
	sel->pipeline.no_chains = true;
	return 0;
}

/* The first of the options that was given with which waits are not shown, and why; or NULL. */
static const char *against_waits(const struct select *s, const char **why)
{
	const char *place = select_place_option(s);

	*why = place ? "a thread may wait in any function" : "they begin and end anywhere";
	return place ? place : s->time ? "--time" : s->cpus ? "--cpu" : NULL;
}

/* Before the profile is made, which takes the session's processes. *out is NULL if the recording does not say. */
static int read_waits(const struct config *c, const struct selected *sel, struct session *s,
		      const struct activities_opts *o, struct session_waits **out, const struct notify *to)
{
	const struct pipeline_opts *p = &sel->pipeline;
	struct timeranges times = { 0 };
	struct sample_filter filter;
	const char *why, *against = against_waits(&c->select, &why);
	int err = 0;

	*out = NULL;
	if (!activity_key(&s->timelines, o->key) || !session_has_waits(s))
		return 0;
	if (against) {
		notify_warn(to, "waits are not shown with %s: %s", against, why);
		return 0;
	}
	err = session_filter(s, &p->samples, NULL, &times, &filter);
	if (!err)
		*out = session_waits(s, &filter, o->key);
	return err;
}

static const char *const tables[NR_ACTIVITY_TABLES] = {
	[ACTIVITY_ROWS] = "activities",
	[ACTIVITY_CAUSES] = "causes",
	[ACTIVITY_WAITS] = "waits",
	[ACTIVITY_PLACES] = "places",
};

/* ACTIVITY_ROWS if the option was not given, NR_ACTIVITY_TABLES if it names none. */
static enum activity_table table_named(const struct config *c)
{
	u32 i = 0;

	while (c->table && i < NR_ACTIVITY_TABLES && strcmp(c->table, tables[i]))
		i++;
	return (enum activity_table)i;
}

static int check_form(const struct config *c, const struct notify *to)
{
	enum activity_table table = table_named(c);
	const char *why, *against = against_waits(&c->select, &why);

	if (c->csv && c->json)
		return notify_error(to, ERR_USAGE, "--csv and --json exclude each other");
	if (c->table && !c->csv)
		return notify_error(to, ERR_USAGE, "--table names a table of --csv");
	if (table == NR_ACTIVITY_TABLES)
		return notify_error(to, ERR_USAGE, "--table: '%s' is none of activities, causes, waits and places",
				    c->table);
	if (table == ACTIVITY_CAUSES && !c->slow)
		return notify_error(to, ERR_USAGE, "--table causes needs --slow, which compares activities");
	if (table >= ACTIVITY_WAITS && against)
		return notify_error(to, ERR_USAGE, "--table %s: waits are not shown with %s: %s", c->table, against,
				    why);
	return 0;
}

static int check_table(const struct config *c, const struct session *s, const struct session_waits *waits,
		       const struct notify *to)
{
	if (table_named(c) < ACTIVITY_WAITS || waits)
		return 0;
	return notify_error(to, ERR_NOTFOUND, "%s has no waits: record with --activity --waits", s->src->path);
}

static void show_waits(const struct session_waits *from, struct activity_waits *w, struct activities_opts *o)
{
	if (!from)
		return;
	*w = (struct activity_waits){ &from->waits, &from->names, from->gaps, from->late };
	o->waits = w;
	o->aside[0] = from->on_switch;
	o->aside[1] = from->on_waking;
}

static int show(const struct command_ctx *ctx, const struct config *c, struct selected *sel, struct session *s)
{
	struct activities_opts o = { 0 };
	struct activity_waits waits;
	struct session_waits *read = NULL;
	struct profile *profile = NULL;
	struct output out;
	int err = set_keys(c, s, sel, &o, ctx->notify);

	if (!err)
		err = read_waits(c, sel, s, &o, &read, ctx->notify);
	if (!err && activity_key(&s->timelines, o.key))
		err = check_table(c, s, read, ctx->notify);
	if (!err)
		err = pipeline_over(&sel->pipeline, s, &profile, ctx->notify);
	if (err) {
		session_waits_free(read);
		return err == ERR_USAGE ? 2 : EXIT_FAILURE;
	}
	select_note_empty(&c->select, profile, ctx->notify);
	show_waits(read, &waits, &o);
	(void)output_open(&out, NULL, ctx->notify);
	out.bytes.formulas = c->formulas;
	if (c->header && !c->json && !c->csv)
		print_header(s->src, false, &out.bytes);
	if (c->json)
		activities_json(profile, &o, &out.bytes);
	else if (c->csv)
		activities_csv(profile, &o, table_named(c), &out.bytes);
	else
		activities_text(profile, &o, &out.bytes);
	err = output_close(&out, ctx->notify) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (CMD_FREES) {
		session_waits_free(read);
		profile_free(profile);
	}
	return err;
}

static void sort_by_trace(struct pipeline_opts *p)
{
	p->fields[0] = "trace_id";
	p->nr_fields = 1;
	p->sort_order[0] = SORT_FIELD;
	p->sort_order[1] = SORT_SYMBOL;
	p->nr_sort = 2;
	p->no_chains = true;
}

/* Are some samples left out? */
static bool filters(const struct select *s)
{
	return s->comms || s->pids || s->tids || s->cpus || s->time || s->activity || select_place_option(s);
}

static int read_host(const struct config *c, struct selected *sel, struct activity_host *h, const struct notify *to)
{
	struct profile *profile;
	struct session *s;
	int err = session_open(&s, h->name, &sel->pipeline.session, to);

	if (err)
		return err;
	h->filtered = filters(&c->select);
	if (!s->timelines.all.n || !s->clock_is_time)
		err = notify_error(to, ERR_NOTFOUND,
				   "%s has no activities with times: record with --activity a program that says which "
				   "it works for (doc/activities.md)",
				   h->name);
	if (!err) {
		session_trace_visits(s, &h->visits);
		err = pipeline_over(&sel->pipeline, s, &profile, to);
	}
	if (!err) {
		activity_host_take(h, profile, MIN(c->functions, (u32)ACTIVITY_TOP));
		profile_free(profile);
	}
	session_close(s);
	return err;
}

/* Several recordings: the traces that they share. */
static int show_hosts(const struct command_ctx *ctx, const struct config *c, int argc, char **argv)
{
	struct activity_host *hosts = mem_zalloc((size_t)argc * sizeof(*hosts));
	struct selected sel;
	struct output out;
	int err = 0;

	if (c->by || c->slow || c->header || c->table || c->select.input) {
		free(hosts);
		(void)notify_error(ctx->notify, ERR_USAGE,
				   "--by, --slow, --header, --table and -i are for one recording: several are joined "
				   "by trace_id");
		return 2;
	}
	if (select_resolve(&c->select, &sel, ctx->notify)) {
		free(hosts);
		return 2;
	}
	sort_by_trace(&sel.pipeline);
	for (int i = 0; i < argc && !err; i++) {
		hosts[i].name = argv[i];
		err = read_host(c, &sel, &hosts[i], ctx->notify);
		if (i && !err)
			clock_bounds_find(&hosts[0].visits, &hosts[i].visits, &hosts[i].bounds);
	}
	if (!err) {
		(void)output_open(&out, NULL, ctx->notify);
		out.bytes.formulas = c->formulas;
		if (c->json)
			activity_hosts_json(hosts, (u32)argc, c->lines, &out.bytes);
		else if (c->csv)
			activity_hosts_csv(hosts, (u32)argc, c->lines, &out.bytes);
		else
			activity_hosts_text(hosts, (u32)argc, c->lines, c->quiet, &out.bytes);
		err = output_close(&out, ctx->notify);
	}
	for (int i = 0; i < argc; i++)
		trace_visits_free(&hosts[i].visits);
	free(hosts);
	selected_free(&sel);
	return err == ERR_USAGE ? 2 : err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config;
	struct selected sel;
	struct session *s;
	int status = 2;

	rights_drop();
	if (check_form(&c, ctx->notify))
		return 2;
	if (argc > 1)
		return show_hosts(ctx, &c, argc, argv);
	if (input_word(&c.select.input, argc, argv, ctx->notify))
		return 2;
	if (!select_resolve(&c.select, &sel, ctx->notify)) {
		status = session_open(&s, sel.pipeline.input, &sel.pipeline.session, ctx->notify) ? EXIT_FAILURE : 0;
		if (!status) {
			status = show(ctx, &c, &sel, s);
			if (CMD_FREES)
				session_close(s);
			else
				session_keep(s);
		}
	}
	selected_free(&sel);
	return status;
}

const struct command cmd_activity = {
	.name = "activity",
	.summary = "show which requests took the time, and in which functions",
	.args = "[options] [recording...]",
	.opts = options,
	.nr_opts = ARRAY_LEN(options),
	.config_size = sizeof(struct config),
	.defaults = defaults,
	.mixed = true,
	.run = run,
};
