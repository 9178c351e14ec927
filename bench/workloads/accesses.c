/* SPDX-License-Identifier: Apache-2.0 */
/*
 * accesses ROUNDS [wide]: loads, stores and branches in eight functions, by two threads that share a line. Each
 * function uses twice as many places as the one before it, which are far apart: so most miss caches, and there are so
 * few that longer runs meet no others. With "wide", one function uses all of a large array instead, so that most of
 * its accesses are to a place of their own. For aarch64, on the simulated cores of bench/memory.
 */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#define KINDS 8
#define PLACES 2048
#define APART 1032 /* longs: a page and a line and a bit, so that places are not all of one set of a cache */

#define WIDE (1ul << 23) /* longs */

static long table[PLACES * APART], wide[WIDE];
static struct {
	volatile long a, b;
} shared __attribute__((aligned(64)));

static unsigned long next(unsigned long *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#define WORK(k)                                                                                                       \
	__attribute__((noinline)) static long work_##k(unsigned long *state, volatile long *counter)                  \
	{                                                                                                             \
		long sum = 0;                                                                                         \
                                                                                                                      \
		for (int i = 0; i < 1000; i++) {                                                                      \
			unsigned long r = next(state);                                                                \
			long *at = &table[(r & ((PLACES >> (7 - (k))) - 1)) * APART];                                 \
                                                                                                                      \
			if (r >> 60 & 1)                                                                              \
				*at += sum;                                                                           \
			else                                                                                          \
				sum += *at;                                                                           \
			++*counter;                                                                                   \
		}                                                                                                     \
		return sum;                                                                                           \
	}
WORK(0)
WORK(1)
WORK(2)
WORK(3)
WORK(4)
WORK(5)
WORK(6)
WORK(7)

__attribute__((noinline)) static long wander(unsigned long *state, volatile long *counter)
{
	long sum = 0;

	for (int i = 0; i < 1000; i++) {
		unsigned long r = next(state);
		long *at = &wide[r & (WIDE - 1)];

		if (r >> 60 & 1)
			*at += sum;
		else
			sum += *at;
		++*counter;
	}
	return sum;
}

static long (*const works[KINDS])(unsigned long *, volatile long *) = { work_0, work_1, work_2, work_3,
									work_4, work_5, work_6, work_7 };
static int rounds, is_wide;

static void *thread(void *counter)
{
	unsigned long state = 88172645463325252ul + (unsigned long)counter;
	long sum = 0;

	for (int i = 0; i < rounds; i++)
		sum += (is_wide ? wander : works[i % KINDS])(&state, counter);
	return (void *)sum;
}

int main(int argc, char **argv)
{
	pthread_t other;

	rounds = argc > 1 ? atoi(argv[1]) : 100;
	is_wide = argc > 2 && !strcmp(argv[2], "wide");
	if (pthread_create(&other, NULL, thread, (void *)&shared.b))
		return 1;
	thread((void *)&shared.a);
	pthread_join(other, NULL);
	return 0;
}
