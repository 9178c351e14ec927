/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs made as real code is, of which a table of metrics per function must be right.
 *
 *     kinds leaves|helpers|recursion|library|objects|interpreter|phases|threads|pointers|long ROUNDS
 *
 * leaves       small functions, of other instructions than their caller, in a hot loop
 * helpers      a function that does two kinds of work around calls of a small helper
 * recursion    a tree that is built and walked
 * library      libc's functions through the PLT: short copies, comparisons, sorting
 * objects      small methods through tables of pointers
 * interpreter  a loop over operations that calls one function each
 * phases       seconds of one kind of work after another
 * threads      three threads of three kinds
 * pointers     chains through memory of three sizes
 * long         calls of thousands of cycles
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#if __has_attribute(noipa)
#define APART __attribute__((noipa))
#else
#define APART __attribute__((noinline))
#endif

static volatile uint64_t sink;
static uint64_t state = 88172645463325252u;

static inline uint64_t random64(void)
{
	state ^= state << 13;
	state ^= state >> 7;
	return state ^= state << 17;
}

/* --- leaves --- */

APART static uint64_t leaf_divide(uint64_t a, uint64_t b)
{
	return a / (b | 1) + a / (b | 3);
}
APART static uint64_t leaf_add(uint64_t a, uint64_t b)
{
	return (a + b) ^ (a << 3) ^ (b >> 2) ^ (a & b);
}
APART static uint64_t leaf_guess(uint64_t a, uint64_t b)
{
	if (a & 1)
		b += 3 * a;
	else
		b ^= a >> 3;
	return b;
}
APART static uint64_t leaf_load(const uint64_t *p, uint64_t i)
{
	return p[i & 0xfffff];
}
APART static void leaves(long rounds)
{
	uint64_t *p = calloc(1 << 20, sizeof(*p)), x = 1;

	for (long i = 0; i < rounds * 20000; i++) {
		uint64_t r = random64();

		x += leaf_divide(r, (uint64_t)i);
		x ^= leaf_add(x, r);
		x += leaf_guess(r >> 7, x);
		if (!(i & 7))
			x += leaf_load(p, r);
	}
	sink = x;
	free(p);
}

/* --- helpers --- */

APART static uint64_t helper(uint64_t x)
{
	return x * 2862933555777941757u + 3037000493u;
}
APART static uint64_t divides_and_adds(uint64_t n)
{
	uint64_t x = n;

	for (int i = 0; i < 20; i++) {
		x += helper(x);
		if (i < 10)
			x /= (x >> 60) | 3;
		else
			x = (x << 1) ^ (x >> 3) ^ (x + 7) ^ (x & 0xff);
	}
	return x;
}
APART static uint64_t guesses_and_helps(uint64_t n)
{
	uint64_t x = n;

	for (int i = 0; i < 12; i++) {
		uint64_t h = helper(x + (uint64_t)i);

		if (h >> 63)
			x += h >> 3;
		else
			x ^= h * 5;
	}
	return x;
}
static void helpers(long rounds)
{
	uint64_t x = 1;

	for (long i = 0; i < rounds * 600; i++)
		x += divides_and_adds(x + (uint64_t)i) + guesses_and_helps(x);
	sink = x;
}

/* --- recursion --- */

struct node {
	struct node *left, *right;
	uint64_t key;
};

APART static struct node *tree_insert(struct node *n, struct node *new)
{
	if (!n)
		return new;
	if (new->key < n->key)
		n->left = tree_insert(n->left, new);
	else
		n->right = tree_insert(n->right, new);
	return n;
}
APART static uint64_t tree_sum(const struct node *n)
{
	return n ? n->key + tree_sum(n->left) + tree_sum(n->right) : 0;
}
APART static uint64_t fibonacci(unsigned n)
{
	return n < 2 ? n : fibonacci(n - 1) + fibonacci(n - 2);
}
static void recursion(long rounds)
{
	enum { N = 2000 };
	struct node *nodes = calloc(N, sizeof(*nodes));
	uint64_t x = 0;

	for (long i = 0; i < rounds; i++) {
		struct node *root = NULL;

		for (int k = 0; k < N; k++) {
			nodes[k] = (struct node){ .key = random64() };
			root = tree_insert(root, &nodes[k]);
		}
		x += tree_sum(root) + tree_sum(root) + fibonacci(18);
	}
	sink = x;
	free(nodes);
}

/* --- library --- */

static int compare_words(const void *a, const void *b)
{
	uint64_t x, y;

	memcpy(&x, a, 8);
	memcpy(&y, b, 8);
	return x < y ? -1 : x > y;
}
APART static uint64_t text_work(char *text, size_t n)
{
	uint64_t x = 0;

	for (size_t i = 0; i + 64 < n; i += 48) {
		x += strlen(text + i);
		x += memchr(text + i, 'q', 40) != NULL;
		memmove(text + i, text + i + 3, 24);
	}
	return x;
}
static void library(long rounds)
{
	enum { N = 3000 };
	uint64_t words[500];
	char *text = malloc(N), number[32];
	uint64_t x = 0;

	for (long i = 0; i < rounds; i++) {
		for (int k = 0; k < N; k++)
			text[k] = (char)('a' + random64() % 26);
		for (int k = 0; k < N; k += 31)
			text[k] = 0;
		x += text_work(text, N);
		for (int k = 0; k < 500; k++)
			words[k] = random64();
		qsort(words, 500, sizeof(*words), compare_words);
		for (int k = 0; k < 100; k++)
			x += (uint64_t)snprintf(number, sizeof(number), "%d %lx", k, (unsigned long)words[k]);
		for (int k = 0; k < 60; k++)
			free(malloc(16 + words[k] % 400));
	}
	sink = x;
	free(text);
}

/* --- objects --- */

struct shape {
	uint64_t (*area)(const struct shape *);
	void (*grow)(struct shape *, uint64_t);
	uint64_t a, b;
};

APART static uint64_t square_area(const struct shape *s)
{
	return s->a * s->a;
}
APART static uint64_t ratio_area(const struct shape *s)
{
	return s->a / (s->b | 1);
}
APART static uint64_t round_area(const struct shape *s)
{
	return s->a > s->b ? s->a * 3 : s->b * 5 + s->a;
}
APART static void grow_a(struct shape *s, uint64_t by)
{
	s->a += by;
}
APART static void grow_both(struct shape *s, uint64_t by)
{
	s->a ^= by;
	s->b += by;
}
static void objects(long rounds)
{
	enum { N = 512 };
	static uint64_t (*const areas[])(const struct shape *) = { square_area, ratio_area, round_area };
	struct shape *s = calloc(N, sizeof(*s));
	uint64_t x = 0;

	for (int i = 0; i < N; i++)
		s[i] = (struct shape){ areas[random64() % 3], random64() & 1 ? grow_a : grow_both, random64(), 1 };
	for (long r = 0; r < rounds * 25; r++)
		for (int i = 0; i < N; i++) {
			s[i].grow(&s[i], x);
			x += s[i].area(&s[i]);
		}
	sink = x;
	free(s);
}

/* --- interpreter --- */

struct machine {
	uint64_t stack[64];
	unsigned top;
	uint64_t memory[4096];
};
APART static void op_push(struct machine *m, uint64_t v)
{
	m->stack[m->top++ & 63] = v;
}
APART static void op_add(struct machine *m, uint64_t v)
{
	m->stack[(m->top - 1) & 63] += m->stack[m->top & 63] + v;
}
APART static void op_mod(struct machine *m, uint64_t v)
{
	m->stack[(m->top - 1) & 63] %= v | 7;
}
APART static void op_load(struct machine *m, uint64_t v)
{
	m->stack[(m->top - 1) & 63] = m->memory[(m->stack[m->top & 63] + v) & 4095];
}
APART static void op_store(struct machine *m, uint64_t v)
{
	m->memory[v & 4095] = m->stack[m->top-- & 63];
}
APART static void run_machine(struct machine *m, const uint8_t *code, long n)
{
	for (long i = 0; i < n; i++) {
		uint64_t v = code[i] * 0x9e3779b97f4a7c15u;

		switch (code[i] % 5) {
		case 0:
			op_push(m, v);
			break;
		case 1:
			op_add(m, v);
			break;
		case 2:
			op_mod(m, v);
			break;
		case 3:
			op_load(m, v);
			break;
		default:
			op_store(m, v);
			break;
		}
	}
}
static void interpreter(long rounds)
{
	enum { N = 4000 };
	struct machine *m = calloc(1, sizeof(*m));
	uint8_t *code = malloc(N);

	for (int i = 0; i < N; i++)
		code[i] = (uint8_t)random64();
	for (long r = 0; r < rounds * 3; r++)
		run_machine(m, code, N);
	sink = m->stack[0];
	free(code);
	free(m);
}

/* --- pointers --- */

APART static uint64_t chase(uint64_t *const *p, long n)
{
	for (long i = 0; i < n; i++)
		p = (uint64_t *const *)*p;
	return (uint64_t)(uintptr_t)p;
}
APART static uint64_t chase_far(uint64_t *const *p, long n)
{
	for (long i = 0; i < n; i++)
		p = (uint64_t *const *)*p;
	return (uint64_t)(uintptr_t)p;
}
static uint64_t **ring_of(size_t n)
{
	uint64_t **p = calloc(n * 8, sizeof(*p));
	size_t at = 0;

	for (size_t i = 0; i < n; i++) {
		size_t next = (at * 1103515245 + 12345) & (n - 1);

		p[at * 8] = (uint64_t *)&p[next * 8];
		at = next;
	}
	return p;
}
static void pointers(long rounds)
{
	uint64_t **near = ring_of(1 << 8), **far = ring_of(1 << 18), x = 0;

	for (long r = 0; r < rounds * 30; r++)
		x += chase(near, 300) + chase_far(far, 20);
	sink = x;
	free(near);
	free(far);
}

/* --- long, phases, threads --- */

APART static uint64_t long_add(long n)
{
	uint64_t x = 1;

	for (long i = 0; i < n; i++)
		x = (x + (uint64_t)i) ^ (x << 1);
	return x;
}
APART static uint64_t long_divide(long n)
{
	uint64_t x = 1u << 30;

	for (long i = 1; i < n; i++)
		x = x / ((uint64_t)i | 1) + 0x123456789abcu;
	return x;
}
APART static uint64_t long_guess(long n)
{
	uint64_t x = 0;

	for (long i = 0; i < n; i++)
		if (random64() & 1)
			x += 3;
		else
			x ^= (uint64_t)i;
	return x;
}
static void long_calls(long rounds)
{
	for (long r = 0; r < rounds * 5; r++)
		sink = long_add(3000) + long_divide(700) + long_guess(900);
}
static void phases(long rounds)
{
	helpers(rounds / 3);
	leaves(rounds / 3);
	long_calls(rounds / 3);
	objects(rounds / 3);
}
static void *a_thread(void *arg)
{
	long rounds = *(long *)arg;
	uint64_t x = (uint64_t)rounds;

	for (long i = 0; i < rounds * 600; i++)
		x += divides_and_adds(x + (uint64_t)i);
	sink = x;
	return NULL;
}
static void *b_thread(void *arg)
{
	for (long r = 0; r < *(long *)arg * 12; r++)
		sink = long_add(2000);
	return NULL;
}
static void threads(long rounds)
{
	pthread_t a, b;

	pthread_create(&a, NULL, a_thread, &rounds);
	pthread_create(&b, NULL, b_thread, &rounds);
	interpreter(rounds);
	pthread_join(a, NULL);
	pthread_join(b, NULL);
}

static const struct {
	const char *name;
	void (*run)(long rounds);
} kinds[] = {
	{ "leaves", leaves },	  { "helpers", helpers },	  { "recursion", recursion }, { "library", library },
	{ "objects", objects },	  { "interpreter", interpreter }, { "phases", phases },	      { "threads", threads },
	{ "pointers", pointers }, { "long", long_calls },
};

int main(int argc, char **argv)
{
	for (size_t i = 0; argc == 3 && i < sizeof(kinds) / sizeof(*kinds); i++)
		if (!strcmp(argv[1], kinds[i].name)) {
			kinds[i].run(strtol(argv[2], NULL, 10));
			return 0;
		}
	fprintf(stderr, "usage: kinds KIND ROUNDS\n");
	return 2;
}
