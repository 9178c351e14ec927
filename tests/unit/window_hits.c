/* SPDX-License-Identifier: Apache-2.0 */
/* Which windows count, and where: each mode, holes in a slot's samples, clusters, and sums that move with their nodes.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "agg/tree.h"
#include "agg/window_hits.h"

struct fixture {
	struct dsos *dsos;
	struct frames *frames;
	struct windows w;
	struct window_hits *hits;
	struct window_sums sums;
	u32 f, f_elsewhere, g; /* two addresses of one function, and another */
	u32 nameless;	       /* an address that nothing tells of */
};

static u32 frame_at(struct fixture *x, u32 dso, u64 addr)
{
	return frames_intern(
		x->frames,
		&(struct frame){ .dso = dso, .sym = dsos_symbol_at(x->dsos, dso, addr), .addr = addr, .level = '.' });
}

static const char *code_path = "code";

static struct fixture *make_of(enum attribution mode, enum window_unit unit, const struct code_range *range)
{
	struct fixture *x = mem_zalloc(sizeof(*x));
	struct window_group g = { .nr = 2, .roles = { ROLE_CYCLES, ROLE_INSTRUCTIONS } };
	struct dso_key key = { .kind = DSO_BPF, .path = { code_path, (u32)strlen(code_path) } };
	u32 dso;

	x->dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL);
	x->frames = frames_new();
	dso = dsos_get(x->dsos, &key);
	dsos_add_symbol(x->dsos, dso, 100, 200, (struct str){ "f", 1 });
	dsos_add_symbol(x->dsos, dso, 200, 300, (struct str){ "g", 1 });
	x->f = frame_at(x, dso, 110);
	x->f_elsewhere = frame_at(x, dso, 120);
	x->g = frame_at(x, dso, 210);
	vec_push(&x->w.groups, g);
	x->nameless = frame_at(x, dso, 400);
	x->hits =
		window_hits_new(&(struct window_setup){ &x->w, mode, unit, *range, { 0 } }, x->frames, x->dsos, &x->w);
	return x;
}

static struct fixture *make(enum attribution mode, const struct code_range *range)
{
	return make_of(mode, UNIT_FUNCTION, range);
}

static void drop(struct fixture *x)
{
	window_hits_free(x->hits);
	window_sums_free(&x->sums);
	windows_free(&x->w);
	frames_free(x->frames);
	dsos_free(x->dsos);
	free(x);
}

#define CALLER 1
#define NODE_OF(frame) ((frame) + 10)

static void sample_with(struct fixture *x, u32 turn, const struct hit_place *at, bool is_short, u64 instructions)
{
	struct window w = { .turn = turn, .is_short = is_short, .length = is_short ? 10 : 1000 };

	w.fault = turn ? WINDOW_SOUND : WINDOW_FIRST;
	w.counts[0] = w.length;
	w.counts[1] = instructions;
	window_hits_add(x->hits, &w, at, &x->sums);
}

/* A sample of the slot at that frame; with a window of 10 cycles and some instructions, or a long one. */
static void sample(struct fixture *x, u32 turn, u32 frame, u32 parent, bool is_short, u64 instructions)
{
	sample_with(x, turn, &(struct hit_place){ parent, frame, NODE_OF(frame), frame }, is_short, instructions);
}

/* Likewise, at that address. */
static void sample_at(struct fixture *x, u32 turn, u32 frame, u64 ip, bool is_short)
{
	sample_with(x, turn, &(struct hit_place){ CALLER, frame, NODE_OF(frame), ip }, is_short, 0);
}

static double count_of(struct fixture *x, u32 frame, enum window_count what)
{
	const double *block = window_sums_get(&x->sums, NODE_OF(frame));

	return block ? block[what] : 0;
}

/* f, f again, from f into g, back from g at another call of f, f again. */
static void play(struct fixture *x)
{
	sample(x, 0, x->f, CALLER, false, 0);
	sample(x, 1, x->f_elsewhere, CALLER, true, 0);
	sample(x, 2, x->f, CALLER, false, 9);
	sample(x, 3, x->g, CALLER, true, 0);
	sample(x, 4, x->f, CALLER, false, 9);
	sample(x, 5, x->f_elsewhere, CALLER + 1, true, 0);
	sample(x, 6, x->f_elsewhere, CALLER, false, 9);
	sample(x, 7, x->f_elsewhere, CALLER, true, 2);
	window_hits_flush(x->hits);
}

static void modes(void **state)
{
	static const struct {
		enum attribution mode;
		double kept_f, kept_g;
	} cases[] = { { ATTRIBUTION_DISCARD, 3, 0 }, { ATTRIBUTION_KEEP, 3, 1 }, { ATTRIBUTION_CALLCHAIN, 2, 0 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture *x = make(cases[i].mode, &(struct code_range){ 0 });

		play(x);
		assert_true(count_of(x, x->f_elsewhere, WINDOWS_SHORT) == 3);
		assert_true(count_of(x, x->f_elsewhere, WINDOWS_KEPT) == cases[i].kept_f);
		assert_true(count_of(x, x->f_elsewhere, WINDOWS_DISCARDED) == 3 - cases[i].kept_f);
		assert_true(count_of(x, x->g, WINDOWS_KEPT) == cases[i].kept_g);
		assert_true(count_of(x, x->g, WINDOWS_SHORT) == 1); /* its sample counts either way */
		assert_true(count_of(x, x->f, WINDOWS_SHORT) == 0); /* long windows are no samples of the table */
		drop(x);
	}
}

/* A window from one instruction to itself has been around a loop, of which the rest may be anywhere. */
static void places_are_no_functions(void **state)
{
	static const struct {
		enum attribution mode;
		enum window_unit unit;
		double same, nameless;
	} cases[] = { { ATTRIBUTION_ESTIMATE, UNIT_FUNCTION, 1, 0 }, { ATTRIBUTION_ESTIMATE, UNIT_ADDRESS, 0, 0 },
		      { ATTRIBUTION_DISCARD, UNIT_ADDRESS, 0, 0 },   { ATTRIBUTION_ESTIMATE, UNIT_OBJECT, 1, 1 },
		      { ATTRIBUTION_ESTIMATE, UNIT_ANY, 1, 1 },	     { ATTRIBUTION_KEEP, UNIT_ADDRESS, 1, 1 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture *x = make_of(cases[i].mode, cases[i].unit, &(struct code_range){ 0 });

		sample(x, 0, x->f, CALLER, false, 0);
		sample(x, 1, x->f, CALLER, true, 0);
		sample(x, 2, x->nameless, CALLER, false, 0);
		sample(x, 3, x->nameless, CALLER, true, 0);
		window_hits_flush(x->hits);
		assert_true(count_of(x, x->f, WINDOWS_KEPT) == cases[i].same);
		assert_true(count_of(x, x->nameless, WINDOWS_KEPT) == cases[i].nameless);
		assert_true(count_of(x, x->nameless, WINDOWS_DISCARDED) == 1 - cases[i].nameless);
		drop(x);
	}
}

static void ranges_of_addresses(void **state)
{
	struct fixture *x = make(ATTRIBUTION_KEEP, &(struct code_range){ .start = 115, .end = 300 });

	(void)state;
	play(x);
	/* Only the last begins and ends in the range: the others begin at 110. */
	assert_true(count_of(x, x->f_elsewhere, WINDOWS_KEPT) == 1);
	assert_true(count_of(x, x->g, WINDOWS_KEPT) == 0);
	assert_true(count_of(x, x->f_elsewhere, WINDOWS_OUTSIDE) == 0);
	drop(x);
	/* Windows that end elsewhere are none of the range's that were lost. */
	x = make(ATTRIBUTION_KEEP, &(struct code_range){ .start = 105, .end = 115 });
	play(x);
	assert_true(count_of(x, x->f_elsewhere, WINDOWS_SHORT) == 3);
	assert_true(count_of(x, x->f_elsewhere, WINDOWS_OUTSIDE) == 3);
	drop(x);
}

/* Files are named by their last part, or by more of their path: whole parts of it. */
static void ranges_of_files(void **state)
{
	static const struct {
		const char *object;
		bool is;
	} rows[] = { { "code", true },
		     { "lib/code", true },
		     { "/lib/code", true },
		     { "/usr/lib/code", true },
		     { "ib/code", false },
		     { "ode", false },
		     { "b/usr/lib/code", false },
		     { "/code/", false },
		     { "other", false },
		     { "/other/lib/code", false } };

	(void)state;
	code_path = "/usr/lib/code";
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct fixture *x = make(ATTRIBUTION_KEEP,
					 &(struct code_range){ .start = 115, .end = 300, .object = rows[i].object });

		play(x);
		assert_true(count_of(x, x->f_elsewhere, WINDOWS_KEPT) == rows[i].is);
		drop(x);
	}
	code_path = "code";
}

static void holes_are_no_beginnings(void **state)
{
	struct fixture *x = make(ATTRIBUTION_DISCARD, &(struct code_range){ 0 });

	(void)state;
	sample(x, 0, x->g, CALLER, false, 0);
	sample(x, 2, x->g, CALLER, true, 0); /* the sample before was filtered out */
	sample(x, 3, x->g, CALLER, true, 0);
	window_hits_flush(x->hits);
	assert_true(count_of(x, x->g, WINDOWS_KEPT) == 1);
	assert_true(count_of(x, x->g, WINDOWS_DISCARDED) == 0);
	assert_true(count_of(x, x->g, WINDOWS_EXCLUDED + WINDOW_SOUND) == 1);
	drop(x);
}

/* A function that works for two activities in turns: what a window with both counted is of neither. */
static void activities_do_not_mix(void **state)
{
	static const struct {
		enum attribution mode;
		enum window_unit unit;
		double kept;
	} cases[] = { { ATTRIBUTION_ESTIMATE, UNIT_FUNCTION, 2 },
		      { ATTRIBUTION_DISCARD, UNIT_FUNCTION, 2 },
		      { ATTRIBUTION_CALLCHAIN, UNIT_FUNCTION, 2 },
		      { ATTRIBUTION_DISCARD, UNIT_ANY, 2 },
		      { ATTRIBUTION_KEEP, UNIT_FUNCTION, 3 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(cases); i++) {
		struct fixture *x = make_of(cases[i].mode, cases[i].unit, &(struct code_range){ 0 });
		struct hit_place place = { CALLER, x->f, NODE_OF(x->f), 0, 7 };

		sample_with(x, 0, &place, false, 0);
		sample_with(x, 1, &place, true, 0);
		place.activity = 8;
		sample_with(x, 2, &place, true, 0);
		sample_with(x, 3, &place, true, 0);
		window_hits_flush(x->hits);
		assert_true(count_of(x, x->f, WINDOWS_KEPT) == cases[i].kept);
		assert_true(count_of(x, x->f, WINDOWS_DISCARDED) == 3 - cases[i].kept);
		drop(x);
	}
}

/* Neighbours in one place are squared together. */
static void bursts_are_clusters(void **state)
{
	struct fixture *x = make(ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	const double *block;

	(void)state;
	sample(x, 0, x->f, CALLER, false, 0);
	for (u32 i = 1; i <= 4; i++)
		sample(x, i, x->f, CALLER, true, 1);
	sample(x, 5, x->f, CALLER, false, 7);
	sample(x, 6, x->f, CALLER, true, 0);
	window_hits_flush(x->hits);
	block = window_sums_get(&x->sums, NODE_OF(x->f));
	assert_true(block[WINDOWS_KEPT] == 5);
	assert_true(block[WINDOWS_CLUSTERS] == 2);
	assert_true(window_sum(block, 0) == 50);
	assert_true(window_sum(block, 1) == 4);
	assert_true(window_moment(block, 2, 0, 0) == 40 * 40 + 10 * 10);
	assert_true(window_moment(block, 2, 0, 1) == 40 * 4);
	assert_true(window_moment(block, 2, 1, 0) == 40 * 4);
	assert_true(window_moment(block, 2, 1, 1) == 16);
	drop(x);
}

/* Of what is compared with a range: all short windows, wherever they lie, those of one burst together. */
static void whole_bursts_are_clusters(void **state)
{
	struct fixture *x = make(ATTRIBUTION_DISCARD, &(struct code_range){ .start = 105, .end = 115 });
	const double *block;

	(void)state;
	sample(x, 0, x->f, CALLER, false, 0);
	sample(x, 1, x->f, CALLER, true, 1);
	sample(x, 2, x->g, CALLER, true, 2);
	sample(x, 3, x->g, CALLER, true, 3);
	sample(x, 4, x->f, CALLER, false, 100);
	sample(x, 5, x->g, CALLER, true, 4);
	window_hits_flush(x->hits);
	block = window_sums_bursts(&x->sums);
	assert_true(block[WINDOWS_KEPT] == 4);
	assert_true(block[WINDOWS_CLUSTERS] == 2);
	assert_true(window_sum(block, 1) == 10);
	assert_true(window_moment(block, 2, 0, 0) == 30 * 30 + 10 * 10);
	assert_true(window_moment(block, 2, 0, 1) == 30 * 6 + 10 * 4);
	assert_true(window_moment(block, 2, 1, 1) == 6 * 6 + 4 * 4);
	drop(x);
	/* The long window between two bursts was filtered out. */
	x = make(ATTRIBUTION_DISCARD, &(struct code_range){ .start = 105, .end = 115 });
	sample(x, 0, x->g, CALLER, false, 0);
	sample(x, 1, x->g, CALLER, true, 1);
	sample(x, 3, x->g, CALLER, true, 2);
	sample(x, 4, x->g, CALLER, true, 3);
	window_hits_flush(x->hits);
	assert_true(window_moment(window_sums_bursts(&x->sums), 2, 1, 1) == 1 * 1 + 5 * 5);
	drop(x);
	/* Nobody asks for it without a range. */
	x = make(ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	play(x);
	assert_null(x->sums.bursts);
	drop(x);
}

/* In a range nodes are addresses: windows of one burst and function count where the first of them ended, unless nodes
 * have callers. */
static void bursts_are_in_one_place(void **state)
{
	const struct code_range range = { .start = 105, .end = 125 };
	struct fixture *x;
	const double *block;

	(void)state;
	for (u32 chains = 0; chains < 2; chains++) {
		x = make(ATTRIBUTION_DISCARD, &range);
		window_hits_free(x->hits);
		x->hits = window_hits_new(
			&(struct window_setup){
				&x->w, ATTRIBUTION_DISCARD, UNIT_FUNCTION, range, { 0 }, .chains = chains },
			x->frames, x->dsos, &x->w);
		sample(x, 0, x->f, CALLER, false, 0);
		sample(x, 1, x->f, CALLER, true, 1);
		sample(x, 2, x->f_elsewhere, CALLER, true, 2);
		sample(x, 3, x->f, CALLER, true, 3);
		sample(x, 4, x->f_elsewhere, CALLER, false, 100);
		sample(x, 5, x->f_elsewhere, CALLER, true, 4);
		window_hits_flush(x->hits);
		block = window_sums_get(&x->sums, NODE_OF(x->f));
		assert_true(block[WINDOWS_SHORT] == (chains ? 2 : 3));
		assert_true(block[WINDOWS_KEPT] == (chains ? 2 : 3));
		assert_true(block[WINDOWS_CLUSTERS] == (chains ? 2 : 1));
		assert_true(window_moment(block, 2, 1, 1) == (chains ? 1 * 1 + 3 * 3 : 6 * 6));
		assert_true(count_of(x, x->f_elsewhere, WINDOWS_KEPT) == (chains ? 2 : 1));
		assert_true(window_moment(window_sums_bursts(&x->sums), 2, 1, 1) == 6 * 6 + 4 * 4);
		drop(x);
	}
	/* Where no long windows lie between, a place does not get all of them. */
	x = make(ATTRIBUTION_DISCARD, &range);
	sample(x, 0, x->f, CALLER, false, 0);
	for (u32 i = 1; i <= 16; i++)
		sample(x, i, x->f, CALLER, true, 1);
	sample(x, 17, x->f_elsewhere, CALLER, true, 1);
	window_hits_flush(x->hits);
	assert_true(count_of(x, x->f, WINDOWS_KEPT) == 16);
	assert_true(count_of(x, x->f_elsewhere, WINDOWS_KEPT) == 1);
	drop(x);
}

/* g's place behind f leads back to f, whatever g does elsewhere: who comes from where is told by places. */
static void ways_are_by_place(void **state)
{
	struct fixture *x = make(ATTRIBUTION_ESTIMATE, &(struct code_range){ 0 });
	u32 turn = 0, back = 0, f = window_unit_of(UNIT_FUNCTION, x->frames, x->f);

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		sample_at(x, turn++, x->f, 0x1000, false);
		sample_at(x, turn++, x->g, 0x2000, true); /* f leaves to here */
		sample_at(x, turn++, x->g, 0x2004, false);
		sample_at(x, turn++, x->f, 0x1000, true); /* and from here comes back */
		sample_at(x, turn++, x->g, 0x3000, false);
		sample_at(x, turn++, x->g, 0x3000, true);
	}
	window_hits_flush(x->hits);
	for (size_t i = 0; i < x->sums.ways.n; i++) {
		const struct window_way *w = &x->sums.ways.v[i];

		if (w->unit != f)
			continue;
		assert_int_equal(w->ends, 3);
		assert_int_equal(w->leaves, 3);
		back++;
	}
	assert_int_equal(back, 1);
	drop(x);
}

/* Two trees, of which frames are renamed when they become one: sums move with their nodes, to the innermost frame. */
static void sums_move_with_nodes(void **state)
{
	static const u32 frames[] = { 0, 5, 6 };
	static const struct tree_span of[] = { { 0, 1 }, { 1, 2 } };
	const struct tree_rename rename = { frames, of };
	struct tree_builder all = { 0 }, from = { 0 };
	struct window_sums to = { 0 }, sums = { .members = 2 };
	u64 group = 3, other = 4;
	u32 top = tree_group(&from, &group, 1), node = tree_add(&from, tree_kid(&from, top, 0), 1, 100, 1), *at, moved;

	(void)state;
	tree_group(&all, &other, 1); /* so that nodes get other numbers */
	window_block_add(window_sums_at(&sums, node), 2, (u64[]){ 10, 3 }, 1);
	at = tree_merge_nodes(&all, &from, &rename);
	window_sums_merge(&to, &sums, at);
	moved = tree_kid(&all, tree_kid(&all, tree_kid(&all, tree_group(&all, &group, 1), 0), 5), 6);
	assert_int_equal(at[node], moved);
	assert_int_not_equal(moved, node);
	assert_true(window_sum(window_sums_get(&to, moved), 1) == 3);
	assert_null(window_sums_get(&to, node));
	assert_int_equal(sums.nodes.n, 0);
	free(at);
	tree_builder_free(&all);
	window_sums_free(&to);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modes),
		cmocka_unit_test(places_are_no_functions),
		cmocka_unit_test(ranges_of_addresses),
		cmocka_unit_test(ranges_of_files),
		cmocka_unit_test(holes_are_no_beginnings),
		cmocka_unit_test(ways_are_by_place),
		cmocka_unit_test(activities_do_not_mix),
		cmocka_unit_test(bursts_are_clusters),
		cmocka_unit_test(whole_bursts_are_clusters),
		cmocka_unit_test(bursts_are_in_one_place),
		cmocka_unit_test(sums_move_with_nodes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
