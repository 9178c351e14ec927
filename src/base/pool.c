/* SPDX-License-Identifier: Apache-2.0 */
#include "base/pool.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/mem.h"

struct job {
	pool_fn fn;
	void *ctx;
	u32 units;
	atomic_uint next;
};

struct worker {
	struct job *job;
	u32 index;
	pthread_t thread;
	bool started;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	u32 unit;

	while ((unit = atomic_fetch_add(&w->job->next, 1)) < w->job->units)
		w->job->fn(w->job->ctx, w->index, unit);
	return NULL;
}

/* A thread that cannot be started is no error: the others take its units. */
void pool_run(u32 workers, u32 units, pool_fn fn, void *ctx)
{
	struct job job = { .fn = fn, .ctx = ctx, .units = units };
	struct worker *w = mem_zalloc(sizeof(*w) * MAX(workers, 1u));

	for (u32 i = 0; i < MAX(workers, 1u); i++)
		w[i] = (struct worker){ .job = &job, .index = i };
	for (u32 i = 1; i < workers && i < units; i++)
		w[i].started = !pthread_create(&w[i].thread, NULL, work, &w[i]);
	work(&w[0]);
	for (u32 i = 1; i < workers; i++)
		if (w[i].started)
			pthread_join(w[i].thread, NULL);
	free(w);
}

/* Results wait in a ring; whoever completes the unit that is due puts it and those behind it that are ready. */
struct line {
	pool_make_fn make;
	pool_put_fn put;
	void *ctx;
	pthread_mutex_t lock;
	pthread_cond_t moved; /* due went on */
	bool *ready;	      /* by slot */
	u32 slots;
	u32 due; /* the unit that is to be put next */
	bool putting;
};

/* Called with the lock held; lets go of it meanwhile. */
static void put_due(struct line *l)
{
	l->putting = true;
	while (l->ready[l->due % l->slots]) {
		pthread_mutex_unlock(&l->lock);
		l->put(l->ctx, l->due % l->slots);
		pthread_mutex_lock(&l->lock);
		l->ready[l->due % l->slots] = false;
		l->due++;
		pthread_cond_broadcast(&l->moved);
	}
	l->putting = false;
}

static void make_one(void *ctx, u32 worker, u32 unit)
{
	struct line *l = ctx;
	u32 slot = unit % l->slots;

	pthread_mutex_lock(&l->lock);
	while (unit - l->due >= l->slots)
		pthread_cond_wait(&l->moved, &l->lock);
	pthread_mutex_unlock(&l->lock);
	l->make(l->ctx, worker, unit, slot);
	pthread_mutex_lock(&l->lock);
	l->ready[slot] = true;
	if (!l->putting)
		put_due(l);
	pthread_mutex_unlock(&l->lock);
}

void pool_run_in_order(u32 workers, u32 units, u32 slots, pool_make_fn make, pool_put_fn put, void *ctx)
{
	struct line l = { .make = make, .put = put, .ctx = ctx, .slots = slots };

	l.ready = mem_zalloc(l.slots * sizeof(*l.ready));
	pthread_mutex_init(&l.lock, NULL);
	pthread_cond_init(&l.moved, NULL);
	pool_run(workers, units, make_one, &l);
	pthread_cond_destroy(&l.moved);
	pthread_mutex_destroy(&l.lock);
	free(l.ready);
}

u32 pool_default_workers(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n > 0 ? (u32)n : 1;
}
