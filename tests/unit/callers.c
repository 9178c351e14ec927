/* SPDX-License-Identifier: Apache-2.0 */
/* From where functions are called: the order in which the table is told must not matter, and what shares a word with
 * others may lose its only call, but never gains one. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "attrib/callers.h"
#include "base/pool.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_stay_the_only_ones),
		cmocka_unit_test(order_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
