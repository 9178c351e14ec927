/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tagged THREADS ROUNDS: so many threads on CPU 0, each of which has words of its own in its thread data and writes
 * them anew in each round, between which it works. A word is thread id << 32 | round << 8 | which one it is.
 *
 * tagged data|pointer: prints where these words are, from the thread pointer on, or where a pointer to them is.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "threads.h"

enum { WORDS = 8, CYCLES = 400000 };

static __thread volatile uint64_t words[WORDS];
static __thread volatile uint64_t *pointer;

static void *tagged(void *rounds)
{
	uint64_t thread = (uint64_t)syscall(SYS_gettid) << 32;

	pointer = words;
	for (uint64_t round = 1; round <= *(uint64_t *)rounds; round++) {
		for (uint64_t i = 0; i < WORDS; i++)
			words[i] = thread | round << 8 | i;
		work(CYCLES);
	}
	return NULL;
}

static int say_where(const char *what)
{
	const volatile void *at = strcmp(what, "data") ? (const volatile void *)&pointer : words;

	return printf("%td\n", (const volatile char *)at - (const char *)__builtin_thread_pointer()) < 0;
}

int main(int argc, char **argv)
{
	long threads = argc > 2 ? strtol(argv[1], NULL, 10) : 0;
	uint64_t rounds = argc > 2 ? strtoull(argv[2], NULL, 10) : 0;

	if (argc == 2)
		return say_where(argv[1]);
	if (threads < 1 || threads > THREADS_MAX)
		return 2;
	stay_on_cpu0();
	return run_threads(threads, tagged, &rounds);
}
