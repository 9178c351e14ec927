/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle evlist`: the events of a recording. */
#include <string.h>
#include <unistd.h>

#include "cmd/commands.h"
#include "io/source.h"

struct config {
	const char *input;
	bool verbose, group, freq, json;
};

static void defaults(void *config)
{
	((struct config *)config)->input = "perf.data";
}

static void put_name(const struct event *e, struct bytes *out)
{
	bytes_plain(out, e->name, strlen(e->name));
}

/* "{a,b}" for a group, with its own name before it if it has one. */
static void put_group(const struct evlist *l, const struct event *leader, struct bytes *out)
{
	size_t first = (size_t)(leader - l->events.v);

	if (leader->group_members < 2) {
		put_name(leader, out);
		return;
	}
	if (leader->group_name)
		bytes_plain(out, leader->group_name, strlen(leader->group_name));
	for (size_t i = 0; i < leader->group_members && first + i < l->events.n; i++) {
		bytes_char(out, i ? ',' : '{');
		put_name(leader + i, out);
	}
	bytes_char(out, '}');
}

static void print_event(const struct config *cfg, const struct evlist *l, const struct event *e, struct bytes *out)
{
	if (cfg->group) {
		if (e->leader != (u32)(e - l->events.v))
			return;
		put_group(l, e, out);
	} else {
		put_name(e, out);
	}
	if (cfg->verbose) {
		bytes_str(out, ": ");
		attr_print(&e->attr, ": ", out);
	} else if (cfg->freq) {
		bytes_printf(out, ": sample_%s=%llu", e->attr.flags & ATTR_FREQ ? "freq" : "period",
			     (unsigned long long)e->attr.sample_period);
	}
	bytes_char(out, '\n');
}

static void print_json(const struct evlist *l, const struct event *e, struct bytes *out)
{
	bytes_str(out, "{\"name\":\"");
	bytes_json(out, e->name, strlen(e->name));
	bytes_printf(out, "\",\"index\":%zu,\"leader\":%u", (size_t)(e - l->events.v), e->leader);
	if (e->group_name) {
		bytes_str(out, ",\"group\":\"");
		bytes_json(out, e->group_name, strlen(e->group_name));
		bytes_char(out, '"');
	}
	bytes_str(out, ",\"ids\":[");
	for (size_t i = 0; i < e->ids.n; i++)
		bytes_printf(out, "%s%llu", i ? "," : "", (unsigned long long)e->ids.v[i]);
	bytes_str(out, "],\"attr\":{");
	attr_print_json(&e->attr, out);
	bytes_str(out, "}}\n");
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
	for (size_t i = 0; i < s->events.events.n; i++)
		if (cfg->json)
			print_json(&s->events, &s->events.events.v[i], &out);
		else
			print_event(cfg, &s->events, &s->events.events.v[i], &out);
	err = bytes_flush(&out);
	bytes_free(&out);
	source_close(s);
	return err ? 1 : 0;
}

static const struct opt opts[] = {
	{ 'i', "input", OPT_STRING, offsetof(struct config, input), "FILE",
	  "recording to read (perf.data; - is a pipe)" },
	{ 'v', "verbose", OPT_FLAG, offsetof(struct config, verbose), NULL, "all fields of each event's attr" },
	{ 'g', "group", OPT_FLAG, offsetof(struct config, group), NULL, "groups as {leader,member}" },
	{ 'F', "freq", OPT_FLAG, offsetof(struct config, freq), NULL, "each event's frequency or period" },
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL, "one JSON object per event and line" },
};

const struct command cmd_evlist = {
	.name = "evlist",
	.summary = "list the events of a recording",
	.args = "[options]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.defaults = defaults,
	.run = run,
};
