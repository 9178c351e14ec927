/* SPDX-License-Identifier: Apache-2.0 */
/* What programs that are recorded have in common: threads that take turns on CPU 0. */
#ifndef LAB_THREADS_H
#define LAB_THREADS_H

#include <pthread.h>
#include <sched.h>
#include <stdint.h>

enum { THREADS_MAX = 64 };

static inline void stay_on_cpu0(void)
{
	cpu_set_t set;

	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
}

/* So many threads, of which this is one. Nonzero: not all could be made. */
static inline int run_threads(long n, void *(*what)(void *), void *with)
{
	pthread_t threads[THREADS_MAX];
	int bad = 0;

	for (long i = 1; i < n && !bad; i++)
		bad = pthread_create(&threads[i], NULL, what, with);
	what(with);
	for (long i = 1; i < n && !bad; i++)
		pthread_join(threads[i], NULL);
	return bad;
}

/* Two instructions a round, two cycles each. */
static inline void work(uint64_t cycles)
{
	uint64_t rounds = cycles / 4 + 1;

	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc", "memory");
}

#endif
