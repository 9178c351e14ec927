/* SPDX-License-Identifier: Apache-2.0 */
/* Twins that are armed by single steps, on a machine that is made up; and tasks that are let go. */
#include <errno.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/wait.h>

#include <cmocka.h>

#include "arm_machine.h"

/* As many steps as come nearest to the length. */
static void test_steps(void **state)
{
	static const struct {
		u64 step[4];
		u32 n;
		u64 distance;
	} rows[] = {
		{ { 1 }, 1, 100 },
		{ { 7 }, 1, 98 },
		{ { 9 }, 1, 99 },
		{ { 60 }, 1, 120 },
		{ { 80 }, 1, 80 },
		{ { 0, 0, 0, 50 }, 4, 100 },
		{ { 200 }, 1, 200 },
		{ { 201, 50, 50 }, 3, 100 },
		{ { 201, 300, 100 }, 3, 100 },
		{ { 201, 202, 203 }, 3, 203 },
		{ { 99, 201, 100 }, 2, 99 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		machine_reset();
		m.runs_until = 0; /* time says nothing */
		m.step = rows[i].step;
		m.nr_step = rows[i].n;
		assert_int_equal(window_arm_stepped(TID, true, &counters, false), WINDOW_ARMED);
		are_armed(rows[i].distance, rows[i].distance);
		assert_true(m.seized == 1 && m.interrupts == 1 && m.detached == 1 && !m.delivered && !m.conts);
		assert_int_equal(m.armed, 1);
	}
}

/* Counters that are not on the hardware do not move, and no task is stepped for ever. */
static void test_steps_in_vain(void **state)
{
	static const u64 none = 0;
	struct window_pair far = counters;

	(void)state;
	far.length = 100000;
	for (u32 moves = 0; moves < 2; moves++) {
		machine_reset();
		m.runs_until = 0;
		m.step = moves ? m.step : &none;
		assert_int_equal(window_arm_stepped(TID, true, &far, false), WINDOW_CUT_SHORT);
		assert_true(m.on[0] && !m.on[1] && m.detached == 1);
		assert_in_range(m.steps, moves ? 10000 : 100, moves ? 50000 : 1000);
	}
	/* A thousand are none too many. */
	machine_reset();
	m.runs_until = 0;
	far.length = 1000;
	assert_int_equal(window_arm_stepped(TID, true, &far, false), WINDOW_ARMED);
}

/* What may be the matter with a task that is stopped or stepped. */
static const struct {
	const char *what;
	enum window_armed armed;
	const char *stat;
	int seize_errno;
	bool absent;
	u64 call_ns; /* it does not stop for so long */
	u32 event_at;
	int event;
	bool ends, late, fails, detach_fails;
	int delivered;
} troubles[] = {
	{ .what = "asleep", .armed = WINDOW_ASLEEP, .stat = "4242 (a) S 1" },
	{ .what = "ended", .armed = WINDOW_GONE, .seize_errno = ESRCH },
	{ .what = "forbidden", .armed = WINDOW_FORBIDDEN, .seize_errno = EPERM },
	{ .what = "ended when waited for", .armed = WINDOW_GONE, .absent = true },
	{ .what = "stops soon", .armed = WINDOW_ARMED, .call_ns = 1900000 },
	{ .what = "stops late", .armed = WINDOW_SEIZED, .call_ns = 2100000 },
	{ .what = "ends by a step", .armed = WINDOW_GONE, .event_at = 5, .ends = true },
	{ .what = "cannot step", .armed = WINDOW_GONE, .event_at = 5, .fails = true },
	{ .what = "cannot be let go", .armed = WINDOW_GONE, .detach_fails = true },
	{ .what = "a signal between",
	  .armed = WINDOW_ARMED,
	  .event_at = 5,
	  .event = STOPPED_FOR(SIGUSR1),
	  .delivered = SIGUSR1 },
	{ .what = "a signal at the last step",
	  .armed = WINDOW_ARMED,
	  .event_at = STEPPED,
	  .event = STOPPED_FOR(SIGUSR2),
	  .delivered = SIGUSR2 },
	{ .what = "halted", .armed = WINDOW_CUT_SHORT, .event_at = 5, .event = HALTED },
	{ .what = "a step into a call", .armed = WINDOW_CUT_SHORT, .event_at = 5, .late = true },
};

static void test_troubles(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(troubles); i++) {
		enum window_armed armed;

		machine_reset();
		m.runs_until = 0;
		m.stat = troubles[i].stat ? troubles[i].stat : m.stat;
		m.seize_errno = troubles[i].seize_errno;
		m.absent = troubles[i].absent;
		m.call_until = m.now + troubles[i].call_ns;
		m.event_at = troubles[i].event_at;
		m.event = troubles[i].event;
		m.step_ends = troubles[i].ends;
		m.step_late = troubles[i].late;
		m.step_fails = troubles[i].fails;
		m.detach_fails = troubles[i].detach_fails;
		m.held = i % 2;
		m.waits_cut = 3; /* which says nothing */
		armed = window_arm_stepped(TID, true, &counters, false);
		if (armed != troubles[i].armed)
			fail_msg("%s: %d", troubles[i].what, armed);
		assert_int_equal(m.last_signal, troubles[i].delivered);
		assert_int_equal(m.delivered, troubles[i].delivered != 0);
		assert_true(m.on[0]);
		assert_int_equal(m.on[1], armed == WINDOW_ARMED || troubles[i].detach_fails);
		assert_int_equal(m.detached,
				 armed == WINDOW_ARMED || armed == WINDOW_CUT_SHORT || troubles[i].detach_fails);
		assert_int_equal(m.seized, !troubles[i].stat);
		/* A SIGCHLD that was blocked may have been taken, and is sent again. */
		assert_int_equal(m.told, m.held);
		assert_int_equal(m.holds, m.held);
	}
}

/* The end of our own child is for others to see; that of another's task is ours. */
static void test_ends(void **state)
{
	(void)state;
	for (u32 child = 0; child < 2; child++) {
		machine_reset();
		m.event_at = 3;
		m.step_ends = true;
		assert_int_equal(window_arm_stepped(TID, child, &counters, false), WINDOW_GONE);
		assert_int_equal(m.reaped, !child);
	}
}

/* One that has been told to stop is asked again without waiting, and told once. */
static void test_seized(void **state)
{
	u64 begin;

	(void)state;
	machine_reset();
	m.runs_until = 0;
	begin = m.now;
	assert_int_equal(window_arm_stepped(TID, true, &counters, true), WINDOW_SEIZED);
	assert_true(m.now - begin < 5000 && !m.seized && !m.interrupts);
	m.stop_at = m.now;
	m.status = INTERRUPTED;
	assert_int_equal(window_arm_stepped(TID, true, &counters, true), WINDOW_ARMED);
	are_armed(STEPPED, STEPPED);
	assert_true(!m.seized && !m.interrupts && m.detached == 1);
}

/* The trap of a step that was late is still to come, wherever it stands among the signals; those that others sent are
 * none. */
static void test_traps(void **state)
{
	static const struct {
		u32 at; /* behind so many others */
		int sig, code;
		bool for_ever, cont_fails, cont_ends;
		u64 cont_ns;
		enum window_armed armed;
		u32 conts;
	} rows[] = {
		{ 0, SIGTRAP, TRAP_TRACE, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 31, SIGTRAP, 1, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 32, SIGTRAP, TRAP_TRACE, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 68, SIGTRAP, TRAP_TRACE, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 4, SIGTRAP, SI_USER, .armed = WINDOW_CUT_SHORT },
		{ 4, SIGTRAP, SI_TKILL, .armed = WINDOW_CUT_SHORT },
		{ 4, SIGUSR1, 1, .armed = WINDOW_CUT_SHORT },
		{ 0, SIGTRAP, TRAP_TRACE, .for_ever = true, .armed = WINDOW_SEIZED, .conts = 16 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_fails = true, .armed = WINDOW_GONE, .conts = 1 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_ends = true, .armed = WINDOW_GONE, .conts = 1 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_ns = 1900000, .armed = WINDOW_CUT_SHORT, .conts = 1 },
		{ 0, SIGTRAP, TRAP_TRACE, .cont_ns = 2100000, .armed = WINDOW_SEIZED, .conts = 1 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		machine_reset();
		m.runs_until = 0;
		m.event_at = 5;
		m.step_late = true;
		for (u32 k = 0; k < rows[i].at; k++)
			m.pending[k].sig = SIGUSR2;
		m.pending[rows[i].at].sig = rows[i].sig;
		m.pending[rows[i].at].code = rows[i].code;
		m.nr_pending = rows[i].at + 1;
		m.for_ever = rows[i].for_ever;
		m.cont_fails = rows[i].cont_fails;
		m.cont_ends = rows[i].cont_ends;
		m.cont_ns = rows[i].cont_ns;
		assert_int_equal(window_arm_stepped(TID, true, &counters, false), rows[i].armed);
		assert_int_equal(m.conts, rows[i].conts);
		assert_int_equal(m.detached, rows[i].armed == WINDOW_CUT_SHORT);
		assert_int_equal(m.delivered, 0);
	}
}

/* At the end it is waited for until it stops, or the time is over. */
static void test_let_go(void **state)
{
	static const struct {
		u64 call_ns, until;
		bool goes;
	} rows[] = { { 0, 2 * MS, true },
		     { 1 * MS, 2 * MS, true },
		     { 3 * MS, 2 * MS, false },
		     { 1500 * (u64)MS, 2000 * (u64)MS, true } };
	u64 begin;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		machine_reset();
		m.held = i % 2;
		begin = m.now;
		m.call_until = rows[i].call_ns ? m.now + rows[i].call_ns : 0;
		assert_int_equal(window_let_go(TID, true, m.now + rows[i].until), rows[i].goes);
		assert_int_equal(m.detached, rows[i].goes);
		assert_true(m.interrupts > 0);
		assert_in_range(m.now - begin, MIN(rows[i].call_ns, rows[i].until),
				MIN(rows[i].call_ns, rows[i].until) + 4000);
		assert_int_equal(m.told, m.held);
	}
	machine_reset();
	begin = m.now;
	assert_false(window_let_go(TID, true, 0)); /* it is only told */
	assert_true(m.interrupts == 1 && m.now - begin < 2000);
	machine_reset();
	m.absent = true;
	assert_true(window_let_go(TID, true, m.now + MS));
	/* Its trap may take more than one look. */
	machine_reset();
	m.pending[0].sig = SIGTRAP;
	m.pending[0].code = TRAP_TRACE;
	m.nr_pending = 1;
	m.cont_ns = 5 * MS;
	assert_true(window_let_go(TID, true, m.now + 20 * MS));
	assert_int_equal(m.detached, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_steps),  cmocka_unit_test(test_steps_in_vain), cmocka_unit_test(test_troubles),
		cmocka_unit_test(test_ends),   cmocka_unit_test(test_seized),	     cmocka_unit_test(test_traps),
		cmocka_unit_test(test_let_go),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
