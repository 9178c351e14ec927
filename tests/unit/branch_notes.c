/* SPDX-License-Identifier: Apache-2.0 */
/* What is noted of branches, leaf by leaf. Graphs that show it are tests/recipe/report-branch-notes*. */
#include "agg/branch_notes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "synthetic.h"

#define MISSED 1u
#define PREDICTED 2u
#define ABORTS 8u
#define CYCLES(n) ((u64)(n) << 4)
#define TYPE(n) ((u64)(n) << 20)
#define CALL 4

static void add(struct branch_notes *notes, u32 node, const struct history_branch *v, u32 n)
{
	static struct branch_history h;
	const struct hit_place place = { .node = node };
	struct sample s = { 0 };
	struct hit hit = { .full = &s, .past = NULL };

	assert_false(branch_notes_hold(&hit, &h));
	h.n = n;
	memcpy(h.v, v, n * sizeof(*v));
	branch_notes_add(NULL, &h, &place, notes);
}

static const struct branch_note *note(const struct branch_notes *notes, u32 node, u32 nth)
{
	const struct notes_of_leaf *leaf = &notes->leaves.v[map_get(&notes->at, node)];

	assert_int_equal(leaf->node, node);
	assert_in_range(nth, 0, leaf->n - 1);
	return &notes->v.v[leaf->first + nth];
}

/* By its type, the way it goes, and what it crosses: 4 KB, or 2 MB. */
static void test_kinds(void **state)
{
	static const struct {
		u64 from, to, flags;
		u32 kinds;
	} rows[] = {
		{ 0x1010, 0x1020, 0, 0 }, /* of no type nothing is said */
		{ 0, 0x1020, TYPE(CALL), 0 },
		{ 0x1010, 0x1020, TYPE(CALL), BRANCH_KIND(CALL) },
		{ 0x1010, 0x1020, TYPE(BRANCH_COND), BRANCH_KIND_FORWARD },
		{ 0x1010, 0x1010, TYPE(BRANCH_COND), BRANCH_KIND_BACKWARD },
		{ 0x1010, 0x1000, TYPE(BRANCH_COND), BRANCH_KIND_BACKWARD },
		{ 0x1ffe, 0x2000, TYPE(CALL), BRANCH_KIND(CALL) | BRANCH_KIND_CROSS_4K },
		{ 0x2000, 0x2fff, TYPE(CALL), BRANCH_KIND(CALL) },
		{ 0x1fffff, 0x200000, TYPE(CALL), BRANCH_KIND(CALL) | BRANCH_KIND_CROSS_2M },
		{ 0x200000, 0x3fffff, TYPE(CALL), BRANCH_KIND(CALL) | BRANCH_KIND_CROSS_4K },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct history_branch b = { .b = { rows[i].from, rows[i].to, rows[i].flags } };
		struct branch_notes notes = { 0 };

		add(&notes, 5, &b, 1);
		assert_int_equal(note(&notes, 5, 0)->kinds, rows[i].kinds);
		branch_notes_free(&notes);
	}
}

static void expect(const struct branch_note *n, const struct branch_note *wanted)
{
	assert_memory_equal(n, wanted, sizeof(*n));
}

/* Samples of a leaf may have more branches than those before; of two workers the notes are added. */
static void test_sums(void **state)
{
	const struct history_branch a = { .b = { 0x10, 0x20, PREDICTED | CYCLES(5) | TYPE(CALL) },
					  .rounds = 2,
					  .round_cycles = 30 },
				    b = { .b = { 0x30, 0x40, MISSED | ABORTS | CYCLES(7) } },
				    c = { .b = { 0x50, 0x60 } };
	const u32 at[] = { 0, 9, 8 };
	struct branch_notes to = { 0 }, from = { 0 };

	(void)state;
	add(&to, 9, &a, 1);
	add(&to, 9, (const struct history_branch[]){ a, b }, 2);
	add(&to, 7, &c, 1);
	add(&to, 9, &c, 1);
	expect(note(&to, 9, 0), &(struct branch_note){ 3, 2, 2, 0, 4, BRANCH_KIND(CALL), 10, 60 });
	expect(note(&to, 9, 1), &(struct branch_note){ 1, 1, 0, 1, 0, 0, 7, 0 });
	expect(note(&to, 7, 0), &(struct branch_note){ .n = 1 });
	add(&from, 1, (const struct history_branch[]){ a, a, b }, 3);
	add(&from, 2, &b, 1);
	branch_notes_merge(&to, &from, at);
	expect(note(&to, 9, 0), &(struct branch_note){ 4, 3, 3, 0, 6, BRANCH_KIND(CALL), 15, 90 });
	expect(note(&to, 9, 1), &(struct branch_note){ 2, 2, 1, 1, 2, BRANCH_KIND(CALL), 12, 30 });
	expect(note(&to, 9, 2), &(struct branch_note){ 1, 1, 0, 1, 0, 0, 7, 0 });
	expect(note(&to, 8, 0), &(struct branch_note){ 1, 1, 0, 1, 0, 0, 7, 0 });
	assert_int_equal(to.leaves.n, 3);
	assert_int_equal(from.leaves.n, 0);
	branch_notes_free(&to);
}

/* The node that samples of this leaf have. */
static u32 leaf_of(const struct synthetic *s, const char *name)
{
	const struct tree *t = &s->profile->events.v[0].tree;
	u32 node = 1;

	while (!t->nodes.v[node].samples ||
	       strcmp(profile_frame_name(s->profile, t->nodes.v[node].frame, NULL, 0), name) != 0)
		node++;
	return node;
}

static const struct row *row_of(const struct synthetic *s, u32 leaf)
{
	const struct profile_event *e = &s->profile->events.v[0];

	return &e->rows.v[e->row_of[leaf]];
}

/* What the frames of a leaf were in its samples: a branch's target and the branch itself, from the leaf up, as far as
 * its own notes go, and callers above. */
static void test_frames_of_leaves(void **state)
{
	static const char *const events[] = { "cycles", NULL };
	static const struct synthetic_stack stacks[] = {
		{ 0, "one", "app`a4|app`a3|app`a2|app`a1|app`a", 20, 2 },
		{ 0, "one", "app`b4|app`b3|app`b2|app`b1|app`b", 30, 3 },
		{ 0, "one", "app`c2|app`c1|app`c", 40, 4 },
	};
	static const struct {
		const char *leaf;
		u32 depth, callers[4], to[4], from[4];
		u64 cycles[4];
	} rows[] = {
		{ "a", 4, { 0, 0, 2, 2 }, { 2 }, { 0, 2 }, { 0, 2 * 5 } },
		{ "b", 4, { 0, 0, 2, 2 }, { 3, 0, 1 }, { 0, 3, 0, 1 }, { 0, 3 * 7, 0, 9 } },
		{ "c", 2, { 4, 4 }, { 0 }, { 0 }, { 0 } },
	};
	const struct history_branch a = { .b = { 0x10, 0x20, CYCLES(5) } };
	const struct history_branch b[] = { { .b = { 0x30, 0x40, CYCLES(7) } }, { .b = { 0x50, 0x60, CYCLES(9) } } };
	struct branch_notes notes = { 0 };
	struct graph_room room = { 0 };
	struct profile_event *e;
	struct synthetic s;

	(void)state;
	synthetic_make(&s, events, stacks, ARRAY_LEN(stacks), false, NULL, 0);
	e = &s.profile->events.v[0];
	for (u32 i = 0; i < 2; i++)
		add(&notes, leaf_of(&s, "a"), &a, 1);
	for (u32 i = 0; i < 3; i++) /* one of them has two branches */
		add(&notes, leaf_of(&s, "b"), b, i ? 1 : 2);
	s.profile->measures = measures;
	e->measured[MEASURE_BRANCH_NOTES] = profile_notes_new(NULL, 0, &notes);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct row *row = row_of(&s, leaf_of(&s, rows[i].leaf));
		const struct graph_node *at =
			profile_row_graph(s.profile, e, row, &(struct graph_opts){ .min_weight = 1 }, &room);

		at = at->kids[0];
		assert_null(at->branches); /* the leaf is no branch */
		for (u32 k = 0; k < rows[i].depth; k++) {
			assert_int_equal(at->nr_kids, 1);
			at = at->kids[0];
			assert_non_null(at->branches);
			assert_int_equal(at->branches->callers, rows[i].callers[k]);
			assert_int_equal(at->branches->to, rows[i].to[k]);
			assert_int_equal(at->branches->from, rows[i].from[k]);
			assert_int_equal(at->branches->cycles, rows[i].cycles[k]);
		}
	}
	graph_room_free(&room);
	synthetic_free(&s);
}

/* A row that a stack holds twice: its callers are told from the lower one on, what it called from the upper one on;
 * the stacks of the leaf's own row are whole. */
static void test_recursion(void **state)
{
	static const char *const events[] = { "cycles", NULL };
	static const struct synthetic_stack stacks[] = { { 0, "one", "app`main|app`f|app`g|app`f|app`h", 20, 2 } };
	/* By level above the leaf: both samples know one branch, and one of them another one above it. */
	static const struct {
		u32 callers, to, from;
		u64 cycles;
	} levels[] = { { 0 }, { 0, 2, 0, 0 }, { 0, 0, 2, 14 }, { 1, 1, 0, 0 }, { 1, 0, 1, 9 } };
	static const struct {
		u32 node; /* of the row: so many levels above the leaf */
		bool downward;
		u32 n, level[5]; /* that are shown, in their order */
	} rows[] = {
		{ 1, false, 4, { 1, 2, 3, 4 } }, { 1, true, 4, { 3, 2, 1, 0 } },    { 2, false, 3, { 2, 3, 4 } },
		{ 2, true, 3, { 2, 1, 0 } },	 { 0, true, 5, { 4, 3, 2, 1, 0 } }, { 4, false, 1, { 4 } },
	};
	const struct history_branch b[] = { { .b = { 0x30, 0x40, CYCLES(7) } }, { .b = { 0x50, 0x60, CYCLES(9) } } };
	struct branch_notes notes = { 0 };
	struct graph_room room = { 0 };
	struct profile_event *e;
	struct synthetic s;
	u32 leaf;

	(void)state;
	synthetic_make(&s, events, stacks, 1, true, NULL, 0);
	e = &s.profile->events.v[0];
	leaf = leaf_of(&s, "h");
	add(&notes, leaf, b, 2);
	add(&notes, leaf, b, 1);
	s.profile->measures = measures;
	e->measured[MEASURE_BRANCH_NOTES] = profile_notes_new(NULL, 0, &notes);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct graph_opts o = { .caller = rows[i].downward, .min_weight = 1 };
		const struct graph_node *at;
		u32 node = leaf;

		for (u32 k = 0; k < rows[i].node; k++)
			node = e->tree.nodes.v[node].parent;
		at = profile_row_graph(s.profile, e, row_of(&s, node), &o, &room);
		for (u32 k = 0; k < rows[i].n; k++) {
			u32 level = rows[i].level[k];

			assert_int_equal(at->nr_kids, 1);
			at = at->kids[0];
			if (!level)
				continue;
			assert_non_null(at->branches);
			assert_int_equal(at->branches->callers, levels[level].callers);
			assert_int_equal(at->branches->to, levels[level].to);
			assert_int_equal(at->branches->from, levels[level].from);
			assert_int_equal(at->branches->cycles, levels[level].cycles);
		}
		assert_int_equal(at->nr_kids, 0);
	}
	graph_room_free(&room);
	synthetic_free(&s);
}

/* However many functions one has called, each has its own leaf's notes. */
static void test_many_kids(void **state)
{
	enum { MOST = 40 };
	static const char *const events[] = { "cycles", NULL };
	static const u32 numbers[] = { 1, 15, 16, 17, MOST };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(numbers); i++) {
		const struct history_branch b = { .b = { 0x30, 0x40, CYCLES(7) } };
		struct synthetic_stack stacks[MOST];
		char names[MOST][48];
		struct branch_notes notes = { 0 };
		struct graph_room room = { 0 };
		const struct graph_node *at;
		struct profile_event *e;
		struct synthetic s;
		u32 node;

		for (u32 k = 0; k < numbers[i]; k++) {
			snprintf(names[k], sizeof(names[k]), "app`main|app`k%u|app`leaf%u", k, k);
			stacks[k] = (struct synthetic_stack){ 0, "one", names[k], 100 - k, k + 1 };
		}
		synthetic_make(&s, events, stacks, numbers[i], true, NULL, 0);
		e = &s.profile->events.v[0];
		for (u32 k = 0; k < numbers[i]; k++) {
			char name[16];

			snprintf(name, sizeof(name), "leaf%u", k);
			for (u32 n = 0; n <= k; n++)
				add(&notes, leaf_of(&s, name), &b, 1);
		}
		s.profile->measures = measures;
		e->measured[MEASURE_BRANCH_NOTES] = profile_notes_new(NULL, 0, &notes);
		node = e->tree.nodes.v[e->tree.nodes.v[leaf_of(&s, "leaf0")].parent].parent;
		at = profile_row_graph(s.profile, e, row_of(&s, node),
				       &(struct graph_opts){ .caller = true, .min_weight = 1 }, &room);
		at = at->kids[0];
		assert_int_equal(at->nr_kids, numbers[i]);
		assert_int_equal(at->branches->from, numbers[i] * (numbers[i] + 1) / 2);
		for (u32 k = 0; k < numbers[i]; k++) { /* the heaviest first */
			assert_non_null(at->kids[k]->branches);
			assert_int_equal(at->kids[k]->branches->to, k + 1);
		}
		graph_room_free(&room);
		synthetic_free(&s);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_sums),
		cmocka_unit_test(test_frames_of_leaves),
		cmocka_unit_test(test_recursion),
		cmocka_unit_test(test_many_kids),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
