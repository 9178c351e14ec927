/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An overview of the whole program:
 *
 *   session_open            maps the recording, hops over its records once, applies the side-band   pass/session.c
 *   collect_block           all samples, in parallel (lanes_run where samples read counters)        here, pass/lanes.c
 *     feed_sample           bytes -> hits: the few fields that matter, at offsets settled once      pass/feed.c
 *     collector_add         hit -> stack -> node of a tree; cached by raw stack                     agg/collector.c
 *       resolver_frame      address -> mapping -> symbol -> frame, cached                           attrib/resolver.c
 *       tree_add            one more sample in a node                                               agg/tree.c
 *   inlined_resolve         frames that kept their address: which calls were inlined there          agg/inline.c
 *   collected_merge         the workers' trees become one                                           agg/collector.c
 *   profile_restack         if asked: stacks end at named functions, or have parents                agg/restack.c
 *   profile_make_rows       one walk: rows with selves and totals                                   agg/rows.c
 *
 * The result is a struct profile, which views print.
 */
#include "pass/pipeline.h"

#include <stdlib.h>
#include <string.h>

#include "agg/inline.h"
#include "agg/keys.h"
#include "agg/lines.h"
#include "agg/together.h"
#include "agg/trace_keys.h"
#include "base/pool.h"
#include "codec/regs.h"
#include "codec/vpmu.h"
#include "pass/branches.h"
#include "pass/call_sites.h"
#include "pass/equal_operations.h"
#include "pass/feed.h"
#include "pass/lanes.h"
#include "pass/order.h"
#include "pass/pipeline_windows.h"
#include "pass/portions.h"

#define SMALL_RECORDING 50000 /* samples */

struct pass_worker {
	struct feed feed;
	struct collector *collector;
	struct window_worker windows;
};

struct pass {
	struct session *s;
	struct pass_worker *workers;
	u32 nr_workers;
	struct portion *portions; /* NULL: all samples make one result */
	u32 nr_portions;
};

static void take_hit(void *ctx, const struct hit *h)
{
	collector_add(ctx, h);
}

static void take_record(void *ctx, u32 worker, const struct source_record *at)
{
	struct pass_worker *w = &((struct pass *)ctx)->workers[worker];

	feed_record(&w->feed, at, take_hit, w->collector);
}

static void collect_block(void *ctx, u32 worker, u32 unit)
{
	struct pass *p = ctx;
	const struct session *s = p->s;
	u64 offset = s->data.blocks.v[unit].offset;
	struct source_record at;

	if (s->opts.stop && *s->opts.stop)
		return;
	while (offset < s->data.blocks.v[unit].end && source_next(s->src, &offset, &at, NULL))
		take_record(p, worker, &at);
	if (!worker && unit % 16 == 0)
		session_progress(s, "processing", unit, s->data.blocks.n);
}

/* A portion is one worker's. */
static void collect_portion(void *ctx, u32 worker, u32 unit)
{
	struct pass *p = ctx;
	struct pass_worker *w = &p->workers[worker];
	struct portion *portion = &p->portions[unit];
	u64 offset = portion->from, undecodable = w->feed.undecodable, unmoved = w->feed.unmoved;
	struct source_record at;

	if (portion->collected)
		return;
	while (offset < portion->end && source_next(p->s->src, &offset, &at, NULL))
		take_record(p, worker, &at);
	portion->collected = mem_alloc(sizeof(*portion->collected));
	collector_take(w->collector, portion->collected);
	portion->nr_trees = (u32)p->s->src->events.events.n;
	portion->undecodable = w->feed.undecodable - undecodable;
	portion->unmoved = w->feed.unmoved - unmoved;
}

static bool records_chains(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (l->events.v[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN || lbr_event(&l->events.v[i]))
			return true;
	return false;
}

static struct profile *new_profile(struct session *s, const struct pipeline_opts *o, bool branches)
{
	static const u8 usual[] = { SORT_COMM, SORT_DSO, SORT_SYMBOL };
	struct profile *p = mem_zalloc(sizeof(*p));

	p->strings = &s->strings;
	p->dsos = s->dsos;
	p->frames = s->frames;
	p->evlist = &s->src->events;
	p->timelines = session_timelines(s);
	p->tally = s->tally;
	p->measures = measures;
	p->simulated = vpmu_simulated(s->src->features.cpuid);
	p->arm64 = regs_arch_of(s->src->features.arch) == REGS_ARM64;
	profile_sort_by(p, o->nr_sort ? o->sort_order : usual, o->nr_sort ? o->nr_sort : ARRAY_LEN(usual));
	p->cgroups = &s->cgroups;
	for (u32 i = 0; i < p->nr_sort; i++)
		if (key_is_trace(p->sort_order[i]) && !p->texts)
			p->texts = trace_texts_new();
	p->branches = branches;
	p->history = o->branches == BRANCHES_HISTORY && !o->no_chains;
	p->has_chains = (records_chains(p->evlist) && !o->no_chains) || p->history;
	p->costs = o->costs;
	p->first_rows = o->first_rows;
	p->nr_row_order = o->nr_row_order;
	memcpy(p->row_order, o->row_order, o->nr_row_order);
	p->children = p->has_chains && o->children && !(p->sort_keys >> SORT_ADDR & 1);
	p->graph_key = p->has_chains ? o->graph_key : GRAPH_KEY_FUNCTION;
	p->has_inlined = p->has_chains && !o->no_inline && !o->addresses && p->graph_key == GRAPH_KEY_FUNCTION &&
			 !(p->sort_keys & KEYS_LINES);
	p->time_slice_ns = o->time_slice_ns;
	return p;
}

/* Threads that no record named get their made-up names: 31 bits of the tid, as -1 is what an exiting thread has. */
static void name_groups(struct profile *p, struct tree *t)
{
	for (u32 g = 0; g < tree_groups(t); g++) {
		u64 *comm = &t->groups.v[(size_t)g * t->group_words];
		char name[THREAD_NAME_SIZE];

		if (*comm & COMM_UNNAMED)
			*comm = strtab_intern_z(p->strings,
						thread_made_up_name((u32)((s32)((u32)*comm << 1) >> 1), name));
	}
}

/* The workers' results become the profile's. */
static void take_results(struct profile *p, const struct measuring *setups, struct collected *r)
{
	for (u32 i = 0; i < p->evlist->events.n; i++) {
		struct profile_event e = { .event = i, .weight = r->weights[i], .samples = r->samples[i] };

		e.exact = r->exact[i];
		e.squares = r->squares[i];
		e.unfiltered = e.weight + r->hidden[i];
		e.helper = p->evlist->events.v[i].counted;
		if (!r->samples[i])
			continue;
		e.shares = r->together.links.n && !r->trees[i].links.n;
		tree_finish(&r->trees[i], &e.tree);
		for (u32 m = 0; m < NR_MEASURES; m++)
			if (r->measured[i].sums[m])
				e.measured[m] = measures[m].of_event(setups->of[m], i, r->measured[i].sums[m]);
		name_groups(p, &e.tree);
		vec_push(&p->events, e);
	}
	if (r->together.links.n) {
		p->together = mem_zalloc(sizeof(*p->together));
		tree_finish(&r->together, &p->together->tree);
		name_groups(p, &p->together->tree);
	}
	p->tally.samples += r->tally.samples;
	p->tally.filtered = r->tally.filtered;
	memcpy(p->tally.activities, r->tally.activities, sizeof(p->tally.activities));
	if (p->timelines) {
		p->tally.broken_activities = p->timelines->broken;
		p->tally.activities_overwritten = p->timelines->overwritten;
		p->tally.activities_refused = p->timelines->refused;
	}
	p->tally.first_time = r->tally.samples > r->tally.filtered ? r->tally.first_time : 0;
	p->tally.last_time = r->tally.last_time;
}

/* Slices begin at multiples of their width, as in perf. */
static void slice_time(struct session *s, struct profile *p)
{
	u64 first, last;

	session_times(s, &first, &last);
	if (first > last)
		first = last = 0;
	if (!p->time_slice_ns)
		p->time_slice_ns = MAX((u64)1, (last - first) / 100);
	p->time_base = first - first % p->time_slice_ns;
}

static void add_stacks(struct tally *t, const struct lbr_counts *c)
{
	t->lbr_stacks += c->stacks;
	t->lbr_stitched += c->stitched;
	t->lbr_calls += c->calls;
	t->lbr_refused += c->refused;
	t->lbr_cut += c->cut;
}

static void add_aux(struct tally *t, const struct aux_counts *c)
{
	t->aux_operations += c->operations;
	t->aux_broken += c->broken;
	t->aux_bad_bytes += c->bad_bytes;
	t->aux_unknown_packets += c->unknown_packets;
}

/* What workers counted, and whatever they had beside their results. */
static void end_workers(struct pass *pass, struct window_pass *windows, struct profile *p, struct collected **parts)
{
	for (u32 i = 0; i < pass->nr_workers; i++) {
		struct pass_worker *w = &pass->workers[i];

		if (!pass->portions) {
			parts[i] = collector_result(w->collector);
			p->tally.undecodable += w->feed.undecodable;
			p->tally.samples += w->feed.unmoved;
		}
		window_worker_join(windows, &w->windows);
		add_aux(&p->tally, &w->feed.aux);
		if (w->feed.lbr)
			add_stacks(&p->tally, lbr_counted(w->feed.lbr));
		if (w->feed.unwind) {
			stack_counts_add(&p->tally.ends, unwind_counted(w->feed.unwind));
			profile_add_cuts(p, unwind_cuts(w->feed.unwind));
		}
		unwinder_free(w->feed.unwind);
		lbr_free(w->feed.lbr);
		equal_operations_free(w->feed.equal);
		feed_free(&w->feed);
	}
}

/* The workers' results, or the portions', become one, and the profile's. Trees are gone through once, renaming frames
 * on the way. */
static void join_results(struct pass *pass, struct window_pass *windows, const struct measuring *setups,
			 struct profile *p)
{
	u32 nr_trees = (u32)p->evlist->events.n, n = pass->portions ? pass->nr_portions : pass->nr_workers;
	struct collected **parts = mem_zalloc((n + 1) * sizeof(*parts)), all, *to;
	struct tree_rename rename;
	bool renames;

	end_workers(pass, windows, p, parts);
	for (u32 i = 0; i < pass->nr_portions; i++) {
		parts[i] = pass->portions[i].collected;
		p->tally.undecodable += pass->portions[i].undecodable;
		p->tally.samples += pass->portions[i].unmoved;
	}
	session_forget_processes(pass->s);
	renames = p->has_inlined && inlined_resolve(p, parts, n, pass->nr_workers, &rename);
	collected_init(&all, nr_trees);
	to = renames || pass->portions ? &all : parts[0];
	for (u32 i = 0; i < n; i++) {
		if (pass->portions)
			collected_add(to, parts[i], nr_trees, renames ? &rename : NULL);
		else if (parts[i] != to)
			collected_merge(to, parts[i], nr_trees, renames ? &rename : NULL);
	}
	take_results(p, setups, to);
	collected_free(&all, nr_trees);
	for (u32 i = 0; i < pass->nr_workers; i++)
		collector_free(pass->workers[i].collector);
	if (renames)
		inlined_free(&rename);
	free(parts);
}

static void start_worker(struct pass_worker *w, bool first, struct session *s, const struct window_pass *windows,
			 const struct collector_opts *opts, const struct callers *callers, bool in_portions)
{
	const struct evlist *l = &s->src->events;
	struct collector_opts o = *opts;
	struct operation_wants wants;

	window_worker_start(windows, s, &w->windows);
	w->feed = (struct feed){ .src = s->src,
				 .full = profile_wants_full(opts->keys) || opts->costs ||
					 measures_want_full(opts->measuring.used),
				 .branches = opts->keys->branches,
				 .history = opts->keys->history,
				 .reads = group_read_used(l),
				 .timelines = session_timelines(s),
				 .spe = opts->keys->branches ? NULL : session_spe(s),
				 .together = opts->together,
				 .windows = windows->on ? &w->windows.windows : NULL };
	o.measuring.of[MEASURE_WINDOWS] = w->windows.hits;
	if (first)
		o.code = s->code;
	else /* what is wrong with formats of tracepoints is said once */
		o.notify = NULL;
	w->collector = collector_new(s->procs, s->dsos, s->frames, &s->strings, l, &o);
	if (w->feed.spe && !in_portions && operation_wants(opts, w->feed.spe, &wants))
		w->feed.equal = equal_operations_new(s->procs, &wants, s->aux.bytes);
	if (opts->chains && lbr_used(l))
		w->feed.lbr = lbr_new(features_branch_depth(&s->src->features), callers, s->procs, s->dsos);
	if (opts->chains && unwind_used(l))
		w->feed.unwind = unwinder_new(s->procs, s->dsos, s->src->features.arch);
}

/* What start_worker is given, for all of them. */
struct start {
	struct pass *pass;
	const struct window_pass *windows;
	const struct collector_opts *opts;
	const struct callers *callers;
};

static void start_one(void *ctx, u32 thread, u32 unit)
{
	const struct start *a = ctx;

	(void)thread;
	start_worker(&a->pass->workers[unit], !unit, a->pass->s, a->windows, a->opts, a->callers, a->pass->portions);
}

static void flush_one(void *ctx, u32 thread, u32 unit)
{
	struct pass_worker *w = &((struct pass *)ctx)->workers[unit];

	(void)thread;
	feed_flush(&w->feed, take_hit, w->collector);
}

static bool is_small(const struct session *s)
{
	return s->data.nr_samples < SMALL_RECORDING;
}

/* Before threads are, and before a large recording's tables: with one worker, too, each of their pages would be copied
 * once more after a fork. Inlined calls alone are asked for when the samples are in: beside the tree of a large
 * recording a fork is dear, so there it is done now, whatever the cache has. */
static void start_parser(const struct session *s, bool inlined_alone, const struct collector_opts *o)
{
	if ((inlined_alone || !o->by_address) && is_small(s))
		dsos_start_parser_unless_kept(s->dsos);
	else
		dsos_start_parser(s->dsos);
}

struct ahead {
	struct dsos *dsos;
	u32 listed[DSOS_LISTED];
};

static void find_ahead(void *ctx, u32 worker, u32 unit)
{
	const struct ahead *a = ctx;

	(void)worker;
	dsos_find_ahead(a->dsos, a->listed[unit]);
}

static void load_ahead(void *ctx, u32 worker, u32 unit)
{
	const struct ahead *a = ctx;

	(void)worker;
	dsos_load_ahead(a->dsos, a->listed[unit]);
}

/* Nearly each small recording has a sample in the kernel at its beginning, for whose symbols all would wait. */
static void load_what_was_met(const struct session *s, const struct pipeline_opts *o, u32 workers)
{
	const struct sample_filter *f = &o->samples;
	struct ahead a = { .dsos = s->dsos };
	u32 n = dsos_listed(s->dsos, a.listed);

	if (n && !o->time && !f->activity && !f->comms.n && !f->pids.n && !f->tids.n && !f->cpus.n) {
		pool_run(workers, n, find_ahead, &a); /* first: the parser then works beside all else */
		pool_run(workers, n, load_ahead, &a);
	}
}

/* Are operations counted once for all events that they are samples of? These have no trees then. Names of threads
 * (KEYS_NAMED) are those of the heaviest group of an event. */
static bool counts_together(const struct session *s, const struct pipeline_opts *o, const struct collector_opts *c)
{
	return session_spe(s) && s->spe.nr_made > 1 && !c->chains && !c->measuring.used && !o->no_rows &&
	       !(c->keys->sort_keys & (KEYS_NAMED | 1ull << SORT_EVENT)) && !c->keys->branches;
}

static int collect(struct session *s, const struct sample_filter *filter, struct window_pass *windows,
		   const struct pipeline_opts *o, struct portion *portions, u32 nr_portions, struct profile *p)
{
	const struct measuring setups = { o->measures | (windows->on ? MEASURE_BIT(MEASURE_WINDOWS) : 0),
					  { [MEASURE_WINDOWS] = &windows->setup } };
	/* How many operations AUX data hold is not known before they are decoded. */
	struct collector_opts copts = { .keys = p,
					.features = &s->src->features,
					.notify = s->notify,
					.costs = p->costs,
					.chains = p->has_chains,
					.filter = sample_filter_used(filter) ? filter : NULL,
					.measuring.used = setups.used,
					.samples = session_spe(s) ? UINT64_MAX : s->data.nr_samples,
					.deferred = &s->deferred };
	bool inlined_alone, reads_calls = copts.chains && lbr_used(p->evlist),
			    ordered = lanes_needed(p->evlist) && !p->branches,
			    proven = windows_proven(&windows->windows);
	struct pass pass = { .s = s, .portions = portions, .nr_portions = nr_portions };
	struct callers *callers;

	pass.nr_workers = MAX(1u, MIN(s->opts.workers, (u32)s->data.blocks.n));
	copts.together = !portions && counts_together(s, o, &copts) ? &s->spe : NULL;
	copts.every_address = p->has_addresses =
		window_pass_by_address(windows) || o->addresses || p->graph_key != GRAPH_KEY_FUNCTION;
	copts.functions = windows->on && windows->setup.unit == UNIT_FUNCTION && !copts.every_address;
	copts.by_address = p->has_inlined || p->sort_keys & KEYS_LINES || copts.every_address;
	inlined_alone = p->has_inlined && !copts.every_address && !(p->sort_keys & KEYS_LINES) && !windows->on;
	dsos_functions_only(s->dsos, inlined_alone);
	if (p->sort_keys >> SORT_TIME & 1)
		slice_time(s, p);
	copts.time_slice_ns = p->time_slice_ns;
	copts.first_time = p->time_base;
	/* What the values show of one set of counters tells about others, too. */
	if (!proven)
		pass.nr_workers = 1;
	if (is_small(s))
		dsos_keep_later(s->dsos);
	if (pass.nr_workers > 1 || !is_small(s) || (reads_calls && call_sites_workers(s) > 1))
		start_parser(s, inlined_alone, &copts);
	if (is_small(s) && pass.nr_workers > 1)
		load_what_was_met(s, o, pass.nr_workers);
	callers = reads_calls ? call_sites(s, !o->no_stitch) : NULL;
	pass.workers = mem_zalloc(pass.nr_workers * sizeof(*pass.workers));
	/* Each has tables of some megabytes, which are zeroed. */
	pool_run(pass.nr_workers, pass.nr_workers, start_one, &(struct start){ &pass, windows, &copts, callers });
	if (portions)
		pool_run(pass.nr_workers, nr_portions, collect_portion, &pass);
	else if (ordered && pass.nr_workers > 1)
		lanes_run(s, pass.nr_workers, take_record, &pass);
	else
		pool_run(pass.nr_workers, (u32)s->data.blocks.n, collect_block, &pass);
	pool_run(pass.nr_workers, pass.nr_workers, flush_one, &pass);
	join_results(&pass, windows, &setups, p);
	callers_free(callers);
	dsos_functions_only(s->dsos, false);
	free(pass.workers);
	return s->opts.stop && *s->opts.stop ? ERR_INTERRUPTED : 0;
}

/* Of a finished tree: its rows, and the counts of its stacks. */
struct finishing {
	const struct session *s;
	const struct pipeline_opts *o;
	struct profile *p;
	struct profile_event *e;
};

static void make_rows_of(const struct finishing *f)
{
	if (f->p->has_chains)
		profile_restack(f->p, f->e, &f->o->restack);
	if (!f->o->no_rows)
		profile_make_rows(f->p, f->e, &f->o->rows, f->s->opts.workers);
}

static void finish_one(void *ctx, u32 thread, u32 unit)
{
	const struct finishing *f = ctx;

	(void)thread;
	if (unit)
		profile_count_stacks(f->p, f->e);
	else
		make_rows_of(f);
}

static void make_rows(struct session *s, const struct pipeline_opts *o, struct profile *p)
{
	if (p->together)
		profile_rows_together(p, &s->spe, &o->rows, s->opts.workers);
	for (size_t i = 0; i < p->events.n; i++) {
		struct finishing f = { s, o, p, &p->events.v[i] };

		if (f.e->shares)
			continue;
		if (restack_used(&o->restack)) { /* counts are those of the tree as it was recorded */
			profile_count_stacks(p, f.e);
			make_rows_of(&f);
		} else {
			pool_run(MIN(s->opts.workers, 2u), 2, finish_one, &f);
		}
	}
	if (o->no_rows)
		profile_keep_places(p, &o->rows.places);
	else
		profile_measure_rows(p);
}

/* Stacks that were unwound while recording: all of them, whatever the filters. */
static void take_told_stacks(struct profile *p, const struct features *f)
{
	u64 cut = 0;

	for (size_t i = 0; i < p->evlist->events.n; i++)
		p->stack_bytes = MAX(p->stack_bytes, p->evlist->events.v[i].attr.sample_stack_user);
	if (!(f->present[FEAT_UNWOUND / 64] >> FEAT_UNWOUND % 64 & 1) || !p->has_chains)
		return;
	p->stacks_told = true;
	p->stack_bytes = f->unwound_bytes;
	p->tally.ends.stacks += f->unwound_stacks;
	p->tally.ends.frames += f->unwound_frames;
	p->tally.ends.guessed += f->unwound_by_fp;
	for (size_t i = 0; i < f->unwound_cuts.n; i++) {
		const struct feat_stack_cut *c = &f->unwound_cuts.v[i];
		enum stack_end why = stack_end_named(c->why);

		if (why == STACK_ENDS || why == STACK_WHOLE)
			continue;
		p->tally.ends.ends[why] += c->stacks;
		if (*c->file)
			stack_cuts_count(&p->cuts, strtab_intern_z(p->strings, c->file), why, c->stacks);
		cut += c->stacks;
	}
	p->tally.ends.ends[STACK_WHOLE] += f->unwound_stacks - MIN(cut, f->unwound_stacks);
}

static int run(const struct pipeline_opts *opts, struct session *s, struct portion *portions, u32 nr_portions,
	       struct profile **profile, const struct notify *notify)
{
	struct pipeline_opts o = *opts;
	struct window_pass windows = { 0 };
	struct timeranges times = { 0 };
	struct sample_filter filter;
	struct profile *p = NULL;
	u32 missing = trace_keys_missing(&s->src->events, &s->src->features, &s->timelines, o.fields, o.nr_fields);
	bool branches;
	int err = missing != ID_NONE ? o.no_field[missing](o.fields[missing], notify) :
				       branches_settle(&o, s->src, &branches, notify);

	if (!err)
		err = session_filter(s, &o.samples, o.time, &times, &filter);

	if (!err) {
		/* Windows belong to nodes of the tree as it was recorded. */
		if (restack_used(&o.restack) && records_chains(&s->src->events))
			o.windows = NULL;
		window_pass_start(&windows, s, &o);
		p = new_profile(s, &o, branches);
		p->fields = opts->fields;
		p->nr_fields = opts->nr_fields;
		err = collect(s, &filter, &windows, &o, portions, nr_portions, p);
	}
	if (!err && !o.addresses)
		profile_name_places(p, p->graph_key);
	if (!err)
		take_told_stacks(p, &s->src->features);
	if (!err)
		make_rows(s, &o, p);
	dsos_keep_end(s->dsos); /* before output, as who reads it may go away (SIGPIPE) */
	window_pass_free(&windows);
	timeranges_free(&times);
	if (err) {
		profile_free(p);
		p = NULL;
	}
	*profile = p;
	return err;
}

int pipeline_over(const struct pipeline_opts *opts, struct session *s, struct profile **profile,
		  const struct notify *notify)
{
	return run(opts, s, NULL, 0, profile, notify);
}

int pipeline_portions(const struct pipeline_opts *opts, struct session *s, struct portion *portions, u32 n,
		      struct profile **profile, const struct notify *notify)
{
	return run(opts, s, portions, n, profile, notify);
}

int pipeline_profile(const struct pipeline_opts *opts, struct session **session, struct profile **profile,
		     const struct notify *notify)
{
	struct session_opts o = opts->session;
	struct session *s;
	int err;

	o.lanes = true;
	o.aux_counted = opts->windows;
	err = session_open(&s, opts->input, &o, notify);
	if (err)
		return err;
	err = pipeline_over(opts, s, profile, notify);
	if (err)
		session_close(s);
	else
		*session = s;
	return err;
}
