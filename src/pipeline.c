/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole program in one page:
 *
 *   session_open              maps the recording, hops over its records once, applies the side-band    session.c
 *   collect_block             all samples, in parallel: bytes -> sample -> stack -> tree node          here
 *     sample_core_decode      the few fields that matter, at offsets settled once per event            codec/sample.c
 *     collector_add           cached by raw stack; on a miss the resolver and the tree                 agg/collector.c
 *       resolver_frame        address -> mapping -> symbol -> frame, cached                            attrib/resolver.c
 *       tree_add              one more sample in a node                                                agg/tree.c
 *   inlined_resolve           frames that kept their address: which calls were inlined there           agg/inline.c
 *   collected_merge           the workers' trees become one                                            agg/collector.c
 *   profile_restack           if asked: stacks end at named functions, or have parents                 agg/restack.c
 *   profile_make_rows         one walk: rows with selves and totals                                    agg/rows.c
 *
 * What comes out is a struct profile, and views print it.
 */
#include "pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "agg/inline.h"
#include "agg/lines.h"
#include "attrib/group_read.h"
#include "base/pool.h"
#include "codec/vpmu.h"
#include "pipeline_windows.h"

struct pass {
	struct session *s;
	struct collector **collectors; /* one per worker */
	u64 *undecodable;	       /* likewise */
	bool explode;		       /* some samples stand for a group's: one worker, file order */
	struct group_read group_read;
	struct window_pass *windows;
	VEC(struct member_sample) members; /* of one sample */
};

/* A sample that reads its group ends a window, or counts for each member. */
static void add_members(struct pass *p, u32 worker, const struct source_record *at, const struct event *e,
			struct sample_core *core, u64 clock)
{
	u32 cpumode = at->h.misc & PERF_RECORD_MISC_CPUMODE_MASK, n, leader;
	struct window window;
	struct sample s;

	if (sample_decode(&e->layout, cursor_over(at->p, at->h.size, p->s->src->swap), &s)) {
		p->undecodable[worker]++;
		return;
	}
	leader = window_pass_take(p->windows, p->s, e, &s, &window);
	if (leader != ID_NONE) {
		core->period = window.weight;
		collector_add_window(p->collectors[worker], leader, cpumode, core, clock, &window);
		return;
	}
	vec_reserve(&p->members, s.read.nr);
	n = group_read_explode(&p->group_read, &p->s->src->events, &s, p->members.v, s.read.nr);
	for (u32 i = 0; i < n; i++) {
		core->period = p->members.v[i].weight;
		collector_add(p->collectors[worker], p->members.v[i].event, cpumode, core, clock);
	}
}

static void add_sample(struct pass *p, u32 worker, const struct source_record *at)
{
	const struct evlist *l = &p->s->src->events;
	const struct event *e = session_sample_event(p->s, at);
	struct cursor bytes = cursor_over(at->p, at->h.size, p->s->src->swap);
	struct sample_core s;
	u64 clock;

	if (!e || sample_core_decode(&e->layout, bytes, &s)) {
		p->undecodable[worker]++;
		return;
	}
	if (!(e->attr.sample_type & PERF_SAMPLE_PERIOD))
		s.period = e->attr.sample_period;
	clock = p->s->clock_is_time ? s.time : at->offset;
	if (p->explode && e->attr.read_format & PERF_FORMAT_ID && e->attr.sample_type & PERF_SAMPLE_READ)
		add_members(p, worker, at, e, &s, clock);
	else
		collector_add(p->collectors[worker], (u32)(e - l->events.v), at->h.misc & PERF_RECORD_MISC_CPUMODE_MASK,
			      &s, clock);
}

static void collect_block(void *ctx, u32 worker, u32 unit)
{
	struct pass *p = ctx;
	const struct session *s = p->s;
	u64 offset = s->blocks.v[unit].offset;
	struct source_record at;

	if (s->opts.stop && *s->opts.stop)
		return;
	while (offset < s->blocks.v[unit].end && source_next(s->src, &offset, &at, NULL))
		if (at.h.type == PERF_RECORD_SAMPLE)
			add_sample(p, worker, &at);
		else
			window_pass_note(p->windows, s, &at);
	if (!worker && unit % 16 == 0)
		session_progress(s, "processing", unit, s->blocks.n);
}

static bool records_chains(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (l->events.v[i].attr.sample_type & PERF_SAMPLE_CALLCHAIN)
			return true;
	return false;
}

static struct profile *new_profile(struct session *s, const struct pipeline_opts *o)
{
	static const u8 usual[] = { SORT_COMM, SORT_DSO, SORT_SYMBOL };
	struct profile *p = mem_zalloc(sizeof(*p));

	p->strings = &s->strings;
	p->dsos = s->dsos;
	p->frames = s->frames;
	p->evlist = &s->src->events;
	p->tally = s->tally;
	p->simulated = vpmu_simulated(s->src->features.cpuid);
	p->nr_sort = o->nr_sort ? o->nr_sort : ARRAY_LEN(usual);
	memcpy(p->sort_order, o->nr_sort ? o->sort_order : usual, p->nr_sort);
	for (u32 i = 0; i < p->nr_sort; i++)
		p->sort_keys |= 1u << p->sort_order[i];
	p->has_chains = records_chains(p->evlist) && !o->no_chains;
	p->children = p->has_chains && o->children;
	p->graph_key = p->has_chains ? o->graph_key : GRAPH_KEY_FUNCTION;
	p->has_inlined = p->has_chains && !o->no_inline && p->graph_key == GRAPH_KEY_FUNCTION &&
			 !(p->sort_keys >> SORT_SRCLINE & 1);
	p->time_slice_ns = o->time_slice_ns;
	return p;
}

/* The workers' results become the profile's; threads that no record named get their made-up names. */
static void take_results(struct profile *p, const struct window_pass *windows, struct collected *r)
{
	for (u32 i = 0; i < p->evlist->events.n; i++) {
		struct profile_event e = { .event = i, .weight = r->weights[i], .samples = r->samples[i] };

		e.unfiltered = e.weight + r->hidden[i];
		if (!r->samples[i])
			continue;
		tree_finish(&r->trees[i], &e.tree);
		if (r->windows[i].members)
			e.windows = window_pass_result(windows, i, &r->windows[i]);
		for (size_t g = 0; g < e.tree.groups.n; g++) {
			u32 *comm = &e.tree.groups.v[g].comm;
			char name[16];

			if (!(*comm & COMM_UNNAMED))
				continue;
			/* 31 bits of it: -1 is what an exiting thread has. */
			snprintf(name, sizeof(name), ":%d", (s32)(*comm << 1) >> 1);
			*comm = strtab_intern_z(p->strings, name);
		}
		vec_push(&p->events, e);
	}
	p->tally.samples = r->tally.samples;
	p->tally.filtered = r->tally.filtered;
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

/* The workers' results become one, and the profile's. Their trees are gone through once, renaming frames on the way. */
static void join_results(struct session *s, struct profile *p, const struct window_pass *windows,
			 struct collector **collectors, u32 workers)
{
	u32 nr_trees = (u32)p->evlist->events.n;
	struct collected **parts = mem_zalloc(workers * sizeof(*parts)), all, *to;
	struct tree_rename rename;
	bool renames;

	for (u32 i = 0; i < workers; i++)
		parts[i] = collector_result(collectors[i]);
	session_forget_processes(s);
	renames = p->has_inlined && inlined_resolve(p, parts, workers, &rename);
	collected_init(&all, nr_trees);
	to = renames ? &all : parts[0];
	for (u32 i = renames ? 0 : 1; i < workers; i++)
		collected_merge(to, parts[i], nr_trees, renames ? &rename : NULL);
	take_results(p, windows, to);
	collected_free(&all, nr_trees);
	for (u32 i = 0; i < workers; i++)
		collector_free(collectors[i]);
	if (renames)
		inlined_free(&rename);
	free(parts);
}

static int collect(struct session *s, const struct sample_filter *filter, struct window_pass *windows,
		   struct profile *p)
{
	u32 workers = s->opts.workers;
	struct collector_opts copts = {
		.group_keys = p->sort_keys, .chains = p->has_chains, .filter = filter, .deferred = &s->deferred
	};
	struct pass pass = { .s = s, .windows = windows };

	copts.windows = window_pass_hits(windows, s);
	copts.every_address = p->has_addresses = window_pass_by_address(windows) || p->graph_key != GRAPH_KEY_FUNCTION;
	copts.by_address = p->has_inlined || p->sort_keys >> SORT_SRCLINE & 1 || copts.every_address;
	if (p->sort_keys >> SORT_TIME & 1)
		slice_time(s, p);
	copts.time_slice_ns = p->time_slice_ns;
	copts.first_time = p->time_base;
	pass.explode = group_read_used(p->evlist);
	workers = pass.explode ? 1 : MAX(1u, MIN(workers, (u32)s->blocks.n));
	pass.collectors = mem_zalloc(workers * sizeof(*pass.collectors));
	pass.undecodable = mem_zalloc(workers * sizeof(u64));
	for (u32 i = 0; i < workers; i++)
		pass.collectors[i] = collector_new(s->procs, s->dsos, s->frames, &s->strings, p->evlist, &copts);
	pool_run(workers, (u32)s->blocks.n, collect_block, &pass);
	for (u32 i = 0; i < workers; i++)
		p->tally.undecodable += pass.undecodable[i];
	join_results(s, p, windows, pass.collectors, workers);
	group_read_free(&pass.group_read);
	vec_free(&pass.members);
	free(pass.collectors);
	free(pass.undecodable);
	return s->opts.stop && *s->opts.stop ? ERR_INTERRUPTED : 0;
}

/* What a filter asks of samples has to be in them. */
static int check_filter(const struct session *s, const struct pipeline_opts *o)
{
	const struct evlist *l = &s->src->events;
	u64 cpu = o->samples.cpus.n ? PERF_SAMPLE_CPU : 0, time = o->time ? PERF_SAMPLE_TIME : 0;

	for (size_t i = 0; i < l->events.n; i++) {
		u64 missing = (cpu | time) & ~l->events.v[i].attr.sample_type;

		if (missing)
			return notify_error(s->notify, ERR_USAGE, "option %s: samples of '%s' do not say %s",
					    missing & cpu ? "--cpu" : "--time", l->events.v[i].name,
					    missing & cpu ? "on which CPU they were taken (record with --sample-cpu)" :
							    "when they were taken (record with -T)");
	}
	return 0;
}

static int parse_times(struct session *s, const struct pipeline_opts *o, struct sample_filter *filter,
		       struct timeranges *times)
{
	u64 first = 0, last = 0;
	int err = check_filter(s, o);

	if (err)
		return err;
	*filter = o->samples;
	if (!o->time)
		return 0;
	if (timeranges_relative(o->time))
		session_times(s, &first, &last);
	err = timeranges_parse(times, o->time, first, last, s->notify);
	filter->times = times;
	return err;
}

static void make_rows(struct session *s, const struct pipeline_opts *o, const struct window_pass *windows,
		      struct profile *p)
{
	for (size_t i = 0; i < p->events.n; i++) {
		struct profile_event *e = &p->events.v[i];

		profile_count_stacks(p, e);
		if (p->has_chains)
			profile_restack(p, e, &o->restack);
		if (o->no_rows)
			continue;
		profile_make_rows(p, e, &o->rows, s->opts.workers);
		if (e->windows)
			profile_window_rows(p, e, !window_pass_by_address(windows));
	}
	for (size_t i = 0; i < p->events.n && !o->no_rows; i++)
		if (p->events.v[i].windows)
			profile_window_calls(p, &p->events.v[i]);
}

int pipeline_profile(const struct pipeline_opts *opts, struct session **session, struct profile **profile,
		     const struct notify *notify)
{
	struct pipeline_opts o = *opts;
	struct window_pass windows = { 0 };
	struct timeranges times = { 0 };
	struct sample_filter filter;
	struct profile *p = NULL;
	struct session *s;
	int err;

	err = session_open(&s, o.input, &o.session, notify);
	if (err)
		return err;
	err = parse_times(s, &o, &filter, &times);
	if (!err) {
		/* Windows belong to nodes of the tree as it was recorded. */
		if ((o.restack.ignore_callees || o.restack.parent) && records_chains(&s->src->events))
			o.windows = NULL;
		window_pass_start(&windows, s, &o);
		p = new_profile(s, &o);
		err = collect(s, &filter, &windows, p);
	}
	if (!err && p->graph_key != GRAPH_KEY_FUNCTION)
		profile_name_places(p, p->graph_key);
	if (!err)
		make_rows(s, &o, &windows, p);
	window_pass_free(&windows);
	timeranges_free(&times);
	if (err) {
		profile_free(p);
		session_close(s);
		return err;
	}
	*session = s;
	*profile = p;
	return 0;
}
