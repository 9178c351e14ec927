/* SPDX-License-Identifier: Apache-2.0 */
/*
 * By comparing: each worker sorts one part; then neighbouring parts are merged, round after round. Two workers share a
 * merge: one fills the lower half of the result from the beginnings of the parts, the other the upper half from their
 * ends.
 *
 * By numbers: a radix sort, beginning with the byte that counts least.
 */
#include "base/sort.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/pool.h"

#define SHORTEST_RUN 4096

struct sort {
	char *from, *to;
	size_t n, size, run; /* elements per run; the last run may be shorter */
	sort_compare_fn compare;
	void *ctx;
};

static void sort_run(void *ctx, u32 worker, u32 unit)
{
	const struct sort *s = ctx;
	size_t start = unit * s->run, end = MIN(s->n, start + s->run);

	(void)worker;
	qsort_r(s->from + start * s->size, end - start, s->size, s->compare, s->ctx);
}

/* Of equal elements the one of the first run is the lower one, in both directions. */
static void merge_up(const struct sort *s, const char *a, const char *a_end, const char *b, const char *b_end,
		     char *to, const char *stop)
{
	for (; to < stop; to += s->size) {
		bool first = b == b_end || (a < a_end && s->compare(a, b, s->ctx) <= 0);

		memcpy(to, first ? a : b, s->size);
		*(first ? &a : &b) += s->size;
	}
}

static void merge_down(const struct sort *s, const char *a, const char *a_end, const char *b, const char *b_end,
		       char *to, const char *stop)
{
	while (to > stop) {
		bool second = a_end == a || (b_end > b && s->compare(a_end - s->size, b_end - s->size, s->ctx) <= 0);
		const char **taken = second ? &b_end : &a_end;

		*taken -= s->size;
		to -= s->size;
		memcpy(to, *taken, s->size);
	}
}

static void merge_half(void *ctx, u32 worker, u32 unit)
{
	const struct sort *s = ctx;
	size_t start = unit / 2 * 2 * s->run, mid = MIN(s->n, start + s->run), end = MIN(s->n, mid + s->run);
	const char *a = s->from + start * s->size, *b = s->from + mid * s->size, *b_end = s->from + end * s->size;
	char *to = s->to + start * s->size, *to_end = s->to + end * s->size, *half = to + (end - start) / 2 * s->size;

	(void)worker;
	if (unit % 2)
		merge_down(s, a, b, b, b_end, to_end, half);
	else
		merge_up(s, a, b, b, b_end, to, half);
}

void sort_parallel(u32 workers, void *v, size_t n, size_t size, sort_compare_fn compare, void *ctx)
{
	struct sort s = { .from = v, .n = n, .size = size, .run = n, .compare = compare, .ctx = ctx };
	char *other;

	if (workers > 1 && n > SHORTEST_RUN)
		s.run = MAX(n / workers + 1, (size_t)SHORTEST_RUN);
	if (n > 1)
		pool_run(workers, (u32)((n + s.run - 1) / s.run), sort_run, &s);
	if (s.run >= n)
		return;
	other = mem_realloc(NULL, n, size);
	s.to = other;
	for (; s.run < n; s.run *= 2) {
		char *merged = s.to;

		pool_run(workers, (u32)((n + 2 * s.run - 1) / (2 * s.run)) * 2, merge_half, &s);
		s.to = s.from;
		s.from = merged;
	}
	if (s.from != v)
		memcpy(v, s.from, n * size);
	free(other);
}

#define DIGITS 256u

static u64 word_of(const void *things, size_t size, u32 id, u32 word)
{
	u64 v;

	memcpy(&v, (const char *)things + id * size + word * sizeof(v), sizeof(v));
	return v;
}

/* Of each byte of a word, how often each value of it occurs. */
static void count_digits(const void *things, size_t n, size_t size, u32 word, u32 count[sizeof(u64)][DIGITS])
{
	memset(count, 0, sizeof(u64) * sizeof(*count));
	for (u32 i = 0; i < n; i++) {
		u64 v = word_of(things, size, i, word);

		for (u32 byte = 0; byte < sizeof(v); byte++)
			count[byte][v >> 8 * byte & (DIGITS - 1)]++;
	}
}

void sort_by_words(u32 *ids, const void *things, size_t n, size_t size, u32 words)
{
	u32 count[sizeof(u64)][DIGITS], *from = ids, *to = mem_realloc(NULL, n + 1, sizeof(*to)), *room = to;

	for (u32 i = 0; i < n; i++)
		ids[i] = i;
	for (u32 word = words; word-- > 0;) {
		count_digits(things, n, size, word, count);
		for (u32 byte = 0; byte < sizeof(u64); byte++) {
			u32 *at = count[byte], *swap = from, before = 0;

			if (!n || at[word_of(things, size, 0, word) >> 8 * byte & (DIGITS - 1)] == n)
				continue; /* all agree in it */
			for (u32 d = 0; d < DIGITS; d++) {
				u32 here = at[d];

				at[d] = before;
				before += here;
			}
			for (size_t i = 0; i < n; i++)
				to[at[word_of(things, size, from[i], word) >> 8 * byte & (DIGITS - 1)]++] = from[i];
			from = to;
			to = swap;
		}
	}
	if (from != ids)
		memcpy(ids, from, n * sizeof(*ids));
	free(room);
}
