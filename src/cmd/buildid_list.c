/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle buildid-list`: the build ids that a recording's header lists. */
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "io/source.h"

struct config {
	const char *input;
	bool json;
};

static void defaults(void *config)
{
	((struct config *)config)->input = "perf.data";
}

static void print(const struct rec_build_id *b, bool json, struct bytes *out)
{
	if (json)
		bytes_str(out, "{\"build_id\":\"");
	for (u32 i = 0; i < b->size; i++)
		bytes_printf(out, "%02x", b->build_id[i]);
	bytes_str(out, json ? "\",\"file\":\"" : " ");
	if (json)
		bytes_json(out, b->filename.p, b->filename.len);
	else
		bytes_plain(out, b->filename.p, b->filename.len);
	bytes_str(out, json ? "\"}\n" : "\n");
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	const struct config *cfg = config;
	struct bytes out;
	struct source *s;
	int err;

	if (argc) {
		(void)notify_error(ctx->notify, ERR_USAGE, "'%s' is not an option (name the recording with -i)",
				   argv[0]);
		return 2;
	}
	if (source_open(&s, cfg->input, ctx->notify))
		return 1;
	bytes_to_fd(&out, STDOUT_FILENO);
	for (size_t i = 0; i < s->features.build_ids.n; i++)
		print(&s->features.build_ids.v[i], cfg->json, &out);
	err = bytes_flush(&out);
	bytes_free(&out);
	source_close(s);
	return err ? 1 : 0;
}

static const struct opt opts[] = {
	{ 'i', "input", OPT_STRING, offsetof(struct config, input), "FILE",
	  "recording to read (perf.data; - is a pipe)" },
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL, "one JSON object per build id and line" },
};

const struct command cmd_buildid_list = {
	.name = "buildid-list",
	.summary = "list the build ids in a recording",
	.args = "[options]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.defaults = defaults,
	.run = run,
};
