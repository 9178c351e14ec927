/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Very short functions that take turns: nearly every window of a few hundred cycles spans several of them, so whoever
 * does not discard such windows mixes up their metrics. One divides, one adds, one mispredicts.
 *
 *   turns [ROUNDS]
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#define SHORT __attribute__((noinline))

struct state {
	uint64_t n, random, sum;
};

static SHORT void divides(struct state *s, int times)
{
	for (int i = 0; i < times; i++)
		s->n = (s->random | 1) / (s->n | 3);
}

static SHORT void adds(struct state *s, int times)
{
	uint64_t a = s->sum, b = s->n;

	for (int i = 0; i < times; i++) {
		a += b;
		b ^= a;
	}
	s->sum = a ^ b;
}

static SHORT void guesses(struct state *s, int times)
{
	uint64_t r = s->random, sum = s->sum;

	for (int i = 0; i < times; i++) {
		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		if (r >> 63)
			__asm__ volatile("" : "+r"(sum));
		else
			sum++;
	}
	s->random = r;
	s->sum = sum;
}

int main(int argc, char **argv)
{
	unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 0) : 400000;
	struct state s = { .random = 0x9e3779b97f4a7c15 };

	for (unsigned long i = 0; i < rounds; i++) {
		/* Lengths that vary, so that windows of any place in a function occur. */
		int more = (int)(i % 61);

		divides(&s, 8 + more / 2);
		adds(&s, 60 + 5 * more);
		guesses(&s, 30 + 2 * more);
	}
	printf("%lu rounds: %llu %llu\n", rounds, (unsigned long long)s.n, (unsigned long long)s.sum);
	return 0;
}
