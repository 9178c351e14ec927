/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program worth profiling: six hot functions that are slow for different reasons, on two threads.
 *
 *     demo [SECONDS]
 *
 * compute thread: matrix_multiply (arithmetic), sort_records (mispredicted branches), fibonacci (recursion)
 * lookup thread:  hash_build (cache misses), search_text (streaming bytes), interpret (indirect calls)
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* One function, one symbol: neither inlined nor cloned. */
#if __has_attribute(noipa)
#define HOT __attribute__((noipa))
#else
#define HOT __attribute__((noinline))
#endif

struct job {
	double seconds;
	uint64_t rounds, check; /* the check keeps the work from being optimised away */
};

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t next_random(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state;
}

#define DIM 96

static HOT double matrix_multiply(const double *a, const double *b, double *c)
{
	for (int i = 0; i < DIM; i++)
		for (int j = 0; j < DIM; j++) {
			double sum = 0;

			for (int k = 0; k < DIM; k++)
				sum += a[i * DIM + k] * b[k * DIM + j];
			c[i * DIM + j] = sum;
		}
	return c[DIM + 1];
}

#define RECORDS 8192

static HOT int compare_records(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

/* Heap sort: many comparisons that cannot be foreseen, through a pointer as qsort has it. */
static HOT void sift_down(uint64_t *v, int at, int n, int (*compare)(const void *, const void *))
{
	for (int kid; (kid = 2 * at + 1) < n; at = kid) {
		uint64_t swap = v[at];

		if (kid + 1 < n && compare(&v[kid], &v[kid + 1]) < 0)
			kid++;
		if (compare(&v[at], &v[kid]) >= 0)
			break;
		v[at] = v[kid];
		v[kid] = swap;
	}
}

static HOT uint64_t sort_records(uint64_t *v, uint64_t *seed)
{
	for (int i = 0; i < RECORDS; i++)
		v[i] = next_random(seed);
	for (int i = RECORDS / 2; i-- > 0;)
		sift_down(v, i, RECORDS, compare_records);
	for (int n = RECORDS; n-- > 1;) {
		uint64_t top = v[0];

		v[0] = v[n];
		v[n] = top;
		sift_down(v, 0, n, compare_records);
	}
	return v[RECORDS / 2];
}

static HOT uint64_t fibonacci(uint64_t n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}

static void *compute_thread(void *arg)
{
	struct job *job = arg;
	double *m = calloc(3 * DIM * DIM, sizeof(*m)), end = now() + job->seconds;
	uint64_t *v = calloc(RECORDS, sizeof(*v)), seed = 88172645463325252u;

	if (!m || !v)
		abort();
	for (int i = 0; i < 2 * DIM * DIM; i++)
		m[i] = i % 7;
	while (now() < end) {
		for (int i = 0; i < 4; i++)
			job->check += (uint64_t)matrix_multiply(m, m + DIM * DIM, m + 2 * DIM * DIM);
		job->check += sort_records(v, &seed);
		job->check += fibonacci(24);
		job->rounds++;
	}
	free(m);
	free(v);
	return NULL;
}

#define SLOTS (1u << 20)

static HOT uint64_t hash_insert(uint64_t *table, uint64_t key)
{
	uint64_t at = (key * 0x9e3779b97f4a7c15u) >> 44;

	while (table[at] && table[at] != key)
		at = (at + 1) & (SLOTS - 1);
	table[at] = key;
	return at;
}

static HOT uint64_t hash_build(uint64_t *table, uint64_t *seed)
{
	uint64_t sum = 0;

	memset(table, 0, SLOTS * sizeof(*table));
	for (int i = 0; i < 300000; i++)
		sum += hash_insert(table, next_random(seed) | 1);
	return sum;
}

static HOT uint64_t search_text(const char *text, const char *word)
{
	uint64_t found = 0;

	for (const char *p = text; *p; p++) {
		int i = 0;

		while (word[i] && p[i] == word[i])
			i++;
		found += !word[i];
	}
	return found;
}

struct machine {
	uint64_t acc, steps;
};

typedef void (*opcode_fn)(struct machine *m, uint64_t operand);

static HOT void op_add(struct machine *m, uint64_t operand)
{
	m->acc += operand;
}

static HOT void op_xor(struct machine *m, uint64_t operand)
{
	m->acc ^= operand << 3;
}

static HOT void op_rotate(struct machine *m, uint64_t operand)
{
	operand = (operand & 31) + 1;
	m->acc = m->acc << operand | m->acc >> (64 - operand);
}

static HOT void op_multiply(struct machine *m, uint64_t operand)
{
	m->acc *= operand | 1;
}

static HOT uint64_t interpret(const uint8_t *code, size_t n)
{
	static const opcode_fn table[] = { op_add, op_xor, op_rotate, op_multiply };
	struct machine m = { 1, 0 };

	for (int pass = 0; pass < 24; pass++)
		for (size_t i = 0; i < n; i++, m.steps++)
			table[code[i] & 3](&m, code[i]);
	return m.acc + m.steps;
}

static void *lookup_thread(void *arg)
{
	enum { TEXT = 1 << 20, CODE = 1 << 14 };
	struct job *job = arg;
	double end = now() + job->seconds;
	uint64_t *table = calloc(SLOTS, sizeof(*table)), seed = 2463534242u;
	char *text = malloc(TEXT + 1);
	uint8_t *code = malloc(CODE);

	if (!table || !text || !code)
		abort();
	for (int i = 0; i < TEXT; i++)
		text[i] = (char)('a' + next_random(&seed) % 5);
	text[TEXT] = 0;
	for (int i = 0; i < CODE; i++)
		code[i] = (uint8_t)next_random(&seed);
	while (now() < end) {
		job->check += hash_build(table, &seed);
		job->check += search_text(text, "abcde");
		job->check += interpret(code, CODE);
		job->rounds++;
	}
	free(table);
	free(text);
	free(code);
	return NULL;
}

int main(int argc, char **argv)
{
	struct job jobs[2] = { { .seconds = argc > 1 ? atof(argv[1]) : 3 } };
	pthread_t threads[2];

	jobs[1] = jobs[0];
	if (pthread_create(&threads[0], NULL, compute_thread, &jobs[0]) ||
	    pthread_create(&threads[1], NULL, lookup_thread, &jobs[1]))
		return 1;
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("demo: %llu compute rounds, %llu lookup rounds (check %llx)\n", (unsigned long long)jobs[0].rounds,
	       (unsigned long long)jobs[1].rounds, (unsigned long long)(jobs[0].check ^ jobs[1].check));
	return 0;
}
