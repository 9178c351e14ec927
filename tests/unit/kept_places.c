/* SPDX-License-Identifier: Apache-2.0 */
/* Filters on code: the samples that stay, with their stacks, and what is left of the sums. */
#include "agg/profile.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "agg/keys.h"
#include "synthetic.h"

static const char *const events[] = { "cycles", "faults", NULL };

static const struct synthetic_stack stacks[] = {
	{ 0, "one", "app`main", 10, 1 },
	{ 0, "one", "app`main|app`work", 200, 20 },
	{ 0, "one", "app`main|app`work|lib`copy", 3000, 30 },
	{ 0, "one", "app`main|app`+500", 40000, 4 },
	{ 0, "two", "app`main|lib`copy|[kernel]`fault", 500000, 5 },
	{ 1, "two", "app`main|[kernel]`fault", 7, 1 },
};

#define NAMES(name) ((struct name_list){ (const char *const[]){ name }, 1 })

/* The weights of all nodes of that function, its own and with what it called. */
static void weights(const struct profile *p, u32 event, const char *function, u64 *self, u64 *total)
{
	const struct tree *t = &p->events.v[event].tree;
	char buf[PROFILE_MADE_UP];

	*self = *total = 0;
	for (u32 i = 1; i < t->nodes.n; i++) {
		const struct tree_node *n = &t->nodes.v[i];

		if (!n->parent || strcmp(profile_frame_name(p, n->frame, buf, sizeof(buf)), function) != 0)
			continue;
		*self += n->self;
		*total += n->total;
	}
}

static void check(const struct profile *p, const char *function, u64 self, u64 total)
{
	u64 s, t;

	weights(p, 0, function, &s, &t);
	assert_int_equal(s, self);
	assert_int_equal(t, total);
}

static void keep(struct synthetic *s, const struct place_filter *f)
{
	synthetic_make(s, events, stacks, ARRAY_LEN(stacks), true, NULL, 0);
	profile_keep_places(s->profile, f);
}

#define ALL (1 + 20 + 30 + 4 + 5 + 1)

/* How many of all samples no event has any more. They are not counted as samples: one may be that of several events.
 */
static u64 left_out(const struct profile *p, u64 all)
{
	assert_int_equal(p->tally.filtered, 0);
	for (size_t i = 0; i < p->events.n; i++)
		all -= p->events.v[i].samples;
	return all;
}

static void test_symbols(void **state)
{
	struct place_filter f = { .symbol_part = "or" };
	struct synthetic s;

	(void)state;
	/* Samples in the function, and their callers; not what it called. The other event has none. */
	keep(&s, &f);
	assert_int_equal(s.profile->events.n, 1);
	assert_int_equal(s.profile->events.v[0].weight, 200);
	assert_int_equal(s.profile->events.v[0].samples, 20);
	assert_int_equal(left_out(s.profile, ALL), 1 + 30 + 4 + 5 + 1);
	check(s.profile, "work", 200, 200);
	check(s.profile, "main", 0, 200);
	check(s.profile, "copy", 0, 0);
	assert_int_equal(tree_groups(&s.profile->events.v[0].tree), 1); /* "two" has nothing */
	synthetic_free(&s);

	f = (struct place_filter){ .symbols = NAMES("copy") };
	keep(&s, &f);
	assert_int_equal(s.profile->events.v[0].weight, 3000);
	check(s.profile, "work", 0, 3000);
	check(s.profile, "copy", 3000, 3000);
	check(s.profile, "fault", 0, 0);
	synthetic_free(&s);
}

static void test_files(void **state)
{
	struct place_filter f = { .dsos = NAMES("[kernel]") };
	struct synthetic s;

	(void)state;
	keep(&s, &f);
	assert_int_equal(s.profile->events.n, 2);
	assert_int_equal(s.profile->events.v[0].weight, 500000);
	assert_int_equal(s.profile->events.v[1].weight, 7);
	assert_int_equal(left_out(s.profile, ALL), 1 + 20 + 30 + 4);
	check(s.profile, "copy", 0, 500000);
	synthetic_free(&s);

	f = (struct place_filter){ .hide_unresolved = true };
	keep(&s, &f);
	assert_int_equal(s.profile->events.v[0].weight, 10 + 200 + 3000 + 500000);
	assert_int_equal(left_out(s.profile, ALL), 4);
	check(s.profile, "main", 10, 503210);
	synthetic_free(&s);
}

static void test_all_and_nothing(void **state)
{
	struct place_filter f = { 0 };
	struct synthetic s;

	(void)state;
	keep(&s, &f);
	assert_int_equal(s.profile->events.n, 2);
	assert_int_equal(s.profile->events.v[0].weight, 543210);
	assert_int_equal(left_out(s.profile, ALL), 0);
	synthetic_free(&s);
	f.symbol_part = "nobody";
	keep(&s, &f);
	assert_int_equal(s.profile->events.n, 0);
	assert_int_equal(left_out(s.profile, ALL), 1 + 20 + 30 + 4 + 5 + 1);
	synthetic_free(&s);
}

/* Samples that weigh nothing are samples; who has none of his own is only kept for what he called. */
static void test_weightless(void **state)
{
	static const struct synthetic_stack light[] = {
		{ 0, "one", "app`main|app`work", 0, 4 },
		{ 0, "two", "app`main|app`rest", 9, 1 },
	};
	struct place_filter f = { .symbols = NAMES("work") };
	struct synthetic s;
	u32 samples = 0;

	(void)state;
	synthetic_make(&s, events, light, ARRAY_LEN(light), true, NULL, 0);
	profile_keep_places(s.profile, &f);
	assert_int_equal(s.profile->events.n, 1);
	assert_int_equal(s.profile->events.v[0].samples, 4);
	assert_int_equal(s.profile->events.v[0].weight, 0);
	for (u32 i = 1; i < s.profile->events.v[0].tree.nodes.n; i++)
		samples += s.profile->events.v[0].tree.nodes.v[i].samples;
	assert_int_equal(samples, 4);
	assert_int_equal(left_out(s.profile, 5), 1);
	synthetic_free(&s);
}

/* A sample in an inlined call is one of the function around it. */
static void test_inlined(void **state)
{
	struct place_filter f = { .symbols = NAMES("work") };
	struct tree_builder again = { 0 };
	struct synthetic s;
	struct profile *p;
	struct frame call;
	u64 word = 1;
	u32 work, node;

	(void)state;
	synthetic_make(&s, events, stacks, 2, true, NULL, 0);
	p = s.profile;
	work = p->events.v[0].rows.v[1].frame; /* behind main, which has it in its total */
	call = *frames_get(p->frames, work);
	call.sym = ID_NONE;
	call.inlined = strtab_intern_z(&s.strings, "helper");
	node = tree_add(&again, tree_group(&again, &word, 1), work, 5, 1);
	tree_add(&again, node, frames_intern(p->frames, &call), 7, 2);
	tree_free(&p->events.v[0].tree);
	tree_finish(&again, &p->events.v[0].tree);
	p->events.v[0].samples = 3;
	profile_keep_places(p, &f);
	assert_int_equal(p->events.v[0].weight, 12);
	assert_int_equal(p->events.v[0].samples, 3);
	check(p, "helper", 7, 7);
	synthetic_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_symbols),		cmocka_unit_test(test_files),
		cmocka_unit_test(test_all_and_nothing), cmocka_unit_test(test_inlined),
		cmocka_unit_test(test_weightless),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
