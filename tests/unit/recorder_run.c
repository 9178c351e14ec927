/* SPDX-License-Identifier: Apache-2.0 */
/* A recording from its first stage to its last, of this process and an event of the kernel's that counts nothing. */
#include "record/recorder.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "notes.h"
#include "own_dir.h"
#include "sys/probe.h"

struct run {
	char dir[OWN_DIR_PATH], path[64], note[NOTE_ROOM];
	struct record_result result;
	int err;
};

static bool opens_here(void)
{
	const struct attr a = { .type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_DUMMY,
				.flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };

	return event_probe(&a, NULL, NULL) == EVENT_USABLE;
}

/* Until the signal that has come before it begins. */
static void run(struct run *r, enum switch_on on)
{
	char own[16];
	const struct notify to = { keep_note, r->note };
	const struct record_opts o = { .target.pids = own,
				       .attr = { .freq = RECORD_UNSET, .period = RECORD_UNSET },
				       .output = { .path = r->path, .switch_on = on } };
	struct event_specs specs = { 0 };
	sigset_t term, before;

	*r = (struct run){ 0 };
	own_dir_make(r->dir);
	snprintf(r->path, sizeof(r->path), "%s/r.data", r->dir);
	snprintf(own, sizeof(own), "%d", (int)getpid());
	assert_int_equal(event_specs_parse(&specs, "dummy:u", NULL, NULL), 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &term, &before), 0);
	raise(SIGTERM);
	r->err = recorder_run(&o, &specs, NULL, false, &r->result, &to);
	sigtimedwait(&term, NULL, &(struct timespec){ 0 }); /* after an error nobody has taken it */
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	event_specs_free(&specs);
}

/* Without a command there is nothing to start, which is no error; and its file has the name that it was given. Where
 * files are switched, the last one is finished as those before it. */
static void test_whole(void **state)
{
	(void)state;
	if (!opens_here())
		skip();
	for (u32 switched = 0; switched < 2; switched++) {
		struct run r;

		run(&r, switched ? SWITCH_SIGNAL : SWITCH_NEVER);
		assert_string_equal(r.note, "");
		assert_int_equal(r.err, 0);
		assert_true(r.result.interrupted && !r.result.has_status);
		assert_int_equal(r.result.signal, SIGTERM);
		assert_int_equal(r.result.files, switched);
		assert_int_equal(access(r.path, F_OK), switched ? -1 : 0);
		assert_int_equal(access(r.result.path, F_OK), 0);
		/* PATH.YYYYMMDDHHMMSSHH */
		assert_memory_equal(r.result.path, r.path, strlen(r.path));
		assert_int_equal(strlen(r.result.path), strlen(r.path) + (switched ? 17 : 0));
		free(r.result.path);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_whole) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
