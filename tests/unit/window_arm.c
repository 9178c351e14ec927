/* SPDX-License-Identifier: Apache-2.0 */
/* Twins of the kernel's clock, armed in each way; and the histogram of their lengths. */
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/clock.h"
#include "base/cursor.h"
#include "open/retry.h"
#include "process_state.h"
#include "sys/ring.h"
#include "windows/arm.h"
#include "windows/stats.h"

#define PERIOD 5000000
#define LENGTH 200000 /* ns */
#define WINDOWS 3
#define TIMES 60 /* that are tried at most */
#define LATE_TIMES 40

static void test_stats(void **state)
{
	static const u64 lengths[] = { 0, 1, 300, 511, 512, 513, 1023, 1024, 50000, 1000000, 1ull << 40, UINT64_MAX };
	struct window_stats *s = calloc(1, sizeof(*s));

	(void)state;
	assert_int_equal(window_stats_at(s, 50), 0);
	for (u32 i = 0; i < ARRAY_LEN(lengths); i++) {
		u64 got;

		memset(s, 0, sizeof(*s));
		window_stats_add(s, lengths[i]);
		got = window_stats_at(s, 50);
		assert_true(got <= lengths[i] && lengths[i] - got <= lengths[i] / 256);
		assert_true(lengths[i] > 512 || got == lengths[i]);
	}
	memset(s, 0, sizeof(*s));
	for (u32 i = 1; i <= 100; i++)
		window_stats_add(s, i);
	assert_int_equal(window_stats_at(s, 5), 5);
	assert_int_equal(window_stats_at(s, 50), 50);
	assert_int_equal(window_stats_at(s, 95), 95);
	for (u32 i = 0; i < 10; i++)
		window_stats_add(s, 0);
	assert_int_equal(window_stats_at(s, 5), 0);
	/* A hundredth is 100 of these, and each length has 20. */
	memset(s, 0, sizeof(*s));
	for (u32 i = 0; i < 10000; i++)
		window_stats_add(s, 1 + i / 20);
	for (u32 percent = 1; percent <= 100; percent++)
		assert_int_equal(window_stats_at(s, percent), 5 * percent);
	free(s);
}

/* A child that runs in user space, and takes signals meanwhile. */
static pid_t spinner(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves none behind */
		while (getppid() == parent)
			for (volatile u32 i = 0; i < 1000000; i++)
				;
		_exit(0);
	}
	return pid;
}

static struct window_pair open_pair(pid_t pid, u64 length)
{
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .size = ATTR_SIZE_MIN,
			  .config = PERF_COUNT_SW_CPU_CLOCK,
			  .sample_period = PERIOD,
			  .sample_type = PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ,
			  .read_format =
				  PERF_FORMAT_GROUP | PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING,
			  .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
	struct window_pair p = { .period = PERIOD, .length = length };

	p.first = perf_open(&a, pid, -1, -1, 0);
	p.second = perf_open(&a, pid, -1, p.first, 0);
	return p;
}

/* What the first had counted more when the second began. */
static u64 distance(const struct window_pair *p)
{
	u64 words[8] = { 0 };

	assert_true(read(p->first, words, sizeof(words)) > 0);
	assert_int_equal(words[0], 2);
	return words[4] ? words[3] - words[4] : UINT64_MAX;
}

/* Arms it by steps, with a new pair each time that it fails. */
static enum window_armed arm_by_steps(struct window_pair *p, pid_t pid)
{
	enum window_armed armed = window_arm_stepped(pid, true, p, false);
	siginfo_t info;

	for (u32 i = 0; i < 200 && armed != WINDOW_ARMED && armed != WINDOW_FORBIDDEN; i++) {
		bool seized = armed == WINDOW_SEIZED;

		if (seized) {
			assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL), 0);
		} else {
			close(p->second);
			close(p->first);
			*p = open_pair(pid, p->length);
		}
		armed = window_arm_stepped(pid, true, p, seized);
	}
	return armed;
}

/* Lengths of the first windows in the ring. Returns how many, at most WINDOWS. */
static u32 read_windows(const struct ring *ring, u64 second_id, u64 lengths[WINDOWS])
{
	struct iovec part[2] = { 0 }; /* never full, it does not wrap */
	int nr;
	u64 before = 0, id;
	u32 n = 0;
	struct cursor c;

	ring_peek(ring, part, &nr);
	c = cursor_over(part[0].iov_base, part[0].iov_len, false);
	while (cursor_left(&c) && n < WINDOWS) {
		u64 value;

		cursor_skip(&c, sizeof(struct perf_event_header));
		id = cursor_u64(&c);
		cursor_skip(&c, 3 * sizeof(u64)); /* members, times */
		value = cursor_u64(&c);
		cursor_skip(&c, sizeof(u64));
		if (id != second_id)
			before = value;
		else if (before)
			lengths[n++] = value - before;
	}
	return n;
}

/*
 * Arms the pair anew. Are windows, of which one may be longer as the machine stood still, as asked? *forbidden: it may
 * not be traced.
 */
static bool is_stepped(struct window_pair *p, pid_t pid, bool *forbidden)
{
	enum window_armed armed = arm_by_steps(p, pid);
	struct ring ring = { 0 };
	u64 second_id, lengths[WINDOWS];
	u32 n = 0, good = 0;

	*forbidden = armed == WINDOW_FORBIDDEN;
	if (*forbidden)
		return true;
	assert_int_equal(armed, WINDOW_ARMED);
	assert_int_equal(ring_map(&ring, p->first, 1), 0);
	assert_int_equal(ioctl(p->second, PERF_EVENT_IOC_SET_OUTPUT, p->first), 0);
	assert_int_equal(ioctl(p->second, PERF_EVENT_IOC_ID, &second_id), 0);
	for (u32 i = 0; i < 10000 && n < WINDOWS; i++) {
		usleep(1000);
		n = read_windows(&ring, second_id, lengths);
	}
	ring_unmap(&ring);
	assert_int_equal(n, WINDOWS);
	for (u32 i = 0; i < n; i++)
		good += lengths[i] >= p->length / 2 && lengths[i] <= p->length * 2;
	return good >= WINDOWS - 1;
}

/*
 * Where a machine stands still while a pair is armed, its windows are of another length: the recorder sees that, and
 * arms them anew. On machines that others share it is so in a third of all cases, so that one time says nothing, and
 * that it never comes right says all. *p is the last pair, open.
 */
static bool is_stepped_sometime(struct window_pair *p, pid_t pid, u64 length)
{
	bool forbidden = false, good = false;

	for (u32 i = 0; i < TIMES && !good; i++) {
		if (i) {
			close(p->second);
			close(p->first);
		}
		*p = open_pair(pid, length);
		good = p->first < 0 || is_stepped(p, pid, &forbidden);
	}
	return good;
}

/* Stopping it some thousand times keeps it from nothing, and its end is still to be seen. */
static void test_stepped(void **state)
{
	pid_t pid = spinner();
	struct window_pair p;
	int status;

	(void)state;
	assert_true(is_stepped_sometime(&p, pid, 10 * LENGTH));
	if (p.first < 0) {
		kill(pid, SIGKILL);
		waitpid(pid, &status, 0);
		skip();
	}
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
	assert_int_equal(window_arm_stepped(pid, true, &p, false), WINDOW_ASLEEP);
	close(p.second);
	close(p.first);
}

/* As spinner(), but it sleeps after each millisecond for longer than a step may take. */
static pid_t sleeper(void)
{
	pid_t parent = getpid(), pid = fork();

	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		while (getppid() == parent) {
			u64 until = clock_ns() + 1000000;

			while (clock_ns() < until)
				;
			usleep(20000);
		}
		_exit(0);
	}
	return pid;
}

/*
 * A step into a system call that takes its time is interrupted: the task stops for that, and the trap of the step, at
 * the call's end, still has to come. It must not come when nobody traces the task any more.
 */
static void test_step_is_late(void **state)
{
	pid_t pid = sleeper();
	struct window_pair p = open_pair(pid, 100 * LENGTH);
	enum window_armed armed = WINDOW_ASLEEP;
	siginfo_t info;
	int status;
	u32 n = 0;

	(void)state;
	for (u32 looks = 0; n < LATE_TIMES && looks < 100 * LATE_TIMES && p.first >= 0; looks++) {
		armed = window_arm_stepped(pid, true, &p, false);
		while (armed == WINDOW_SEIZED && n % 2) {
			assert_int_equal(waitid(P_PID, (id_t)pid, &info, WSTOPPED | WEXITED | WNOWAIT | __WALL), 0);
			armed = window_arm_stepped(pid, true, &p, true);
		}
		assert_true(armed != WINDOW_SEIZED || window_let_go(pid, true, clock_ns() + 2000000000));
		if (armed == WINDOW_FORBIDDEN || armed == WINDOW_GONE)
			break;
		if (armed == WINDOW_ASLEEP)
			usleep(500);
		n += armed != WINDOW_ASLEEP;
	}
	kill(pid, SIGTERM);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(WIFSIGNALED(status));
	assert_int_equal(WTERMSIG(status), SIGTERM);
	close(p.second);
	close(p.first);
	if (p.first < 0 || armed == WINDOW_FORBIDDEN) {
		print_message("%s\n", p.first < 0 ? "no event can be opened" : "no process may be traced");
		skip();
	}
	assert_int_not_equal(armed, WINDOW_GONE);
	assert_true(n > 0);
}

static void test_stepped_short(void **state)
{
	pid_t pid = spinner();
	struct window_pair p;
	bool good = is_stepped_sometime(&p, pid, LENGTH);
	int status;

	(void)state;
	close(p.second);
	close(p.first);
	kill(pid, SIGKILL);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_true(good);
}

static void test_here(void **state)
{
	(void)state;
	for (int clock = 0; clock < 2; clock++) {
		bool good = false;

		for (u32 i = 0; i < TIMES && !good; i++) {
			struct window_pair p = open_pair(0, LENGTH);

			if (p.first < 0)
				skip();
			p.clock = clock;
			assert_int_equal(window_arm_here(&p), WINDOW_ARMED);
			good = distance(&p) >= LENGTH / 2 && distance(&p) <= LENGTH * 50;
			close(p.second);
			close(p.first);
		}
		assert_true(good);
	}
}

static u64 first_count(const struct window_pair *p)
{
	u64 words[8] = { 0 };

	assert_true(read(p->first, words, sizeof(words)) > 0);
	return words[3];
}

/* All of them go on counting, one or several. */
static void test_all_here(void **state)
{
	(void)state;
	for (u32 n = 1; n <= 3; n++) {
		struct window_pair p[3];
		u64 before[3];

		for (u32 i = 0; i < n; i++) {
			p[i] = open_pair(0, LENGTH);
			if (p[i].first < 0)
				skip();
			p[i].clock = true;
		}
		window_arm_all_here(p, n);
		for (u32 i = 0; i < n; i++)
			before[i] = first_count(&p[i]);
		for (u32 i = 0; i < n; i++) {
			while (first_count(&p[i]) == before[i])
				assert_true(first_count(&p[0]) - before[0] < 1000000000);
			close(p[i].second);
			close(p[i].first);
		}
	}
}

/* Whoever is to run has not to wait for a length that does not come. */
static void test_too_far(void **state)
{
	struct window_pair p = open_pair(0, LENGTH);

	(void)state;
	if (p.first < 0)
		skip();
	p.length = UINT32_MAX;
	assert_int_equal(window_arm_here(&p), WINDOW_CUT_SHORT);
	close(p.second);
	close(p.first);
}

/* Who sleeps is not waited for, and sampled all the same. */
static void test_asleep(void **state)
{
	pid_t pid = fork();
	struct window_pair p;
	int status;

	(void)state;
	if (!pid)
		for (;;)
			pause();
	p = open_pair(pid, LENGTH);
	if (p.first >= 0) {
		wait_for_state(pid, 'S');
		assert_int_equal(window_arm_watched(pid, &p), WINDOW_ASLEEP);
		assert_int_equal(window_arm_stepped(pid, true, &p, false), WINDOW_ASLEEP);
		close(p.second);
		close(p.first);
	}
	kill(pid, SIGKILL);
	waitpid(pid, &status, 0);
	if (p.first < 0)
		skip();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stats),	      cmocka_unit_test(test_stepped),
		cmocka_unit_test(test_stepped_short), cmocka_unit_test(test_here),
		cmocka_unit_test(test_all_here),      cmocka_unit_test(test_too_far),
		cmocka_unit_test(test_asleep),	      cmocka_unit_test(test_step_is_late),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
