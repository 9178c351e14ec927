/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle evlist`: the events of a recording. */
#include "cmd/evlist.h"

#include <string.h>

#include "cmd/commands.h"
#include "cmd/output.h"
#include "cmd/select.h"
#include "codec/perf_abi.h"
#include "codec/tracefmt.h"
#include "read/source.h"

struct config {
	const char *input;
	struct evlist_how how;
	bool trace_fields, json, force;
};

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

static void put_event(struct evlist_how how, const struct evlist *l, const struct event *e, struct bytes *out)
{
	if (how.group) {
		if (e->leader != (u32)(e - l->events.v))
			return;
		put_group(l, e, out);
	} else {
		put_name(e, out);
	}
	if (how.verbose) {
		bytes_str(out, ": ");
		attr_print(&e->attr, ": ", out);
	} else if (how.freq) {
		bytes_printf(out, ": sample_%s=%llu", e->attr.flags & ATTR_FREQ ? "freq" : "period",
			     (unsigned long long)e->attr.sample_period);
	}
	bytes_char(out, '\n');
}

void evlist_put(const struct evlist *l, struct evlist_how how, struct bytes *out)
{
	for (size_t i = 0; i < l->events.n; i++)
		put_event(how, l, &l->events.v[i], out);
}

static void put_trace_fields(const struct tracefmt *formats, const struct event *e, struct bytes *out)
{
	const struct trace_event *t = NULL;
	const char *before = ": trace_fields: ";

	if (e->attr.type == PERF_TYPE_TRACEPOINT)
		t = tracefmt_find(formats, (u32)e->attr.config);
	put_name(e, out);
	if (!t)
		bytes_str(out,
			  e->attr.type == PERF_TYPE_TRACEPOINT ? ": (format not recorded)" : ": (not a tracepoint)");
	for (size_t i = 0; t && i < t->fields.n; i++) {
		if (t->fields.v[i].common)
			continue;
		bytes_str(out, before);
		bytes_plain(out, t->fields.v[i].name.p, t->fields.v[i].name.len);
		before = ",";
	}
	bytes_char(out, '\n');
}

static void print_trace_fields(const struct source *s, struct bytes *out)
{
	struct tracefmt formats = { 0 };

	if (s->features.tracing_data_size &&
	    tracefmt_decode(cursor_over(s->features.tracing_data, s->features.tracing_data_size, false), &formats))
		(void)notify_at(s->notify, NOTE_WARNING, ERR_FORMAT, s->path, NO_OFFSET,
				"the formats of tracepoints are damaged, and some are missing");
	for (size_t i = 0; i < s->events.events.n; i++)
		put_trace_fields(&formats, &s->events.events.v[i], out);
	tracefmt_free(&formats);
}

static void print_json(const struct evlist *l, const struct event *e, struct json *j)
{
	json_object(j);
	json_set_text(j, "name", e->name);
	json_set_u64(j, "index", (u64)(e - l->events.v));
	json_set_u64(j, "leader", e->leader);
	if (e->group_name)
		json_set_text(j, "group", e->group_name);
	json_set_list(j, "ids");
	for (size_t i = 0; i < e->ids.n; i++)
		json_u64(j, e->ids.v[i]);
	json_list_end(j);
	json_set_object(j, "attr");
	attr_print_json(&e->attr, j);
	json_object_end(j);
	json_object_end(j);
	json_end(j);
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config, *cfg = &c;
	struct output output;
	struct bytes *out = &output.bytes;
	struct source *s;
	int err;

	if (input_word(&c.input, argc, argv, ctx->notify))
		return 2;
	if (source_open(&s, input_path(cfg->input), ctx->notify))
		return 1;
	(void)output_open(&output, NULL, ctx->notify);
	if (cfg->trace_fields)
		print_trace_fields(s, out);
	else if (!cfg->json)
		evlist_put(&s->events, cfg->how, out);
	for (size_t i = 0; cfg->json && !cfg->trace_fields && i < s->events.events.n; i++)
		print_json(&s->events, &s->events.events.v[i], &(struct json){ .out = out });
	err = output_close(&output, ctx->notify);
	source_close(s);
	return err ? 1 : 0;
}

static const struct opt opts[] = {
	{ 'i', "input", OPT_STRING, offsetof(struct config, input), "FILE",
	  "recording to read (default perf.data; - is standard input)" },
	{ 'v', "verbose", OPT_FLAG, offsetof(struct config, how.verbose), NULL,
	  "show all fields of each event's attr" },
	{ 'g', "group", OPT_FLAG, offsetof(struct config, how.group), NULL, "show groups as {leader,member}" },
	{ 'F', "freq", OPT_FLAG, offsetof(struct config, how.freq), NULL, "show each event's frequency or period" },
	{ 0, "trace-fields", OPT_FLAG, offsetof(struct config, trace_fields), NULL,
	  "show the fields of each tracepoint instead" },
	{ 'f', "force", OPT_FLAG, offsetof(struct config, force), NULL,
	  "accepted; it does not matter who owns the recording" },
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL,
	  "print one JSON object per event, each on its own line" },
};

const struct command cmd_evlist = {
	.name = "evlist",
	.summary = "list the events of a recording",
	.args = "[options] [RECORDING]",
	.mixed = true,
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.run = run,
};
