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
#include "pass/feed.h"

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
					    "'%s' is not a record type (SAMPLE, MMAP2, COMM, ... or a number)",
					    cfg->types.v[i]);
	return 0;
}

static void take_hit(void *ctx, const struct hit *h)
{
	struct dump_record *d = ctx;

	d->event = h->e;
	d->s = *h->full;
}

static void decode(struct feed *feed, struct dump_record *d)
{
	const struct source *s = feed->src;
	const struct trailer_layout *t;
	u32 event;

	d->offset = s->data_offset + d->at.offset;
	d->is_sample = d->at.h.type == PERF_RECORD_SAMPLE;
	d->event = NULL;
	if (d->is_sample) {
		d->err = feed_sample(feed, &d->at, take_hit, d);
		if (d->err == ERR_NOTFOUND || !d->err)
			return;
		event = evlist_find(&s->events, d->at.p, d->at.h.size, true, s->swap);
		d->event = event == ID_NONE ? NULL : &s->events.events.v[event];
		return;
	}
	t = evlist_trailer(&s->events, d->at.p, d->at.h.size, s->swap);
	d->err = record_decode(cursor_over(d->at.p, d->at.h.size, s->swap), d->offset, t, &d->r);
	if (!d->err && d->at.h.type == PERF_RECORD_AUXTRACE_INFO)
		d->aux_kind = d->r.auxtrace_info.type;
}

static void dump_records(const struct source *s, const struct config *cfg, struct bytes *out)
{
	struct feed feed = { .src = s, .full = true };
	struct dump_record d = { 0 };
	u64 at = 0, bad = NO_OFFSET;

	while (!out->err && source_next(s, &at, &d.at, &bad)) {
		if (!is_wanted(cfg, d.at.h.type))
			continue;
		decode(&feed, &d);
		if (cfg->json)
			dump_json(s, &d, out);
		else
			dump_text(s, &d, cfg->verbose, out);
	}
	feed_free(&feed);
	if (bad != NO_OFFSET)
		(void)notify_at(s->notify, NOTE_WARNING, ERR_TRUNCATED, s->path, s->data_offset + bad,
				"the last %llu bytes are not a whole record and are left out",
				(unsigned long long)(s->size - bad));
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config, *cfg = &c;
	struct output out;
	struct source *s;
	int err;

	if (input_word(&c.input, argc, argv, ctx->notify))
		return 2;
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
	  "recording to read (default perf.data; - is standard input)" },
	{ 0, "type", OPT_LIST, offsetof(struct config, types), "NAME",
	  "show only records of this type; may be repeated" },
	{ 0, "json", OPT_FLAG, offsetof(struct config, json), NULL,
	  "print one JSON object per record, each on its own line" },
	{ 'v', "verbose", OPT_FLAG, offsetof(struct config, verbose), NULL,
	  "also show call chains, branches, registers and stacks" },
	{ 0, "header", OPT_FLAG, offsetof(struct config, header), NULL, "show the header first" },
	{ 0, "header-only", OPT_FLAG, offsetof(struct config, header_only), NULL, "show only the header" },
};

const struct command cmd_dump = {
	.name = "dump",
	.summary = "print every record of a recording, decoded",
	.args = "[options] [RECORDING]",
	.mixed = true,
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.run = run,
};
