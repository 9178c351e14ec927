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

u32 pool_default_workers(void)
{
	cpu_set_t set;
	int n = sched_getaffinity(0, sizeof(set), &set) ? 1 : CPU_COUNT(&set);

	return n > 0 ? (u32)n : 1;
}
