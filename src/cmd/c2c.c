/* SPDX-License-Identifier: Apache-2.0 */
/*
 * reticle c2c: lines of memory that threads on several cores use, and whether they share data or only a line. Its
 * report reads the same recordings as 'reticle mem report'.
 */
#include "view/c2c.h"

#include <stdlib.h>
#include <string.h>

#include "agg/columns.h"
#include "base/optext.h"
#include "cmd/commands.h"
#include "cmd/header.h"
#include "cmd/memory_record.h"
#include "cmd/output.h"
#include "cmd/rights.h"
#include "cmd/select.h"

#define LDLAT 30
#define LINES 20

struct c2c_config {
	struct select select;
	u32 lines, ldlat;
	bool json, stats, all, no_source, quiet, stdio, force, header;
};

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct c2c_config, field), arg, help                                     \
	}

static const struct opt options[] = {
	/* perf's -c and -d choose other things here. */
	SELECT_OPT('i', "input", OPT_STRING, struct c2c_config, input, "FILE",
		   "read this recording (- for standard input)"),
	SELECT_OPT(0, "comms", OPT_STRING, struct c2c_config, comms, "NAMES", "only threads with these names"),
	SELECT_OPT('C', "cpu", OPT_STRING, struct c2c_config, cpus, "CPUS", "only these CPUs, like 0-3,8"),
	SELECT_OTHER_OPTS(struct c2c_config),
	SELECT_PLACE_OPTS(struct c2c_config, select, 0, 'S', 'U', "accesses by"),
	OPT(0, "lines", OPT_U32, lines, "N", "show at most N cache lines; 0: all (default: 20)"),
	OPT(0, "show-all", OPT_FLAG, all, NULL,
	    "also show lines that only one thread uses, or that no thread changes"),
	OPT(0, "no-source", OPT_FLAG, no_source, NULL, "do not look up source lines"),
	OPT(0, "stats", OPT_FLAG, stats, NULL, "show only the sums over all samples"),
	OPT(0, "json", OPT_FLAG, json, NULL, "print JSON"),
	OPT(0, "stdio", OPT_FLAG, stdio, NULL, "print text (default)"),
	OPT('f', "force", OPT_FLAG, force, NULL, "accepted; it does not matter who owns the recording"),
	OPT(0, "header", OPT_FLAG, header, NULL, "first show what is known about the recording"),
	OPT('q', "quiet", OPT_FLAG, quiet, NULL, "do not print lines that begin with #"),
	OPT(0, "ldlat", OPT_U32, ldlat, "CYCLES", "record: only loads that take at least this long (default: 30)"),
};

static void defaults(void *config)
{
	struct c2c_config *c = config;

	c->lines = LINES;
	c->ldlat = LDLAT;
}

static void set_keys(struct selected *s)
{
	struct name_list names = split_names(SHARED_LINE_KEYS, &s->arena);

	for (u32 i = 0; i < names.n; i++)
		s->pipeline.sort_order[s->pipeline.nr_sort++] =
			(u8)column_key(column_find(names.v[i], strlen(names.v[i])));
	s->pipeline.costs = true;
	s->pipeline.no_chains = true;
	s->pipeline.no_inline = true;
}

static bool says_accesses(const struct profile *p)
{
	for (size_t i = 0; i < p->evlist->events.n; i++)
		if (p->evlist->events.v[i].attr.sample_type & PERF_SAMPLE_DATA_SRC &&
		    p->evlist->events.v[i].attr.sample_type & PERF_SAMPLE_ADDR)
			return true;
	return false;
}

static void write_lines(const struct c2c_config *c, const struct session *s, const struct profile *p,
			struct bytes *out)
{
	const struct c2c_opts o = {
		.most = c->lines, .all = c->all, .sources = !c->no_source, .totals = c->stats, .quiet = c->quiet
	};
	struct shared_lines lines;

	shared_lines_make(p, &lines);
	if (c->header && !c->json)
		print_header(s->src, false, out);
	if (c->json)
		c2c_json(p, &lines, &o, out);
	else
		c2c_text(p, &lines, &o, out);
	shared_lines_free(&lines);
}

static int report(const struct command_ctx *ctx, const struct c2c_config *c, struct selected *s)
{
	struct session *session;
	struct profile *profile;
	struct output out;
	int err;

	err = selected_profile(s, ctx->tty_err && !c->quiet, &session, &profile, ctx->notify);
	if (err)
		return err == ERR_USAGE ? 2 : EXIT_FAILURE;
	if (profile->tally.samples && !says_accesses(profile)) {
		notify_at(ctx->notify, NOTE_ERROR, ERR_NOTFOUND, session->src->path, NO_OFFSET,
			  "the samples do not say what was loaded or stored, and where: record with "
			  "'reticle c2c record', or record Arm SPE");
		err = EXIT_FAILURE;
	} else {
		select_note_empty(&c->select, profile, ctx->notify);
		(void)output_open(&out, NULL, ctx->notify);
		write_lines(c, session, profile, &out.bytes);
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

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct c2c_config c = *(const struct c2c_config *)config;
	const struct memory_record record = { .loads = true, .stores = true, .ldlat = c.ldlat };
	struct selected s;
	int status = 2;

	if (argc && !strcmp(argv[0], "record"))
		return memory_record(ctx, &record, argc, argv);
	if (!argc || strcmp(argv[0], "report")) {
		notify_error(ctx->notify, ERR_USAGE,
			     "say record or report: 'reticle c2c record' samples loads and stores, 'reticle c2c "
			     "report' shows the cache lines that are shared");
		return 2;
	}
	rights_drop();
	if (input_word(&c.select.input, argc - 1, argv + 1, ctx->notify))
		return 2;
	/* Of Arm SPE's events, the one that all loads and stores are samples of. */
	if (!c.select.itrace)
		c.select.itrace = "M";
	if (!select_resolve(&c.select, &s, ctx->notify)) {
		set_keys(&s);
		status = report(ctx, &c, &s);
	}
	selected_free(&s);
	return status;
}

const struct command cmd_c2c = {
	.name = "c2c",
	.summary = "find cache lines that cores pass to each other: false and true sharing",
	.args = "[options] record [options of record] [--] COMMAND | report [options] [recording]",
	.verb = "report",
	.keeps_rights = true, /* for its record; report gives them up */
	.opts = options,
	.nr_opts = ARRAY_LEN(options),
	.config_size = sizeof(struct c2c_config),
	.defaults = defaults,
	.run = run,
};
