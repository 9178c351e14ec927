/* SPDX-License-Identifier: Apache-2.0 */
/* What rows get from the windows of their nodes, from the order of windows, and from samples of the same event. */
#include "agg/window_rows.h"

#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/keys.h"
#include "codec/perf_abi.h"
#include "synthetic.h"

enum { CYCLES, INSTRUCTIONS, SAMPLED };	       /* events: the two of the group, and one of its own */
enum { IN_F, IN_G, IN_H, G_CALLS_F, NR_CODE }; /* stacks, the first three of which are the heaviest of their rows */

struct fixture {
	struct synthetic s;
	struct windows w;
	struct window_sums sums;
	struct profile_event *e;	     /* of the leader */
	u32 node[NR_CODE], row[3], frame[3]; /* of each stack; of f, g and h */
};

/* cycles: 600 of f, 300 of g and 100 of h. Beside its group, instructions have samples of their own: one of f with
 * 1000 and three of g with 3000 in all. */
static const struct synthetic_stack stacks[] = {
	{ CYCLES, "comm", "app`f", 500, 5 },	    { CYCLES, "comm", "app`g|app`f", 100, 1 },
	{ CYCLES, "comm", "app`g", 300, 3 },	    { CYCLES, "comm", "app`h", 100, 1 },
	{ SAMPLED, "comm", "app`f", 1000, 1 },	    { SAMPLED, "comm", "app`g", 3000, 3 },
	{ SAMPLED, "comm", "app`elsewhere", 0, 1 }, /* a row that cycles have not */
};

static u32 node_of(const struct fixture *x, const char *text)
{
	const struct tree *t = &x->e->tree;

	for (u32 i = 1; i < t->nodes.n; i++) {
		char path[64] = "";

		for (u32 at = i; t->nodes.v[at].parent; at = t->nodes.v[at].parent) {
			char more[64], buf[32];

			assert_true(snprintf(more, sizeof(more), "%s%s%s",
					     profile_frame_name(x->s.profile, t->nodes.v[at].frame, buf, sizeof(buf)),
					     *path ? "|" : "", path) < (int)sizeof(more));
			memcpy(path, more, sizeof(path));
		}
		if (!strcmp(path, text))
			return i;
	}
	fail();
	return 0;
}

static void begin(struct fixture *x)
{
	static const char *const events[] = { "cycles", "instructions", "instructions", NULL };
	static const char *const paths[NR_CODE] = { "f", "g", "h", "g|f" };
	struct window_group g = { .nr = 2, .events = { CYCLES, INSTRUCTIONS }, .leader = CYCLES };

	*x = (struct fixture){ .sums = { .members = 2 } };
	synthetic_make(&x->s, events, stacks, ARRAY_LEN(stacks), false, NULL, 0);
	x->s.profile->measures = measures;
	for (u32 i = 0; i < 3; i++) {
		x->s.events.events.v[i].attr.type = PERF_TYPE_HARDWARE;
		x->s.events.events.v[i].attr.config = i == CYCLES ? 0 : 1;
	}
	x->e = &x->s.profile->events.v[0];
	for (u32 i = 0; i < NR_CODE; i++)
		x->node[i] = node_of(x, paths[i]);
	for (u32 i = 0; i < 3; i++) {
		x->row[i] = x->e->row_of[x->node[i]];
		x->frame[i] = x->e->tree.nodes.v[x->node[i]].frame;
	}
	vec_push(&x->w.groups, g);
	map_set(&x->w.by_leader, CYCLES, 0);
	/* All samples of instructions are exact and weigh alike. */
	x->s.profile->events.v[1].exact = x->s.profile->events.v[1].samples;
	x->s.profile->events.v[1].squares = 4.0 * 1000 * 1000;
	x->e->squares = 10.0 * 100 * 100;
}

/* Kept windows that end in a node, each a cluster, with these counts of both members. */
static void keep(struct fixture *x, u32 at, u32 n, u64 cycles, u64 instructions)
{
	double *block = window_sums_at(&x->sums, x->node[at]);

	for (u32 i = 0; i < n; i++)
		window_block_add(block, 2, (u64[]){ cycles, instructions }, 1);
	block[WINDOWS_SHORT] += n;
}

/* Windows that end there, and began elsewhere, with such counts in all. */
static void discard(struct fixture *x, u32 at, u32 n, double cycles, double instructions)
{
	double *block = window_sums_at(&x->sums, x->node[at]);

	block[WINDOWS_SHORT] += n;
	block[WINDOWS_DISCARDED] += n;
	block[window_discarded_at(2, 0)] += cycles;
	block[window_discarded_at(2, 1)] += instructions;
}

/* Windows between the code of a unit and a place, which is in another one: some begin there and end in the unit, some
 * the other way. */
static void way(struct fixture *x, u32 unit, u32 place, u32 there, u32 ends, u32 leaves)
{
	struct window_way *w = window_sums_way(&x->sums, window_unit_of(UNIT_FUNCTION, x->s.profile->frames, unit),
					       place, window_unit_of(UNIT_FUNCTION, x->s.profile->frames, there));

	w->ends += ends;
	w->leaves += leaves;
}

static struct profile_windows *make(struct fixture *x, enum attribution mode, const struct code_range *range)
{
	struct window_setup setup = { &x->w, mode, UNIT_FUNCTION, *range, { 0 } };

	x->e->measured[MEASURE_WINDOWS] = profile_windows_new(&setup, CYCLES, &x->sums);
	profile_window_rows(x->s.profile, x->e);
	profile_window_samples(x->s.profile, x->e);
	return event_windows(x->e);
}

static void end(struct fixture *x)
{
	synthetic_free(&x->s);
	windows_free(&x->w);
	window_sums_free(&x->sums);
}

static const double *row(const struct fixture *x, u32 code)
{
	return profile_window_row(event_windows(x->e), x->row[code]);
}

static void is(double value, double expected)
{
	assert_true(fabs(value - expected) <= 1e-9 * (1 + fabs(expected)));
}

/* Rows have the windows of all their stacks; the whole has those of all nodes. */
static void test_rows(void **state)
{
	struct window_path paths[4];
	struct profile_windows *w;
	struct fixture x;

	(void)state;
	begin(&x);
	keep(&x, IN_F, 10, 100, 50);
	keep(&x, G_CALLS_F, 20, 100, 80);
	discard(&x, G_CALLS_F, 30, 1000, 10);
	keep(&x, IN_G, 5, 100, 300);
	discard(&x, IN_H, 7, 700, 70);
	w = make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	is(row(&x, IN_F)[WINDOWS_SHORT], 60);
	is(row(&x, IN_F)[WINDOWS_KEPT], 30);
	is(row(&x, IN_F)[WINDOWS_DISCARDED], 30);
	is(window_sum(row(&x, IN_F), 0), 3000);
	is(window_sum(row(&x, IN_F), 1), 10 * 50 + 20 * 80);
	is(window_moment(row(&x, IN_F), 2, 1, 1), 10 * 50 * 50 + 20 * 80 * 80);
	is(row(&x, IN_F)[WINDOWS_SELF], 600);
	is(row(&x, IN_G)[WINDOWS_SELF], 300);
	is(window_sum(row(&x, IN_G), 1), 1500);
	is(row(&x, IN_H)[WINDOWS_KEPT], 0);
	is(w->total[WINDOWS_SHORT], 72);
	is(window_sum(w->total, 1), 500 + 1600 + 1500);
	is(w->total[WINDOWS_SELF], 1000);
	assert_ptr_equal(w->shown, w->total); /* all nodes have rows */
	assert_null(w->shown_whole);
	/* Of f's windows half were kept, so each stands for two; of g's each was. */
	is(window_sum(w->whole, 0), 2 * 3000 + 500);
	is(window_sum(w->whole, 1), 2 * 2100 + 1500);
	is(window_moment(w->whole, 2, 1, 1), 4 * (10 * 50 * 50 + 20 * 80 * 80) + 5 * 300 * 300);
	is(w->whole[WINDOWS_SHORT], 72);

	assert_int_equal(profile_window_paths(x.s.profile, x.e, x.row[IN_F], paths, 4), 2);
	assert_int_equal(paths[0].node, x.node[G_CALLS_F]);
	is(paths[0].block[WINDOWS_SHORT], 50);
	assert_int_equal(paths[1].node, x.node[IN_F]);
	is(paths[1].block[WINDOWS_SHORT], 10);
	assert_int_equal(profile_window_paths(x.s.profile, x.e, x.row[IN_F], paths, 1), 1);
	assert_int_equal(paths[0].node, x.node[G_CALLS_F]);
	assert_int_equal(profile_window_paths(x.s.profile, x.e, x.row[IN_H], paths, 4), 1);
	end(&x);
}

/* What is in nodes without a row is in the whole, and not in what is shown. Of a range the whole is all short windows,
 * each standing for as many as were to be measured, and rows stand for what ended in the range. */
static void test_shown(void **state)
{
	struct profile_windows *w;
	struct fixture x;
	double *rowless;

	(void)state;
	for (u32 ranged = 0; ranged < 2; ranged++) {
		begin(&x);
		keep(&x, IN_F, 10, 100, 50);
		discard(&x, IN_F, 10, 0, 0);
		rowless = window_sums_at(&x.sums, x.e->tree.nodes.v[x.node[IN_F]].parent); /* its group */
		window_block_add(rowless, 2, (u64[]){ 4000, 4 }, 1);
		rowless[WINDOWS_SHORT] = 3;
		window_sums_at(&x.sums, x.node[IN_F])[WINDOWS_OUTSIDE] = ranged ? 5 : 0;
		window_block_add(window_sums_bursts(&x.sums), 2, (u64[]){ 200, 100 }, 2);
		w = make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ .end = ranged });
		is(window_sum(w->total, 0), 5000);
		is(window_sum(w->shown, 0), 1000);
		is(w->total[WINDOWS_SHORT], 23);
		is(w->shown[WINDOWS_SHORT], 20);
		is(w->shown[WINDOWS_SELF], 1000);
		is(w->shown[window_samples_at(2, INSTRUCTIONS)], 4);
		if (ranged) {
			is(window_sum(w->whole, 0), 23 * 100);
			is(window_sum(w->whole, 1), 23 * 50);
			is(window_moment(w->whole, 2, 0, 1), 11.5 * 11.5 * 200 * 100);
			is(window_sum(w->shown_whole, 0), 1.5 * 1000);
		} else {
			is(window_sum(w->whole, 0), 2 * 1000 + 3 * 4000);
			is(window_sum(w->shown_whole, 0), 2 * 1000);
		}
		end(&x);
	}
}

/* Of a range in which nobody has seen a window nothing is known, and nothing is made up. */
static void test_nothing(void **state)
{
	(void)state;
	for (u32 seen = 0; seen < 2; seen++) {
		struct profile_windows *w;
		struct fixture x;

		begin(&x);
		discard(&x, IN_F, 10, 100, 10);
		if (seen)
			window_sums_bursts(&x.sums);
		w = make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ .end = 1 });
		for (u32 i = 0; i < window_stride(2); i++)
			is(w->whole[i], 0);
		end(&x);
	}
}

/* Samples of each member are in what is shown, wherever the leader stands in its group. */
static void test_shown_samples(void **state)
{
	struct profile_windows *w;
	struct fixture x;

	(void)state;
	begin(&x);
	x.w.groups.v[0].events[0] = INSTRUCTIONS;
	x.w.groups.v[0].events[1] = CYCLES;
	keep(&x, IN_F, 10, 50, 100);
	discard(&x, IN_G, 2, 70, 200);
	window_sums_at(&x.sums, x.e->tree.nodes.v[x.node[IN_F]].parent)[WINDOWS_SHORT] = 3; /* without a row */
	w = make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	assert_ptr_not_equal(w->shown, w->total);
	is(w->shown[window_samples_at(2, 0)], 4);
	is(w->shown[window_samples_at(2, 1)], 0);
	is(w->shown[window_discarded_at(2, 0)], 70);
	is(w->shown[WINDOWS_SELF], 1000);
	is(w->total[window_samples_at(2, 0)], 5); /* one is in no row of these */
	end(&x);
}

static const struct {
	const char *what;
	u64 flags, config1, exact, samples;
	double squares, f, g; /* samples that f and g have of instructions; 0: the event does not help */
} sampled[] = {
	{ "alike", 0, 0, 4, 4, 4e6, 1, 3 },
	/* Drawn periods: each sample counts as much as any other, whatever it weighs. */
	{ "drawn", 0, 0, 4, 4, 5.5e6, 1, 3 },
	/* Other periods: as many samples of one weight as have the same variance, 16e6 / squares, by weight. */
	{ "taking turns", 0, 0, 4, 4, 8e6, 0.5, 1.5 },
	{ "by frequency", ATTR_FREQ, 0, 4, 4, 5e6, 0.8, 2.4 },
	{ "99 of 100 exact", ATTR_FREQ, 0, 99, 100, 4e6, 1, 3 },
	{ "98 of 100 exact", ATTR_FREQ, 0, 98, 100, 4e6, 0, 0 },
	{ "none exact", 0, 0, 0, 0, 4e6, 0, 0 },
	{ "another event", 0, 1, 4, 4, 4e6, 0, 0 },
	{ "of the user alone", ATTR_EXCLUDE_KERNEL, 0, 4, 4, 4e6, 0, 0 },
	{ "of the kernel alone", ATTR_EXCLUDE_USER, 0, 4, 4, 4e6, 0, 0 },
	{ "without the hypervisor", ATTR_EXCLUDE_HV, 0, 4, 4, 4e6, 0, 0 },
};

/* Samples of an event that counts the same as a member. */
static void test_samples(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(sampled); i++) {
		u32 at = window_samples_at(2, INSTRUCTIONS), none = window_samples_at(2, CYCLES);
		struct profile_event *from;
		struct profile_windows *w;
		struct fixture x;

		begin(&x);
		keep(&x, IN_F, 1, 100, 50);
		x.s.events.events.v[SAMPLED].attr.flags |= sampled[i].flags;
		x.s.events.events.v[SAMPLED].attr.config1 = sampled[i].config1;
		from = &x.s.profile->events.v[1];
		from->exact = sampled[i].exact;
		from->samples = sampled[i].samples;
		from->squares = sampled[i].squares;
		w = make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
		if (fabs(row(&x, IN_F)[at] - sampled[i].f) > 1e-9 || from->helper != (sampled[i].f > 0))
			fail_msg("%s: %g", sampled[i].what, row(&x, IN_F)[at]);
		is(row(&x, IN_G)[at], sampled[i].g);
		is(row(&x, IN_H)[at], 0);
		is(w->total[at], sampled[i].f + sampled[i].g);
		is(w->samples[INSTRUCTIONS], sampled[i].f + sampled[i].g);
		is(w->samples[CYCLES], 10); /* the leader's, which weigh alike */
		is(row(&x, IN_F)[none], 0);
		assert_false(w->exact);
		end(&x);
	}
}

/* Operations of Arm SPE, each of which stands for so many: 4 samples, and in the last rows 400. */
static void test_operations(void **state)
{
	static const struct {
		u64 samples, interval;
		double counted, unlike; /* INFINITY: not used */
	} rows[] = {
		{ 4, 1000, 4000, 0 },
		{ 4, 1000, 6000, 0 }, /* chance does that to so few */
		{ 4, 1000, 40000, INFINITY },
		{ 4, 1000, 0, INFINITY },
		{ 400, 1000, 400000, 0 },
		{ 400, 1000, 380000, 0 },
		{ 400, 1000, 300000, 1.0 / 3 - 3 / 17.320508075688775 },
		{ 400, 1000, 500000, 0.2 - 3 / 22.360679774997898 },
		{ 400, 1000, 200000, INFINITY },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		bool used = isfinite(rows[i].unlike);
		struct profile_event *from;
		struct profile_windows *w;
		struct fixture x;

		begin(&x);
		keep(&x, IN_F, 1, 100, 50);
		from = &x.s.profile->events.v[1];
		from->samples = from->exact = from->weight = rows[i].samples;
		from->squares = (double)rows[i].samples;
		x.s.events.events.v[SAMPLED].counted = true;
		x.s.events.events.v[SAMPLED].attr.sample_period = rows[i].interval;
		x.sums.counted[INSTRUCTIONS] = rows[i].counted;
		w = make(&x, ATTRIBUTION_ESTIMATE, &(struct code_range){ 0 });
		assert_int_equal(w->operations, 1u << INSTRUCTIONS);
		is(w->samples[INSTRUCTIONS], used ? (double)rows[i].samples : 0);
		is(w->unlike[INSTRUCTIONS], used ? rows[i].unlike : 0);
		if (rows[i].counted > 0)
			is(w->stand_for[INSTRUCTIONS], (double)(rows[i].samples * rows[i].interval) / rows[i].counted);
		assert_true(from->helper);
		end(&x);
	}
}

/* A single sample of the least weight is one. */
static void test_one_sample(void **state)
{
	struct profile_windows *w;
	struct fixture x;

	(void)state;
	begin(&x);
	x.e->weight = x.e->samples = 1;
	x.e->squares = 1;
	w = make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	is(w->samples[CYCLES], 1);
	end(&x);
	begin(&x);
	x.e->squares = 0; /* none at all */
	w = make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	is(w->samples[CYCLES], 0);
	end(&x);
}

/* Of the windows from where f leads to, those that come back; where nothing is known of the place, half. */
static void test_back(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	keep(&x, IN_F, 1, 100, 50);
	/* From place 1 a quarter comes to f, from place 2 three quarters; f leads to both alike. */
	way(&x, x.frame[IN_G], 1, x.frame[IN_G], 750000, 0);
	way(&x, x.frame[IN_F], 1, x.frame[IN_G], 250000, 100000);
	way(&x, x.frame[IN_F], 2, x.frame[IN_G], 750000, 100000);
	way(&x, x.frame[IN_G], 2, x.frame[IN_G], 250000, 0);
	way(&x, x.frame[IN_H], 3, x.frame[IN_G], 0, 100000);
	make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	assert_true(fabs(row(&x, IN_F)[WINDOWS_BACK] - 1.5) < 1e-4);
	assert_true(fabs(row(&x, IN_H)[WINDOWS_BACK] - 1.5) < 1e-4);
	is(row(&x, IN_G)[WINDOWS_BACK], 0); /* nobody was seen to leave it */
	end(&x);
	begin(&x);
	way(&x, x.frame[IN_F], 1, x.frame[IN_G], 900000, 100000);
	way(&x, x.frame[IN_H], 1, x.frame[IN_G], 100000, 900000);
	make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	assert_true(fabs(row(&x, IN_F)[WINDOWS_BACK] - 1.9) < 1e-4);
	assert_true(fabs(row(&x, IN_H)[WINDOWS_BACK] - 1.1) < 1e-4);
	end(&x);
	/* Of few windows: of the place, and of f, it is as if one more had been seen, half of which comes back. */
	begin(&x);
	way(&x, x.frame[IN_F], 1, x.frame[IN_G], 3, 4);
	way(&x, x.frame[IN_H], 1, x.frame[IN_G], 1, 0);
	make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
	is(row(&x, IN_F)[WINDOWS_BACK], 1 + (4 * (3.5 / 5) + 0.5) / 5);
	end(&x);
}

/* Where rows do not depend on the code, all of it is one unit. */
static void test_any_unit(void **state)
{
	struct window_setup setup = { .attribution = ATTRIBUTION_DISCARD, .unit = UNIT_ANY };
	struct window_way *w;
	struct fixture x;

	(void)state;
	begin(&x);
	setup.windows = &x.w;
	w = window_sums_way(&x.sums, 0, 1, 0);
	w->ends = 3;
	w->leaves = 4;
	x.e->measured[MEASURE_WINDOWS] = profile_windows_new(&setup, CYCLES, &x.sums);
	profile_window_rows(x.s.profile, x.e);
	profile_window_samples(x.s.profile, x.e);
	for (u32 i = 0; i < 3; i++)
		is(row(&x, i)[WINDOWS_BACK], 1 + (4 * (3.5 / 4) + 0.5) / 5);
	end(&x);
}

/*
 * Discarded windows that are half f's and half g's, as long and with as many instructions as those that were kept, say
 * nothing new of f. What they have beyond that is f's, twice.
 */
static void test_unexplained(void **state)
{
	static const struct {
		double cycles, instructions, beyond;
	} rows[] = { { 400, 500, 0 }, { 400, 560, 120 }, { 400, 440, -120 }, { 800, 1000, 0 }, { 800, 500, -1000 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		u32 cycles = window_discarded_at(2, 0), instructions = window_discarded_at(2, 1);
		struct fixture x;

		begin(&x);
		keep(&x, IN_F, 6, 100, 50);
		keep(&x, G_CALLS_F, 4, 100, 50);
		discard(&x, IN_F, 4, rows[i].cycles, rows[i].instructions);
		keep(&x, IN_G, 20, 100, 200);
		discard(&x, IN_G, 3, 300, 600); /* nobody knows from where: taken for g's own */
		discard(&x, IN_H, 2, 100, 70);	/* of which nothing was kept to compare with */
		way(&x, x.frame[IN_F], 1, x.frame[IN_G], 4, 0);
		way(&x, x.frame[IN_F], 2, x.frame[IN_H], 1000, 0);
		way(&x, x.frame[IN_F], 3, x.frame[IN_F], 1000, 0);
		make(&x, ATTRIBUTION_ESTIMATE, &(struct code_range){ 0 });
		is(row(&x, IN_F)[cycles], 0);
		is(row(&x, IN_F)[instructions], rows[i].beyond);
		is(row(&x, IN_G)[instructions], 0);
		is(row(&x, IN_H)[cycles], 100);
		is(row(&x, IN_H)[instructions], 70);
		end(&x);
		/* Other modes leave them as they are. */
		begin(&x);
		keep(&x, IN_F, 10, 100, 50);
		discard(&x, IN_F, 4, rows[i].cycles, rows[i].instructions);
		make(&x, ATTRIBUTION_DISCARD, &(struct code_range){ 0 });
		is(row(&x, IN_F)[instructions], rows[i].instructions);
		end(&x);
	}
}

/* Windows of f that came from two functions are half of either, as often as they came from it. */
static void test_two_origins(void **state)
{
	struct fixture x;

	(void)state;
	begin(&x);
	keep(&x, IN_F, 10, 100, 50);
	keep(&x, IN_G, 10, 100, 200);
	keep(&x, IN_H, 10, 100, 400);
	/* Three from g and one from h: 4 halves of f, 3 of g and 1 of h. */
	discard(&x, IN_F, 4, 400, 4 * 25 + 3 * 100 + 200);
	way(&x, x.frame[IN_F], 1, x.frame[IN_G], 3, 0);
	way(&x, x.frame[IN_F], 2, x.frame[IN_H], 1, 0);
	make(&x, ATTRIBUTION_ESTIMATE, &(struct code_range){ 0 });
	is(row(&x, IN_F)[window_discarded_at(2, 1)], 0);
	end(&x);
}

/* All short windows together, kept or not, and what long ones counted; of two workers as of one. */
static void test_every(void **state)
{
	struct window_sums a = { .members = 2 }, b = { .members = 2 };
	struct window one = { .fault = WINDOW_SOUND, .is_short = true, .counts = { 10, 3 } };

	(void)state;
	window_sums_count(&a, &one);
	one.counts[1] = 5;
	window_sums_count(&b, &one);
	one.is_short = false; /* has run all the same */
	one.counts[0] = 1000;
	window_sums_count(&b, &one);
	one.is_short = true;
	one.fault = WINDOW_FIRST;
	window_sums_count(&b, &one);
	one.fault = WINDOW_BACKWARDS; /* nothing that can be believed */
	window_sums_count(&b, &one);
	window_block_add(window_sums_bursts(&b), 2, (u64[]){ 7, 0 }, 2);
	window_sums_merge(&a, &b, NULL);
	is(window_sum(a.bursts, 0), 7);
	b.members = 2;
	window_block_add(window_sums_bursts(&b), 2, (u64[]){ 5, 0 }, 2);
	window_sums_merge(&a, &b, NULL);
	is(window_sum(a.bursts, 0), 12);
	is(a.bursts[WINDOWS_CLUSTERS], 2);
	is(a.counted[0], 2020);
	is(a.counted[1], 18);
	is(window_sum(a.every, 0), 20);
	is(window_sum(a.every, 1), 8);
	is(a.every[WINDOWS_KEPT], 2);
	is(a.every[WINDOWS_CLUSTERS], 2);
	/* One that has seen nothing takes everything over. */
	window_sums_merge(&b, &a, NULL);
	is(b.counted[0], 2020);
	is(window_sum(b.every, 1), 8);
	window_sums_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows),	      cmocka_unit_test(test_shown),
		cmocka_unit_test(test_samples),	      cmocka_unit_test(test_operations),
		cmocka_unit_test(test_back),	      cmocka_unit_test(test_unexplained),
		cmocka_unit_test(test_two_origins),   cmocka_unit_test(test_every),
		cmocka_unit_test(test_shown_samples), cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_one_sample),    cmocka_unit_test(test_any_unit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
