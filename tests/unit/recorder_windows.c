/* SPDX-License-Identifier: Apache-2.0 */
/* What a recording asks of its windows, and when. The windows themselves are played by the test. */
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

#include "base/bytes.h"
#include "notes.h"
#include "own_dir.h"
#include "sys/probe.h"
#include "windows/run.h"

/* --- windows, instead of those that run --- */

static struct bytes asked; /* each a word; turns that follow one another are one */

static void ask(const char *what)
{
	if (strcmp(what, "turn") || asked.len < 5 || memcmp(asked.p + asked.len - 5, "turn ", 5))
		bytes_printf(&asked, "%s ", what);
}

static void hear_sample(void *ctx, const u8 *record, u16 size)
{
	(void)ctx, (void)record, (void)size;
}

static void hear_other(void *ctx, const struct record *r)
{
	(void)ctx, (void)r;
}

int window_run_begin(struct window_run *w, enum window_how how, struct event_set *set, struct evlist *events,
		     u64 interval_ns, const struct notify *to)
{
	(void)set, (void)events, (void)interval_ns, (void)to;
	w->tap = (struct flow_tap){ hear_sample, hear_other, w };
	ask(how == WINDOW_TWIN ? "twins" : how == WINDOW_REFRESH ? "bursts" : "others");
	return 0;
}

void window_run_pairs(struct window_run *w, struct window_pairs *out)
{
	(void)w, (void)out;
	ask("pairs");
}

void window_run_start(struct window_run *w, bool own, pid_t child)
{
	(void)w;
	ask(own ? "goes" : "start");
	ask(child > 0 ? "child" : "alone");
}

void window_run_turn(struct window_run *w, const struct window_turn *turn)
{
	(void)w, (void)turn;
	ask("turn");
}

void window_run_tick(struct window_run *w)
{
	(void)w;
	ask("tick");
}

int window_run_timeout(const struct window_run *w, int most)
{
	(void)w;
	return most;
}

void window_run_summary(const struct window_run *w, struct window_summary *out)
{
	(void)w;
	out->windows = 77;
	ask("summary");
}

void window_run_let_go(struct window_run *w)
{
	(void)w;
	ask("free");
}

void window_run_end(struct window_run *w)
{
	(void)w;
	ask("end");
}

/* --- recordings --- */

static bool opens_here(void)
{
	const struct attr a = { .type = PERF_TYPE_SOFTWARE,
				.config = PERF_COUNT_SW_CPU_CLOCK,
				.flags = ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };

	return event_probe(&a, NULL, NULL) == EVENT_USABLE;
}

struct how {
	const char *events;
	enum window_how windows;
	char *command;
	bool own_pid; /* this process is recorded, whether or not there is a command */
	s64 delay_ms;
	int err;
	const char *asked;
};

/* Until the command ends; without one, until the signal that has come before it begins. */
static void record(const struct how *how, struct record_result *result)
{
	char dir[OWN_DIR_PATH], path[64], note[NOTE_ROOM] = "", own[16];
	char *const argv[] = { how->command, NULL };
	const struct notify to = { keep_note, note };
	const struct record_opts o = {
		.target = { .command = how->command ? argv : NULL, .pids = how->own_pid ? own : NULL },
		.attr = { .freq = RECORD_UNSET,
			  .period = RECORD_UNSET,
			  .delay_ms = how->delay_ms,
			  .no_inherit = true },
		.output = { .path = path },
		.window = { .how = how->windows },
	};
	struct event_specs specs = { 0 };
	sigset_t term, before;
	int err;

	own_dir_make(dir);
	snprintf(path, sizeof(path), "%s/r.data", dir);
	snprintf(own, sizeof(own), "%d", (int)getpid());
	assert_int_equal(event_specs_parse(&specs, how->events, NULL, NULL), 0);
	sigemptyset(&term);
	sigaddset(&term, SIGTERM);
	assert_int_equal(sigprocmask(SIG_BLOCK, &term, &before), 0);
	if (!how->command)
		raise(SIGTERM);
	asked.len = 0;
	err = recorder_run(&o, &specs, NULL, false, result, &to);
	if (err != how->err)
		fail_msg("%d: %s", err, note);
	sigtimedwait(&term, NULL, &(struct timespec){ 0 });
	assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
	event_specs_free(&specs);
	free(result->path);
	unlink(path);
	assert_int_equal(rmdir(dir), 0);
	bytes_u8(&asked, 0);
}

#define WINDOWS "{cpu-clock/period=1000000,alt-period=100000/u,page-faults:u}:S"
#define FAR_MS 600000

/* The command starts its own windows, of which only twins have to be told to it. Those of others, and those that wait,
 * are started from here. */
static void test_starts(void **state)
{
	static const struct how rows[] = {
		{ WINDOWS, WINDOW_TWIN, "true", false, 0, 0, "twins pairs goes child turn summary free end " },
		{ WINDOWS, WINDOW_REFRESH, "true", false, 0, 0, "bursts goes child turn summary free end " },
		{ WINDOWS, WINDOW_TWIN, "true", false, FAR_MS, 0, "twins turn summary free end " },
		{ WINDOWS, WINDOW_TWIN, "true", true, 0, 0, "twins start child turn summary free end " },
		{ WINDOWS, WINDOW_TWIN, "/nothing/here", false, 0, ERR_NOTFOUND, "twins pairs free end " },
		{ WINDOWS, WINDOW_TWIN, NULL, true, 0, 0, "twins start alone turn summary free end " },
		{ WINDOWS, WINDOW_TWIN, NULL, true, FAR_MS, 0, "twins turn summary free end " },
		{ "cpu-clock:u", WINDOW_AUTO, "true", false, 0, 0, "free end " },
		{ "cpu-clock:u", WINDOW_AUTO, NULL, true, 0, 0, "free end " },
	};

	(void)state;
	if (!opens_here())
		skip();
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct record_result result;

		record(&rows[i], &result);
		assert_string_equal((char *)asked.p, rows[i].asked);
		assert_int_equal(result.windows.windows, strstr(rows[i].asked, "summary") ? 77 : 0);
		assert_int_equal(result.has_status, rows[i].command != NULL);
	}
	bytes_free(&asked);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_starts) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
