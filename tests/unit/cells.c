/* SPDX-License-Identifier: Apache-2.0 */
/* Which values tables show. What a metric comes to is what the test says. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "metric/metrics.h"

static struct metric_value given;

void metric_value(const struct metric_table *t, u32 metric, const double *block, struct metric_value *out)
{
	(void)t;
	(void)metric;
	(void)block;
	*out = given;
}

static const char *shown(enum attribution how, double value, double half, bool doubtful, struct bytes *out)
{
	const struct profile_windows windows = { .attribution = how };
	const struct metric_table t = { .windows = &windows };
	struct metric_value v;

	given = (struct metric_value){ .value = value, .half = half, .doubtful = doubtful };
	metric_shown_value(&t, 0, NULL, &v);
	out->len = 0;
	metric_put(&v, 2, false, out);
	bytes_u8(out, 0);
	return (const char *)out->p;
}

/* Of estimates that are marked, those whose interval is wider than they are themselves say nothing, nor does a 0. */
static void test_noise(void **state)
{
	static const struct {
		double value, half;
		const char *marked, *other;
	} rows[] = {
		{ 2, 1.99, "~2.00±1.99", "2.00±1.99" },
		{ 2, 2, "~2.00±2.00", "2.00±2.00" },
		{ 2, 2.01, "-", "2.00±2.01" },
		{ -2, 2, "~-2.00±2.00", "-2.00±2.00" },
		{ -2, 2.01, "-", "-2.00±2.01" },
		{ 2, NAN, "-", "2.00" },
		{ 0, 0, "-", "0.00±0.00" },
		{ 0, 1, "-", "0.00±1.00" },
		{ 0.01, 0.01, "~0.01±0.01", "0.01±0.01" },
		{ NAN, NAN, "-", "-" },
	};
	struct bytes out = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(shown(ATTRIBUTION_ESTIMATE, rows[i].value, rows[i].half, true, &out),
				    rows[i].marked);
		assert_string_equal(shown(ATTRIBUTION_ESTIMATE, rows[i].value, rows[i].half, false, &out),
				    rows[i].other);
	}
	/* Where nothing is estimated, a mark is all that is said. */
	assert_string_equal(shown(ATTRIBUTION_DISCARD, 2, 3, true, &out), "~2.00±3.00");
	bytes_free(&out);
}

/* Where a number goes on to the next unit, and how many digits it has. */
static void test_units(void **state)
{
	static const struct {
		double value;
		const char *text;
	} rows[] = {
		{ 999.4, "999.40" },	 { 999.5, "1000" },    { -999.5, "-1000" },   { 1000.4, "1000" },
		{ 99999.4, "99999" },	 { 99999.5, "100K" },  { -99999.5, "-100K" }, { 999499, "999K" },
		{ 999500, "1.0M" },	 { 9949999, "9.9M" },  { 9950000, "10M" },    { -9949999, "-9.9M" },
		{ 999.4e15, "999P" },	 { 999.5e15, "1.0E" }, { 999.4e18, "999E" },  { 999.5e18, ">999E" },
		{ -999.5e18, "<-999E" },
	};
	struct bytes out = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		assert_string_equal(shown(ATTRIBUTION_DISCARD, rows[i].value, NAN, false, &out), rows[i].text);
	bytes_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_noise),
		cmocka_unit_test(test_units),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
