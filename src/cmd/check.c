/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle check`: what this machine can do and how to enable the rest. */
#include <unistd.h>

#include "base/json.h"
#include "check/capability.h"
#include "cmd/commands.h"
#include "cmd/output.h"

struct config {
	bool json;
};

#define COLOR_OFF "\x1b[0m"

static const char *const colors[] = {
	[CAPABILITY_OK] = "\x1b[32m",
	[CAPABILITY_LIMITED] = "\x1b[33m",
	[CAPABILITY_NO] = "\x1b[31m",
};

static void put_text(struct bytes *out, const char *name, const struct capability_report *r, u32 width, bool color)
{
	const char *state = capability_state_name(r->state);

	bytes_printf(out, "%-*s  %s%-7s%s  ", (int)width, name, color ? colors[r->state] : "", state,
		     color ? COLOR_OFF : "");
	bytes_plain(out, (const char *)r->detail.p, r->detail.len);
	bytes_char(out, '\n');
	if (!r->remedy.len)
		return;
	bytes_repeat(out, ' ', (int)width + 11);
	bytes_str(out, "-> ");
	bytes_plain(out, (const char *)r->remedy.p, r->remedy.len);
	bytes_char(out, '\n');
}

static void put_json(struct json *j, const char *name, const struct capability_report *r)
{
	json_line(j, "  ");
	json_object(j);
	json_set_text(j, "name", name);
	json_set_text(j, "state", capability_state_name(r->state));
	json_set_str(j, "detail", (const char *)r->detail.p, r->detail.len);
	json_key(j, "remedy");
	if (r->remedy.len)
		json_str(j, (const char *)r->remedy.p, r->remedy.len);
	else
		json_null(j);
	json_object_end(j);
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	const struct config *cfg = config;
	struct capability_env env;
	struct output output;
	struct bytes *out = &output.bytes;
	struct json json = { .out = out, .spaced = true };
	u32 width = 0;
	bool can_record = false;

	if (argc) {
		notify_error(ctx->notify, ERR_USAGE, "unexpected argument '%s'", argv[0]);
		return 2;
	}
	for (u32 i = 0; i < nr_capabilities; i++)
		width = MAX(width, (u32)strlen(capabilities[i].name));
	capability_env_init(&env, NULL);
	(void)output_open(&output, NULL, ctx->notify);
	if (cfg->json)
		json_list(&json);
	for (u32 i = 0; i < nr_capabilities; i++) {
		struct capability_report r;

		capability_probe(&capabilities[i], &env, &r);
		can_record |= capabilities[i].records && r.state != CAPABILITY_NO;
		if (cfg->json)
			put_json(&json, capabilities[i].name, &r);
		else
			put_text(out, capabilities[i].name, &r, width, ctx->color);
		capability_report_free(&r);
	}
	if (cfg->json) {
		json_list_end_line(&json);
		json_end(&json);
	} else {
		bytes_str(out, can_record ? "\nrecording works\n" : "\nnothing can be recorded\n");
	}
	capability_env_free(&env);
	return output_close(&output, ctx->notify) || !can_record;
}

static const struct opt opts[] = {
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL, "print one array of objects" },
};

const struct command cmd_check = {
	.keeps_rights = true,
	.name = "check",
	.summary = "say what this machine can do and how to enable the rest",
	.args = "[options]",
	.mixed = true,
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.run = run,
};
