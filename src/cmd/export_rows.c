/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows are written in the order of the recording while it is read, by one thread: nothing is sorted, because whoever
 * asks for rows has a database that can, and nothing is kept but distinct stacks, names and one group of rows.
 */
#include "cmd/export_rows.h"

#include <string.h>

#include "attrib/lbr.h"
#include "attrib/unwind.h"
#include "cmd/output.h"
#include "pass/call_sites.h"
#include "pass/feed.h"
#include "pass/order.h"
#include "pass/pipeline_windows.h"

static void take_hit(void *ctx, const struct hit *h)
{
	sample_rows_add(ctx, h);
}

/* 0 or ERR_INTERRUPTED. */
static int feed_rows(const struct session *s, struct feed *feed, struct sample_rows *rows)
{
	for (size_t i = 0; i < s->data.blocks.n; i++) {
		u64 offset = s->data.blocks.v[i].offset;
		struct source_record at;

		while (offset < s->data.blocks.v[i].end && source_next(s->src, &offset, &at, NULL))
			feed_record(feed, &at, take_hit, rows);
		session_progress(s, "writing", i, s->data.blocks.n);
		if (s->opts.stop && *s->opts.stop)
			return ERR_INTERRUPTED;
	}
	return 0;
}

/* With the stacks that have to be made: of branch records, and of copies. */
static int collect(struct session *s, const struct pipeline_opts *o, struct windows *windows, struct sample_rows *rows,
		   const struct notify *to)
{
	const struct evlist *l = &s->src->events;
	struct callers *callers = lbr_used(l) ? call_sites(s, !o->no_stitch) : NULL;
	struct feed feed = {
		.src = s->src,
		.full = true,
		.reads = group_read_used(l),
		.timelines = session_timelines(s),
		.spe = session_spe(s),
		.windows = windows,
	};
	int err;

	if (lbr_used(l))
		feed.lbr = lbr_new(features_branch_depth(&s->src->features), callers, s->procs, s->dsos);
	if (unwind_used(l))
		feed.unwind = unwinder_new(s->procs, s->dsos, s->src->features.arch);
	err = feed_rows(s, &feed, rows);
	if (feed.undecodable)
		notify_warn(to, "%llu samples could not be decoded and are left out",
			    (unsigned long long)feed.undecodable);
	lbr_free(feed.lbr);
	unwinder_free(feed.unwind);
	callers_free(callers);
	feed_free(&feed);
	return err;
}

static int write_tables(struct session *s, const struct pipeline_opts *o, const struct export_rows_opts *rows,
			const struct sample_filter *filter, struct output *out, struct output *stacks,
			const struct notify *to)
{
	struct pipeline_opts with_windows = *o;
	struct window_pass windows;
	struct sample_rows *r;
	int err;

	with_windows.windows = &(struct window_use){ 0 };
	window_pass_start(&windows, s, &with_windows);
	out->bytes.formulas = rows->formulas;
	if (stacks)
		stacks->bytes.formulas = rows->formulas;
	r = sample_rows_new(&(struct sample_rows_opts){
		.table = rows->table,
		.form = rows->form,
		.out = &out->bytes,
		.stacks = stacks ? &stacks->bytes : NULL,
		.procs = s->procs,
		.dsos = s->dsos,
		.frames = s->frames,
		.strings = &s->strings,
		.events = &s->src->events,
		.deferred = &s->deferred,
		.filter = filter,
		.places = &o->rows.places,
		.windows = windows.on ? &windows.windows : NULL,
		.samples = session_spe(s) ? UINT64_MAX : s->data.nr_samples,
	});
	if (sample_rows_left_out(r))
		notify_warn(to, "%u counters of windows are left out, because a table has room for 64 columns",
			    sample_rows_left_out(r));
	err = collect(s, o, windows.on ? &windows.windows : NULL, r, to);
	if (!sample_rows_end(r) && !err)
		err = notify_error(to, ERR_IO, "zstd could not pack the rows");
	if (!err && !sample_rows_count(r) && sample_rows_filtered(r))
		(void)select_note_nothing_left(rows->select, sample_rows_filtered(r), to);
	else if (!err && rows->table == TABLE_MEMORY && !sample_rows_count(r))
		notify_warn(to, "no sample says what it loaded or stored (record with reticle mem record)");
	if (!err)
		notify_at(to, NOTE_INFO, 0, NULL, NO_OFFSET, "%llu rows, %llu distinct stacks",
			  (unsigned long long)sample_rows_count(r), (unsigned long long)sample_rows_stacks(r));
	sample_rows_free(r);
	window_pass_free(&windows);
	return err;
}

/* A table that failed does not appear under its name, nor does the other one then. */
static int finish(struct output *o, int err, const struct notify *to)
{
	if (!err)
		return output_close(o, to);
	output_drop(o);
	return err;
}

static int write_files(struct session *s, const struct pipeline_opts *o, const struct export_rows_opts *rows,
		       const struct sample_filter *filter, const struct notify *to)
{
	struct output out, stacks;
	int err = output_open(&out, rows->output, to);

	if (err)
		return err;
	if (!rows->stacks)
		return finish(&out, write_tables(s, o, rows, filter, &out, NULL, to), to);
	err = output_open(&stacks, rows->stacks, to);
	if (err)
		return finish(&out, err, to);
	if (output_same(&out, &stacks))
		err = notify_error(to, ERR_USAGE, "options --output and --stacks name the same file");
	else
		err = write_tables(s, o, rows, filter, &out, &stacks, to);
	/* Neither replaces an older file before both are written. */
	if (!err)
		err = output_flush(&out, to);
	if (!err)
		err = output_flush(&stacks, to);
	return finish(&out, finish(&stacks, err, to), to);
}

int export_rows(const struct pipeline_opts *o, const struct export_rows_opts *rows, const struct notify *to)
{
	struct session_opts session = o->session;
	struct timeranges times = { 0 };
	struct sample_filter filter;
	struct session *s;
	int err;

	/* An operation is one access, whatever other events it caused. */
	if (rows->table == TABLE_MEMORY) {
		session.aux_events_given = true;
		session.aux_events = 1u << SPE_EVENT_MEMORY;
	}
	err = session_open(&s, o->input, &session, to);
	if (err)
		return err;
	err = session_filter(s, &o->samples, o->time, &times, &filter);
	if (!err)
		err = write_files(s, o, rows, &filter, to);
	timeranges_free(&times);
	session_close(s);
	return err;
}
