/* SPDX-License-Identifier: Apache-2.0 */
/* How sure it is that a function takes more in the heavy activities, and which these are. */
#include "agg/activity_causes.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "base/random.h"

/* Activities with so many samples of a function, each of that weight; a negative number ends them. */
static struct activity_group group(double members, const double *samples, double each)
{
	struct activity_group g = { .members = members };

	for (; *samples >= 0; samples++) {
		double w = *samples * each;

		g.sum += w;
		g.squares += w * w;
		g.counted += *samples * each * each;
		g.samples += (u64)*samples;
	}
	return g;
}

#define GROUP(members, each, ...) group(members, (const double[]){ __VA_ARGS__, -1 }, each)

static void is(double x, double expected)
{
	assert_true(fabs(x - expected) < 1e-9 * (1 + fabs(expected)));
}

/* Where activities differ by more than chance, it is Welch's error. */
static void test_welch(void **state)
{
	struct activity_group heavy = GROUP(2, 1, 100, 300), others = GROUP(4, 1, 0, 0, 40, 80);

	(void)state;
	/* Squared distances from the means: 2 * 100^2, and 30^2 + 30^2 + 10^2 + 50^2. */
	is(activity_difference(&heavy, &others), (200 - 30) / sqrt(10000 + 4400.0 / 12));
	is(activity_difference(&others, &heavy), -(200 - 30) / sqrt(10000 + 4400.0 / 12));
}

/* Activities that are all alike differ by chance as far as their samples can: neither nothing nor everything is
 * certain. */
static void test_alike(void **state)
{
	struct activity_group heavy = GROUP(10, 1, 5, 5, 5, 5, 5, 5, 5, 5, 5, 5);
	struct activity_group others = GROUP(10, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1), none = GROUP(10, 1, 0);

	(void)state;
	is(activity_difference(&heavy, &others), 4 / sqrt(0.5 + 0.1));
	is(activity_difference(&heavy, &none), 5 / sqrt(0.5 + 0.01)); /* there could have been one */
	is(activity_difference(&heavy, &heavy), 0);
	heavy = GROUP(2, 1, 3, 5); /* as many samples as the others have */
	others = GROUP(4, 1, 2, 2, 2, 2);
	is(activity_difference(&heavy, &others), 2 / sqrt(2 + 0.5));
}

/* A function with few samples is not certain, however it is weighed; one with many is. */
static void test_one_heavy(void **state)
{
	const double weights[] = { 1, 250000 };

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct activity_group few = GROUP(1, weights[i], 3), many = GROUP(1, weights[i], 100);
		struct activity_group none = GROUP(100, weights[i], 0), wide = GROUP(4, weights[i], 0, 0, 200, 200);

		is(activity_difference(&few, &none), 3 / sqrt(3 + 1e-4));
		is(activity_difference(&many, &none), 100 / sqrt(100 + 1e-4));
		/* One among others that differ as much: the spread of these is the one's, too. */
		is(activity_difference(&many, &wide), 0);
		wide = GROUP(4, weights[i], 0, 0, 0, 40);
		is(activity_difference(&many, &wide), 90 / sqrt(400 + 100));
	}
}

/* Without anything to compare with, nothing is certain. */
static void test_nothing(void **state)
{
	struct activity_group some = GROUP(3, 1, 100, 100, 100), nobody = { 0 }, none = GROUP(3, 1, 0);
	struct activity_group unsampled = { .members = 3, .sum = 300, .squares = 30000, .counted = 300 };

	(void)state;
	is(activity_difference(&some, &nobody), 0);
	is(activity_difference(&nobody, &some), 0);
	is(activity_difference(&none, &none), 0);
	is(activity_difference(&unsampled, &none), 0);
	is(activity_difference(&none, &unsampled), 0);
	some = GROUP(2, 0, 3, 5); /* samples without weight */
	is(activity_difference(&some, &some), 0);
}

#define ACTIVITIES 400u
#define FUNCTIONS 5u
#define ROUNDS 400u

/* Of so many events on average, as if each came at a time of its own. */
static u64 by_chance(double average, u64 *state)
{
	double product = 1;
	u64 n = 0;

	for (; product > exp(-average); n++)
		product *= (double)(random_next(state) >> 11) / (double)(1ull << 53);
	return n - 1;
}

/* Activities that run some functions alike, and, each 40th, the last one `more` times longer than the others do. */
static void make(struct activity_part parts[ACTIVITIES * FUNCTIONS], double more, u64 *state)
{
	for (u32 i = 0; i < ACTIVITIES * FUNCTIONS; i++) {
		u32 activity = i / FUNCTIONS, function = i % FUNCTIONS;
		u64 n = by_chance(function == FUNCTIONS - 1 && activity % 40 == 0 ? 3 * more : 3, state);

		parts[i] = (struct activity_part){ activity, function, n * 1000, n, random_next(state) };
	}
}

/*
 * The level that the man page names is 3 standard errors, which a normal distribution exceeds on one side in 0.13 % of
 * cases; counts of 12 activities are skewed, so some more is to be expected. If the heavy activities were chosen by
 * the samples that are compared, all would be beyond it.
 */
static void test_false_alarms(void **state)
{
	static struct activity_part parts[ACTIVITIES * FUNCTIONS];
	u64 random = 7;
	u32 alarms = 0;

	(void)state;
	for (u32 round = 0; round < ROUNDS; round++) {
		struct activity_causes causes;

		make(parts, 1, &random);
		activity_causes_find(parts, ACTIVITIES * FUNCTIONS, ACTIVITIES, FUNCTIONS, 0.03, &causes);
		assert_int_equal(causes.nr_heavy + causes.nr_others, ACTIVITIES);
		for (size_t i = 0; i < causes.v.n; i++)
			alarms += causes.v.v[i].errors >= 3;
		activity_causes_free(&causes);
	}
	assert_in_range(alarms, 0, ROUNDS * FUNCTIONS / 100);
}

/* What makes them heavy is found, and only that; the means are those of all samples. */
static void test_cause(void **state)
{
	static struct activity_part parts[ACTIVITIES * FUNCTIONS];
	u64 random = 11;

	(void)state;
	for (u32 round = 0; round < 20; round++) {
		struct activity_causes causes;

		make(parts, 20, &random);
		activity_causes_find(parts, ACTIVITIES * FUNCTIONS, ACTIVITIES, FUNCTIONS, 0.025, &causes);
		assert_in_range(causes.nr_heavy, 1, 10);
		assert_int_equal(causes.v.v[0].function, FUNCTIONS - 1);
		assert_true(causes.v.v[0].errors >= 5);
		assert_true(fabs(causes.v.v[0].heavy - 60000) < 15000 && fabs(causes.v.v[0].others - 3000) < 1000);
		assert_true(fabs(causes.others - 15000) < 1000);
		for (size_t i = 1; i < causes.v.n; i++)
			assert_true(causes.v.v[i].errors < 4);
		activity_causes_free(&causes);
	}
}

/* Activities of equal weight stay together, unless nobody is heavier; one alone has nothing beside it. */
static void test_equal(void **state)
{
	struct activity_part parts[100];
	struct activity_causes causes;

	(void)state;
	for (u32 i = 0; i < 100; i++) /* of samples without weight no half has any */
		parts[i] = (struct activity_part){ i, 0, i < 2 ? 1000000 : 0, 1000, i };
	activity_causes_find(parts, 100, 100, 1, 0.1, &causes);
	assert_int_equal(causes.nr_heavy, 2);
	activity_causes_free(&causes);
	activity_causes_find(parts + 2, 0, 0, 0, 0.1, &causes);
	assert_int_equal(causes.nr_heavy + causes.nr_others + causes.v.n, 0);
	activity_causes_free(&causes);
	parts[2].activity = 0;
	activity_causes_find(parts + 2, 1, 1, 1, 0.1, &causes);
	assert_int_equal(causes.nr_heavy, 1);
	assert_int_equal(causes.nr_others, 0);
	is(causes.v.v[0].errors, 0);
	activity_causes_free(&causes);
}

/* One activity that alone runs a function is as sure as its samples are, of which half are compared: the square root
 * of their number. */
static void test_alone(void **state)
{
	static const u64 samples[] = { 128, 1000, 20000 };
	const double each[] = { 1, 1000 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(samples) * 2; i++) {
		u64 n = samples[i / 2];
		struct activity_part parts[11] = { { 0, 0, (u64)((double)n * each[i % 2]), n, i } };
		struct activity_causes causes;

		for (u32 k = 1; k < 11; k++)
			parts[k] = (struct activity_part){ k, 1, (u64)each[i % 2], 1, k };
		activity_causes_find(parts, 11, 11, 2, 0.1, &causes);
		assert_true(causes.nr_heavy == 1 && causes.nr_others == 10 && causes.v.n == 2);
		assert_int_equal(causes.v.v[0].function, 0);
		assert_int_equal(causes.v.v[1].function, 1); /* the others alone have some of it */
		assert_true(causes.v.v[1].heavy < causes.v.v[1].others && causes.v.v[0].others == 0);
		assert_true(causes.v.v[0].errors > 0.7 * sqrt((double)n / 2));
		assert_true(causes.v.v[0].errors < 1.3 * sqrt((double)n / 2));
		assert_true(fabs(causes.heavy / (double)n / each[i % 2] - 1) < 0.3);
		activity_causes_free(&causes);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_welch),	cmocka_unit_test(test_alike),	     cmocka_unit_test(test_one_heavy),
		cmocka_unit_test(test_nothing), cmocka_unit_test(test_false_alarms), cmocka_unit_test(test_cause),
		cmocka_unit_test(test_equal),	cmocka_unit_test(test_alone),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
