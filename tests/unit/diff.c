/* SPDX-License-Identifier: Apache-2.0 */
/* Values, order and growth of rows that recordings have in common, or not. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "agg/diff.h"

#define assert_near(a, b) assert_true(fabs((a) - (b)) < 1e-9)

static void add(struct diff *d, u32 file, const char *name, u64 weight)
{
	u32 event = diff_event(d, "cycles"), key = strtab_intern_z(&d->strings, name);

	diff_add(d, event, file, &key, '.', weight, 1);
	d->events.v[event].of[file].whole += weight;
}

static const struct diff_row *find(const struct diff *d, const char *name)
{
	const struct diff_event *e = &d->events.v[0];

	for (size_t i = 0; i < e->rows.n; i++)
		if (!strcmp(strtab_get(&d->strings, e->rows.v[i].keys[0]), name))
			return &e->rows.v[i];
	return NULL;
}

static void make(struct diff *d)
{
	*d = (struct diff){ .nr_files = 2, .nr_keys = 1 };
	add(d, 0, "same", 500);
	add(d, 0, "more", 300);
	add(d, 0, "more", 100);
	add(d, 0, "gone", 100);
	add(d, 1, "same", 500);
	add(d, 1, "more", 600);
	add(d, 1, "new", 900);
}

static double value(const struct diff *d, const char *name, enum diff_compute compute)
{
	struct diff_method m = { .compute = compute, .w1 = 1, .w2 = 2 };
	double v;

	return diff_value(&d->events.v[0], find(d, name), 1, &m, &v) ? v : (double)NAN;
}

static void test_values(void **state)
{
	struct diff d;

	(void)state;
	make(&d);
	assert_int_equal(d.events.n, 1);
	assert_int_equal(d.events.v[0].rows.n, 4);
	assert_near(value(&d, "same", DIFF_DELTA), -25);
	assert_near(value(&d, "more", DIFF_DELTA), -10);
	assert_near(value(&d, "new", DIFF_DELTA_ABS), 45);
	assert_near(value(&d, "more", DIFF_RATIO), 1.5);
	assert_near(value(&d, "more", DIFF_WDIFF), 800);
	assert_true(isnan(value(&d, "gone", DIFF_DELTA)));
	assert_true(isnan(value(&d, "new", DIFF_RATIO)));
	assert_true(isnan(value(&d, "gone", DIFF_WDIFF)));
	diff_free(&d);
}

static void check_order(u32 file, enum diff_compute compute, const char *const *want)
{
	struct diff_method m = { .compute = compute };
	struct diff d;

	make(&d);
	diff_sort(&d, file, &m);
	for (u32 i = 0; i < 4; i++)
		assert_string_equal(strtab_get(&d.strings, d.events.v[0].rows.v[i].keys[0]), want[i]);
	diff_free(&d);
}

static void test_order(void **state)
{
	(void)state;
	check_order(1, DIFF_DELTA_ABS, (const char *const[]){ "new", "same", "more", "gone" });
	check_order(1, DIFF_DELTA, (const char *const[]){ "new", "more", "same", "gone" });
	check_order(1, DIFF_RATIO, (const char *const[]){ "more", "same", "gone", "new" });
	check_order(0, DIFF_DELTA, (const char *const[]){ "same", "more", "gone", "new" });
}

/* Rows of equal values come by what the old recording has of them, then by name, in whatever order they were added. */
static void test_equal(void **state)
{
	static const struct {
		const char *name;
		u64 old, new;
	} rows[] = { { "b", 100, 200 }, { "gone", 5, 0 }, { "d", 300, 600 },	 { "c", 100, 200 },
		     { "a", 100, 200 }, { "lost", 7, 0 }, { "also gone", 5, 0 }, { "e", 50, 100 } };
	static const char *const want[] = { "d", "a", "b", "c", "e", "lost", "also gone", "gone" };

	(void)state;
	for (u32 turned = 0; turned < 2; turned++) {
		struct diff d = { .nr_files = 2, .nr_keys = 1 };

		for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
			u32 at = turned ? (u32)ARRAY_LEN(rows) - 1 - i : i;

			add(&d, 0, rows[at].name, rows[at].old);
			if (rows[at].new)
				add(&d, 1, rows[at].name, rows[at].new);
		}
		diff_sort(&d, 1, &(struct diff_method){ .compute = DIFF_RATIO });
		for (u32 i = 0; i < ARRAY_LEN(want); i++)
			assert_string_equal(strtab_get(&d.strings, d.events.v[0].rows.v[i].keys[0]), want[i]);
		diff_free(&d);
	}
}

/* Thirds of a whole add up to one again: what differs by rounding does not count. */
static void test_rounding(void **state)
{
	struct diff d = { .nr_files = 2, .nr_keys = 1 };
	static const char *const want[] = { "large", "small", "a", "b" };

	(void)state;
	add(&d, 0, "b", 1);
	add(&d, 0, "a", 1);
	add(&d, 0, "large", 60);
	add(&d, 0, "small", 1);
	add(&d, 1, "a", 7);
	add(&d, 1, "b", 7);
	add(&d, 1, "large", 420 - 21);
	add(&d, 1, "small", 28);
	diff_sort(&d, 1, &(struct diff_method){ .compute = DIFF_DELTA });
	/* small grew and large shrank by the same; a and b are as they were. */
	assert_string_equal(strtab_get(&d.strings, d.events.v[0].rows.v[0].keys[0]), "small");
	diff_sort(&d, 1, &(struct diff_method){ .compute = DIFF_DELTA_ABS });
	for (u32 i = 0; i < ARRAY_LEN(want); i++)
		assert_string_equal(strtab_get(&d.strings, d.events.v[0].rows.v[i].keys[0]), want[i]);
	diff_free(&d);
}

static void test_growth(void **state)
{
	struct diff_method delta = { .compute = DIFF_DELTA }, ratio = { .compute = DIFF_RATIO };
	const struct diff_event *e;
	struct diff d;

	(void)state;
	make(&d);
	e = &d.events.v[0];
	assert_near(diff_growth(e, find(&d, "more"), 1, &delta, false), -10);
	assert_near(diff_growth(e, find(&d, "more"), 1, &delta, true), 20);
	assert_near(diff_growth(e, find(&d, "more"), 1, &ratio, true), 50);
	assert_near(diff_growth(e, find(&d, "gone"), 1, &delta, false), -10);
	assert_near(diff_growth(e, find(&d, "gone"), 1, &ratio, false), -100);
	assert_true(isinf(diff_growth(e, find(&d, "new"), 1, &ratio, false)));
	assert_near(diff_growth_of_whole(e, 1), 100);
	diff_free(&d);
}

/* Samples whose periods are 0: nothing divides by their sum. */
static void test_no_weight(void **state)
{
	struct diff d = { .nr_files = 2, .nr_keys = 1 };

	(void)state;
	add(&d, 0, "a", 0);
	add(&d, 1, "a", 0);
	assert_near(value(&d, "a", DIFF_DELTA), 0);
	assert_true(isnan(value(&d, "a", DIFF_RATIO)));
	assert_near(diff_growth_of_whole(&d.events.v[0], 1), 0);
	diff_free(&d);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values),	 cmocka_unit_test(test_order),	cmocka_unit_test(test_equal),
		cmocka_unit_test(test_rounding), cmocka_unit_test(test_growth), cmocka_unit_test(test_no_weight),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
