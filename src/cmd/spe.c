/* SPDX-License-Identifier: Apache-2.0 */
/* reticle spe: what the operations that Arm SPE sampled waited for, by function or by any other key of report. */
#include "view/spe.h"

#include <stdlib.h>
#include <string.h>

#include "base/mistake.h"
#include "cmd/commands.h"
#include "cmd/header.h"
#include "cmd/output.h"
#include "cmd/report_options.h"
#include "cmd/select.h"
#include "codec/spe_source.h"

#define USUAL_SORT "dso,symbol"

struct spe_config {
	struct select select;
	const char *sort;
	double percent_limit;
	u32 most;
	bool csv, json, formulas, no_kinds, whole_names, quiet, header, force, stdio, verbose;
};

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct spe_config, field), arg, help                                     \
	}

static const struct opt options[] = {
	SELECT_OPTS(struct spe_config),
	SELECT_ROW_OPTS(struct spe_config),
	OPT('s', "sort", OPT_STRING, sort, "KEYS",
	    "one row per: symbol, symbol_iaddr (instruction), srcline, symbol_daddr (data), or other keys of report"),
	{ 0, "percent-limit", OPT_CALL, offsetof(struct spe_config, percent_limit), "PERCENT",
	  "leave out rows below this share", .set = report_set_row_limit },
	OPT(0, "rows", OPT_U32, most, "N", "show at most N rows; 0: all (default)"),
	OPT(0, "no-kinds", OPT_FLAG, no_kinds, NULL,
	    "do not split rows into loads by data source, stores, branches and others"),
	OPT(0, "whole-names", OPT_FLAG, whole_names, NULL, "do not cut names to fit the terminal"),
	OPT(0, "csv", OPT_FLAG, csv, NULL, "print CSV"),
	OPT(0, "csv-formulas", OPT_FLAG, formulas, NULL, "in CSV, print texts that look like formulas unchanged"),
	OPT(0, "json", OPT_FLAG, json, NULL, "print JSON"),
	OPT(0, "stdio", OPT_FLAG, stdio, NULL, "print text (default)"),
	OPT('f', "force", OPT_FLAG, force, NULL, "accepted; it does not matter who owns the recording"),
	OPT(0, "header", OPT_FLAG, header, NULL, "first show what is known about the recording"),
	OPT('q', "quiet", OPT_FLAG, quiet, NULL, "do not print lines that begin with #"),
	OPT('v', "verbose", OPT_FLAG, verbose, NULL, "show whole paths of shared objects"),
};

static void defaults(void *config)
{
	(void)config;
}

static int note_unknown_key(const char *name, const struct notify *to)
{
	struct near near = { .want = { name, (u32)strlen(name) } };
	struct bytes known = { 0 };
	char *head;
	int err;

	for (u32 i = 0; i < column_of_key(SORT_FIELD); i++)
		if (column_is_key(i)) {
			bytes_printf(&known, "%s%s", known.len ? ", " : "", column_get(i)->name);
			near_offer(&near, column_get(i)->name);
		}
	bytes_char(&known, 0);
	head = mem_printf("option --sort: '%s' is not one of %s", name, (char *)known.p);
	err = mistake_note(&(struct mistake){ .near = &near }, ERR_USAGE, head, to);
	free(head);
	bytes_free(&known);
	return err;
}

/* Only loads and stores have a datum. */
static bool is_of_data(u32 key)
{
	return key == SORT_SYMBOL_DADDR || key == SORT_DSO_DADDR || key == SORT_DCACHELINE || key == SORT_DADDR ||
	       key == SORT_PHYS_DADDR || key == SORT_TYPE || key == SORT_TYPEOFF || key == SORT_TYPECLN;
}

static int set_keys(const char *text, struct selected *s, bool *of_data, const struct notify *to)
{
	struct name_list names = split_names(text ? text : USUAL_SORT, &s->arena);
	struct pipeline_opts *p = &s->pipeline;

	*of_data = false;
	for (u32 i = 0; i < names.n; i++) {
		u32 column = column_find(names.v[i], strlen(names.v[i]));

		if (column == ID_NONE || !column_is_key(column) || column_key(column) >= SORT_TRACE ||
		    (column_key(column) >= SORT_DSO_FROM && column_key(column) <= SORT_PARENT) ||
		    column_key(column) == SORT_EVENT)
			return note_unknown_key(names.v[i], to);
		*of_data |= is_of_data(column_key(column));
		if (!memchr(p->sort_order, (int)column_key(column), p->nr_sort))
			p->sort_order[p->nr_sort++] = (u8)column_key(column);
	}
	return 0;
}

/* The names of the recording's cores, each once. */
static struct name_list cores_of(const struct session *s, struct arena *arena)
{
	const char *names[32];
	u32 n = 0;

	for (size_t i = 0; i < s->aux.midr.n && n < ARRAY_LEN(names); i++) {
		const char *name = spe_core_name(s->aux.midr.v[i]);
		u32 k = 0;

		while (name && k < n && names[k] != name)
			k++;
		if (name && k == n)
			names[n++] = name;
	}
	return (struct name_list){ arena_copy(arena, names, n * sizeof(*names)), n };
}

static void write_table(const struct command_ctx *ctx, const struct spe_config *c, const struct session *s,
			struct selected *sel, const struct profile *p, struct bytes *out)
{
	const struct spe_opts o = { .cores = cores_of(s, &sel->arena),
				    .percent_limit = c->percent_limit,
				    .most = c->most,
				    .no_kinds = c->no_kinds,
				    .quiet = c->quiet,
				    .color = ctx->color,
				    .long_names = c->verbose,
				    .whole_names = c->whole_names,
				    .room = ctx->tty_columns,
				    .workers = sel->pipeline.session.workers };

	out->formulas = c->formulas;
	if (c->header)
		print_header(s->src, false, out);
	if (c->json)
		spe_json(p, &o, out);
	else if (c->csv)
		spe_csv(p, &o, out);
	else
		spe_text(p, &o, out);
}

static int show(const struct command_ctx *ctx, const struct spe_config *c, struct selected *s)
{
	struct session *session;
	struct profile *profile;
	struct output out;
	int err;

	err = selected_profile(s, ctx->tty_err && !c->quiet, &session, &profile, ctx->notify);
	if (err)
		return err == ERR_USAGE ? 2 : EXIT_FAILURE;
	if (!session_spe(session)) {
		notify_error(ctx->notify, ERR_NOTFOUND,
			     "%s holds no data of Arm SPE: record it with -e arm_spe_0// on a machine that has it",
			     select_input(&c->select));
		err = EXIT_FAILURE;
	} else {
		select_note_empty(&c->select, profile, ctx->notify);
		(void)output_open(&out, NULL, ctx->notify);
		write_table(ctx, c, session, s, profile, &out.bytes);
		err = output_close(&out, ctx->notify) ? EXIT_FAILURE : EXIT_SUCCESS;
	}
	if (CMD_FREES) {
		profile_free(profile);
		session_close(session);
	} else {
		session_keep(session);
	}
	return err;
}

/* One form, and in those for programs nothing but the table. */
static int check_form(const struct spe_config *c, const struct notify *to)
{
	if (c->csv + c->json + c->stdio > 1)
		return notify_error(to, ERR_USAGE, "options %s and %s: choose one", c->csv ? "--csv" : "--json",
				    c->stdio ? "--stdio" : "--json");
	if (c->header && (c->csv || c->json))
		return notify_error(to, ERR_USAGE, "option --header does not work with %s",
				    c->csv ? "--csv" : "--json");
	return 0;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct spe_config c = *(const struct spe_config *)config;
	struct selected s;
	bool of_data;
	int status = 2;

	if (input_word(&c.select.input, argc, argv, ctx->notify) || check_form(&c, ctx->notify))
		return 2;
	if (select_resolve(&c.select, &s, ctx->notify))
		return 2;
	if (!set_keys(c.sort, &s, &of_data, ctx->notify)) {
		if (!c.select.itrace)
			s.pipeline.session.aux_events = 1u << (of_data ? SPE_EVENT_MEMORY : SPE_EVENT_INSTRUCTIONS);
		s.pipeline.session.aux_events_given = true;
		s.pipeline.measures = MEASURE_BIT(MEASURE_OPERATIONS);
		s.pipeline.no_chains = s.pipeline.no_inline = true;
		s.pipeline.branches = BRANCHES_OFF;
		status = show(ctx, &c, &s);
	}
	selected_free(&s);
	return status;
}

const struct command cmd_spe = {
	.name = "spe",
	.summary = "show what operations sampled by Arm SPE waited for: issue, caches, TLB, branches",
	.args = "[options] [recording]",
	.mixed = true,
	.opts = options,
	.nr_opts = ARRAY_LEN(options),
	.config_size = sizeof(struct spe_config),
	.defaults = defaults,
	.run = run,
};
