/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle report`: which functions the time went to, as a table. Its options: cmd/report_options.c. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/mistake.h"
#include "cmd/header.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/report_check.h"
#include "cmd/report_cycles.h"
#include "cmd/report_options.h"
#include "cmd/report_records.h"
#include "cmd/report_resolve.h"
#include "cmd/report_stacks.h"

struct hints {
	struct bytes *out;
	u32 n, most;
};

static void put_hint(void *ctx, const struct note *note)
{
	struct hints *h = ctx;

	if (h->n++ >= h->most)
		return;
	bytes_str(h->out, "# ");
	if (note->file) {
		bytes_plain(h->out, note->file, strlen(note->file));
		bytes_str(h->out, ": ");
	}
	bytes_plain(h->out, note->text, strlen(note->text));
	bytes_char(h->out, '\n');
}

/* Below the table: why names are missing. */
static void write_hints(const struct profile *p, bool all, struct bytes *out)
{
	struct hints hints = { .out = out, .most = all ? UINT32_MAX : 5 };
	struct notify to = { put_hint, &hints };

	bytes_str(out, "\n");
	dsos_note_missing(p->dsos, &to);
	if (hints.n > hints.most)
		bytes_printf(out, "# ... and %u more (see them with -v)\n", hints.n - hints.most);
}

static void write_report(const struct command_ctx *ctx, const struct report_config *c, const struct session *s,
			 struct profile *p, struct report_opts *o, struct bytes *out)
{
	report_choose_columns(c, p, o);
	o->color = ctx->color;
	o->room = ctx->tty_columns;
	if (c->json) {
		report_json(p, o, out);
		return;
	}
	if (c->csv) {
		report_csv(p, o, out);
		return;
	}
	if (c->header)
		print_header(s->src, c->verbose || c->info, out);
	report_text(p, o, out);
	if (!o->quiet)
		write_hints(p, c->verbose, out);
}

/* What is asked of the recording itself rather than of its samples. */
static int show_recording(const struct report_config *c, const struct notify *to)
{
	struct source *src;
	struct output out;

	if (source_open(&src, select_input(&c->select), to))
		return EXIT_FAILURE;
	(void)output_open(&out, NULL, to);
	if (c->header_only || (c->header && !c->json))
		print_header(src, c->verbose || c->info, &out.bytes);
	if (c->stats && !c->header_only)
		report_stats(src, c->json, &out.bytes);
	if ((c->tasks || c->mmaps) && !c->header_only)
		report_tasks(src, c->mmaps, c->json, &out.bytes);
	source_close(src);
	return output_close(&out, to) ? EXIT_FAILURE : EXIT_SUCCESS;
}

/* Filters on rows that left none: said, as a table without rows looks like a recording without samples. A word that
 * was meant for a recording, or is in no function's name, is an error. */
static int note_nothing_left(const struct profile *p, const struct report_config *c, const struct notify *to)
{
	bool any = false;

	for (size_t i = 0; i < p->events.n; i++)
		any |= p->events.v[i].rows.n > 0;
	if (c->word && p->events.n && !any)
		return notify_error(to, ERR_NOTFOUND,
				    "'%s' is neither a recording nor a part of a function's name in %s", c->word,
				    select_input(&c->select));
	select_note_empty(&c->select, p, to);
	return 0;
}

static int read_and_write(const struct command_ctx *ctx, const struct report_config *c, struct selected *s,
			  struct report_opts *o)
{
	struct progress progress;
	struct session *session;
	struct profile *profile;
	struct output out;
	int err, status;

	progress_start(&progress, ctx->tty_err && !c->quiet, ctx->notify);
	s->pipeline.session.progress = progress_report;
	s->pipeline.session.progress_ctx = &progress;
	o->workers = s->pipeline.session.workers;
	err = pipeline_profile(&s->pipeline, &session, &profile, &progress.notify);
	if (!err) {
		err = note_nothing_left(profile, c, &progress.notify);
		if (!err)
			err = report_stacks_check(profile, session->src->path, &progress.notify);
		if (!err)
			err = report_settle_metrics(profile, c, o, &progress.notify);
		if (err) {
			profile_free(profile);
			session_close(session);
		}
	}
	if (err) {
		progress_stop(&progress);
		return err == ERR_USAGE ? 2 : EXIT_FAILURE;
	}
	(void)output_open(&out, NULL, ctx->notify);
	out.bytes.formulas = c->formulas;
	if (!ctx->tty_out)
		write_report(ctx, c, session, profile, o, &out.bytes);
	progress_stop(&progress);
	if (ctx->tty_out)
		write_report(ctx, c, session, profile, o, &out.bytes);
	status = output_close(&out, ctx->notify) ? EXIT_FAILURE : EXIT_SUCCESS;
	if (CMD_FREES) {
		report_metrics_free((struct report_metrics *)o->metrics, profile);
		profile_free(profile);
		session_close(session);
	} else {
		session_keep(session);
	}
	return status;
}

/* Words that are no options: a recording, and a part of functions' names. */
static int take_words(struct report_config *c, int argc, char **argv, const struct notify *to)
{
	for (int i = 0; i < argc; i++) {
		if (!c->select.input && select_is_recording(argv[i]))
			c->select.input = argv[i];
		else if (!c->word)
			c->select.symbol_part = c->word = argv[i];
		else
			return notify_error(
				to, ERR_USAGE,
				"'%s' and '%s': one recording is read at a time, for one part of a function's name",
				c->word, argv[i]);
	}
	/* Whoever named a recording that is not there does not want to hear of another one. */
	if (c->word && !c->select.input && !strcmp(select_input(&c->select), "perf.data") && access("perf.data", F_OK))
		return notify_error(to, ERR_NOTFOUND,
				    "'%s' is not a recording, and there is no perf.data to look for functions of that "
				    "name in (make one with 'reticle record')",
				    c->word);
	return 0;
}

int report_run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct report_config c = *(const struct report_config *)config;
	struct report_opts o = { 0 };
	struct window_use windows;
	struct report_stacks stacks;
	struct selected s;
	int status, err;

	if (c.dump) {
		notify_error(ctx->notify, ERR_USAGE, "-D is a separate command: reticle dump -i %s",
			     select_input(&c.select));
		return 2;
	}
	err = take_words(&c, argc, argv, ctx->notify);
	if (err)
		return err == ERR_USAGE ? 2 : EXIT_FAILURE;
	if (c.header_only || c.stats || c.tasks || c.mmaps)
		return report_check_recording(&c, ctx->notify) ? 2 : show_recording(&c, ctx->notify);
	if (c.total_cycles && report_check_cycles(&c, ctx->notify))
		return 2;
	if (report_resolve(&c, &s, &o, &windows, ctx->notify) ||
	    report_stacks_resolve(&c, &s, &o, &stacks, ctx->notify))
		status = 2;
	else if (c.total_cycles)
		status = report_cycles(ctx, &c, &s);
	else
		status = read_and_write(ctx, &c, &s, &o);
	report_stacks_free(&stacks, &s);
	free((char *)c.range.file);
	free((char *)c.range.object);
	selected_free(&s);
	return status;
}
