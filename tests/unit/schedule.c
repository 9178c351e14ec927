/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of periods: plain, alternating, with jitter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/schedule.h"

static void test_plain(void **state)
{
	struct schedule s = { .period_long = 100003 };
	struct schedule_state st;

	(void)state;
	assert_null(schedule_check(&s));
	assert_int_equal(schedule_whole(&s), 100003);
	schedule_start(&st, 1);
	for (u32 i = 0; i < 1000; i++) {
		assert_int_equal(schedule_next(&s, &st), 100003);
		assert_false(st.in_short);
	}
}

/* One long period, then its batch, again and again; without jitter the lengths are exact. */
static void test_batches(void **state)
{
	(void)state;
	for (u32 burst = 1; burst <= 16; burst++) {
		struct schedule s = { .period_long = 999700, .period_short = 300, .batch_count = burst };
		struct schedule_state st;

		assert_null(schedule_check(&s));
		assert_int_equal(schedule_whole(&s), 999700 + 300 * burst);
		schedule_start(&st, burst);
		for (u32 i = 0; i < 20 * (burst + 1); i++) {
			bool in_short = i % (burst + 1);

			assert_int_equal(schedule_next(&s, &st), in_short ? 300 : 999700);
			assert_int_equal(st.in_short, in_short);
		}
	}
}

#define DRAWS 100000
#define VALUES 101

/* Jitter of 100 on 1000: each of 950 .. 1050 as often as the others. Chi-square with 100 degrees of freedom is under
 * 149.4 in 999 of 1000 runs of a fair generator; with these seeds it always is, or never. */
static void check_uniform(const struct schedule *s, bool in_short, u64 middle, u64 seed)
{
	struct schedule_state st;
	u32 seen[VALUES] = { 0 };
	double chi = 0, expected = (double)DRAWS / VALUES;

	schedule_start(&st, seed);
	for (u32 i = 0; i < DRAWS;) {
		u64 p = schedule_next(s, &st);

		if (st.in_short != in_short)
			continue;
		assert_in_range(p, middle - VALUES / 2, middle + VALUES / 2);
		seen[p - (middle - VALUES / 2)]++;
		i++;
	}
	for (u32 i = 0; i < VALUES; i++)
		chi += (seen[i] - expected) * (seen[i] - expected) / expected;
	assert_true(chi < 149.4);
	assert_true(chi > 61.9); /* nor suspiciously even */
}

static void test_jitter(void **state)
{
	struct schedule both = {
		.period_long = 1000, .period_short = 60, .batch_count = 2, .jitter_long = 101, .jitter_short = 100
	};
	struct schedule plain = { .period_long = 1000, .jitter_long = 100 };

	(void)state;
	assert_null(schedule_check(&both));
	check_uniform(&plain, false, 1000, 1);
	check_uniform(&both, false, 1000, 2); /* an odd jitter is rounded down */
	check_uniform(&both, true, 60, 3);
}

/* The widest jitter that passes reaches from 1 to 2 p - 1, and no further. */
static void test_never_zero(void **state)
{
	(void)state;
	for (u64 period = 1; period < 40; period++) {
		struct schedule s = { .period_long = period, .jitter_long = 2 * period - 1 };
		struct schedule_state st;
		u64 low = UINT64_MAX, high = 0;

		assert_null(schedule_check(&s));
		schedule_start(&st, period);
		for (u32 i = 0; i < 4000; i++) {
			u64 p = schedule_next(&s, &st);

			low = MIN(low, p);
			high = MAX(high, p);
		}
		assert_int_equal(low, 1);
		assert_int_equal(high, 2 * period - 1);
		/* What a frequency may come to: a period within its jitter. */
		s.period_long = 1;
		for (u32 i = 0; i < 100; i++)
			assert_int_equal(schedule_next(&s, &st), 1);
	}
}

static void test_refused(void **state)
{
	static const struct schedule bad[] = {
		{ 0 },
		{ .period_short = 1, .batch_count = 1 },
		{ .period_long = 10, .jitter_long = 20 },
		{ .period_long = 10, .batch_count = 1 },
		{ .period_long = 10, .jitter_short = 1 },
		{ .period_long = 10, .period_short = 5 },
		{ .period_long = 10, .period_short = 5, .batch_count = 1, .jitter_short = 10 },
		{ .period_long = UINT64_MAX },
		{ .period_long = 1, .period_short = INT64_MAX, .batch_count = 1 },
		{ .period_long = 1, .period_short = 1ull << 40, .batch_count = 1u << 31 },
		{ .period_long = INT64_MAX, .period_short = 1, .batch_count = 1 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(bad); i++)
		if (!schedule_check(&bad[i]))
			fail_msg("schedule %u passes", i);
}

/* Everything short that can be drawn is short, nothing long is. */
static void test_short_max(void **state)
{
	static const struct {
		struct schedule s;
		u64 max;
	} rows[] = {
		{ { 10000, 300, 1, 0, 0 }, 5150 },
		{ { 10000, 300, 1, 1000, 100 }, 4925 },			 /* 9500 and 350 */
		{ { 10000, 300, 1, SCHEDULE_JITTER_FULL, 300 }, 2725 },	 /* 5000 and 450 */
		{ { 0, 300, 1, SCHEDULE_JITTER_FULL, 300 }, 1500 },	 /* a frequency's */
		{ { 10000, 300, 1, SCHEDULE_JITTER_FULL - 1, 0 }, 150 }, /* of a hostile name */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(schedule_short_max(&rows[i].s), rows[i].max);
	assert_int_equal(schedule_width(SCHEDULE_JITTER_FULL, 7), 7);
	assert_int_equal(schedule_width(70, 7), 70);
}

static void test_seed(void **state)
{
	struct schedule s = {
		.period_long = 1000000, .period_short = 300, .batch_count = 3, .jitter_long = 999, .jitter_short = 99
	};
	struct schedule_state a, b, c;
	u32 differ = 0;

	(void)state;
	schedule_start(&a, 7);
	schedule_start(&b, 7);
	schedule_start(&c, 8);
	for (u32 i = 0; i < 1000; i++) {
		u64 p = schedule_next(&s, &a);

		assert_int_equal(p, schedule_next(&s, &b));
		differ += p != schedule_next(&s, &c);
	}
	assert_true(differ > 900);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_plain),  cmocka_unit_test(test_batches),	  cmocka_unit_test(test_short_max),
		cmocka_unit_test(test_jitter), cmocka_unit_test(test_never_zero), cmocka_unit_test(test_refused),
		cmocka_unit_test(test_seed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
