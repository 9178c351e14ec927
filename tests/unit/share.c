/* SPDX-License-Identifier: Apache-2.0 */
/* How often intervals of shares hold the truth, exactly: the sum of the chances of all numbers of samples whose
 * intervals contain it. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/types.h"
#include "metric/share.h"

#define COUNTS 160 /* of which more are not to be expected: of 50 on average 15 deviations away */
#define STEPS 500

static double binomial(double h, double n, double p)
{
	return exp(lgamma(n + 1) - lgamma(h + 1) - lgamma(n - h + 1) + h * log(p) + (n - h) * log1p(-p));
}

struct coverage {
	double least, most, mean;
};

/* Over means from a part of `end` to nearly all of it; of n samples. */
static struct coverage coverage(double n, double end)
{
	u32 counts = (u32)fmin(n + 1, COUNTS);
	double low[COUNTS], high[COUNTS];
	struct coverage out = { .least = 1 };

	for (u32 h = 0; h < counts; h++) {
		low[h] = share_low(h, n);
		high[h] = share_high(h, n);
		assert_true(0 <= low[h] && low[h] <= h / n && h / n <= high[h] && high[h] <= 1);
	}
	for (u32 i = 1; i < STEPS; i++) {
		double p = end / n * i / STEPS, held = 0;

		for (u32 h = 0; h < counts; h++)
			held += low[h] <= p && p <= high[h] ? binomial(h, n, p) : 0;
		out.least = fmin(out.least, held);
		out.most = fmax(out.most, held);
		out.mean += held / (STEPS - 1);
	}
	return out;
}

/* Of a million samples: means of 0.1 to 50, and the small ones alone. */
static void rare_ones_are_held_as_often_as_said(void **state)
{
	struct coverage c = coverage(1e6, 50);

	(void)state;
	assert_true(c.least > 0.91 && c.most < 0.996);
	assert_true(fabs(c.mean - 0.951) < 0.003);
	c = coverage(1e6, 5);
	assert_true(c.least > 0.91);
	assert_true(c.mean > 0.95 && c.mean < 0.972);
}

static void shares_of_few_are_held_as_often_as_said(void **state)
{
	static const double numbers[] = { 4, 5, 10, 20, 50, 150 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(numbers); i++) {
		struct coverage c = coverage(numbers[i], numbers[i]);

		assert_true(c.least > 0.89);
		assert_true(c.mean > 0.949 && c.mean < 0.975);
	}
}

/* Of few among many: half the quantiles of chi-square of 2 h + 1 degrees, and mid-P's end where there is none. */
static void limits_are_those_of_jeffreys(void **state)
{
	static const double low[] = { 0, 0.1079, 0.4156, 0.8449, 1.3502, 1.9079 };
	static const double high[] = { 2.9957, 4.6742, 6.4163, 8.0064, 9.5114, 10.9600 };

	(void)state;
	for (u32 h = 0; h < ARRAY_LEN(low); h++) {
		assert_true(fabs(1e6 * share_low(h, 1e6) - low[h]) < 0.02);
		assert_true(fabs(1e6 * share_high(h, 1e6) - high[h]) < 0.02);
	}
	assert_true(fabs(1e17 * share_high(0, 1e17) - 2.9957) < 1e-3); /* however many there are */
	assert_true(fabs(share_high(0, 4) - (1 - pow(0.05, 0.25))) < 1e-12);
	assert_true(share_high(4, 4) == 1 && fabs(share_low(4, 4) - pow(0.05, 0.25)) < 1e-12);
	/* Many: the normal distribution's. */
	assert_true(fabs(share_high(200000, 1e6) - 0.2 - 1.96 * 4e-4) < 1e-6);
}

/* More of the same is more; part of a sample is no step. */
static void ends_grow_with_what_was_seen(void **state)
{
	static const double numbers[] = { 0.5, 1, 3, 7.5, 100, 1e9 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(numbers); i++) {
		double n = numbers[i], step = n / 1000;

		for (double h = step; h <= n; h += step) {
			assert_true(share_high(h, n) >= share_high(h - step, n));
			assert_true(share_low(h, n) >= share_low(h - step, n));
			assert_true(share_low(h, n) <= h / n + 1e-12 && h / n <= share_high(h, n) + 1e-12);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(rare_ones_are_held_as_often_as_said),
		cmocka_unit_test(shares_of_few_are_held_as_often_as_said),
		cmocka_unit_test(limits_are_those_of_jeffreys),
		cmocka_unit_test(ends_grow_with_what_was_seen),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
