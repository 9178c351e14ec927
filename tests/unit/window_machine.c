/* SPDX-License-Identifier: Apache-2.0 */
/* Twins that are armed by whoever is counted, or watched, on a machine that is made up. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "arm_machine.h"

/* The fourth word is what a group's leader has counted. */
static void test_count(void **state)
{
	(void)state;
	for (u32 words = 0; words <= 5; words++) {
		machine_reset();
		m.count[0] = 77;
		m.words = words;
		assert_int_equal(window_count(FIRST), words >= 4 ? 77 : 0);
	}
}

/* A machine that stands still between the two switches makes a window too long; it is tried again, not for ever. */
static void test_clock_here(void **state)
{
	(void)state;
	for (u32 hiccups = 0; hiccups < 5; hiccups++) {
		machine_reset();
		m.hiccups = hiccups;
		m.hiccup = LENGTH;
		assert_int_equal(window_arm_here(&clocks), WINDOW_ARMED);
		are_armed(LENGTH, LENGTH + (hiccups < 3 ? 2000 : LENGTH + 2000));
		assert_int_equal(m.armed, MIN(hiccups + 1, 3u));
	}
	/* One that does not count is given up after 10 ms, and is on. */
	machine_reset();
	m.runs_until = 0;
	assert_int_equal(window_arm_here(&clocks), WINDOW_CUT_SHORT);
	assert_in_range(m.now, 7000 * (u64)MS + 10 * MS, 7000 * (u64)MS + 11 * MS);
	assert_true(m.on[0] && !m.on[1]);
}

/* What the switches of hardware counters come to, try by try: until it is the length, or near enough. */
static void test_counters_here(void **state)
{
	static const struct {
		u64 apart[5];
		u32 n, tries; /* 0: any number below 100 */
		u64 least, most;
	} rows[] = {
		{ { STEPPED }, 1, 1, STEPPED, STEPPED },
		/* Interrupts came between: the least of three is what no spin comes to. */
		{ { STEPPED + 1, STEPPED + 9, 10, STEPPED }, 4, 4, STEPPED, STEPPED },
		{ { STEPPED + 1, 10, STEPPED }, 3, 3, STEPPED, STEPPED },
		{ { STEPPED + 1, STEPPED + 1, STEPPED + 1, 10 }, 4, 3, STEPPED + 1, STEPPED + 1 },
		{ { 10, 30, 50, STEPPED }, 4, 4, STEPPED, STEPPED },
		{ { 10, STEPPED - 1 }, 2, 0, STEPPED - 1, STEPPED - 1 },
		{ { 10, STEPPED / 2 }, 2, 0, STEPPED / 2, STEPPED / 2 },
	};
	u32 tries[ARRAY_LEN(rows)];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		for (u32 words = 5; words <= 7;
		     words += 2) { /* the second's value stands behind the first's, or its id */
			machine_reset();
			m.words = words;
			m.apart = rows[i].apart;
			m.nr_apart = rows[i].n;
			assert_int_equal(window_arm_here(&counters), WINDOW_ARMED);
			are_armed(rows[i].least, rows[i].most);
			assert_true(rows[i].tries ? m.armed == rows[i].tries : m.armed < 100);
			tries[i] = m.armed;
		}
	assert_true(tries[6] > tries[5] && tries[5] > 8); /* what is near is good enough after some tries */
}

/* What is done between the switches takes about as long as a window, once that was tried often enough. */
static void test_spin(void **state)
{
	struct window_pair spun = counters;

	(void)state;
	for (spun.length = 10000; spun.length <= 90000; spun.length *= 3) {
		u64 apart = 0;

		for (u32 i = 0; i < 50 && (i == 0 || apart > spun.length / 64); i++) {
			machine_reset();
			m.real = true;
			assert_int_equal(window_arm_here(&spun), WINDOW_ARMED);
			assert_true(m.armed < 100);
			apart = m.distance > spun.length ? m.distance - spun.length : spun.length - m.distance;
		}
		assert_in_range(apart, 0, spun.length / 64);
	}
}

/* Who has to wait for a moment has not run meanwhile. */
static void test_paused(void **state)
{
	struct window_pair longer = clocks;

	(void)state;
	longer.length = 1000000;
	for (u32 i = 1; i < 10; i++) {
		machine_reset();
		m.pause = m.now + i * 100000;
		m.resume = m.pause + 40000;
		assert_int_equal(window_arm_watched(TID, &longer), WINDOW_ARMED);
		are_armed(longer.length, longer.length + 2000);
		assert_int_equal(m.armed, 1); /* and is not tried again */
		assert_true(m.reads < 60);
	}
}

/* Where a spin does not move the counter it is watched like a clock. */
static void test_counters_watched(void **state)
{
	static const u64 none[] = { 0 }, little[] = { 10 };
	struct window_pair far = counters;

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		machine_reset();
		far.length = i ? 1ull << 40 : STEPPED;
		m.apart = i ? little : none;
		m.nr_apart = 1;
		assert_int_equal(window_arm_here(&far), WINDOW_CUT_SHORT); /* it does not come to that, either */
		assert_in_range(m.now, 7000 * (u64)MS + 10 * MS, 7000 * (u64)MS + 11 * MS);
		assert_true(m.on[0] && !m.on[1]);
	}
}

/* Each is off while another is armed, if there is another. */
static void test_all_here(void **state)
{
	const struct window_pair both[] = { clocks, clocks };

	(void)state;
	for (u32 n = 1; n <= 2; n++) {
		machine_reset();
		window_arm_all_here(both, n);
		are_armed(LENGTH, LENGTH + 2000);
		assert_int_equal(m.armed, n);
		assert_int_equal(m.base > LENGTH, n == 2); /* it was off in between */
	}
}

/* Clocks of a task that runs elsewhere. Who does not run is left alone, but samples. */
static void test_watched(void **state)
{
	static const struct {
		const char *stat;
		u64 runs; /* for so long */
		u32 hiccups;
		enum window_armed armed;
		u32 tries;
	} rows[] = {
		{ "4242 (a) S (b) R 1", NEVER, 0, WINDOW_ARMED, 1 },
		{ "4242 (a) R (b) S 1", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "4242 (a)R 1", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "4242 R 1", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "", NEVER, 0, WINDOW_ASLEEP, 0 },
		{ NULL, NEVER, 0, WINDOW_ASLEEP, 0 },
		{ "4242 (a) R 1", 0, 0, WINDOW_WAITS, 0 },
		{ "4242 (a) R 1", LENGTH / 2, 0, WINDOW_CUT_SHORT, 0 },
		{ "4242 (a) R 1", NEVER, 1, WINDOW_ARMED, 2 },
		{ "4242 (a) R 1", NEVER, 2, WINDOW_ARMED, 3 },
		{ "4242 (a) R 1", NEVER, 3, WINDOW_CUT_SHORT, 3 },
		{ "4242 (a) R 1", 2 * LENGTH, 1, WINDOW_CUT_SHORT, 1 }, /* it stops before it is tried again */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		enum window_armed armed;
		u64 begin;

		machine_reset();
		begin = m.now;
		m.stat = rows[i].stat;
		m.runs_until = rows[i].runs == NEVER ? NEVER : m.now + rows[i].runs;
		m.hiccups = rows[i].hiccups;
		m.hiccup = LENGTH;
		armed = window_arm_watched(TID, &clocks);
		if (armed != rows[i].armed || m.armed != rows[i].tries)
			fail_msg("row %u: %d", i, armed);
		assert_true(m.on[0] && !m.opened);
		if (rows[i].armed == WINDOW_ARMED)
			are_armed(LENGTH, LENGTH + 2000);
		else
			assert_false(m.on[1]);
		/* Three windows, and some time to see that nothing moves. */
		assert_true(m.now - begin < 3 * 2 * LENGTH + 200000);
		if (rows[i].armed == WINDOW_WAITS)
			assert_in_range(m.now - begin, 20000, 25000);
	}
}

/* A counter that runs elsewhere is disturbed by reading it: that is done near the end alone. */
static void test_read_rarely(void **state)
{
	struct window_pair longer = clocks;

	(void)state;
	for (longer.length = 20000; longer.length <= 2000000; longer.length *= 10) {
		machine_reset();
		assert_int_equal(window_arm_watched(TID, &longer), WINDOW_ARMED);
		are_armed(longer.length, longer.length + 2000);
		assert_true(m.reads < 40);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_count),	      cmocka_unit_test(test_clock_here),
		cmocka_unit_test(test_counters_here), cmocka_unit_test(test_spin),
		cmocka_unit_test(test_paused),	      cmocka_unit_test(test_counters_watched),
		cmocka_unit_test(test_all_here),      cmocka_unit_test(test_watched),
		cmocka_unit_test(test_read_rarely),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
