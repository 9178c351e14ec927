/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program of seven functions, each slow in its own way: what a table of function metrics must tell apart.
 *
 *   classes [FIRST [STEP [ROUNDS [WORK [TIMES]]]]]
 *
 * Each round calls all seven, beginning with number FIRST; after a round the beginning moves on by STEP, so that no
 * result sits on a lucky harmonic of the sampling period. The functions' work is sized so that their shares of the
 * time differ widely on an ordinary core; a call does WORK times as much. The file TIMES gets the program's CPU time,
 * when its rounds began (CLOCK_MONOTONIC) and when each was done, in nanoseconds, a line each.
 */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define REPEAT8(x) x x x x x x x x

/* 16 MiB of cache lines, each pointing to one far away: no last-level cache of these cores holds them. */
#define LINES (1u << 18)
#define LINE_WORDS 8

struct work {
	uint64_t *lines;
	uint32_t at;	 /* the line that comes next */
	uint64_t random; /* never 0 */
	double x, y;
	uint64_t n;
	uint32_t sum;
	int times; /* WORK */
};

typedef void work_fn(struct work *w);

#define CLASS __attribute__((noinline))

/* Each division waits for the one before. */
static CLASS void fp_divider_stalls(struct work *w)
{
	double x = w->x;

	for (int i = 0, end = 2400 * w->times; i < end; i++)
		x = w->y / (x + 1.0);
	w->x = x;
}

static CLASS void int_divider_stalls(struct work *w)
{
	uint64_t n = w->n;

	for (int i = 0, end = 1500 * w->times; i < end; i++)
		n = (w->random | 1) / (n | 3) + (uint64_t)i;
	w->n = n;
}

/* What makes the core wait until all that went before is done. */
static CLASS void isb(struct work *w)
{
	for (int i = 0, end = 60 * w->times; i < end; i++) {
#if defined(__aarch64__)
		__asm__ volatile(REPEAT8("isb\n"));
#elif defined(__x86_64__)
		__asm__ volatile(REPEAT8("lfence\n")::: "memory");
#endif
	}
	w->n++;
}

static CLASS void branch_mispredicts(struct work *w)
{
	uint64_t r = w->random;
	uint32_t sum = w->sum;

	for (int i = 0, end = 600 * w->times; i < end; i++) {
		/* xorshift64: its top bit is as good as a coin */
		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		if (r >> 63)
			__asm__ volatile("" : "+r"(sum)); /* so that it stays a branch */
		else
			sum += 3;
	}
	w->random = r;
	w->sum = sum;
}

static CLASS void double_to_int(struct work *w)
{
	double x = w->x + 0.5;
	uint32_t sum = w->sum;

	for (int i = 0, end = 900 * w->times; i < end; i++) {
		sum += (uint32_t)(int32_t)x;
		x += 0.25;
	}
	w->sum = sum;
}

static CLASS void nops(struct work *w)
{
	for (int i = 0, end = 300 * w->times; i < end; i++)
		__asm__ volatile(REPEAT8("nop\n") REPEAT8("nop\n") REPEAT8("nop\n"));
	w->n++;
}

static CLASS void dcache_misses(struct work *w)
{
	uint32_t at = w->at;

	for (int i = 0, end = 40 * w->times; i < end; i++)
		at = (uint32_t)w->lines[(size_t)at * LINE_WORDS];
	w->at = at;
}

static work_fn *const classes[] = { fp_divider_stalls,	int_divider_stalls, isb,
				    branch_mispredicts, double_to_int,	    nops,
				    dcache_misses };
#define CLASSES (sizeof(classes) / sizeof(classes[0]))

/* One cycle through all lines, in an order that no prefetcher guesses (Sattolo's shuffle). */
static uint64_t *shuffled_lines(void)
{
	uint64_t *lines = aligned_alloc(64, (size_t)LINES * LINE_WORDS * sizeof(*lines));
	uint32_t *order = malloc(LINES * sizeof(*order));
	uint64_t r = 88172645463325252;

	if (!lines || !order)
		exit(1);
	for (uint32_t i = 0; i < LINES; i++)
		order[i] = i;
	for (uint32_t i = LINES - 1; i > 0; i--) {
		uint32_t j, t = order[i];

		r ^= r << 13;
		r ^= r >> 7;
		r ^= r << 17;
		j = (uint32_t)(r % i);
		order[i] = order[j];
		order[j] = t;
	}
	memset(lines, 0, (size_t)LINES * LINE_WORDS * sizeof(*lines));
	for (uint32_t i = 0; i < LINES; i++)
		lines[(size_t)order[i] * LINE_WORDS] = order[(i + 1) % LINES];
	free(order);
	return lines;
}

static unsigned long argument(int argc, char **argv, int i, unsigned long otherwise)
{
	return argc > i ? strtoul(argv[i], NULL, 0) : otherwise;
}

static unsigned long long nanoseconds(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (unsigned long long)t.tv_sec * 1000000000 + (unsigned long long)t.tv_nsec;
}

static void write_times(const char *path, const unsigned long long *done, unsigned long n)
{
	FILE *f = fopen(path, "w");

	if (!f || fprintf(f, "%llu\n", nanoseconds(CLOCK_PROCESS_CPUTIME_ID)) < 0)
		exit(1);
	for (unsigned long i = 0; i < n; i++)
		fprintf(f, "%llu\n", done[i]);
	if (fclose(f))
		exit(1);
}

int main(int argc, char **argv)
{
	unsigned long first = argument(argc, argv, 1, 0), step = argument(argc, argv, 2, 1);
	unsigned long rounds = argument(argc, argv, 3, 10000);
	struct work w = { .lines = shuffled_lines(), .random = 0x9e3779b97f4a7c15, .x = 1.0, .y = 3.0 };
	unsigned long times = argument(argc, argv, 4, 1), timed = argc > 5 ? rounds : 0;
	unsigned long long *done = malloc((timed + 1) * sizeof(*done));

	if (!done)
		return 1;
	/* All its pages are there when the rounds begin. */
	memset(done, 1, (timed + 1) * sizeof(*done));
	done[0] = nanoseconds(CLOCK_MONOTONIC);
	w.times = times < 1 ? 1 : times > 100000 ? 100000 : (int)times;
	for (unsigned long i = 0; i < rounds; i++, first += step) {
		for (unsigned long k = 0; k < CLASSES; k++)
			classes[(first + k) % CLASSES](&w);
		if (timed)
			done[i + 1] = nanoseconds(CLOCK_MONOTONIC);
	}
	printf("%lu rounds: %g %llu %u\n", rounds, w.x, (unsigned long long)w.n, w.sum);
	free(w.lines);
	if (timed)
		write_times(argv[5], done, timed + 1);
	free(done);
	return 0;
}
