/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/branch_walk.h"

#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"
#include "pass/feed.h"
#include "pass/order.h"

static bool has_branches(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (branch_traces_event(&l->events.v[i]))
			return true;
	return false;
}

/* One per worker: what it has of the blocks that it took. */
struct walker {
	struct branch_traces traces;
	struct feed feed;
};

struct walk {
	const struct session *s;
	const struct sample_filter *filter;
	struct walker *walkers;
};

/* What takes the hits of one record. */
struct filtered {
	struct branch_traces *traces;
	const struct sample_filter *filter;
	const struct strtab *strings;
};

static bool is_kept(const struct filtered *f, const struct hit *h)
{
	const struct sample_filter *s = f->filter;
	struct thread_view t;

	if (!sample_filter_inside(s, &h->s))
		return false;
	if (!s->comms.n && !s->pids.n && !s->tids.n)
		return true;
	procs_thread_at(f->traces->procs, h->s.pid, h->s.tid, h->clock, &t);
	return sample_filter_thread(s, h->s.pid, h->s.tid, &t, f->strings);
}

static void take_hit(void *ctx, const struct hit *h)
{
	struct filtered *f = ctx;

	if (!h->full || !branch_traces_event(h->e))
		return;
	if (is_kept(f, h))
		branch_traces_add(f->traces, h);
	else
		f->traces->filtered++;
}

static bool stopped(const struct session *s)
{
	return s->opts.stop && *s->opts.stop;
}

static void read_block(void *ctx, u32 worker, u32 unit)
{
	const struct walk *w = ctx;
	const struct source *src = w->s->src;
	struct walker *to = &w->walkers[worker];
	struct filtered f = { &to->traces, w->filter, &w->s->strings };
	u64 offset = w->s->data.blocks.v[unit].offset;
	struct source_record at;

	if (stopped(w->s))
		return;
	if (!worker)
		session_progress(w->s, "processing", unit, w->s->data.blocks.n);
	while (offset < w->s->data.blocks.v[unit].end && source_next(src, &offset, &at, NULL))
		if (at.h.type == PERF_RECORD_SAMPLE)
			(void)feed_sample(&to->feed, &at, take_hit, &f);
}

/* 0 or ERR_INTERRUPTED. */
static int walk(const struct session *s, const struct sample_filter *filter, struct branch_traces *t)
{
	u32 workers = (u32)MAX(MIN((size_t)s->opts.workers, s->data.blocks.n), (size_t)1);
	struct walk w = { s, filter, mem_zalloc(workers * sizeof(*w.walkers)) };

	for (u32 i = 0; i < workers; i++) {
		w.walkers[i].feed = (struct feed){ .src = s->src, .full = true };
		w.walkers[i].traces.dsos = t->dsos;
		w.walkers[i].traces.procs = t->procs;
		w.walkers[i].traces.counters = t->counters;
		w.walkers[i].traces.by_sample = t->by_sample;
	}
	if (workers > 1)
		dsos_start_parser(s->dsos);
	pool_run(workers, (u32)s->data.blocks.n, read_block, &w);
	for (u32 i = 0; i < workers; i++) {
		branch_traces_merge(t, &w.walkers[i].traces);
		feed_free(&w.walkers[i].feed);
	}
	free(w.walkers);
	branch_traces_sort(t);
	return stopped(s) ? ERR_INTERRUPTED : 0;
}

int branch_walk(struct session *s, const struct pipeline_opts *o, struct branch_traces *t, const struct notify *to)
{
	struct timeranges times = { 0 };
	struct sample_filter filter;
	int err;

	if (!has_branches(&s->src->events))
		return notify_at(to, NOTE_ERROR, ERR_UNSUPPORTED, o->input, NO_OFFSET,
				 "no samples contain all branches that were taken (record with -b, or with --pmu=sim "
				 "-b if the CPU has no branch records)");
	t->dsos = s->dsos;
	t->procs = s->procs;
	err = session_filter(s, &o->samples, o->time, &times, &filter);
	if (!err)
		err = walk(s, &filter, t);
	timeranges_free(&times);
	return err;
}
