/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of a group's events become the lines of one table. */
#include "agg/group_rows.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#define ROWS 4u

/* Rows of an event of the evlist, by key; a weight of 0 and 0: there is none. */
struct made {
	u32 event;
	struct {
		u64 self, total;
	} rows[ROWS];
};

static const u64 key_of[ROWS] = { 100, 101, 102, 103 };

/* Lines as "key self/total self/total; ...", with - for a member that has no such row. */
static void expect(const struct made *events, u32 n, bool children, u32 leader, u32 members, const char *want)
{
	struct profile p = { .nr_sort = 1, .children = children, .sort_keys = 1u << SORT_COMM };
	struct group_rows g;
	char text[400];
	u32 at = 0;

	for (u32 i = 0; i < n; i++) {
		struct profile_event e = { .event = events[i].event };

		for (u32 k = 0; k < ROWS; k++)
			if (events[i].rows[k].self || events[i].rows[k].total)
				vec_push(&e.rows, (struct row){ .self = events[i].rows[k].self,
								.total = events[i].rows[k].total,
								.samples = 1,
								.total_samples = 1,
								.keys = &key_of[k] });
		vec_push(&p.events, e);
	}
	group_rows_make(&p, leader, members, &g);
	text[0] = 0;
	for (size_t i = 0; i < g.n; i++) {
		const struct group_line *l = &g.lines[i];

		at += (u32)snprintf(text + at, sizeof(text) - at, "%llu", (unsigned long long)l->shown->keys[0]);
		for (u32 m = 0; m < members; m++)
			if (l->rows[m])
				at += (u32)snprintf(text + at, sizeof(text) - at, " %llu/%llu",
						    (unsigned long long)l->rows[m]->self,
						    (unsigned long long)l->rows[m]->total);
			else
				at += (u32)snprintf(text + at, sizeof(text) - at, " -");
		at += (u32)snprintf(text + at, sizeof(text) - at, "; ");
		/* Weights that are shown are the first member's. */
		if (g.first == g.members[0] && l->rows[0])
			assert_ptr_equal(l->shown, l->rows[0]);
		else if (g.first == g.members[0])
			assert_int_equal(
				l->shown->self + l->shown->total + l->shown->samples + l->shown->total_samples, 0);
	}
	assert_string_equal(text, want);
	group_rows_free(&g);
	for (u32 i = 0; i < n; i++)
		vec_free(&p.events.v[i].rows);
	vec_free(&p.events);
}

static void test_joined(void **state)
{
	static const struct made events[] = {
		{ 0, { { 9, 9 } } }, /* another one's */
		{ 1, { { 5, 5 }, { 3, 3 } } },
		{ 2, { { 0, 0 }, { 7, 7 }, { 2, 2 } } },
		{ 3, { { 1, 1 } } },
	};

	(void)state;
	expect(events, 4, false, 1, 2, "100 5/5 -; 101 3/3 7/7; 102 - 2/2; ");
	expect(events, 4, false, 1, 3, "100 5/5 - 1/1; 101 3/3 7/7 -; 102 - 2/2 -; ");
	expect(events, 4, false, 2, 1, "101 7/7; 102 2/2; ");
	expect(events, 4, false, 4, 2, "");
	expect(events, 3, false, 1, 3, "100 5/5 - -; 101 3/3 7/7 -; 102 - 2/2 -; "); /* the third has no samples */
}

/* By the first member, where that says nothing by the next one; with totals by these first. */
static void test_order(void **state)
{
	static const struct made events[] = {
		{ 0, { { 1, 4 }, { 2, 4 }, { 2, 4 }, { 3, 3 } } },
		{ 1, { { 1, 1 }, { 1, 8 }, { 2, 9 }, { 9, 9 } } },
	};

	(void)state;
	expect(events, 2, false, 0, 2, "103 3/3 9/9; 102 2/4 2/9; 101 2/4 1/8; 100 1/4 1/1; ");
	expect(events, 2, true, 0, 2, "102 2/4 2/9; 101 2/4 1/8; 100 1/4 1/1; 103 3/3 9/9; ");
}

/* Totals of all members go before what the rows have of their own. */
static void test_totals_first(void **state)
{
	static const struct made events[] = {
		{ 0, { { 1, 4 }, { 2, 4 } } },
		{ 1, { { 1, 9 }, { 1, 8 } } },
	};
	static const struct made equal[] = {
		{ 0, { { 1, 4 }, { 2, 4 } } },
		{ 1, { { 1, 9 }, { 1, 9 } } },
	};

	(void)state;
	expect(events, 2, true, 0, 2, "100 1/4 1/9; 101 2/4 1/8; ");
	expect(equal, 2, true, 0, 2, "101 2/4 1/9; 100 1/4 1/9; ");
	expect(events, 2, false, 0, 2, "101 2/4 1/8; 100 1/4 1/9; ");
}

/* Equal lines stay as the rows were. */
static void test_equal(void **state)
{
	static const struct made events[] = { { 0, { { 1, 1 }, { 1, 1 }, { 1, 1 } } },
					      { 1, { { 0, 0 }, { 1, 1 }, { 0, 0 }, { 4, 4 } } } };

	(void)state;
	expect(events, 2, false, 0, 2, "101 1/1 1/1; 100 1/1 -; 102 1/1 -; 103 - 4/4; ");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_joined),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_totals_first),
		cmocka_unit_test(test_equal),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
