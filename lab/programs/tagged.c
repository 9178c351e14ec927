/* SPDX-License-Identifier: Apache-2.0 */
/*
 * tagged THREADS ROUNDS: so many threads on CPU 0, each of which has words of its own in its thread data and writes
 * them anew in each round, between which it works. A word is thread id << 32 | round << 8 | which one it is.
 *
 * tagged data|pointer: prints where these words are, from the thread pointer on, or where a pointer to them is.
 */
#include <pthread.h>
#include <sched.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { WORDS = 8, CYCLES = 400000 };

static __thread volatile uint64_t words[WORDS];
static __thread volatile uint64_t *pointer;

/* Two instructions a round, two cycles each. */
static void work(uint64_t cycles)
{
	uint64_t rounds = cycles / 4 + 1;

	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc", "memory");
}

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
	pthread_t others[64];
	cpu_set_t set;

	if (argc == 2)
		return say_where(argv[1]);
	if (threads < 1 || threads > 64)
		return 2;
	CPU_ZERO(&set);
	CPU_SET(0, &set);
	sched_setaffinity(0, sizeof(set), &set);
	for (long i = 1; i < threads; i++)
		if (pthread_create(&others[i], NULL, tagged, &rounds))
			return 1;
	tagged(&rounds);
	for (long i = 1; i < threads; i++)
		pthread_join(others[i], NULL);
	return 0;
}
