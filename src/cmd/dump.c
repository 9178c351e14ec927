/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle dump`: every record of a recording, decoded, in file order. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "cmd/commands.h"
#include "cmd/dump.h"
#include "cmd/header.h"
#include "cmd/output.h"
#include "cmd/select.h"

struct config {
	const char *input;
	struct opt_list types;
	bool header, header_only, json, verbose;
};

static bool is_wanted(const struct config *cfg, u32 type)
{
	const struct record_kind *kind = record_kind(type);

	for (u32 i = 0; i < cfg->types.n; i++) {
		const char *want = cfg->types.v[i];

		if (kind ? !strcasecmp(kind->name, want) : strtoul(want, NULL, 10) == type)
			return true;
	}
	return !cfg->types.n;
}

static bool is_type(const char *name)
{
	const struct record_kind *kind;

	for (u32 i = 0; (kind = record_kind_at(i)); i++)
		if (!strcasecmp(kind->name, name))
			return true;
	return *name >= '0' && *name <= '9';
}

static int check_types(const struct config *cfg, const struct notify *to)
{
	for (u32 i = 0; i < cfg->types.n; i++)
		if (!is_type(cfg->types.v[i]))
			return notify_error(to, ERR_USAGE,
					    "'%s' is no record type (SAMPLE, MMAP2, COMM, ... or a number)",
					    cfg->types.v[i]);
	return 0;
}

static void decode(const struct source *s, struct dump_record *d)
{
	struct cursor c = cursor_over(d->at.p, d->at.h.size, s->swap);
	u32 event;

	d->offset = s->data_offset + d->at.offset;
	d->is_sample = d->at.h.type == PERF_RECORD_SAMPLE;
	d->event = NULL;
	if (!d->is_sample) {
		const struct trailer_layout *t = evlist_trailer(&s->events, d->at.p, d->at.h.size, s->swap);

		d->err = record_decode(c, d->offset, t, &d->r);
		return;
	}
	event = evlist_find(&s->events, d->at.p, d->at.h.size, true, s->swap);
	d->event = event == ID_NONE ? NULL : &s->events.events.v[event];
	if (!d->event || d->event->unsupported)
		d->err = d->event ? ERR_UNSUPPORTED : ERR_NOTFOUND;
	else
		d->err = sample_decode(&d->event->layout, c, &d->s);
}

static void dump_records(const struct source *s, const struct config *cfg, struct bytes *out)
{
	struct dump_record d = { 0 };
	u64 at = 0, bad = NO_OFFSET;

	while (!out->err && source_next(s, &at, &d.at, &bad)) {
		if (!is_wanted(cfg, d.at.h.type))
			continue;
		decode(s, &d);
		if (cfg->json)
			dump_json(s, &d, out);
		else
			dump_text(s, &d, cfg->verbose, out);
	}
	if (bad != NO_OFFSET)
		(void)notify_at(s->notify, NOTE_WARNING, ERR_TRUNCATED, s->path, s->data_offset + bad,
				"the last %llu bytes are no whole record; left out",
				(unsigned long long)(s->size - bad));
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	const struct config *cfg = config;
	struct output out;
	struct source *s;
	int err;

	if (argc) {
		(void)notify_error(ctx->notify, ERR_USAGE, "'%s' is not an option (name the recording with -i)",
				   argv[0]);
		return 2;
	}
	if (check_types(cfg, ctx->notify))
		return 2;
	if (source_open(&s, input_path(cfg->input), ctx->notify))
		return 1;
	(void)output_open(&out, NULL, ctx->notify);
	if (cfg->header || cfg->header_only)
		print_header(s, cfg->verbose, &out.bytes);
	if (!cfg->header_only)
		dump_records(s, cfg, &out.bytes);
	err = output_close(&out, ctx->notify);
	source_close(s);
	return err ? 1 : 0;
}

static const struct opt opts[] = {
	{ 'i', "input", OPT_STRING, offsetof(struct config, input), "FILE",
	  "recording to read (perf.data; - is a pipe)" },
	{ 0, "type", OPT_LIST, offsetof(struct config, types), "NAME",
	  "only records of this type; may be given again" },
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL, "one JSON object per record and line" },
	{ 'v', "verbose", OPT_FLAG, offsetof(struct config, verbose), NULL,
	  "chains, branches, registers and stacks too" },
	{ 0, "header", OPT_FLAG, offsetof(struct config, header), NULL, "the header first" },
	{ 0, "header-only", OPT_FLAG, offsetof(struct config, header_only), NULL, "nothing but the header" },
};

const struct command cmd_dump = {
	.name = "dump",
	.summary = "print every record of a recording, decoded",
	.args = "[options]",
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.run = run,
};
