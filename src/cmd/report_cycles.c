/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/report_cycles.h"

#include <stdlib.h>

#include "cmd/output.h"
#include "cmd/progress.h"
#include "codec/vpmu.h"
#include "pass/branch_walk.h"
#include "view/cycles.h"

static int write_blocks(const struct command_ctx *ctx, const struct report_config *c, const struct session *s,
			const struct branch_traces *t)
{
	const struct cycles_opts o = { .percent_limit = c->percent_limit > 0 ? c->percent_limit : 0,
				       .quiet = c->quiet,
				       .whole_names = c->widths != NULL,
				       .long_names = c->long_names || c->verbose,
				       .room = ctx->tty_columns };
	struct code_blocks blocks;
	const struct cycles_of of = { .blocks = &blocks,
				      .simulated = vpmu_simulated(s->src->features.cpuid),
				      .samples = t->samples,
				      .lost = tally_lost(&s->tally),
				      .counters = t->counters,
				      .events = &s->src->events };
	struct output out;

	code_blocks_make(&blocks, t);
	(void)output_open(&out, NULL, ctx->notify);
	out.bytes.formulas = c->formulas;
	if (c->json)
		cycles_json(&of, s->dsos, &o, &out.bytes);
	else if (c->csv)
		cycles_csv(&of, s->dsos, &o, &out.bytes);
	else
		cycles_text(&of, s->dsos, &o, &out.bytes);
	code_blocks_free(&blocks);
	return output_close(&out, ctx->notify);
}

static int read_branches(struct session *s, const struct pipeline_opts *o, struct branch_traces *t,
			 const struct notify *to)
{
	int err = branch_walk(s, o, t, to);

	if (!err && !t->samples)
		return notify_at(to, NOTE_ERROR, ERR_NOTFOUND, o->input, NO_OFFSET,
				 "none of the chosen samples has branches");
	if (!err && !t->cycles)
		return notify_at(to, NOTE_ERROR, ERR_UNSUPPORTED, o->input, NO_OFFSET,
				 "the CPU wrote no cycles into its branch records: reticle report -b counts branches, "
				 "and reticle export --to branches has their ratios");
	return err;
}

int report_cycles(const struct command_ctx *ctx, const struct report_config *c, struct selected *s)
{
	struct branch_traces traces = { 0 };
	struct branch_counters counters;
	struct progress progress;
	struct session *session;
	int err;

	progress_start(&progress, ctx->tty_err && !c->quiet, ctx->notify);
	s->pipeline.session.progress = progress_report;
	s->pipeline.session.progress_ctx = &progress;
	err = session_open(&session, s->pipeline.input, &s->pipeline.session, &progress.notify);
	if (err) {
		progress_stop(&progress);
		return EXIT_FAILURE;
	}
	branch_counters_init(&counters, &session->src->events, &session->src->features);
	traces.counters = counters.width ? &counters : NULL;
	err = read_branches(session, &s->pipeline, &traces, &progress.notify);
	progress_stop(&progress);
	if (!err)
		err = write_blocks(ctx, c, session, &traces);
	branch_traces_free(&traces);
	branch_counters_free(&counters);
	session_close(session);
	return !err ? EXIT_SUCCESS : err == ERR_USAGE ? 2 : EXIT_FAILURE;
}
