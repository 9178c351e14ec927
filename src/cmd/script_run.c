/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Problem: lines have to come out in order, but nearly all the time goes into formatting them.
 *
 * The records are cut into runs. A worker takes the next run and formats it into a buffer; the pool hands the buffers on
 * in order. A worker that is too far ahead waits: so memory is bounded, and a slow reader of our output slows everybody
 * down.
 *
 * Two things depend on what came before. The counters of sampled groups are differences to the previous values: that
 * cheap step is done run by run, in order, before formatting (prepare). Times relative to the previous line, and perf's
 * habit of padding a column to the widest so far, need everything in order: then there is one worker.
 */
#include "cmd/script_run.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"
#include "base/pool.h"

#define RUN_RECORDS 2048u
#define SLOTS_PER_WORKER 4u

struct crew {
	const struct script *s;
	const struct sample_ref *refs;
	u64 n;
	u32 units;
	const bool *stop;
	struct script_worker **workers;
	struct script_parts *parts; /* of each worker */

	pthread_mutex_t lock;
	pthread_cond_t moved; /* prepared went on */
	u32 prepared;	      /* the run whose counters are to be split next */
	struct bytes *texts;  /* by slot */
	atomic_int sys_errno; /* of a write that failed; nothing is written any more */
	struct group_read reads;
	int fd;
};

static bool stopped(const struct crew *c)
{
	return c->stop && *c->stop;
}

/* In order of runs. */
static void prepare(struct crew *c, u32 unit, u64 from, u64 to, struct script_parts *parts)
{
	pthread_mutex_lock(&c->lock);
	while (c->prepared != unit)
		pthread_cond_wait(&c->moved, &c->lock);
	pthread_mutex_unlock(&c->lock);
	parts->v.n = 0;
	for (u64 i = from; i < to; i++)
		script_reads_split(&c->reads, c->s, c->refs[i].offset, parts);
	pthread_mutex_lock(&c->lock);
	c->prepared++;
	pthread_cond_broadcast(&c->moved);
	pthread_mutex_unlock(&c->lock);
}

static void format(struct crew *c, u32 worker, u64 from, u64 to, struct bytes *text)
{
	const struct member_sample *part = c->s->has_reads ? c->parts[worker].v.v : NULL;

	for (u64 i = from; i < to; i++) {
		u32 used = script_record(c->workers[worker], c->refs[i].time, c->refs[i].offset, part, text);

		if (part)
			part += used;
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

	if (!c->sys_errno)
		c->sys_errno = write_text(text, c->fd);
	text->len = 0;
}

static void do_run(void *ctx, u32 worker, u32 unit, u32 slot)
{
	struct crew *c = ctx;
	u64 from = (u64)unit * RUN_RECORDS, to = MIN(from + RUN_RECORDS, c->n);

	if (c->s->has_reads)
		prepare(c, unit, from, to, &c->parts[worker]);
	if (!c->sys_errno && !stopped(c))
		format(c, worker, from, to, &c->texts[slot]);
}

int script_run(const struct script *s, const struct sample_ref *refs, u64 n, u32 workers, int fd, const bool *stop,
	       struct script_result *result)
{
	struct crew c = { .s = s, .refs = refs, .n = n, .fd = fd, .stop = stop };
	u32 nr_slots;

	c.units = (u32)((n + RUN_RECORDS - 1) / RUN_RECORDS);
	workers = s->in_order ? 1 : MAX(MIN(workers, c.units), 1u);
	nr_slots = workers * SLOTS_PER_WORKER;
	c.texts = mem_zalloc(sizeof(*c.texts) * nr_slots);
	c.workers = mem_zalloc(sizeof(struct script_worker *) * workers);
	c.parts = mem_zalloc(sizeof(*c.parts) * workers);
	pthread_mutex_init(&c.lock, NULL);
	pthread_cond_init(&c.moved, NULL);
	for (u32 i = 0; i < workers; i++)
		c.workers[i] = script_worker_new(s);
	pool_run_in_order(workers, c.units, nr_slots, do_run, write_slot, &c);
	*result = (struct script_result){ .sys_errno = c.sys_errno };
	for (u32 i = 0; i < workers; i++) {
		result->skipped += script_worker_skipped(c.workers[i]);
		script_worker_free(c.workers[i]);
		vec_free(&c.parts[i].v);
	}
	for (u32 i = 0; i < nr_slots; i++)
		bytes_free(&c.texts[i]);
	group_read_free(&c.reads);
	free(c.texts);
	free(c.workers);
	free(c.parts);
	pthread_cond_destroy(&c.moved);
	pthread_mutex_destroy(&c.lock);
	return c.sys_errno ? ERR_IO : stopped(&c) ? ERR_INTERRUPTED : 0;
}
