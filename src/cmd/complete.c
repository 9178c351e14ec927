/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle complete [COMMAND [OPTION]]`: the tables as plain text, for the shells' completion and for the check of the
 * man pages. */
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "cmd/complete_values.h"
#include "cmd/output.h"

static void list_commands(const struct command_ctx *ctx, struct bytes *out)
{
	for (u32 i = 0; i < ctx->nr_commands; i++)
		bytes_printf(out, "%s\t%s\n", ctx->commands[i]->name, ctx->commands[i]->summary);
}

/* "-F<tab>--freq<tab>N<tab>help", with "" for what an option does not have. */
static int list_options(const struct command_ctx *ctx, const char *name, struct bytes *out)
{
	for (u32 i = 0; i < ctx->nr_commands; i++) {
		const struct command *c = ctx->commands[i];

		if (strcmp(c->name, name))
			continue;
		for (u32 k = 0; k < c->nr_opts; k++) {
			const struct opt *o = &c->opts[k];

			if (o->letter)
				bytes_printf(out, "-%c", o->letter);
			bytes_printf(out, "\t%s%s\t%s\t%s\n", o->name ? "--" : "", o->name ? o->name : "",
				     o->arg ? o->arg : "", o->help);
		}
		return 0;
	}
	return 1;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct output out;
	int status = 0;

	(void)config;
	(void)output_open(&out, NULL, ctx->notify);
	if (argc > 1)
		(void)complete_values(argv[0], argv[1], &out.bytes); /* most take any text */
	else if (argc)
		status = list_options(ctx, argv[0], &out.bytes);
	else
		list_commands(ctx, &out.bytes);
	if (status)
		notify_error(ctx->notify, ERR_USAGE, "'%s' is not a command", argv[0]);
	if (output_close(&out, ctx->notify))
		return 1;
	return status ? 2 : 0;
}

const struct command cmd_complete = {
	.name = "complete",
	.summary = "print the tables of commands and options, for shell completion",
	.args = "[COMMAND [OPTION]]",
	.config_size = 1,
	.run = run,
};
