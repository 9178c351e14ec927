/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/timerange.h"

#define SEC 1000000000ull

static struct timeranges parsed(const char *text, u64 first, u64 last)
{
	struct timeranges t;

	assert_int_equal(timeranges_parse(&t, text, first, last, NULL), 0);
	return t;
}

static void expect_range(const struct timeranges *t, size_t i, u64 start, u64 stop)
{
	assert_true(i < t->v.n);
	assert_int_equal(t->v.v[i].start, start);
	assert_int_equal(t->v.v[i].stop, stop);
}

static void absolute(void **state)
{
	struct timeranges t = parsed("1.5,2", 0, 0);

	(void)state;
	assert_int_equal(t.v.n, 1);
	expect_range(&t, 0, 1500000000, 2 * SEC);
	assert_false(timeranges_hold(&t, 1499999999));
	assert_true(timeranges_hold(&t, 1500000000));
	assert_true(timeranges_hold(&t, 2 * SEC));
	assert_false(timeranges_hold(&t, 2 * SEC + 1));
	timeranges_free(&t);
}

static void open_ends(void **state)
{
	struct timeranges t = parsed("3,", 0, 0);

	(void)state;
	expect_range(&t, 0, 3 * SEC, UINT64_MAX);
	timeranges_free(&t);
	t = parsed(",3.000000001", 0, 0);
	expect_range(&t, 0, 0, 3 * SEC + 1);
	timeranges_free(&t);
}

static void several(void **state)
{
	struct timeranges t = parsed("1,2 4,5  7,", 0, 0);

	(void)state;
	assert_int_equal(t.v.n, 3);
	assert_true(timeranges_hold(&t, 4 * SEC));
	assert_false(timeranges_hold(&t, 3 * SEC));
	assert_true(timeranges_hold(&t, 100 * SEC));
	timeranges_free(&t);
}

static void percent(void **state)
{
	struct timeranges t = parsed("10%", 1000, 2000);

	(void)state;
	expect_range(&t, 0, 1000, 1099);
	timeranges_free(&t);
	t = parsed("10%/2", 1000, 2000);
	expect_range(&t, 0, 1100, 1199);
	timeranges_free(&t);
	t = parsed("10%/10", 1000, 2000);
	expect_range(&t, 0, 1900, 2000);
	timeranges_free(&t);
	t = parsed("0%-10%,30%-40%", 1000, 2000);
	assert_int_equal(t.v.n, 2);
	expect_range(&t, 1, 1300, 1399);
	timeranges_free(&t);
}

static void none_holds_all(void **state)
{
	struct timeranges t = { 0 };

	(void)state;
	assert_true(timeranges_hold(&t, 0));
}

static void refused(void **state)
{
	static const char *const bad[] = { "",	     "1",	"a,b",	   "2,1",     "1,2x",
					   "1,2,3",  "5,6 1,2", "1,2 2,3", "110%",    "10%/0",
					   "10%/11", "-5%",	"20%-10%", "10%;20%", "99999999999999999999," };

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct timeranges t;

		assert_int_equal(timeranges_parse(&t, bad[i], 1000, 2000, NULL), ERR_USAGE);
		assert_int_equal(t.v.n, 0);
	}
}

static void percent_needs_bounds(void **state)
{
	struct timeranges t;

	(void)state;
	assert_int_equal(timeranges_parse(&t, "10%", 0, 0, NULL), ERR_USAGE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(absolute),
		cmocka_unit_test(open_ends),
		cmocka_unit_test(several),
		cmocka_unit_test(percent),
		cmocka_unit_test(refused),
		cmocka_unit_test(none_holds_all),
		cmocka_unit_test(percent_needs_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
