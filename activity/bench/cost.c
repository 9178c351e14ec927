/* SPDX-License-Identifier: Apache-2.0 */
/* What calls cost, beside a plain copy of the same bytes: nanoseconds of CPU time, the best of many rounds. */
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "plain.h"

#define CALLS 1000000u
#define ROUNDS 15

static struct activity_ids ids = { .trace = { 1 }, .span = { 2 } };

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void set(void)
{
	activity_set(&ids);
}

static void push_pop(void)
{
	activity_push(&ids);
	activity_pop();
}

static void plain(void)
{
	plain_copy(&ids);
}

static inline __attribute__((always_inline)) double measure(void (*call)(void))
{
	double best = 1e9;

	for (unsigned round = 0; round < ROUNDS; round++) {
		double start = now(), each;

		for (uint64_t i = 0; i < CALLS; i++) {
			memcpy(ids.span, &i, sizeof(ids.span)); /* each is another one */
			call();
		}
		each = (now() - start) / CALLS;
		best = each < best ? each : best;
	}
	return best;
}

int main(void)
{
	printf("plain copy  %.2f ns\n", measure(plain));
	printf("set         %.2f ns\n", measure(set));
	printf("push, pop   %.2f ns\n", measure(push_pop));
	return 0;
}
