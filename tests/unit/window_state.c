/* SPDX-License-Identifier: Apache-2.0 */
/* When windows are armed, and armed anew: decisions about clocks (ns) and hardware counters, with times as numbers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "windows/state.h"

#define PERIOD 1000000
#define SHORT_MAX (PERIOD / 3)
#define LENGTH 50000
#define GOOD (LENGTH + LENGTH / 4)
#define WIDE (LENGTH * 3)
#define LOOK 10000 /* longer than anything here waits */

static struct window_states make(enum window_how how, size_t places, size_t groups, bool clock)
{
	struct window_states t = { .how = how };

	for (size_t g = 0; g < groups; g++)
		vec_push(&t.groups, (struct window_group_run){ .period = PERIOD,
							       .length = LENGTH,
							       .short_max = SHORT_MAX,
							       .burst = 3,
							       .clock = clock });
	for (size_t p = 0; p < places; p++)
		window_states_add(&t, &(struct window_place){ .task = { 1, (s32)p + 1 } });
	assert_int_equal(t.of.n, places * groups);
	return t;
}

/* One group in one place, armed at 0 before the program began. */
static struct window_states armed(bool clock)
{
	struct window_states t = make(WINDOW_TWIN, 1, 1, clock);

	window_states_start(&t, 0, true, 0);
	assert_int_equal(t.of.v[0].armed, WINDOW_ON);
	return t;
}

/* n windows of this length, whose first samples stand at the next multiples of the period. */
static void windows(struct window_states *t, u32 n, u64 length, u64 now_ms)
{
	u64 got, at = t->of.v[0].value / PERIOD * PERIOD;

	for (u32 i = 0; i < n; i++) {
		at += PERIOD;
		assert_false(window_states_sample(t, 0, false, at, now_ms, &got));
		assert_true(window_states_sample(t, 0, true, at + length, now_ms, &got));
		assert_int_equal(got, length);
	}
}

static void arms(struct window_states *t, enum window_armed armed, u64 now_ms)
{
	window_states_settle(t, 0, 0, armed, t->of.v[0].value, now_ms);
}

/* Eight wide windows in a row, and it is due this much later. */
static void corrected(struct window_states *t, u64 now_ms, u64 later)
{
	u32 rearmed = t->rearmed;

	windows(t, 7, WIDE, now_ms);
	assert_false(t->of.v[0].anew);
	assert_int_equal(t->of.v[0].due_ms, 0);
	windows(t, 1, WIDE, now_ms);
	assert_true(t->of.v[0].anew);
	assert_int_equal(t->of.v[0].due_ms, now_ms + later);
	assert_int_equal(t->rearmed, rearmed + 1);
	/* One correction is enough until it is armed. */
	windows(t, 20, WIDE, now_ms + 1);
	assert_int_equal(t->of.v[0].due_ms, now_ms + later);
	assert_int_equal(t->rearmed, rearmed + 1);
}

/* Without limit; less often while that does not help, and at once again when it did. */
static void test_clock_corrected(void **state)
{
	static const u64 later[] = { 4, 8, 16, 32, 64, 128, 256, 500, 500, 500 };
	struct window_states t = armed(true);
	u64 now = 1000;

	(void)state;
	for (u32 i = 0; i < 100; i++, now += 1000) {
		corrected(&t, now, later[MIN(i, ARRAY_LEN(later) - 1)]);
		arms(&t, WINDOW_ARMED, now + 500);
		assert_false(t.of.v[0].anew);
		assert_int_equal(t.of.v[0].due_ms, 0);
	}
	/* A good one begins the row anew. */
	windows(&t, 7, WIDE, now);
	windows(&t, 1, GOOD, now);
	corrected(&t, now, 4);
	/* So does arming: what came before tells nothing of this distance. */
	arms(&t, WINDOW_ARMED, now);
	windows(&t, 7, WIDE, now);
	arms(&t, WINDOW_ARMED, now);
	corrected(&t, now, 8);
	window_states_free(&t);
}

/* The task is stopped for it: three times. */
static void test_hardware_corrected(void **state)
{
	struct window_states t = armed(false);

	(void)state;
	for (u32 i = 0; i < 3; i++) {
		corrected(&t, 1000 * i, 30u << i);
		arms(&t, WINDOW_ARMED, 1000 * i + 500);
	}
	windows(&t, 1000, WIDE, 9000);
	assert_false(t.of.v[0].anew);
	assert_int_equal(t.of.v[0].due_ms, 0);
	assert_int_equal(t.rearmed, 3);
	window_states_free(&t);
}

/* What is far from what was asked: windows of clocks by half and 5 us, of hardware counters by all of it. Short ones,
 * too. */
static void test_far(void **state)
{
	static const struct {
		bool clock, far;
		u64 length;
	} rows[] = { { true, false, LENGTH * 3 / 2 + 5000 },
		     { true, true, LENGTH * 3 / 2 + 5001 },
		     { true, false, LENGTH / 2 - 5000 },
		     { true, true, LENGTH / 2 - 5001 },
		     { false, false, LENGTH * 2 },
		     { false, true, LENGTH * 2 + 1 },
		     { false, false, 0 } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct window_states t = armed(rows[i].clock);

		windows(&t, 8, rows[i].length, 100);
		assert_int_equal(t.of.v[0].anew, rows[i].far);
		window_states_free(&t);
	}
}

/* Windows that began before it was armed. */
static void test_since(void **state)
{
	struct window_states t = armed(true);

	(void)state;
	window_states_settle(&t, 0, 0, WINDOW_ARMED, 20 * PERIOD, 1);
	windows(&t, 19, WIDE, 2);
	assert_int_equal(t.of.v[0].wide, 0);
	windows(&t, 7, WIDE, 3);
	assert_int_equal(t.rearmed, 0);
	windows(&t, 1, WIDE, 3);
	assert_int_equal(t.rearmed, 1);
	/* Those of twins whose distance is given up: they are to be armed already. */
	arms(&t, WINDOW_CUT_SHORT, 4);
	windows(&t, 20, WIDE, 4);
	assert_int_equal(t.rearmed, 1);
	assert_int_equal(t.of.v[0].due_ms, 6);
	window_states_free(&t);
}

/* The pause doubles with each; the two leaders' records are one case. */
static void test_throttled(void **state)
{
	static const u64 later[] = { 12, 24, 48, 96, 192, 384, 500, 500, 500, 500, 500 };
	struct window_states t = armed(false);

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(later); i++) {
		u64 now = 1000 * (i + 1);

		window_states_throttle(&t, 0, now);
		window_states_throttle(&t, 0, now + 3);
		assert_true(t.of.v[0].anew);
		assert_int_equal(t.of.v[0].due_ms, now + later[i]);
		assert_int_equal(t.rearmed, i + 1);
		arms(&t, WINDOW_ARMED, now + 600);
	}
	/* What is not armed has its time already. */
	arms(&t, WINDOW_CUT_SHORT, 20000);
	window_states_throttle(&t, 0, 21000);
	assert_false(t.of.v[0].anew);
	assert_int_equal(t.of.v[0].due_ms, 20002);
	window_states_free(&t);
	t = make(WINDOW_REFRESH, 1, 1, true);
	t.of.v[0].armed = WINDOW_ON;
	window_states_throttle(&t, 0, 1);
	assert_int_equal(t.of.v[0].due_ms, 0);
	window_states_free(&t);
}

/* Half as often each time, down to twice a second. */
static void test_sleeping(void **state)
{
	(void)state;
	for (int clock = 0; clock < 2; clock++) {
		struct window_states t = make(WINDOW_TWIN, 1, 1, clock);
		u64 now = 100;

		window_states_start(&t, 0, false, now);
		assert_int_equal(t.of.v[0].due_ms, now);
		for (u32 i = 1; i <= 20; i++) {
			u64 later = i < 9 ? 1u << i : 500;

			arms(&t, WINDOW_ASLEEP, now);
			assert_int_equal(t.of.v[0].due_ms, now + later);
			now += later;
		}
		window_states_free(&t);
	}
}

/* A clock's task that samples is tried every 2 ms, later half as often with each 32 tries; a hardware counter's as one
 * that sleeps. */
static void test_busy(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 1, 1, true), hard = make(WINDOW_TWIN, 1, 1, false),
			     many = make(WINDOW_TWIN, 80, 1, true);
	u64 now = 100, length;

	(void)state;
	for (u32 i = 1; i <= 400; i++, now += 1000) {
		arms(&t, i % 2 ? WINDOW_WAITS : WINDOW_CUT_SHORT, now);
		assert_int_equal(t.of.v[0].due_ms, now + MIN(2u << MIN(i / 32, 8u), 500u));
		window_states_sample(&t, 0, false, i * PERIOD, now, &length);
		arms(&hard, WINDOW_WAITS, now);
		assert_int_equal(hard.of.v[0].due_ms, now + (i < 9 ? 1u << i : 500));
		window_states_sample(&hard, 0, false, i * PERIOD, now, &length);
	}
	/* Where there are many tasks each has its turn less often. */
	arms(&many, WINDOW_WAITS, now);
	assert_int_equal(many.of.v[0].due_ms, now + 12);
	window_states_free(&t);
	window_states_free(&hard);
	window_states_free(&many);
}

/* One that has stopped waits for us, so it is tried again soon. */
static void test_stopped(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 1, 1, false);
	u64 now = 100;

	(void)state;
	for (u32 i = 1; i <= 8; i++, now += 1000) {
		arms(&t, WINDOW_SEIZED, now);
		assert_int_equal(t.of.v[0].armed, WINDOW_STOPPING);
		assert_int_equal(t.of.v[0].due_ms, now + (1u << MIN(i, 4u)));
	}
	window_states_free(&t);
}

/* Who slept for four tries and samples again is tried at once; hardware counters have their own time. */
static void test_woken(void **state)
{
	(void)state;
	for (int clock = 0; clock < 2; clock++)
		for (u32 slept = 3; slept <= 6; slept++) {
			struct window_states t = make(WINDOW_TWIN, 1, 1, clock);
			u64 length, due;

			for (u32 i = 0; i < slept; i++)
				arms(&t, WINDOW_ASLEEP, 1000);
			due = t.of.v[0].due_ms;
			assert_int_equal(due, 1000 + (1u << slept));
			window_states_sample(&t, 0, false, 1, 1001, &length);
			assert_int_equal(t.of.v[0].due_ms, clock && slept >= 4 ? 1003 : due);
			assert_int_equal(t.of.v[0].tries, clock && slept >= 4 ? 0 : slept);
			window_states_free(&t);
			/* It is never put off. */
			t = make(WINDOW_TWIN, 1, 1, clock);
			for (u32 i = 0; i < slept; i++)
				arms(&t, WINDOW_ASLEEP, 1000);
			window_states_sample(&t, 0, false, 1, due - 1, &length);
			assert_int_equal(t.of.v[0].due_ms, due);
			window_states_free(&t);
		}
}

/* What came of arming. */
static void test_results(void **state)
{
	static const struct {
		enum window_armed came;
		bool clock;
		int armed; /* afterwards, of one that was on and to be armed anew */
		bool anew, due, gone, no_tracing;
	} rows[] = {
		{ WINDOW_ARMED, true, WINDOW_ON, false, false, false, false },
		{ WINDOW_ASLEEP, true, WINDOW_ON, true, true, false, false },
		{ WINDOW_WAITS, true, WINDOW_ON, true, true, false, false },
		{ WINDOW_CUT_SHORT, true, WINDOW_OFF, false, true, false, false },
		{ WINDOW_SEIZED, false, WINDOW_STOPPING, false, true, false, false },
		{ WINDOW_GONE, true, WINDOW_OFF, false, false, true, false },
		{ WINDOW_FORBIDDEN, true, WINDOW_OFF, false, true, false, true },
		{ WINDOW_FORBIDDEN, false, WINDOW_REFUSES, false, false, false, true },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct window_states t = armed(rows[i].clock);

		t.of.v[0].anew = true;
		arms(&t, rows[i].came, 100);
		assert_int_equal(t.of.v[0].armed, rows[i].armed);
		assert_int_equal(t.of.v[0].anew, rows[i].anew);
		assert_int_equal(!!t.of.v[0].due_ms, rows[i].due);
		assert_int_equal(t.places.v[0].gone, rows[i].gone);
		assert_int_equal(t.no_tracing, rows[i].no_tracing);
		window_states_free(&t);
	}
}

/* Whatever has been due for longest; not of tasks that have ended. */
static void test_next(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 3, 2, true);
	static const u64 due[] = { 30, 0, 20, 40, 10, 50 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(due); i++)
		t.of.v[i].due_ms = due[i];
	assert_int_equal(window_states_next(&t, 9), 6);
	assert_int_equal(window_states_next(&t, 10), 4);
	assert_int_equal(window_states_next(&t, 100), 4);
	t.places.v[2].gone = true;
	assert_int_equal(window_states_next(&t, 100), 2);
	assert_int_equal(window_states_timeout(&t, 1000, 5000), 0);
	t.of.v[2].due_ms = 0;
	assert_int_equal(window_states_next(&t, 100), 0);
	assert_int_equal(window_states_next(&t, 20), 6);
	window_states_free(&t);
}

/*
 * Groups of one place, whose tasks have to stop first: while one waits for that, the others get nothing but a later
 * time, and each is armed in the end. Other places are not kept waiting.
 */
static void test_turns(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 2, 3, false);
	u32 seized = 0, refused = 0;

	(void)state;
	window_states_start(&t, 0, false, 1);
	for (u64 now = 1; now < 200; now++) {
		size_t i = window_states_next(&t, now);
		bool stopping;

		if (i == t.of.n)
			continue;
		stopping = t.of.v[i].armed == WINDOW_STOPPING;
		if (!window_states_may_arm(&t, 0, i)) {
			assert_false(stopping);
			window_states_settle(&t, 0, i, WINDOW_ASLEEP, 0, now);
			assert_int_equal(t.of.v[i].armed, WINDOW_OFF);
			assert_true(t.of.v[i].due_ms > now);
			refused++;
			continue;
		}
		for (size_t g = 0; g < 3; g++)
			assert_true(g == i || t.of.v[g].armed != WINDOW_STOPPING);
		window_states_settle(&t, 0, i, stopping ? WINDOW_ARMED : WINDOW_SEIZED, 0, now);
		seized += !stopping;
		for (size_t g = 0; g < 3; g++) {
			assert_int_equal(window_states_may_arm(&t, 0, g), stopping || g == i);
			assert_true(window_states_may_arm(&t, 1, g));
		}
	}
	assert_int_equal(seized, 3);
	assert_true(refused > 2);
	for (size_t g = 0; g < 3; g++)
		assert_true(t.of.v[g].armed == WINDOW_ON && t.of.v[g].ever);
	window_states_free(&t);
}

/* Only what a clock's task is not stopped for: the first three tries that it did not sleep through, and soon after it
 * was. */
static void test_only_watch(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 1, 1, true);

	(void)state;
	t.places.v[0].stepped_ms = 1000;
	for (u32 i = 0; i < 10; i++)
		arms(&t, WINDOW_ASLEEP, 1000);
	for (u32 i = 0; i < 3; i++) {
		assert_true(window_states_only_watch(&t, 0, 0, 1000));
		arms(&t, i % 2 ? WINDOW_WAITS : WINDOW_CUT_SHORT, 1000);
	}
	assert_false(window_states_only_watch(&t, 0, 0, 1000));
	assert_false(t.of.v[0].ever);
	t.of.v[0].ever = true;
	assert_true(window_states_only_watch(&t, 0, 0, 1029));
	assert_false(window_states_only_watch(&t, 0, 0, 1030));
	t.no_tracing = true;
	assert_true(window_states_only_watch(&t, 0, 0, 1030));
	t.of.v[0].armed = WINDOW_STOPPING; /* what was begun is gone on with */
	assert_false(window_states_only_watch(&t, 0, 0, 1030));
	t.of.v[0].armed = WINDOW_OFF;
	t.groups.v[0].clock = false;
	assert_false(window_states_only_watch(&t, 0, 0, 1030));
	/* Once armed it is watched first, again. */
	t.groups.v[0].clock = true;
	t.no_tracing = false;
	arms(&t, WINDOW_ARMED, 1030);
	assert_true(window_states_only_watch(&t, 0, 0, 5000));
	window_states_free(&t);
}

static void looks_often(struct window_states *t, u64 from)
{
	assert_int_equal(t->drift_ms, from);
	assert_int_equal(window_states_timeout(t, LOOK, from), 10);
	assert_int_equal(window_states_timeout(t, 3, from), 3);
	assert_int_equal(window_states_timeout(t, LOOK, from + 199), 10);
	assert_int_equal(window_states_timeout(t, LOOK, from + 200), LOOK);
}

/* Clocks drift: rings are looked at often after arming, while windows are wide, and while the task samples unarmed. */
static void test_drift(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 1, 1, true);
	u64 length;

	(void)state;
	assert_int_equal(window_states_timeout(&t, LOOK, 1000), LOOK);
	arms(&t, WINDOW_ASLEEP, 1000);
	assert_int_equal(t.drift_ms, 0);
	window_states_sample(&t, 0, false, PERIOD, 1500, &length);
	assert_int_equal(t.drift_ms, 1500);
	arms(&t, WINDOW_ARMED, 2000);
	looks_often(&t, 2000);
	windows(&t, 3, GOOD, 3000);
	looks_often(&t, 2000);
	/* One may have come late; two in a row may be more. */
	windows(&t, 1, WIDE, 4000);
	looks_often(&t, 2000);
	windows(&t, 1, WIDE, 4100);
	looks_often(&t, 4100);
	windows(&t, 1, GOOD, 4200);
	windows(&t, 1, WIDE, 4300);
	looks_often(&t, 4100);
	window_states_free(&t);
	/* Hardware counters do not. */
	t = armed(false);
	arms(&t, WINDOW_ARMED, 2000);
	windows(&t, 9, WIDE, 3000);
	window_states_sample(&t, 0, false, PERIOD, 3001, &length);
	assert_int_equal(t.drift_ms, 0);
	window_states_free(&t);
}

/* No more often than eight windows come, of the longest period of a clock; and twice at least. */
static void test_look_rarely(void **state)
{
	static const struct {
		u64 period, other;
		bool clock;
		u64 look, until;
	} rows[] = {
		{ 1250000, 1000000, true, 10, 200 },   { 2000000, 1000000, true, 16, 200 },
		{ 1000000, 5000000, true, 40, 200 },   { 1000000, 5000000, false, 10, 200 },
		{ 25000000, 1000000, true, 200, 400 }, { 200000000, 1, true, 1600, 3200 },
		{ UINT64_MAX, 1, true, LOOK, 3200 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct window_states t = make(WINDOW_TWIN, 1, 2, true);

		t.groups.v[0].period = rows[i].period;
		t.groups.v[1].period = rows[i].other;
		t.groups.v[1].clock = rows[i].clock;
		t.drift_ms = 7000;
		assert_int_equal(window_states_timeout(&t, LOOK, 7000), rows[i].look);
		assert_int_equal(window_states_timeout(&t, LOOK, 7000 + rows[i].until - 1), rows[i].look);
		assert_int_equal(window_states_timeout(&t, LOOK, 7000 + rows[i].until), LOOK);
		window_states_free(&t);
	}
}

static void test_timeout(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 2, 2, true);

	(void)state;
	t.of.v[1].due_ms = 5300;
	t.of.v[2].due_ms = 5100;
	t.of.v[3].due_ms = 5200;
	assert_int_equal(window_states_timeout(&t, LOOK, 5000), 100);
	assert_int_equal(window_states_timeout(&t, 50, 5000), 50);
	assert_int_equal(window_states_timeout(&t, LOOK, 5150), 0);
	t.places.v[1].gone = true;
	assert_int_equal(window_states_timeout(&t, LOOK, 5150), 150);
	window_states_free(&t);
}

/* A clock and a hardware counter in each place: what comes is judged as its own group's. */
static void test_both_kinds(void **state)
{
	struct window_states t = make(WINDOW_TWIN, 2, 2, true);
	u64 length;

	(void)state;
	t.groups.v[1].clock = false;
	window_states_start(&t, 1, false, 100);
	assert_int_equal(t.of.v[0].due_ms + t.of.v[1].due_ms, 0);
	window_states_sample(&t, 3, false, 1, 200, &length);
	assert_int_equal(t.drift_ms, 0);
	window_states_sample(&t, 2, false, 1, 300, &length);
	assert_int_equal(t.drift_ms, 300);
	window_states_free(&t);
}

/* Which samples end a window is a matter of how they are made. */
static void test_ends(void **state)
{
	static const struct {
		enum window_how how;
		bool twin;
		u64 value;
		bool ends;
	} rows[] = {
		{ WINDOW_TWIN, true, 10, false },
		{ WINDOW_TWIN, true, 20, false },
		{ WINDOW_TWIN, false, 30, false },
		{ WINDOW_TWIN, false, 40, false },
		{ WINDOW_TWIN, true, 50, true },
		{ WINDOW_TWIN, true, 60, false },
		{ WINDOW_REFRESH, false, 10, false },
		{ WINDOW_REFRESH, false, 20, true },
		{ WINDOW_NATIVE, false, 10, false },
		{ WINDOW_NATIVE, false, 10 + SHORT_MAX, true },
		{ WINDOW_NATIVE, false, 11 + 2 * SHORT_MAX, false },
		{ WINDOW_PLAIN, false, 10, false },
		{ WINDOW_PLAIN, false, 10 + PERIOD, true },
	};
	struct window_states t = { 0 };
	u64 length;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		if (t.how != rows[i].how) {
			window_states_free(&t);
			t = make(rows[i].how, 1, 1, true);
		}
		assert_int_equal(window_states_sample(&t, 0, rows[i].twin, rows[i].value, 1, &length), rows[i].ends);
	}
	window_states_free(&t);
}

/* Samples that are still to come of a burst are not asked for twice; one that was throttled is given up. */
static void test_bursts(void **state)
{
	struct window_states t = make(WINDOW_REFRESH, 1, 1, true);
	struct window_state *s = t.of.v;
	u64 length;

	(void)state;
	window_states_start(&t, 0, false, 1);
	assert_int_equal(s->due_ms, 0);
	assert_int_equal(window_state_burst(s, &t.groups.v[0], 1000), 4);
	s->wanted = 4;
	assert_int_equal(window_state_burst(s, &t.groups.v[0], 1500), 0);
	for (u32 i = 0; i < 4; i++)
		assert_int_equal(window_states_sample(&t, 0, false, i, 1500, &length), i > 0);
	assert_int_equal(window_state_burst(s, &t.groups.v[0], 1600), 4);
	s->wanted = 4;
	assert_false(window_states_sample(&t, 0, false, 9, 1700, &length));
	assert_int_equal(window_state_burst(s, &t.groups.v[0], 3599), 0);
	assert_int_equal(window_state_burst(s, &t.groups.v[0], 3600), 1);
	window_states_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_clock_corrected),
		cmocka_unit_test(test_hardware_corrected),
		cmocka_unit_test(test_far),
		cmocka_unit_test(test_since),
		cmocka_unit_test(test_throttled),
		cmocka_unit_test(test_sleeping),
		cmocka_unit_test(test_busy),
		cmocka_unit_test(test_stopped),
		cmocka_unit_test(test_woken),
		cmocka_unit_test(test_results),
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_turns),
		cmocka_unit_test(test_only_watch),
		cmocka_unit_test(test_drift),
		cmocka_unit_test(test_look_rarely),
		cmocka_unit_test(test_timeout),
		cmocka_unit_test(test_ends),
		cmocka_unit_test(test_bursts),
		cmocka_unit_test(test_both_kinds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
