/* SPDX-License-Identifier: Apache-2.0 */
/*
 * rivals PROCESSES THREADS CYCLES: so many processes of so many threads each, all on CPU 0, each thread working for so
 * many cycles in three functions in turns. Threads and processes begin one after the other, and none waits for
 * another.
 */
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "threads.h"

enum { TURN = 200000 }; /* cycles in one function: much more than a window */

#define WORKER(name)                                                                                                  \
	static __attribute__((noinline)) void name(uint64_t cycles)                                                   \
	{                                                                                                             \
		work(cycles);                                                                                         \
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

int main(int argc, char **argv)
{
	long processes = argc > 3 ? strtol(argv[1], NULL, 10) : 0, threads = argc > 3 ? strtol(argv[2], NULL, 10) : 0;
	uint64_t cycles;
	int bad;

	if (processes < 1 || threads < 1 || threads > THREADS_MAX)
		return 2;
	stay_on_cpu0();
	cycles = strtoull(argv[3], NULL, 10);
	for (long i = 1; i < processes; i++)
		if (!fork())
			return run_threads(threads, worker, &cycles);
	bad = run_threads(threads, worker, &cycles);
	while (wait(NULL) > 0)
		;
	return bad;
}
