/* SPDX-License-Identifier: Apache-2.0 */
/* From where functions are called: the order in which the table is told must not matter, and what shares a word with
 * others may lose its only call, but never gains one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "attrib/callers.h"
#include "base/pool.h"
#include "no_functions.h"

/* --- functions, instead of those of files */

#define SIZE 0x1000u /* of a function: number n lies from n * SIZE on */

struct maps functions_maps(struct functions *f, const struct asker *who)
{
	(void)f;
	(void)who;
	return (struct maps){ 0 };
}

bool function_may_jump(struct functions *f, const struct asker *who, u64 to, u64 in)
{
	(void)f;
	(void)who;
	return to / SIZE % 2 && !(in / SIZE % 2); /* odd ones may go on in even ones */
}

#define COMES_BACK 9u /* calls setjmp */

bool function_comes_back(struct functions *f, const struct asker *who, u64 addr)
{
	(void)f;
	(void)who;
	return addr / SIZE == COMES_BACK;
}

struct function function_at(struct functions *f, const struct asker *who, u64 addr)
{
	u64 n = addr / SIZE;

	(void)f;
	(void)who;
	return (struct function){ .name = n, .entry = n, .named = true, .dso = 1 };
}

/* --- the table */

#define FUNCTIONS 3000u
#define DEPTH 8u

static struct callee function(u32 i)
{
	return (struct callee){ .pid = 1, .name = 2 * i + 1 };
}

/* Every third function has a second call. */
static void add(struct callers *c, u32 i)
{
	struct callee f = function(i);

	callers_add(c, &f, 0x1000 + i, 0x9000 + i);
	if (i % 3 == 0)
		callers_add(c, &f, 0x5000 + i, 0x9000 + i);
}

static u32 count_only(const struct callers *c)
{
	u32 n = 0;

	for (u32 i = 0; i < FUNCTIONS; i++) {
		struct callee f = function(i);
		bool only = callers_only(c, &f, 0x1000 + i, 0x9000 + i);

		assert_false(only && i % 3 == 0);
		assert_false(callers_only(c, &f, 0x5000 + i, 0x9000 + i));
		assert_false(callers_only(c, &f, 0x1000 + i, 0x9001 + i));
		n += only;
	}
	return n;
}

static void calls_stay_the_only_ones(void **state)
{
	struct callers *c = callers_new(1, DEPTH, true);

	(void)state;
	for (u32 i = 0; i < FUNCTIONS; i++)
		add(c, i);
	/* Few are lost to others: both words of a function have to be shared. */
	assert_true(count_only(c) > FUNCTIONS * 2 / 3 * 95 / 100);
	callers_free(c);
}

static void add_from_thread(void *ctx, u32 worker, u32 unit)
{
	(void)worker;
	add(ctx, (unit * 7 + 5) % FUNCTIONS);
}

static void order_does_not_matter(void **state)
{
	struct callers *a = callers_new(1, DEPTH, true), *b = callers_new(1, DEPTH, true);

	(void)state;
	for (u32 i = 0; i < FUNCTIONS; i++)
		add(a, i);
	for (u32 times = 0; times < 2; times++)
		pool_run(3, FUNCTIONS, add_from_thread, b);
	assert_int_equal(count_only(a), count_only(b));
	for (u32 i = 0; i < FUNCTIONS; i++) {
		struct callee f = function(i);

		assert_int_equal(callers_only(a, &f, 0x1000 + i, 0x9000 + i),
				 callers_only(b, &f, 0x1000 + i, 0x9000 + i));
	}
	callers_free(a);
	callers_free(b);
}

/* --- samples */

#define TID 7u
#define KINDS 7u /* functions 1 to 7 */
#define SITES 3u /* of calls in each */
#define SAMPLES 400u
#define DEEPEST 12u

static u32 seed = 5;

static u32 next(u32 n)
{
	seed = seed * 1664525 + 1013904223;
	return (seed >> 8) % n;
}

#define SITE(function, i) ((u64)(function)*SIZE + 0x10 * ((i) + 1))

static void read_one(struct caller_reader *r, const u64 *words, u32 n, u64 ip)
{
	const struct sample_stack s = {
		.ip = ip, .pid = 1, .tid = TID, .nr_branches = n, .branches = { (const u8 *)words, n * 3, false }
	};

	callers_read(r, &s, 0, true);
}

/* A thread that calls and returns, of whose calls the registers hold the newest: words of samples, newest call first.
 */
struct walk {
	u64 words[SAMPLES][DEPTH * 3], ip[SAMPLES];
	u32 n[SAMPLES];
};

static void make_walk(struct walk *w)
{
	u64 calls[DEEPEST][2];
	u32 deep = 0, held = 0, at = 1; /* held: of the newest calls, in registers */

	for (u32 i = 0; i < SAMPLES; i++) {
		for (u32 steps = next(6); steps > 0; steps--) {
			if (deep && (deep == DEEPEST || next(2))) {
				deep--;
				held -= held > 0;
				at = (u32)(calls[deep][0] / SIZE);
			} else {
				u32 to = 1 + next(KINDS);

				calls[deep][0] = SITE(at, next(SITES));
				calls[deep++][1] = (u64)to * SIZE;
				held = MIN(held + 1, DEPTH);
				at = at % 2 && next(3) == 0 ? to & ~1u : to; /* it goes on in another one */
				at = at ? at : to;
			}
		}
		for (u32 k = 0; k < held; k++) {
			w->words[i][3 * k] = calls[deep - 1 - k][0];
			w->words[i][3 * k + 1] = calls[deep - 1 - k][1];
		}
		w->n[i] = held;
		w->ip[i] = SITE(at, next(SITES));
	}
}

static void check_same(const struct callers *a, const struct callers *b)
{

	assert_int_equal(callers_jumps(a, 1, TID, NULL), callers_jumps(b, 1, TID, NULL));
	for (u32 f = 1; f <= KINDS; f++)
		for (u32 from = 1; from <= KINDS; from++)
			for (u32 site = 0; site < SITES; site++)
				for (u32 to = 1; to <= KINDS; to++) {
					struct callee callee = { .pid = 1, .name = f };
					bool is = callers_only(a, &callee, SITE(from, site), (u64)to * SIZE);

					assert_int_equal(is,
							 callers_only(b, &callee, SITE(from, site), (u64)to * SIZE));
				}
}

/* What a sample has in common with the one before is passed over: that changes nothing of what is found. */
static void all_of_it_is_read(void **state)
{
	static struct walk w;

	(void)state;
	for (u32 round = 0; round < 30; round++) {
		struct callers *a = callers_new(1, DEPTH, true), *b = callers_new(1, DEPTH, true);
		struct caller_reader *all = caller_reader_new(a, NULL, NULL);

		memset(&w, 0, sizeof(w));
		make_walk(&w);
		for (u32 i = 0; i < 3 + round * round / 3; i++) {
			struct caller_reader *one = caller_reader_new(b, NULL, NULL); /* has read nothing before */

			read_one(all, w.words[i], w.n[i], w.ip[i]);
			read_one(one, w.words[i], w.n[i], w.ip[i]);
			caller_reader_free(one);
		}
		check_same(a, b);
		caller_reader_free(all);
		callers_free(a);
		callers_free(b);
	}
}

/* Nothing is compared with what stands before a sample's calls, which may look like calls that are in common. */
static void nothing_else_is_compared(void **state)
{
	static const u64 words[] = { SITE(6, 0), 2 * SIZE, 0, SITE(1, 0), 5 * SIZE, 0, SITE(3, 1), 1 * SIZE, 0 };
	static const u64 later[] = { SITE(2, 0), 3 * SIZE, 0, SITE(6, 0), 2 * SIZE, 0, SITE(1, 0), 5 * SIZE, 0 };
	struct callers *c = callers_new(1, DEPTH, true);
	struct caller_reader *r = caller_reader_new(c, NULL, NULL);
	const struct callee six = { .pid = 1, .name = 6 };

	(void)state;
	read_one(r, words + 3, 2, SITE(5, 2));
	assert_false(callers_only(c, &six, SITE(1, 0), 5 * SIZE));
	/* 5, which 1 has called, has gone on in 6. */
	read_one(r, later, 3, SITE(3, 2));
	assert_true(callers_only(c, &six, SITE(1, 0), 5 * SIZE));
	assert_false(callers_jumps(c, 1, TID, NULL));
	caller_reader_free(r);
	callers_free(c);
}

/* A call that a function makes of itself tells of jumps only if it also calls setjmp. */
static void calls_itself_and_setjmp(void **state)
{
	static const struct {
		u64 words[3], ip;
		bool jumps;
	} cases[] = {
		{ { SITE(COMES_BACK, 0), COMES_BACK * SIZE, 0 }, SITE(COMES_BACK, 1), true },
		{ { SITE(COMES_BACK, 0), 2 * SIZE, 0 }, SITE(2, 1), false },
		{ { SITE(2, 0), COMES_BACK * SIZE, 0 }, SITE(COMES_BACK, 1), false },
		{ { SITE(2, 0), 2 * SIZE, 0 }, SITE(2, 1), false },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
		struct callers *c = callers_new(1, DEPTH, true);
		struct caller_reader *r = caller_reader_new(c, NULL, NULL);

		read_one(r, cases[i].words, 1, cases[i].ip);
		assert_int_equal(callers_jumps(c, 1, TID, NULL), cases[i].jumps);
		caller_reader_free(r);
		callers_free(c);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_stay_the_only_ones), cmocka_unit_test(order_does_not_matter),
		cmocka_unit_test(all_of_it_is_read),	    cmocka_unit_test(nothing_else_is_compared),
		cmocka_unit_test(calls_itself_and_setjmp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
