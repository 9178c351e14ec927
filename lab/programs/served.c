/* SPDX-License-Identifier: Apache-2.0 */
/*
 * served THREADS ROUNDS: so many threads on CPU 0, which all say what they work for: in each round a span of a trace
 * of the thread's own, and within that another one. Prints when each thread worked for which: TID BEGIN END
 * TRACE/SPAN, in ns of CLOCK_MONOTONIC.
 */
#include <reticle/activity.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "threads.h"

enum { CYCLES = 400000 };

struct part {
	uint64_t begin, end;
	struct activity_ids ids;
};

static long rounds;
static pthread_barrier_t all_done;

static uint64_t now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void work_for(struct part *p, const struct activity_ids *ids)
{
	p->begin = now();
	work(CYCLES);
	p->end = now();
	p->ids = *ids;
}

static void print_hex(const unsigned char *id, size_t n)
{
	for (size_t i = 0; i < n; i++)
		printf("%02x", id[i]);
}

static void print_part(long thread, const struct part *p)
{
	printf("%ld %llu %llu ", thread, (unsigned long long)p->begin, (unsigned long long)p->end);
	print_hex(p->ids.trace, sizeof(p->ids.trace));
	putchar('/');
	print_hex(p->ids.span, sizeof(p->ids.span));
	putchar('\n');
}

static void *served(void *printing)
{
	struct part *parts = calloc((size_t)rounds * 3, sizeof(*parts));
	long thread = syscall(SYS_gettid);

	for (long i = 0; parts && i < rounds; i++) {
		struct activity_ids outer = { .flags = 1 }, inner;

		memcpy(outer.trace, &thread, sizeof(thread));
		outer.span[0] = 1;
		memcpy(outer.span + 4, &(uint32_t){ (uint32_t)i }, 4);
		inner = outer;
		inner.span[0] = 2;
		activity_push(&outer);
		work_for(&parts[i * 3], &outer);
		activity_push(&inner);
		work_for(&parts[i * 3 + 1], &inner);
		activity_pop();
		work_for(&parts[i * 3 + 2], &outer);
		activity_pop();
	}
	/* Printing would take time from those that work. */
	pthread_barrier_wait(&all_done);
	pthread_mutex_lock(printing);
	for (long i = 0; parts && i < rounds * 3; i++)
		print_part(thread, &parts[i]);
	pthread_mutex_unlock(printing);
	free(parts);
	return NULL;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER;

	rounds = argc > 2 ? strtol(argv[2], NULL, 10) : 0;
	if (threads < 1 || threads > THREADS_MAX || rounds < 1 || rounds > 10000)
		return 2;
	stay_on_cpu0();
	pthread_barrier_init(&all_done, NULL, (unsigned)threads);
	activity_publish(&(struct activity_process){ .service = "lab" });
	return run_threads(threads, served, &printing);
}
