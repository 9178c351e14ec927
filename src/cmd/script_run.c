/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problem: lines have to come out in order, but nearly all the time goes into formatting them.
 *
 * The records are cut into runs. A worker takes the next run and formats it into a buffer; the pool writes the buffers
 * in order. A worker that is too far ahead waits, so memory is limited, and a slow reader of our output slows down all
 * workers.
 *
 * Two things depend on earlier records. The counters of sampled groups are differences to the previous values: that
 * cheap step is done run by run, in order, before formatting (prepare). Times relative to the previous line, perf's
 * habit of padding a column to the widest so far, and call stacks that are stitched to earlier ones, need everything
 * in order: then there is one worker.
 */
#include "cmd/script_run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "attrib/group_read.h"
#include "base/mem.h"
#include "base/pool.h"
#include "pass/feed.h"

#define RUN_RECORDS 2048u
#define SLOTS_PER_WORKER 4u

struct crew_member {
	struct script_worker *worker;
	struct feed feed;
	struct feed_parts parts; /* of one run */
	struct bytes *text;	 /* what is being formatted */
	struct feed ahead;	 /* what is only looked through */
	u64 samples;
};

struct crew {
	const struct script *s;
	const struct source *src;
	const struct sample_ref *refs;
	u64 n;
	u32 units;
	const bool *stop;
	struct crew_member *workers;
	bool reads; /* samples read counters: they are split in order */

	pthread_mutex_t lock;
	pthread_cond_t moved; /* prepared went on */
	u32 prepared;	      /* the run whose counters are to be split next */
	struct bytes *texts;  /* by slot */
	atomic_int sys_errno; /* of a write that failed; nothing is written any more */
	bool printed;	      /* anything was to be written */
	struct feed splits;
	int fd;
};

static bool stopped(const struct crew *c)
{
	return c->stop && *c->stop;
}

/* In order of runs. */
static void prepare(struct crew *c, u32 unit, u64 from, u64 to, struct feed_parts *parts)
{
	pthread_mutex_lock(&c->lock);
	while (c->prepared != unit)
		pthread_cond_wait(&c->moved, &c->lock);
	pthread_mutex_unlock(&c->lock);
	parts->v.n = 0;
	for (u64 i = from; i < to; i++) {
		u64 offset = c->refs[i].offset;
		struct source_record at;

		if (!(offset & REF_OPERATION) && source_next(c->src, &offset, &at, NULL) &&
		    at.h.type == PERF_RECORD_SAMPLE)
			feed_split(&c->splits, &at, parts);
	}
	pthread_mutex_lock(&c->lock);
	c->prepared++;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

static void take_hit(void *ctx, const struct hit *h)
{
	struct crew_member *m = ctx;

	m->samples += hit_samples(h);
	script_hit(m->worker, h, m->text);
}

static void take_ahead(void *ctx, const struct hit *h)
{
	const struct crew_member *m = ctx;

	script_ahead(m->worker, h);
}

/* A name had to be asked for: then the rest of the run is looked through, so that those to come are asked for
 * together. Where the cache has all names this costs nothing. */
static void look_ahead(const struct crew *c, struct crew_member *m, u64 from, u64 to)
{
	for (u64 i = from; i < to; i++) {
		u64 offset = c->refs[i].offset;
		struct source_record at;

		if (!(offset & REF_OPERATION) && source_next(c->src, &offset, &at, NULL) &&
		    at.h.type == PERF_RECORD_SAMPLE)
			(void)feed_sample(&m->ahead, &at, take_ahead, m);
	}
}

static void format_event(const struct crew *c, struct crew_member *m, const struct source_record *at, u64 clock)
{
	const struct source *src = c->src;
	const struct evlist *l = &src->events;
	struct cursor bytes = cursor_over(at->p, at->h.size, src->swap);
	u32 event = evlist_find(l, at->p, at->h.size, false, src->swap);
	struct record r;

	if (script_shows(&c->s->opts, at->h.type) &&
	    !record_decode(bytes, at->offset, evlist_trailer(l, at->p, at->h.size, src->swap), &r))
		script_put_event(m->worker, &r, &l->events.v[event == ID_NONE ? 0 : event], clock, m->text);
}

static void format(struct crew *c, struct crew_member *m, u64 from, u64 to)
{
	const struct member_sample *part = m->parts.v.v;
	u32 asked = dsos_names_asked(c->s->dsos);
	bool looked = c->reads;

	for (u64 i = from; i < to; i++) {
		u64 offset = c->refs[i].offset;
		struct source_record at;

		if (offset & REF_OPERATION) {
			feed_operation(&m->feed, c->refs[i].time, offset & ~REF_OPERATION, take_hit, m);
			continue;
		}
		if (!source_next(c->src, &offset, &at, NULL))
			continue;
		if (at.h.type != PERF_RECORD_SAMPLE) {
			feed_note(&m->feed, &at);
			format_event(c, m, &at, c->refs[i].time);
		} else if (c->reads)
			part += feed_parts(&m->feed, &at, part, take_hit, m);
		else
			(void)feed_sample(&m->feed, &at, take_hit, m);
		if (!looked && dsos_names_asked(c->s->dsos) != asked) {
			look_ahead(c, m, i + 1, to);
			looked = true;
		}
	}
}

/* 0 or an errno. */
static int write_text(struct bytes *text, int fd)
{
	int err;

	text->to_fd = true;
	text->fd = fd;
	err = bytes_flush(text) ? text->sys_errno : 0;
	text->to_fd = false;
	return err;
}

static void write_slot(void *ctx, u32 slot)
{
	struct crew *c = ctx;
	struct bytes *text = &c->texts[slot];

	c->printed |= text->len > 0;
	if (!c->sys_errno)
		c->sys_errno = write_text(text, c->fd);
	text->len = 0;
}

static void do_run(void *ctx, u32 worker, u32 unit, u32 slot)
{
	struct crew *c = ctx;
	struct crew_member *m = &c->workers[worker];
	u64 from = (u64)unit * RUN_RECORDS, to = MIN(from + RUN_RECORDS, c->n);

	if (c->reads)
		prepare(c, unit, from, to, &m->parts);
	m->text = &c->texts[slot];
	if (!c->sys_errno && !stopped(c))
		format(c, m, from, to);
}

int script_run(const struct script *s, const struct source *src, const struct sample_ref *refs, u64 n, u32 workers,
	       int fd, const bool *stop, struct script_result *result)
{
	struct crew c = { .s = s, .src = src, .refs = refs, .n = n, .fd = fd, .stop = stop };
	bool lbr = s->chains && lbr_used(&src->events), copies = s->chains && unwind_used(&src->events);
	u32 nr_slots;

	c.units = (u32)((n + RUN_RECORDS - 1) / RUN_RECORDS);
	workers = s->in_order || lbr ? 1 : MAX(MIN(workers, c.units), 1u);
	nr_slots = workers * SLOTS_PER_WORKER;
	c.texts = mem_zalloc(sizeof(*c.texts) * nr_slots);
	c.workers = mem_zalloc(sizeof(*c.workers) * workers);
	c.reads = group_read_used(&src->events);
	c.splits.src = src;
	if (workers > 1)
		dsos_start_parser(s->dsos);
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.moved, NULL);
	for (u32 i = 0; i < workers; i++) {
		c.workers[i].worker = script_worker_new(s);
		c.workers[i].feed =
			(struct feed){ .src = src, .full = true, .timelines = s->timelines, .spe = s->spe };
		c.workers[i].ahead = (struct feed){ .src = src, .full = true };
		if (lbr)
			c.workers[i].feed.lbr =
				lbr_new(features_branch_depth(&src->features), s->callers, s->procs, s->dsos);
		if (copies)
			c.workers[i].feed.unwind = unwinder_new(s->procs, s->dsos, src->features.arch);
	}
	pool_run_in_order(workers, c.units, nr_slots, do_run, write_slot, &c);
	*result = (struct script_result){ .sys_errno = c.sys_errno, .printed = c.printed };
	for (u32 i = 0; i < workers; i++) {
		result->samples += c.workers[i].samples + c.workers[i].feed.unmoved;
		result->skipped += c.workers[i].feed.undecodable;
		script_worker_free(c.workers[i].worker);
		lbr_free(c.workers[i].feed.lbr);
		unwinder_free(c.workers[i].feed.unwind);
		feed_free(&c.workers[i].feed);
		feed_free(&c.workers[i].ahead);
		vec_free(&c.workers[i].parts.v);
	}
	for (u32 i = 0; i < nr_slots; i++)
		bytes_free(&c.texts[i]);
	feed_free(&c.splits);
	free(c.texts);
	free(c.workers);
	pthread_cond_destroy(&c.moved);
	pthread_mutex_destroy(&c.lock);
	return c.sys_errno ? ERR_IO : stopped(&c) ? ERR_INTERRUPTED : 0;
}
