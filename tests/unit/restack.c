/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that end at named functions, and stacks by their parents. */
#include "agg/restack.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agg/keys.h"
#include "synthetic.h"

#define MOST 16

struct stack {
	const char *text; /* "comm PARENT: f|g", or without a parent */
	u64 self;
	u32 samples;
};

/* Nodes with samples, one line each, in the order of the tree. */
static u32 list(const struct synthetic *s, bool parents, char out[MOST][96], struct stack of[MOST])
{
	const struct profile *p = s->profile;
	const struct tree *t = &p->events.v[0].tree;
	u32 n = 0;

	for (u32 i = 1; i < t->nodes.n; i++) {
		char path[64] = "", buf[PROFILE_MADE_UP];
		const u64 *words;
		u32 at = i;

		if (!t->nodes.v[i].samples)
			continue;
		assert_int_not_equal(n, MOST);
		for (; t->nodes.v[at].parent; at = t->nodes.v[at].parent) {
			char more[64];

			assert_true(snprintf(more, sizeof(more), "%s%s%s",
					     profile_frame_name(p, t->nodes.v[at].frame, buf, sizeof(buf)),
					     *path ? "|" : "", path) < (int)sizeof(more));
			memcpy(path, more, sizeof(path));
		}
		words = tree_group_at(t, t->nodes.v[at].frame);
		assert_true(snprintf(out[n], 96, "%s%s%s: %s", strtab_get(&s->strings, (u32)words[0]),
				     parents ? " " : "",
				     !parents ? "" :
				     words[1] ? strtab_get(&s->strings, (u32)words[1]) :
						"-",
				     path) < 96);
		of[n] = (struct stack){ out[n], t->nodes.v[i].self, t->nodes.v[i].samples };
		n++;
	}
	return n;
}

/* The tree's samples are these, each stack once. */
static void check(const struct synthetic *s, bool parents, const struct stack *want, u32 n)
{
	char lines[MOST][96];
	struct stack of[MOST];
	u32 there = list(s, parents, lines, of);

	for (u32 i = 0; i < n; i++) {
		u32 at = 0;

		while (at < there && strcmp(of[at].text, want[i].text) != 0)
			at++;
		if (at == there)
			fail_msg("no '%s'", want[i].text);
		assert_int_equal(of[at].self, want[i].self);
		assert_int_equal(of[at].samples, want[i].samples);
	}
	assert_int_equal(there, n);
}

static const struct synthetic_stack stacks[] = {
	{ 0, "one", "app`main", 1, 1 },
	{ 0, "one", "app`main|app`sort", 20, 2 },
	{ 0, "one", "app`main|app`sort|lib`compare", 300, 3 },
	{ 0, "one", "app`main|app`sort|lib`compare|lib`copy", 4000, 4 },
	{ 0, "one", "app`main|app`sort|lib`compare|app`sort|lib`copy", 50000, 5 },
	{ 0, "two", "app`main|lib`copy", 600000, 6 },
	{ 0, "two", "app`+5000|lib`copy", 7000000, 7 },
};

static void begin_with(struct synthetic *s, const struct synthetic_stack *v, u32 n)
{
	static const char *const events[] = { "cycles", NULL };

	synthetic_make(s, events, v, n, true, NULL, 0);
}

static void begin(struct synthetic *s)
{
	begin_with(s, stacks, ARRAY_LEN(stacks));
}

/* What the outermost such function called is its own. */
static void test_callees(void **state)
{
	static const struct stack want[] = { { "one: main", 1, 1 },
					     { "one: main|sort", 20 + 300 + 4000 + 50000, 14 },
					     { "two: main|copy", 600000, 6 },
					     { "two: [app+0x5000]|copy", 7000000, 7 } };
	static const struct stack whole[] = { { "one: main", 54321, 15 },
					      { "two: main", 600000, 6 },
					      { "two: [app+0x5000]|copy", 7000000, 7 } };
	struct synthetic s;
	regex_t re;

	(void)state;
	assert_int_equal(regcomp(&re, "^sor|nobody", REG_EXTENDED), 0);
	begin(&s);
	profile_restack(s.profile, &s.profile->events.v[0], &(struct restack){ .ignore_callees = &re });
	check(&s, false, want, ARRAY_LEN(want));
	assert_int_equal(s.profile->events.v[0].tree.nodes.v[0].total, 7654321);
	assert_int_equal(s.profile->events.v[0].tree.nodes.v[0].total_samples, 28);
	synthetic_free(&s);
	regfree(&re);
	assert_int_equal(regcomp(&re, "main|0x", REG_EXTENDED), 0); /* not the text of code without a symbol */
	begin(&s);
	profile_restack(s.profile, &s.profile->events.v[0], &(struct restack){ .ignore_callees = &re });
	check(&s, false, whole, ARRAY_LEN(whole));
	synthetic_free(&s);
	regfree(&re);
}

/* Likewise, with groups that have a word for the parent. */
static void begin_parents_with(struct synthetic *s, const struct synthetic_stack *v, u32 nr)
{
	struct tree_builder b = { 0 };
	struct tree *t;
	u32 at[64] = { 0 };

	begin_with(s, v, nr);
	t = &s->profile->events.v[0].tree;
	assert_in_range(t->nodes.n, 1, 64);
	for (u32 i = 1; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];
		u64 words[] = { n->parent ? 0 : tree_group_at(t, n->frame)[0], 0 };

		at[i] = !n->parent ? tree_group(&b, words, 2) :
			n->samples ? tree_add(&b, at[n->parent], n->frame, n->self, n->samples) :
				     tree_kid(&b, at[n->parent], n->frame);
	}
	tree_free(t);
	tree_finish(&b, t);
	tree_builder_free(&b);
	profile_sort_by(s->profile, (u8[]){ SORT_COMM, SORT_PARENT, SORT_SYMBOL }, 3);
}

static void begin_parents(struct synthetic *s)
{
	begin_parents_with(s, stacks, ARRAY_LEN(stacks));
}

/* The nearest to the leaf, or the outermost one; a function may be its own parent. */
static void test_parents(void **state)
{
	static const struct stack nearest[] = { { "one main: main", 1, 1 },
						{ "one sort: main|sort", 20, 2 },
						{ "one sort: main|sort|compare", 300, 3 },
						{ "one sort: main|sort|compare|copy", 4000, 4 },
						{ "one sort: main|sort|compare|sort|copy", 50000, 5 },
						{ "two main: main|copy", 600000, 6 },
						{ "two -: [app+0x5000]|copy", 7000000, 7 } };
	static const struct stack outermost[] = { { "one main: main", 1, 1 },
						  { "one main: main|sort", 20, 2 },
						  { "one main: main|sort|compare", 300, 3 },
						  { "one main: main|sort|compare|copy", 4000, 4 },
						  { "one main: main|sort|compare|sort|copy", 50000, 5 },
						  { "two main: main|copy", 600000, 6 },
						  { "two -: [app+0x5000]|copy", 7000000, 7 } };
	struct synthetic s;
	regex_t re;

	(void)state;
	assert_int_equal(regcomp(&re, "^(sort|main)$", REG_EXTENDED), 0);
	for (u32 i = 0; i < 2; i++) {
		begin_parents(&s);
		profile_restack(s.profile, &s.profile->events.v[0],
				&(struct restack){ .parent = &re, .outermost = i });
		check(&s, true, i ? outermost : nearest, ARRAY_LEN(nearest));
		synthetic_free(&s);
	}
	regfree(&re);
}

/* Nodes and names have small numbers both, and are not taken for each other: here the names "main", "sort" and "copy"
 * have those of the group's node, of main's and of sort's. */
static void test_numbers_alike(void **state)
{
	static const struct {
		const char *parents;
		struct synthetic_stack stacks[2];
		struct stack want[2];
	} rows[] = {
		{ "^(sort|main)$",
		  { { 0, "one", "app`main|app`sort", 20, 2 }, { 0, "one", "app`main|lib`copy", 300, 3 } },
		  { { "one sort: main|sort", 20, 2 }, { "one main: main|copy", 300, 3 } } },
		{ "^(copy|main)$",
		  { { 0, "one", "app`main|app`sort|app`sort", 20, 2 }, { 0, "one", "app`main|lib`copy", 300, 3 } },
		  { { "one main: main|sort|sort", 20, 2 }, { "one copy: main|copy", 300, 3 } } },
	};
	static const char *const names[] = { "main", "sort", "copy" };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct synthetic s;
		const struct tree *t;
		regex_t re;

		begin_parents_with(&s, rows[i].stacks, 2);
		t = &s.profile->events.v[0].tree;
		for (u32 k = 0; k < 3; k++)
			assert_int_equal(strtab_find(&s.strings, names[k], 4), k + 1);
		assert_int_equal(t->nodes.v[1].parent, 0);
		for (u32 k = 0; k < 2; k++)
			assert_string_equal(profile_frame_name(s.profile, t->nodes.v[k + 2].frame, NULL, 0), names[k]);
		assert_int_equal(regcomp(&re, rows[i].parents, REG_EXTENDED), 0);
		profile_restack(s.profile, &s.profile->events.v[0], &(struct restack){ .parent = &re });
		check(&s, true, rows[i].want, 2);
		synthetic_free(&s);
		regfree(&re);
	}
}

/* Both: where stacks end, their parents are those of what was there. */
static void test_both(void **state)
{
	static const struct stack want[] = { { "one -: main", 1, 1 },
					     { "one -: main|sort", 20, 2 },
					     { "one compare: main|sort", 54300, 12 },
					     { "two -: main|copy", 600000, 6 },
					     { "two -: [app+0x5000]|copy", 7000000, 7 } };
	struct synthetic s;
	regex_t parent, ignore;

	(void)state;
	assert_int_equal(regcomp(&parent, "compare", REG_EXTENDED), 0);
	assert_int_equal(regcomp(&ignore, "sort", REG_EXTENDED), 0);
	begin_parents(&s);
	profile_restack(s.profile, &s.profile->events.v[0],
			&(struct restack){ .parent = &parent, .ignore_callees = &ignore });
	check(&s, true, want, ARRAY_LEN(want));
	synthetic_free(&s);
	regfree(&parent);
	regfree(&ignore);
}

/* Calls that were inlined where a stack ends are a part of that function, and match nothing themselves. */
static void test_inlined(void **state)
{
	static const struct stack want[] = { { "one: main|sort", 5, 1 }, { "one: main|sort|swap", 70 + 800, 2 } };
	struct tree_builder b = { 0 };
	struct synthetic s;
	struct profile *p;
	struct tree *t;
	struct frame call;
	u64 word;
	u32 at, compare = 0, sort = 0;
	regex_t re;

	(void)state;
	begin(&s);
	p = s.profile;
	t = &p->events.v[0].tree;
	word = strtab_intern_z(&s.strings, "one");
	for (u32 i = 0; i < p->events.v[0].rows.n; i++) {
		u32 frame = p->events.v[0].rows.v[i].frame;

		compare = !strcmp(profile_frame_name(p, frame, (char[64]){ 0 }, 64), "compare") ? frame : compare;
		sort = !strcmp(profile_frame_name(p, frame, (char[64]){ 0 }, 64), "sort") ? frame : sort;
	}
	assert_true(compare && sort);
	call = *frames_get(p->frames, sort);
	call.sym = ID_NONE;
	call.inlined = strtab_intern_z(&s.strings, "swap");
	at = tree_kid(&b, tree_group(&b, &word, 1), t->nodes.v[2].frame);
	assert_string_equal(profile_frame_name(p, t->nodes.v[2].frame, NULL, 0), "main");
	at = tree_add(&b, at, sort, 5, 1);
	at = tree_add(&b, at, frames_intern(p->frames, &call), 70, 1);
	tree_add(&b, at, compare, 800, 1); /* called by what was inlined */
	tree_free(t);
	tree_finish(&b, t);
	assert_int_equal(regcomp(&re, "^s", REG_EXTENDED), 0);
	profile_restack(p, &p->events.v[0], &(struct restack){ .ignore_callees = &re });
	check(&s, false, want, ARRAY_LEN(want));
	synthetic_free(&s);
	regfree(&re);
}

/* Without a question nothing is changed. */
static void test_nothing(void **state)
{
	const struct tree_node *before;
	struct synthetic s;

	(void)state;
	begin(&s);
	before = s.profile->events.v[0].tree.nodes.v;
	profile_restack(s.profile, &s.profile->events.v[0], &(struct restack){ 0 });
	assert_ptr_equal(s.profile->events.v[0].tree.nodes.v, before);
	synthetic_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_callees), cmocka_unit_test(test_parents), cmocka_unit_test(test_both),
		cmocka_unit_test(test_inlined), cmocka_unit_test(test_nothing), cmocka_unit_test(test_numbers_alike),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
