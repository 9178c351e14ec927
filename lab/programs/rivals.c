/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rivals PROCESSES THREADS CYCLES: so many processes of so many threads each, all on CPU 0, each thread working for so
 * many cycles in three functions in turns. Threads and processes begin one after the other, and none waits for
 * another.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

enum { TURN = 200000 }; /* cycles in one function: much more than a window */

/* Two instructions a round, two cycles each. */
#define WORKER(name)                                                                                                  \
	static __attribute__((noinline)) void name(uint64_t cycles)                                                   \
	{                                                                                                             \
		uint64_t rounds = cycles / 4 + 1;                                                                     \
                                                                                                                      \
		__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc", "memory");                  \
	}
WORKER(first)
WORKER(second)
WORKER(third)

static void *worker(void *cycles)
{
	uint64_t left = *(uint64_t *)cycles;

	for (; left >= 6 * TURN; left -= 6 * TURN) {
		first(TURN);
		second(2 * TURN);
		third(3 * TURN);
	}
	return NULL;
}

static int run_threads(long n, uint64_t cycles)
{
	pthread_t threads[64];
	int bad = 0;

	for (long i = 1; i < n && !bad; i++)
		bad = pthread_create(&threads[i], NULL, worker, &cycles);
	worker(&cycles);
	for (long i = 1; i < n && !bad; i++)
		pthread_join(threads[i], NULL);
	return bad;
}

int main(int argc, char **argv)
{
	long processes = argc > 3 ? strtol(argv[1], NULL, 10) : 0, threads = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	cpu_set_t set;

	if (processes < 1 || threads < 1 || threads > 64)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (long i = 1; i < processes; i++)
		if (!fork())
			return run_threads(threads, strtoull(argv[3], NULL, 10));
	int bad = run_threads(threads, strtoull(argv[3], NULL, 10));
	while (wait(NULL) > 0)
		;
	return bad;
}
