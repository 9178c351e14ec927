/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of several threads with a few dozen functions, for recordings of many windows: what report does with them
 * by several workers.
 *
 *   lanes [THREADS [ROUNDS]]
 *
 * Each thread calls its way down to functions of different cost, by different callers.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST_THREADS 64
#define WORDS 4096u
#define STEP __attribute__((noinline))

struct job {
	uint64_t rounds, random, sum;
	uint32_t words[WORDS];
};

static uint64_t next_random(struct job *j)
{
	j->random ^= j->random << 13;
	j->random ^= j->random >> 7;
	j->random ^= j->random << 17;
	return j->random;
}

/* A function that does n steps of its own kind. */
#define WORK(name, what)                                                                                              \
	static STEP void name(struct job *j, uint32_t n)                                                              \
	{                                                                                                             \
		uint64_t x = j->sum;                                                                                  \
                                                                                                                      \
		for (uint32_t i = 0; i < n; i++) {                                                                    \
			what;                                                                                         \
		}                                                                                                     \
		j->sum = x;                                                                                           \
	}

WORK(divide, x = j->random / (x % 1000 + 3) + i)
WORK(multiply, x = x * 0x9e3779b97f4a7c15ull + i)
WORK(read_words, x += j->words[(x + i * 67u) % WORDS])
WORK(write_words, x += i; j->words[(x + i * 31u) % WORDS] = (uint32_t)x)
WORK(branch, if (next_random(j) & 1) x += 3; else x ^= i)
WORK(shift, x = x << 7 ^ x >> 3 ^ i)

/* Callers of all of them, in different shares. */
#define CALLER(name, a, b, c)                                                                                         \
	static STEP void name(struct job *j)                                                                          \
	{                                                                                                             \
		a(j, 400);                                                                                            \
		b(j, 700);                                                                                            \
		c(j, 200);                                                                                            \
		j->sum++;                                                                                             \
	}

CALLER(parse, branch, read_words, shift)
CALLER(encode, multiply, shift, write_words)
CALLER(search, read_words, branch, multiply)
CALLER(balance, write_words, divide, branch)
CALLER(hash, shift, multiply, read_words)

static STEP void request(struct job *j)
{
	static void (*const callers[])(struct job * j) = { parse, encode, search, balance, hash };

	callers[next_random(j) % 5](j);
	if (next_random(j) & 1)
		callers[next_random(j) % 5](j);
	j->sum++;
}

static void *run(void *arg)
{
	struct job *j = arg;

	for (uint64_t i = 0; i < j->rounds; i++)
		request(j);
	return NULL;
}

int main(int argc, char **argv)
{
	static struct job jobs[MOST_THREADS];
	pthread_t threads[MOST_THREADS];
	int n = argc > 1 ? atoi(argv[1]) : 8;

	if (n < 1 || n > MOST_THREADS)
		return 2;
	for (int i = 0; i < n; i++) {
		jobs[i].rounds = argc > 2 ? strtoull(argv[2], NULL, 0) : 1000;
		jobs[i].random = 88172645463325252ull + (uint64_t)i;
		if (pthread_create(&threads[i], NULL, run, &jobs[i]))
			return 1;
	}
	for (int i = 0; i < n; i++)
		pthread_join(threads[i], NULL);
	printf("%llu\n", (unsigned long long)jobs[0].sum);
	return 0;
}
