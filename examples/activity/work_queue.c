/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A work queue: who accepts an order does not do the work. What it was doing goes with the job (capture), and the
 * worker that takes the job goes on with it (adopt), whichever thread that is.
 */
#include <pthread.h>
#include <stdbool.h>

#include "example.h"

#define WORKERS 3
#define ROUNDS 12
#define ROOM 8

WORK(check_address)
WORK(charge_card)
WORK(send_mail)
WORK(print_label)
WORK(look_for_work)

struct job {
	work_fn *run;
	struct activity_snapshot activity;
};

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	struct job jobs[ROOM];
	unsigned head, length;
	bool closed;
};

static void submit(struct queue *q, work_fn *run)
{
	pthread_mutex_lock(&q->lock);
	while (q->length == ROOM)
		pthread_cond_wait(&q->changed, &q->lock);
	struct job *job = &q->jobs[(q->head + q->length++) % ROOM];
	job->run = run;
	activity_capture(&job->activity);
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

/* False: there will be none any more. */
static bool take(struct queue *q, struct job *job)
{
	bool got;

	pthread_mutex_lock(&q->lock);
	while (!q->length && !q->closed)
		pthread_cond_wait(&q->changed, &q->lock);
	got = q->length > 0;
	if (got) {
		*job = q->jobs[q->head];
		q->head = (q->head + 1) % ROOM;
		q->length--;
		pthread_cond_broadcast(&q->changed);
	}
	pthread_mutex_unlock(&q->lock);
	return got;
}

static void *worker(void *arg)
{
	struct queue *q = arg;
	uint64_t sum = 0;
	struct job job;

	while (take(q, &job)) {
		activity_adopt(&job.activity);
		sum += job.run(sum);
		activity_pop();
		sum += look_for_work(sum); /* for no one */
	}
	return (void *)(uintptr_t)(sum | 1);
}

int main(void)
{
	static const struct {
		work_fn *run;
		const char *name, *queue;
	} kinds[] = {
		{ check_address, "check_address", "orders" },
		{ charge_card, "charge_card", "payments" },
		{ send_mail, "send_mail", "mails" },
		{ print_label, "print_label", "orders" },
	};
	struct queue q = { .lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER };
	pthread_t threads[WORKERS];
	unsigned n = sizeof(kinds) / sizeof(*kinds);

	example_publish("work-queue", "messaging.destination");
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_create(&threads[i], NULL, worker, &q);
	for (unsigned i = 0; i < ROUNDS * n; i++) {
		struct activity_ids ids = example_ids(1, i % n + 1);

		ACTIVITY_SCOPE(&ids);
		example_attribute(kinds[i % n].queue);
		submit(&q, kinds[i % n].run);
	}
	pthread_mutex_lock(&q.lock);
	q.closed = true;
	pthread_cond_broadcast(&q.changed);
	pthread_mutex_unlock(&q.lock);
	for (unsigned i = 0; i < WORKERS; i++)
		pthread_join(threads[i], NULL);
	for (unsigned i = 0; i < n; i++) {
		struct activity_ids ids = example_ids(1, i + 1);

		example_truth(kinds[i].name, &ids, kinds[i].queue);
	}
	example_truth("look_for_work", NULL, "-");
	return 0;
}
