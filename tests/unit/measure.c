/* SPDX-License-Identifier: Apache-2.0 */
/* Measures beside the tree, and the one that is the distribution of samples' weights. */
#include "agg/measure.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/profile.h"
#include "agg/weights.h"
#include "agg/window_sums.h"
#include "attrib/hit.h"

static void add(struct measured *m, u32 node, u64 weight)
{
	const struct hit_place place = { .node = node };

	weights_add(NULL, &(struct weight_held){ weight, 1 }, &place, measured_sums(m, MEASURE_WEIGHTS));
}

static const struct weight_sums *weights_of(const struct measured *m)
{
	return m->sums[MEASURE_WEIGHTS];
}

static void test_sums(void **state)
{
	struct measured m = { 0 };
	void *sums = measured_sums(&m, MEASURE_WEIGHTS);

	(void)state;
	assert_ptr_equal(measured_sums(&m, MEASURE_WEIGHTS), sums);
	assert_null(m.sums[MEASURE_WINDOWS]);
	assert_ptr_not_equal(measured_sums(&m, MEASURE_WINDOWS), sums);
	measured_free(&m);
	assert_null(m.sums[MEASURE_WEIGHTS]);
	assert_null(m.sums[MEASURE_WINDOWS]);
	measured_free(&m); /* of nothing there is nothing to free */
}

/* What two workers have seen: nodes of the second have other numbers in the first. */
static void test_merge(void **state)
{
	const u32 at[] = { 0, 5, 2, 3, 4, 5 };
	struct measured to = { 0 }, from = { 0 }, empty = { 0 };

	(void)state;
	add(&to, 5, 10);
	add(&from, 1, 10);
	add(&from, 1, 11);
	add(&from, 2, 10);
	measured_merge(&to, &from, at);
	assert_null(from.sums[MEASURE_WEIGHTS]);
	assert_int_equal(weights_of(&to)->v.n, 3);
	assert_int_equal(weights_of(&to)->v.v[0].node, 5);
	assert_int_equal(weights_of(&to)->v.v[0].n, 2);
	assert_int_equal(weights_of(&to)->v.v[0].sum, 20);
	measured_merge(&to, &empty, at);
	assert_int_equal(weights_of(&to)->v.n, 3);
	assert_null(to.sums[MEASURE_WINDOWS]);
	measured_merge(&empty, &to, at); /* into nothing */
	assert_int_equal(weights_of(&empty)->v.n, 3);
	measured_free(&empty);
}

static void test_full(void **state)
{
	(void)state;
	assert_false(measures_want_full(0));
	assert_false(measures_want_full(MEASURE_BIT(MEASURE_WINDOWS)));
	assert_true(measures_want_full(MEASURE_BIT(MEASURE_WEIGHTS)));
	assert_true(measures_want_full(MEASURE_BIT(MEASURE_WEIGHTS) | MEASURE_BIT(MEASURE_WINDOWS)));
}

/* Which hits a weight is of. */
static void test_held(void **state)
{
	static const struct {
		u8 made;
		u64 sample_type, weight;
		bool held;
	} rows[] = {
		{ HIT_MEASURED, PERF_SAMPLE_WEIGHT, 7, true },	      { HIT_SYNTHESISED, PERF_SAMPLE_WEIGHT, 7, true },
		{ HIT_MEASURED, PERF_SAMPLE_WEIGHT_STRUCT, 7, true }, { HIT_MEASURED, PERF_SAMPLE_WEIGHT, 0, false },
		{ HIT_MEASURED, PERF_SAMPLE_IP, 7, false },	      { HIT_MEMBER, PERF_SAMPLE_WEIGHT, 7, false },
		{ HIT_BRANCH, PERF_SAMPLE_WEIGHT, 7, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct sample s = { .weight = rows[i].weight };
		const struct event e = { .attr.sample_type = rows[i].sample_type };
		struct hit h = { .e = &e, .full = &s, .made = rows[i].made };
		struct weight_held held = { 0 };

		assert_int_equal(weights_hold(&h, &held), rows[i].held);
		assert_int_equal(held.weight, rows[i].held ? 7 : 0);
		h.full = NULL;
		assert_false(weights_hold(&h, &held));
	}
}

#define TREE_ROWS 2u

/* Nodes 1 and 4 have row 0, node 2 has row 1, and node 3 has none. */
static struct weight_row *rows_of(struct measured *m)
{
	static const u32 row_of[] = { ID_NONE, 0, 1, ID_NONE, 0 };
	static struct tree_node nodes[5];
	static struct weight_row rows[TREE_ROWS];
	struct profile p = { 0 };
	struct profile_event e = { .row_of = (u32 *)row_of };
	struct profile_weights *w = profile_weights_new(NULL, 0, m->sums[MEASURE_WEIGHTS]);

	e.tree.nodes.v = nodes;
	e.tree.nodes.n = 5;
	e.rows.n = TREE_ROWS;
	e.measured[MEASURE_WEIGHTS] = w;
	profile_weights_rows(&p, &e);
	memcpy(rows, w->rows, sizeof(rows));
	profile_weights_free(w);
	measured_free(m);
	return rows;
}

static void test_rows(void **state)
{
	struct measured m = { 0 };
	struct weight_row *r;

	(void)state;
	for (u64 i = 1; i <= 100; i++)
		add(&m, 1, 101 - i);
	add(&m, 2, 9);
	add(&m, 2, 4);
	add(&m, 2, 5);
	add(&m, 3, 1000);
	r = rows_of(&m);
	assert_int_equal(r[0].n, 100);
	assert_int_equal(r[0].sum, 5050);
	assert_int_equal(r[0].largest, 100);
	assert_int_equal(r[0].half, 50);
	assert_int_equal(r[0].most, 99);
	assert_int_equal(r[1].n, 3);
	assert_int_equal(r[1].sum, 18);
	assert_int_equal(r[1].largest, 9);
	assert_int_equal(r[1].half, 5);
	assert_int_equal(r[1].most, 9);
}

/* Two nodes of one row: wherever in them the middle lies, it is that of both. */
static void test_shared_row(void **state)
{
	(void)state;
	for (u32 first = 1; first < 10; first++) {
		struct measured m = { 0 };
		struct weight_row *r;

		for (u32 i = 0; i < 10; i++)
			add(&m, i < first ? 1 : 4, 50);
		add(&m, 4, 1);
		add(&m, 1, 99);
		r = rows_of(&m);
		assert_int_equal(r[0].n, 12);
		assert_int_equal(r[0].sum, 600);
		assert_int_equal(r[0].half, 50);
		assert_int_equal(r[0].most, 99);
		assert_int_equal(r[1].n, 0);
	}
}

/* Large weights share a size with those that are within a 64th; their mean stands for them. */
static void test_sizes(void **state)
{
	struct measured m = { 0 };
	struct weight_row *r;

	(void)state;
	add(&m, 1, 127);
	add(&m, 1, 128);
	add(&m, 1, 129);
	add(&m, 1, 130);
	assert_int_equal(weights_of(&m)->v.n, 3); /* 127, 128 with 129, 130 */
	add(&m, 2, 1000000);
	add(&m, 2, 1001000);
	add(&m, 2, UINT64_MAX);
	assert_int_equal(weights_of(&m)->v.n, 5);
	r = rows_of(&m);
	assert_int_equal(r[0].half, 129); /* 128.5 */
	assert_int_equal(r[0].most, 130);
	assert_int_equal(r[1].half, 1000500);
	assert_true(r[1].largest == UINT64_MAX);
}

/* The same of two nodes of one row, whichever comes first; what another row has of it is its own. */
static void test_shared_size(void **state)
{
	(void)state;
	for (u32 i = 0; i < 2; i++) {
		struct measured m = { 0 };
		struct weight_row *r;

		add(&m, i ? 4 : 1, 1000000);
		add(&m, i ? 1 : 4, 1001000);
		add(&m, i ? 1 : 4, 1001000);
		add(&m, 2, 1002000);
		r = rows_of(&m);
		assert_int_equal(r[0].half, 1000667); /* 3002000 / 3 */
		assert_int_equal(r[0].most, 1000667);
		assert_int_equal(r[1].half, 1002000);
	}
}

/* --- sums of windows --- */

#define MEMBERS 2u

static void test_blocks(void **state)
{
	const u64 counts[] = { 3, 5 }, more[] = { 1, 10 };
	double block[WINDOW_STRIDE_MAX] = { 0 }, other[WINDOW_STRIDE_MAX] = { 0 };

	(void)state;
	window_block_add(block, MEMBERS, counts, 2);
	window_block_add(block, MEMBERS, more, 1);
	assert_true(block[WINDOWS_KEPT] == 3 && block[WINDOWS_CLUSTERS] == 2);
	assert_true(window_sum(block, 0) == 4 && window_sum(block, 1) == 15);
	assert_true(window_moment(block, MEMBERS, 0, 0) == 9 + 1);
	assert_true(window_moment(block, MEMBERS, 0, 1) == 15 + 10);
	assert_true(window_moment(block, MEMBERS, 1, 0) == 15 + 10);
	assert_true(window_moment(block, MEMBERS, 1, 1) == 25 + 100);
	window_block_add(other, MEMBERS, counts, 1);
	window_block_merge(block, MEMBERS, other);
	assert_true(block[WINDOWS_KEPT] == 4 && window_sum(block, 1) == 20 &&
		    window_moment(block, MEMBERS, 1, 1) == 150);
	memset(block, 0, sizeof(block));
	window_block_merge_scaled(block, MEMBERS, other, 3);
	assert_true(window_sum(block, 0) == 9 && window_moment(block, MEMBERS, 0, 1) == 9 * 15);
}

static void test_windows_merge(void **state)
{
	const u32 at[] = { 0, 4, 2 };
	const u64 counts[] = { 3, 5 };
	struct window_sums to = { .members = MEMBERS, .counted = { 1, 2 } };
	struct window_sums from = { .members = MEMBERS, .counted = { 10, 20 } };
	struct window_way *way;

	(void)state;
	window_block_add(window_sums_at(&to, 4), MEMBERS, counts, 1);
	window_block_add(window_sums_at(&from, 1), MEMBERS, counts, 1);
	window_block_add(window_sums_at(&from, 2), MEMBERS, counts, 1);
	way = window_sums_way(&to, 7, 8, 9);
	way->ends = 1;
	way->leaves = 2;
	way = window_sums_way(&from, 7, 8, 9);
	way->ends = 30;
	way->leaves = 40;
	way = window_sums_way(&from, 8, 7, 9);
	way->ends = 5;
	window_sums_merge(&to, &from, at);
	assert_true(to.counted[0] == 11 && to.counted[1] == 22);
	assert_true(window_sum(window_sums_get(&to, 4), 0) == 6);
	assert_true(window_sum(window_sums_get(&to, 2), 1) == 5);
	assert_null(window_sums_get(&to, 1));
	assert_int_equal(to.ways.n, 2);
	assert_int_equal(to.ways.v[0].ends, 31);
	assert_int_equal(to.ways.v[0].leaves, 42);
	assert_int_equal(to.ways.v[1].ends, 5);
	assert_int_equal(to.ways.v[1].there, 9);
	window_sums_free(&to);
}

static u32 freed, filled;

static void count_freed(void *of_event)
{
	freed += *(u32 *)of_event;
}

static void count_filled(struct profile *p, struct profile_event *e)
{
	(void)p, (void)e;
	filled++;
}

/* Whatever measures an event has, all of it goes with it, and each fills the rows that it knows. */
static void test_of_event(void **state)
{
	struct measure fakes[NR_MEASURES];
	struct profile p = { .measures = fakes };
	u32 bits[NR_MEASURES];

	(void)state;
	for (u32 i = 0; i < NR_MEASURES; i++) {
		fakes[i] = (struct measure){ .free_event = count_freed, .rows = i % 2 ? count_filled : NULL };
		bits[i] = 1u << i;
	}
	for (u32 used = 0; used < 1u << NR_MEASURES; used++) {
		struct profile_event e = { 0 };
		u32 filling = 0;

		freed = filled = 0;
		for (u32 i = 0; i < NR_MEASURES; i++) {
			e.measured[i] = used >> i & 1 ? &bits[i] : NULL;
			filling += used >> i & 1 && i % 2;
		}
		vec_push(&p.events, e);
		profile_measure_rows(&p);
		assert_int_equal(filled, filling);
		profile_event_free(&p, &p.events.v[0]);
		assert_int_equal(freed, used);
		vec_free(&p.events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shared_row), cmocka_unit_test(test_sums),
		cmocka_unit_test(test_merge),	   cmocka_unit_test(test_full),
		cmocka_unit_test(test_held),	   cmocka_unit_test(test_rows),
		cmocka_unit_test(test_sizes),	   cmocka_unit_test(test_shared_size),
		cmocka_unit_test(test_blocks),	   cmocka_unit_test(test_windows_merge),
		cmocka_unit_test(test_of_event),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
