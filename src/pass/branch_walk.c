/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/branch_walk.h"

#include "pass/feed.h"
#include "pass/order.h"

static bool has_branches(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (branch_traces_event(&l->events.v[i]))
			return true;
	return false;
}

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

/* 0 or ERR_INTERRUPTED. */
static int walk(const struct session *s, const struct sample_filter *filter, struct branch_traces *t)
{
	struct feed feed = { .src = s->src, .full = true };
	struct filtered f = { t, filter, &s->strings };
	bool stopped = false;

	for (size_t i = 0; i < s->data.blocks.n && !stopped; i++) {
		u64 offset = s->data.blocks.v[i].offset;
		struct source_record at;

		while (offset < s->data.blocks.v[i].end && source_next(s->src, &offset, &at, NULL))
			if (at.h.type == PERF_RECORD_SAMPLE)
				(void)feed_sample(&feed, &at, take_hit, &f);
		session_progress(s, "processing", i, s->data.blocks.n);
		stopped = s->opts.stop && *s->opts.stop;
	}
	feed_free(&feed);
	branch_traces_sort(t);
	return stopped ? ERR_INTERRUPTED : 0;
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
