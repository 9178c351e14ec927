/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle stat`: a command's counts. */
#include "cmd/stat.h"

#include <stdlib.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/output.h"
#include "cmd/pmu_help.h"

#define EXIT_USAGE 2
#define EXIT_NO_EXEC 126
#define EXIT_NO_COMMAND 127
#define RUNS_MAX 10000

struct config {
	struct opt_list events;
	struct sim_opts sim;
	const char *output, *separator;
	u32 runs;
	bool json, per_thread, no_inherit;
};

static int set_pmu(void *field, const char *text, const struct notify *to)
{
	return sim_opts_parse(field, text, to);
}

static int check(const struct config *c, int argc, const struct notify *to)
{
	if (!argc)
		return notify_error(to, ERR_USAGE, "a command is missing: reticle stat [options] -- COMMAND");
	if (c->per_thread && !c->sim.on)
		return notify_error(to, ERR_USAGE,
				    "--per-thread: only the virtual PMU tells threads apart (--pmu=sim)");
	if (c->separator && c->json)
		return notify_error(to, ERR_USAGE, "-x and --json exclude each other");
	if (c->separator && !*c->separator)
		return notify_error(to, ERR_USAGE, "-x: the separator is empty");
	if (c->runs > RUNS_MAX)
		return notify_error(to, ERR_USAGE, "-r: at most %u runs", RUNS_MAX);
	return 0;
}

static int parse_events(const struct config *c, struct event_specs *specs, const struct notify *to)
{
	const struct event_env env = { .simulated = c->sim.on };
	int err = 0;

	for (u32 i = 0; i < c->events.n && !err; i++)
		err = event_specs_parse(specs, c->events.v[i], &env, to);
	return err == ERR_NOTFOUND ? ERR_USAGE : err;
}

/* To standard error, where what the command prints does not mix with it as long as that is not sent there too. */
static int print(const struct config *c, const struct stat_view *v, const struct notify *to)
{
	struct output out;
	int err = 0;

	if (c->output)
		err = output_open(&out, c->output, to);
	else
		bytes_to_fd(&out.bytes, STDERR_FILENO);
	if (err)
		return err;
	if (c->json)
		stat_json(v, &out.bytes);
	else if (c->separator)
		stat_fields(v, &out.bytes);
	else
		stat_text(v, &out.bytes);
	if (c->output)
		return output_close(&out, to);
	err = bytes_flush(&out.bytes);
	bytes_free(&out.bytes);
	return err;
}

static void print_advice(const struct counter_result *r, const struct notify *to)
{
	if (r->unfinished)
		notify_warn(to,
			    "%u thread%s killed, or still ran: the last 65,536 instructions of each may be missing",
			    r->unfinished, r->unfinished == 1 ? " was" : "s were");
	if (r->escaped)
		notify_warn(to,
			    "%u program%s ran without the virtual PMU, and %s not counted: of another architecture, "
			    "set-uid, not to be read, or started without the rights to reach the recorder",
			    r->escaped, r->escaped == 1 ? "" : "s", r->escaped == 1 ? "is" : "are");
}

static int exit_status(int err, const struct counter_result *r)
{
	if (err == ERR_USAGE)
		return EXIT_USAGE;
	if (r->has_status &&
	    (!err || err == ERR_INTERRUPTED || r->status == EXIT_NO_EXEC || r->status == EXIT_NO_COMMAND))
		return r->status;
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	const struct config *c = config;
	struct counter_opts o = { .command = argv, .sim = c->sim, .no_inherit = c->no_inherit, .runs = c->runs };
	struct counter_result r = { 0 };
	struct event_specs specs = { 0 };
	struct stat_view v = { &r, argv, c->separator, c->per_thread };
	int err, status;

	if (c->sim.help)
		return print_pmu_help(ctx->notify);
	err = check(c, argc, ctx->notify);
	if (!err)
		err = parse_events(c, &specs, ctx->notify);
	if (!err)
		err = counter_run(&o, &specs, &r, ctx->notify);
	if (!err && r.never_simulated)
		err = notify_error(ctx->notify, ERR_UNSUPPORTED,
				   "QEMU ended before the program began: nothing was counted (reticle check tells "
				   "whether this QEMU serves)");
	else if (r.runs && print(c, &v, ctx->notify))
		err = err ? err : ERR_IO;
	print_advice(&r, ctx->notify);
	status = exit_status(err, &r);
	counter_free(&r);
	event_specs_free(&specs);
	return status;
}

#define AT(field) offsetof(struct config, field)

static const struct opt opts[] = {
	{ 'e', "event", OPT_LIST, AT(events), "EVENT", "what to count (see reticle list); may be repeated" },
	{ 0, "pmu", OPT_CALL, AT(sim), "PMU", "hw, or sim[,KEY=VALUE...]: count on a simulated core", .set = set_pmu },
	{ 'i', "no-inherit", OPT_FLAG, AT(no_inherit), NULL, "leave out threads and children made later" },
	{ 'r', "repeat", OPT_U32, AT(runs), "N", "run N times: means, and how far the runs differ" },
	{ 0, "per-thread", OPT_FLAG, AT(per_thread), NULL, "each thread's counts (with --pmu=sim)" },
	{ 'x', "field-separator", OPT_STRING, AT(separator), "SEP", "fields with SEP between them, for scripts" },
	{ 'j', "json", OPT_FLAG, AT(json), NULL, "one JSON object; counts are whole numbers" },
	{ 'o', "output", OPT_STRING, AT(output), "FILE", "print to FILE instead of standard error" },
};

const struct command cmd_stat = {
	.keeps_rights = true,
	.name = "stat",
	.summary = "count a command's events",
	.args = "[options] [--] COMMAND [ARGS]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.run = run,
};
