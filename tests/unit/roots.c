/* SPDX-License-Identifier: Apache-2.0 */
/* Processes with another root directory, and whether they are those of a recording. */
#include "state/roots.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "below.h"
#include "codec/proc_stat.h"
#include "state/text.h"

#define SECOND_NS 1000000000ull
#define UP_SINCE 1000000 /* seconds since 1970, while the clock is the test's */

static bool own_clock;

/* Then the machine has been up for a day, since UP_SINCE. */
int clock_gettime(clockid_t clock, struct timespec *out)
{
	if (!own_clock)
		return (int)syscall(SYS_clock_gettime, clock, out);
	*out = (struct timespec){ .tv_sec = 86400 + (clock == CLOCK_REALTIME ? UP_SINCE : 0) };
	return 0;
}

static u32 root_of(pid_t pid, u64 made_ns)
{
	struct roots r = { .made_ns = made_ns };
	u32 root = root_of_process(&r, (u32)pid);

	assert_int_equal(root_of_process(&r, (u32)pid), root); /* it is asked for once */
	assert_int_equal(root_of_process(&r, (u32)getpid()), 0);
	roots_free(&r);
	return root;
}

/* -> a process with that root, by its number there */
static pid_t begin_below(u32 *root)
{
	pid_t pid = start_below("/proc");

	if (!pid)
		skip();
	*root = rootdir_of((u32)pid);
	assert_int_not_equal(*root, 0);
	return pid;
}

static void test_numbers_used_again(void **state)
{
	u64 now = (u64)time(NULL) * SECOND_NS;
	u32 root;
	pid_t pid = begin_below(&root);

	(void)state;
	assert_int_equal(root_of(pid, 0), root);
	assert_int_equal(root_of(pid, now + 60 * SECOND_NS), root);
	assert_int_equal(root_of(pid, now - 60 * SECOND_NS), 0);
	end_below(pid);
	assert_int_equal(root_of(pid, 0), 0);
}

/* When it began, by the test's clock. */
static u64 began(pid_t pid)
{
	struct bytes text = { 0 };
	struct proc_stat stat;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	assert_int_equal(text_read(path, &text), 0);
	assert_true(proc_stat_parse((const char *)text.p, text.len, &stat));
	bytes_free(&text);
	return UP_SINCE * SECOND_NS + stat.start_ticks * SECOND_NS / (u64)sysconf(_SC_CLK_TCK);
}

/* A process's beginning is told in ticks, so one that began up to a second later is taken for the recording's. */
static void test_begun_with_it(void **state)
{
	u32 root;
	pid_t pid = begin_below(&root);

	(void)state;
	own_clock = true;
	assert_int_equal(root_of(pid, began(pid) - SECOND_NS), root);
	assert_int_equal(root_of(pid, began(pid) - SECOND_NS - 1), 0);
	own_clock = false;
	end_below(pid);
}

/* What was found out once holds: who lives is looked up at the first question, so nobody comes later, and who was
 * asked about does not go. */
static void test_asked_once(void **state)
{
	struct roots r = { 0 };
	u32 root;
	pid_t early = begin_below(&root), late;

	(void)state;
	assert_int_equal(root_of_process(&r, (u32)early), root);
	late = start_below("/proc");
	assert_int_equal(root_of_process(&r, (u32)late), 0);
	end_below(early);
	end_below(late);
	assert_int_equal(root_of_process(&r, (u32)early), root);
	roots_free(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_numbers_used_again),
		cmocka_unit_test(test_begun_with_it),
		cmocka_unit_test(test_asked_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
