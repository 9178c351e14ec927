/* SPDX-License-Identifier: Apache-2.0 */
/* Which functions stand for a stack that waits or wakes, and which places and wakers are one. */
#include "agg/wait_names.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define MOST 8
#define ADDRESS(i) (0x1000 + 0x10 * (u64)(i))

struct room {
	struct dsos *dsos;
	struct frames *frames;
	struct wait_names names;
};

static void begin(struct room *r)
{
	*r = (struct room){ .dsos = dsos_new(&(struct symbol_opts){ .offline = true }, NULL), .frames = frames_new() };
	r->names.dsos = r->dsos;
	r->names.frames = r->frames;
}

static void end(struct room *r)
{
	wait_names_free(&r->names);
	frames_free(r->frames);
	dsos_free(r->dsos);
}

/* Of "dso`symbol": its DSO, and the address of that symbol, which is the i-th. A symbol that is "?" has no name. */
static u32 dso_of(struct room *r, const char *text, u32 i, bool add)
{
	const char *tick = strchr(text, '`');
	struct dso_key key = { .kind = DSO_BPF, .path = { text, (u32)(tick - text) } };
	u32 dso = dsos_get(r->dsos, &key);

	if (add && strcmp(tick, "`?") != 0)
		dsos_add_symbol(r->dsos, dso, ADDRESS(i), ADDRESS(i + 1),
				(struct str){ tick + 1, (u32)strlen(tick + 1) });
	return dso;
}

/* Frames of such texts: the kernel's if the DSO begins with "[k", a guest kernel's if it begins with "[g". */
static u32 make_frames(struct room *r, const char *const texts[MOST], u32 frames[MOST])
{
	u32 n = 0;

	for (; n < MOST && texts[n]; n++)
		dso_of(r, texts[n], n, true);
	for (u32 i = 0; i < n; i++) {
		struct frame f = { .level = '.', .addr = ADDRESS(i), .dso = dso_of(r, texts[i], i, false) };

		if (texts[i][0] == '[' && (texts[i][1] == 'k' || texts[i][1] == 'g'))
			f.level = texts[i][1];
		f.sym = dsos_symbol_at(r->dsos, f.dso, f.addr);
		frames[i] = frames_intern(r->frames, &f);
	}
	return n;
}

/* The innermost frame first. Which one is the kernel's place, and which the program's; -1: there is none. */
static void test_stacks(void **state)
{
	static const struct {
		const char *frames[MOST];
		int kernel, user;
	} rows[] = {
		/* A read of a pipe: the scheduler and the C library are everybody's. */
		{ { "[k]`__schedule", "[k]`schedule", "[k]`pipe_read", "[k]`vfs_read", "libc.so.6`read", "app`fetch",
		    "app`main" },
		  2,
		  5 },
		{ { "[k]`try_to_wake_up", "[k]`__wake_up_common", "[k]`pipe_write", "libpthread-2.31.so`write",
		    "app`send" },
		  2,
		  4 },
		{ { "[k]`ttwu_do_activate", "[k]`default_wake_function", "[k]`autoremove_wake_function",
		    "[k]`swake_up_locked", "[k]`complete" },
		  4,
		  -1 },
		{ { "[k]`io_schedule", "[k]`folio_wait_bit" }, 1, -1 },
		{ { "[k]`preempt_schedule_common", "[k]`__cond_resched", "[k]`wp_page_copy" }, 2, -1 },
		{ { "[k]`perf_trace_sched_switch", "[k]`__traceiter_sched_switch", "[k]`bpf_trampoline_6",
		    "[k]`work" },
		  3,
		  -1 },
		/* If there is nothing else, they are all that is known: the innermost of them. */
		{ { "[k]`__schedule", "[k]`schedule" }, 0, -1 },
		{ { "libc.so.6`nanosleep", "ld-linux-x86-64.so.2`start" }, -1, 0 },
		{ { "[k]`hrtimer", "libc.musl-x86_64.so.1`sleep" }, 0, 1 },
		/* Where a name is known, what it is called decides; elsewhere it is code like any other. */
		{ { "[k]`?", "[k]`schedule" }, 0, -1 },
		{ { "[k]`schedule", "[k]`?" }, 1, -1 },
		{ { "[k]`reschedule", "[k]`pipe_read" }, 0, -1 },
		{ { "app`schedule", "app`main" }, -1, 0 }, /* a function of the program of that name */
		{ { "libcrypto.so.3`sleep", "app`main" }, -1, 0 },
		{ { "[vdso]`clock", "app`main" }, -1, 1 },
		{ { "[guest]`schedule", "[guest]`poll" }, 1, -1 },
		{ { NULL }, -1, -1 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		u32 frames[MOST], n;
		struct wait_stack s;
		struct room r;

		begin(&r);
		n = make_frames(&r, rows[i].frames, frames);
		for (u32 again = 0; again < 2; again++) { /* the second time, what each frame is has been kept */
			s = wait_names_stack(&r.names, frames, n);
			assert_int_equal(s.kernel, rows[i].kernel < 0 ? ID_NONE : frames[rows[i].kernel]);
			assert_int_equal(s.user, rows[i].user < 0 ? ID_NONE : frames[rows[i].user]);
		}
		end(&r);
	}
}

/* Numbers follow one another, and what differs in anything has another one. */
static void test_numbers(void **state)
{
	static const struct wait_stack places[] = { { 1, 2 }, { 2, 1 }, { 1, ID_NONE }, { ID_NONE, 2 }, { 1, 1 } };
	static const struct wait_waker wakers[] = {
		{ WAIT_BY_THREAD, 5, 6, { 1, 2 } },  { WAIT_BY_INTERRUPT, 5, 6, { 1, 2 } },
		{ WAIT_BY_THREAD, 6, 5, { 1, 2 } },  { WAIT_BY_THREAD, 5, 7, { 1, 2 } },
		{ WAIT_BY_THREAD, 5, 6, { 2, 2 } },  { WAIT_BY_THREAD, 5, 6, { 1, 3 } },
		{ WAIT_BY_SOFTIRQ, 5, 6, { 1, 2 } },
	};
	struct room r;

	(void)state;
	begin(&r);
	for (u32 again = 0; again < 2; again++) {
		for (u32 i = 0; i < ARRAY_LEN(places); i++)
			assert_int_equal(wait_names_place(&r.names, places[i]), i);
		for (u32 i = 0; i < ARRAY_LEN(wakers); i++)
			assert_int_equal(wait_names_waker(&r.names, &wakers[i]), i);
	}
	assert_int_equal(r.names.places.n, ARRAY_LEN(places));
	assert_int_equal(r.names.wakers.n, ARRAY_LEN(wakers));
	for (u32 i = 0; i < ARRAY_LEN(wakers); i++)
		assert_memory_equal(&r.names.wakers.v[i], &wakers[i], sizeof(wakers[i]));
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks),
		cmocka_unit_test(test_numbers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
