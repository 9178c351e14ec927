/* SPDX-License-Identifier: Apache-2.0 */
/* `reticle script`: every sample as text or JSON, in order of time. perf's flags, where the meaning is the same. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "attrib/lbr.h"
#include "base/pool.h"
#include "cmd/commands.h"
#include "cmd/header.h"
#include "cmd/output.h"
#include "cmd/progress.h"
#include "cmd/script_run.h"
#include "cmd/select.h"
#include "pass/call_sites.h"

#define DEFAULT_MAX_STACK 127 /* what the kernel records at most unless told otherwise */

struct config {
	struct select select;
	struct opt_list fields;
	struct script_opts show;
	const char *stops;
	bool header, header_only, info, quiet, force;
	u32 verbose;
};

#define OPT(letter, name, kind, field, arg, help)                                                                     \
	{                                                                                                             \
		letter, name, kind, offsetof(struct config, field), arg, help                                         \
	}
#define SHOW(name, field, help) OPT(0, name, OPT_FLAG, show.field, NULL, help)

static const struct opt opts[] = {
	SELECT_OPTS(struct config),
	OPT('F', "fields", OPT_LIST, fields, "FIELDS",
	    "[KIND:]NAME,...: show these fields, or more (+NAME) or fewer (-NAME)"),
	/* perf's -d is another option here. */
	SELECT_PLACE_OPTS(struct config, select, 0, 'S', 0, "samples of"),
	OPT('G', "hide-call-graph", OPT_FLAG, show.hide_chains, NULL, "do not show call chains"),
	OPT(0, "max-stack", OPT_U32, show.max_stack, "N", "call chains of at most N frames (127)"),
	OPT(0, "stop-bt", OPT_STRING, stops, "NAMES", "end call chains at these functions"),
	SHOW("inline", inlines, "show inlined calls in call chains"),
	SHOW("full-source-path", full_paths, "show whole paths of source files"),
	SHOW("show-kernel-path", kernel_path, "show the path of the kernel and its modules"),
	SHOW("ns", nanosecs, "show times in nanoseconds"),
	SHOW("reltime", reltime, "show times since the first line"),
	SHOW("deltatime", deltatime, "show times since the previous line"),
	SHOW("json", json, "print JSON, one object per line"),
	SHOW("show-task-events", show_tasks, "show COMM, FORK and EXIT records as well"),
	SHOW("show-mmap-events", show_mmaps, "show MMAP and MMAP2 records as well"),
	SHOW("show-switch-events", show_switches, "show SWITCH and SWITCH_CPU_WIDE records as well"),
	SHOW("show-namespace-events", show_namespaces, "show NAMESPACES records as well"),
	SHOW("show-lost-events", show_lost, "show LOST records as well"),
	SHOW("show-bpf-events", show_bpf, "show KSYMBOL and BPF_EVENT records as well"),
	SHOW("show-cgroup-events", show_cgroups, "show CGROUP records as well"),
	SHOW("show-text-poke-events", show_text_pokes, "show TEXT_POKE records as well"),
	SHOW("show-round-events", show_rounds, "show FINISHED_ROUND records as well"),
	OPT(0, "header", OPT_FLAG, header, NULL, "first show what is known about the recording"),
	OPT(0, "header-only", OPT_FLAG, header_only, NULL, "show only what is known about the recording"),
	OPT('I', "show-info", OPT_FLAG, info, NULL, "with --header: long features in full"),
	OPT('f', "force", OPT_FLAG, force, NULL, "accepted; it does not matter who owns the recording"),
	OPT('q', "quiet", OPT_FLAG, quiet, NULL, "no progress bar"),
	OPT('v', "verbose", OPT_COUNT, verbose, NULL, "say which objects had no symbols"),
};

static void defaults(void *config)
{
	struct config *c = config;

	c->show.max_stack = DEFAULT_MAX_STACK;
	script_fields_default(&c->show.fields);
}

/* Everything that can be settled before the recording is read. */
static int resolve_options(struct config *c, struct selected *s, const struct notify *to)
{
	int err = select_resolve(&c->select, s, to);

	for (u32 i = 0; i < c->fields.n && !err; i++)
		err = script_fields_parse(&c->show.fields, c->fields.v[i], to);
	if (err)
		return err;
	if (c->show.reltime && c->show.deltatime)
		return notify_error(to, ERR_USAGE, "--reltime and --deltatime exclude each other");
	c->show.stitch = !c->select.no_stitch;
	c->show.samples = s->pipeline.samples;
	c->show.places = s->pipeline.rows.places;
	c->show.stops = split_names(c->stops, &s->arena);
	return 0;
}

/* Adds the side-band records that are shown. They were all decoded once already: faults are known. */
static void add_events(const struct session *s, const struct script_opts *o, struct sample_ref **out, u64 *n)
{
	VEC(struct sample_ref) refs = { *out, *n, *n };
	u64 offset = 0;
	struct source_record at;

	while (source_next(s->src, &offset, &at, NULL)) {
		struct sample_id sid = { 0 };
		struct cursor c = cursor_over(at.p, at.h.size, s->src->swap);

		if (at.h.type == PERF_RECORD_SAMPLE || !script_shows(o, at.h.type))
			continue;
		if (record_kind(at.h.type)->has_trailer)
			record_trailer_decode(c, evlist_trailer(&s->src->events, at.p, at.h.size, s->src->swap), &sid);
		/* No time is 0 or ~0: from the beginning. */
		vec_push(&refs,
			 (struct sample_ref){ s->clock_is_time && sid.time != UINT64_MAX ? sid.time : 0, at.offset });
	}
	*out = refs.v;
	*n = refs.n;
}

static int by_time(const void *va, const void *vb)
{
	const struct sample_ref *a = va, *b = vb;

	if (a->time != b->time)
		return a->time < b->time ? -1 : 1;
	return a->offset < b->offset ? -1 : a->offset > b->offset;
}

static bool shows_events(const struct script_opts *o)
{
	return o->show_tasks || o->show_mmaps || o->show_switches || o->show_namespaces || o->show_lost ||
	       o->show_bpf || o->show_cgroups || o->show_text_pokes || o->show_rounds;
}

/* Without times the clock is the place in the file. */
static void set_clocks(const struct session *s, struct sample_ref *refs, u64 n)
{
	for (u64 i = 0; i < n && !s->clock_is_time; i++)
		refs[i].time = refs[i].offset & ~REF_OPERATION;
}

static void collect(struct session *s, const struct script_opts *o, struct sample_ref **refs, u64 *n)
{
	session_sort_samples(s, refs, n);
	if (shows_events(o)) {
		add_events(s, o, refs, n);
		qsort(*refs, *n, sizeof(**refs), by_time);
	}
	set_clocks(s, *refs, *n);
}

static int finish(int err, const struct script_result *r, const struct notify *to)
{
	if (r->skipped)
		notify_warn(to, "%llu samples could not be decoded and are left out", (unsigned long long)r->skipped);
	/* A reader that has seen enough (head) is no failure worth words. */
	if (err == ERR_IO && r->sys_errno != EPIPE)
		notify_error(to, err, "cannot write: %s", strerror(r->sys_errno));
	return err ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int put_legend(const struct script *s, const struct notify *to)
{
	struct output out;

	(void)output_open(&out, NULL, to);
	script_put_legend(s, &out.bytes);
	return output_close(&out, to);
}

static int show(const struct config *c, struct session *session, const struct notify *to)
{
	struct script s = {
		.opts = c->show,
		.procs = session->procs,
		.dsos = session->dsos,
		.strings = &session->strings,
		.events = &session->src->events,
		.features = &session->src->features,
		.deferred = &session->deferred,
		.deferred_tls = &session->deferred_tls,
		.timelines = session_timelines(session),
		.spe = session_spe(session),
		.file = session->src->path,
		.notify = to,
	};
	struct timeranges times = { 0 };
	struct script_result result = { 0 };
	struct callers *callers = NULL;
	struct sample_ref *refs = NULL;
	u64 n = 0;
	u32 workers = c->select.threads ? c->select.threads : pool_default_workers();
	int status, err = script_init(&s);

	if (!err)
		err = session_filter(session, &c->show.samples, c->select.time, &times, &s.opts.samples);
	if (err) {
		script_free(&s);
		timeranges_free(&times);
		return 2;
	}
	collect(session, &s.opts, &refs, &n);
	if (s.chains && lbr_used(s.events)) {
		if (call_sites_workers(session) > 1)
			dsos_start_parser(session->dsos);
		s.callers = callers = call_sites(session, s.opts.stitch);
	}
	err = put_legend(&s, to);
	if (!err)
		err = script_run(&s, session->src, refs, n, workers, STDOUT_FILENO, session->opts.stop, &result);
	status = finish(err, &result, to);
	/* Not of refs: these are also side-band, and operations that are samples of nothing. */
	if (!err && result.samples && !result.printed)
		(void)select_note_nothing_left(&c->select, result.samples, to);
	if (c->verbose)
		dsos_note_missing(session->dsos, to);
	free(refs);
	callers_free(callers);
	script_free(&s);
	timeranges_free(&times);
	return status;
}

static int put_header(const struct source *src, bool all, const struct notify *to)
{
	struct output out;

	(void)output_open(&out, NULL, to);
	print_header(src, all, &out.bytes);
	return output_close(&out, to) ? EXIT_FAILURE : EXIT_SUCCESS;
}

static int show_header(const struct config *c, const struct notify *to)
{
	struct source *src;
	int status;

	if (source_open(&src, select_input(&c->select), to))
		return EXIT_FAILURE;
	status = put_header(src, c->info, to);
	source_close(src);
	return status;
}

static int open_and_show(const struct command_ctx *ctx, const struct config *c, struct selected *selected)
{
	struct session_opts *o = &selected->pipeline.session;
	struct progress progress;
	struct session *session;
	int err, status;

	progress_start(&progress, ctx->tty_err && !c->quiet, ctx->notify);
	o->progress = progress_report;
	o->progress_ctx = &progress;
	o->every_thread = shows_events(&c->show);
	err = session_open(&session, selected->pipeline.input, o, &progress.notify);
	progress_stop(&progress);
	if (err)
		return EXIT_FAILURE;
	session->notify = ctx->notify;
	session->opts.progress = NULL;
	status = c->header ? put_header(session->src, c->info, ctx->notify) : EXIT_SUCCESS;
	if (status == EXIT_SUCCESS)
		status = show(c, session, ctx->notify);
	session_close(session);
	return status;
}

static int run(const struct command_ctx *ctx, const void *config, int argc, char **argv)
{
	struct config c = *(const struct config *)config;
	struct selected selected;
	int status;

	if (input_word(&c.select.input, argc, argv, ctx->notify))
		return 2;
	if (c.header_only)
		return show_header(&c, ctx->notify);
	if (resolve_options(&c, &selected, ctx->notify)) {
		selected_free(&selected);
		return 2;
	}
	status = open_and_show(ctx, &c, &selected);
	selected_free(&selected);
	return status;
}

const struct command cmd_script = {
	.name = "script",
	.summary = "print the samples of a recording, one by one",
	.args = "[options] [RECORDING]",
	.mixed = true,
	.opts = opts,
	.nr_opts = ARRAY_LEN(opts),
	.config_size = sizeof(struct config),
	.defaults = defaults,
	.run = run,
};
