/* SPDX-License-Identifier: Apache-2.0 */
/* Call trees: what frames weigh while samples come in, the way through a function's inlined calls, and the order of a
 * large table of rows. */
#include "agg/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/keys.h"
#include "agg/row_order.h"

/* Frames 1 and 2 are on several paths: each weighs what all of them do, with what they called. */
static void test_weigh(void **state)
{
	const u64 words[] = { 7, 8 };
	struct tree_builder b = { 0 };
	u64 weight[5] = { 0 };
	u32 first = tree_group(&b, &words[0], 1), second = tree_group(&b, &words[1], 1), node;

	(void)state;
	tree_add(&b, first, 1, 10, 1);
	node = tree_add(&b, tree_kid(&b, first, 1), 2, 100, 1);
	tree_add(&b, node, 3, 1000, 2);
	tree_add(&b, second, 2, 5, 1);
	tree_add(&b, tree_kid(&b, second, 2), 1, 7, 1);
	tree_settle(&b);
	tree_weigh_frames(&b, weight);
	assert_int_equal(weight[1], 1110 + 7);
	assert_int_equal(weight[2], 1100 + 12);
	assert_int_equal(weight[3], 1000);
	assert_int_equal(weight[0] + weight[4], 0);
	tree_builder_free(&b);
}

/* Beneath a function: its inlined calls, each once, also those in one another, and nothing that it has called; then it
 * ends. */
static void test_next_own(void **state)
{
	const u64 word = 7;
	struct profile p = { .has_inlined = true, .first_inlined = 2 };
	struct profile_event e = { 0 };
	struct tree_builder b = { 0 };
	u32 frame[5], node[6], group, seen = 0;

	(void)state;
	p.frames = frames_new();
	for (u32 i = 0; i < ARRAY_LEN(frame); i++)
		frame[i] = frames_intern(p.frames, &(struct frame){ .addr = 16 * (i + 1), .inlined = i > 1 ? i : 0 });
	p.first_inlined = frame[2];
	group = tree_group(&b, &word, 1);
	node[0] = tree_kid(&b, group, frame[0]);   /* the function, */
	node[1] = tree_kid(&b, node[0], frame[2]); /* an inlined call, */
	node[2] = tree_kid(&b, node[1], frame[3]); /* one in it, */
	node[3] = tree_kid(&b, node[2], frame[1]); /* which calls another function, */
	node[4] = tree_kid(&b, node[3], frame[4]); /* that has an inlined one; */
	node[5] = tree_kid(&b, node[0], frame[4]); /* and a second of the first */
	for (u32 i = 0; i < ARRAY_LEN(node); i++)
		tree_add(&b, i ? node[0] : group, i == 5 ? frame[4] : i ? frame[2] : frame[0], 1, 1);
	tree_finish(&b, &e.tree);
	for (u32 at = node[0]; (at = profile_next_own(&p, &e, node[0], at)) != ID_NONE;) {
		u32 is = 0;

		while (node[is] != at)
			assert_true(++is < ARRAY_LEN(node));
		assert_false(seen >> is & 1);
		seen |= 1u << is;
	}
	assert_int_equal(seen, 1 << 1 | 1 << 2 | 1 << 5);
	assert_int_equal(profile_next_own(&p, &e, node[3], node[4]), ID_NONE); /* there it is the only one */
	p.has_inlined = false;
	assert_int_equal(profile_next_own(&p, &e, node[0], node[0]), ID_NONE);
	tree_free(&e.tree);
	tree_builder_free(&b);
	frames_free(p.frames);
}

/* Rows by weight, then by each key in turn; the same for a few and for many, with one worker and with two. */
static void test_order(void **state)
{
	(void)state;
	for (u32 way = 0; way < 4; way++) {
		const u32 n = way & 1 ? 5000 : 300;
		struct profile p = { .nr_sort = 2, .sort_order = { SORT_CPU, SORT_SOCKET } };
		struct profile_event e = { 0 };
		u64(*keys)[2] = calloc(n, sizeof(*keys));
		u32 random = 1;

		assert_non_null(keys);
		for (u32 i = 0; i < n; i++) {
			struct row r = { .keys = keys[i] };

			random = random * 1664525 + 1013904223;
			r.self = random >> 28;
			keys[i][0] = (u64)(random >> 20) % 17
				     << 32; /* many rows have the same; 17 need a bit more than 16 */
			keys[i][1] = (u64)i * 7919 % n;
			vec_push(&e.rows, r);
		}
		row_order(&p, &e, way < 2 ? 1 : 2);
		for (u32 i = 1; i < n; i++) {
			const struct row *x = &e.rows.v[i - 1], *y = &e.rows.v[i];

			assert_true(x->self >= y->self);
			if (x->self == y->self) {
				assert_true(x->keys[0] <= y->keys[0]);
				assert_true(x->keys[0] != y->keys[0] || x->keys[1] < y->keys[1]);
			}
		}
		vec_free(&e.rows);
		free(keys);
	}
}

#define GROUPS 3000u

/* Groups are found again by their words, and take no room in the tables of frames. */
static void test_groups(void **state)
{
	struct tree_builder b = { 0 }, other = { 0 };
	struct tree t;
	u32 nodes[GROUPS], in_tables = 0;

	(void)state;
	for (u32 i = 0; i < 2 * GROUPS; i++) {
		const u64 words[] = { i % GROUPS, 7 };
		u32 node = tree_group(&b, words, 2);

		if (i < GROUPS)
			nodes[i] = node;
		assert_int_equal(node, nodes[i % GROUPS]);
		tree_add(&b, node, 5, 10, 1);
	}
	for (u32 i = 0; i < TREE_TABLES; i++)
		in_tables += b.tables[i].n;
	assert_int_equal(in_tables, GROUPS);
	tree_settle(&b);
	tree_add_tree(&other, &b, NULL);
	tree_merge(&other, &b, NULL);
	tree_finish(&other, &t);
	assert_int_equal(t.nodes.n, 1 + 2 * GROUPS);
	assert_int_equal(tree_groups(&t), GROUPS);
	for (u32 i = 0; i < GROUPS; i++) {
		const struct tree_node *n = &t.nodes.v[nodes[i]];

		assert_int_equal(n->parent, 0);
		assert_int_equal(tree_group_at(&t, n->frame)[0], i);
		assert_int_equal(n->total, 40);
		assert_int_equal(n->total_samples, 4);
		assert_int_equal(t.nodes.v[n->first_kid].frame, 5);
	}
	tree_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_weigh),
		cmocka_unit_test(test_next_own),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_groups),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
