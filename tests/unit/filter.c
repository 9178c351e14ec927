/* SPDX-License-Identifier: Apache-2.0 */
/* What --comm, --pid, --tid, --cpu, --time and the filters on code leave, and the counters of groups that samples
 * read. */
#include "attrib/filter.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

#include "attrib/group_read.h"
#include "notes.h"

static const u32 some[] = { 7, 9 };
static const char *const names[] = { "sh", ":31" };

static bool keeps(const struct sample_filter *f, u32 pid, u32 tid, u32 comm, const struct strtab *strings)
{
	return sample_filter_thread(f, pid, tid, &(struct thread_view){ .comm = comm }, strings);
}

static void test_threads(void **state)
{
	struct strtab strings = { 0 };
	u32 sh = strtab_intern_z(&strings, "sh"), other = strtab_intern_z(&strings, "shell");
	const struct sample_filter all = { 0 }, pids = { .pids = { some, 2 } }, tids = { .tids = { some, 2 } };
	const struct sample_filter both = { .pids = { some, 1 }, .tids = { some + 1, 1 } };
	const struct sample_filter comms = { .comms = { names, 2 } };
	const struct sample_filter of_pid = { .comms = { names, 1 }, .pids = { some, 1 } };

	(void)state;
	assert_true(keeps(&all, 1, 2, ID_NONE, &strings));
	assert_true(keeps(&pids, 9, 1, other, &strings));
	assert_false(keeps(&pids, 1, 9, other, &strings));
	assert_true(keeps(&tids, 1, 9, other, &strings));
	assert_false(keeps(&tids, 9, 1, other, &strings));
	assert_true(keeps(&both, 7, 9, other, &strings));
	assert_false(keeps(&both, 7, 7, other, &strings));
	assert_false(keeps(&both, 9, 9, other, &strings));
	assert_true(keeps(&comms, 1, 1, sh, &strings));
	assert_false(keeps(&comms, 1, 1, other, &strings));
	assert_true(keeps(&of_pid, 7, 1, sh, &strings));
	assert_false(keeps(&of_pid, 9, 1, sh, &strings));
	/* A thread that no record names is called by its id, as it is shown. */
	assert_true(keeps(&comms, 30, 31, ID_NONE, &strings));
	assert_false(keeps(&comms, 31, 30, ID_NONE, &strings));
	strtab_free(&strings);
}

static void test_made_up_names(void **state)
{
	char buf[THREAD_NAME_SIZE];

	(void)state;
	assert_string_equal(thread_made_up_name(31, buf), ":31");
	assert_string_equal(thread_made_up_name(UINT32_MAX, buf), ":-1"); /* as perf shows it */
	assert_string_equal(thread_made_up_name(1u << 31, buf), ":-2147483648");
}

static void test_places(void **state)
{
	static const char *const files[] = { "app", "/opt/lib.so" }, *const functions[] = { "run", "[app+0x1]" };
	const struct dso app = { .path = "/opt/app", .short_name = "app" };
	const struct dso lib = { .path = "/opt/lib.so", .short_name = "lib.so" };
	const struct place_filter all = { 0 }, dsos = { .dsos = { files, 2 } }, hide = { .hide_unresolved = true };
	const struct place_filter symbols = { .symbols = { functions, 2 } }, part = { .symbol_part = "un" };
	const struct place_filter both = { .dsos = { files, 1 }, .symbols = { functions, 1 }, .symbol_part = "r" };

	(void)state;
	assert_false(place_filter_used(&all) || place_filter_names(&all) || place_filter_names(&dsos));
	assert_true(place_filter_used(&dsos) && place_filter_used(&hide) && place_filter_used(&symbols));
	assert_true(place_filter_used(&part) && place_filter_names(&part) && place_filter_names(&symbols));
	assert_true(place_filter_keeps(&all, &app, false, NULL));
	/* By name or by path. */
	assert_true(place_filter_keeps(&dsos, &app, true, NULL) && place_filter_keeps(&dsos, &lib, false, NULL));
	assert_false(place_filter_keeps(&(struct place_filter){ .dsos = { files, 1 } }, &lib, true, NULL));
	assert_true(place_filter_keeps(&hide, &app, true, NULL));
	assert_false(place_filter_keeps(&hide, &app, false, "[app+0x1]"));
	/* Whole names, among them those that are made up; parts of names. */
	assert_true(place_filter_keeps(&symbols, &lib, true, "run"));
	assert_true(place_filter_keeps(&symbols, &app, false, "[app+0x1]"));
	assert_false(place_filter_keeps(&symbols, &app, true, "runs") ||
		     place_filter_keeps(&symbols, &app, false, NULL));
	assert_true(place_filter_keeps(&part, &app, true, "runs"));
	assert_false(place_filter_keeps(&part, &app, true, "rn") || place_filter_keeps(&part, &app, false, NULL));
	assert_true(place_filter_keeps(&both, &app, true, "run"));
	assert_false(place_filter_keeps(&both, &lib, true, "run") ||
		     place_filter_keeps(&both, &app, true, "[app+0x1]"));
}

static void test_inside(void **state)
{
	const struct sample_filter f = { .cpus = { some, 2 } };

	(void)state;
	assert_true(sample_filter_inside(&f, &(struct sample_core){ .cpu = 9 }));
	assert_false(sample_filter_inside(&f, &(struct sample_core){ .cpu = 8, .pid = 9, .tid = 9 }));
}

static void test_check(void **state)
{
	static const struct timeranges times = { 0 };
	static const struct {
		struct sample_filter f;
		u64 second; /* event's sample_type */
		const char *error;
	} rows[] = {
		{ { .pids = { some, 1 }, .tids = { some, 1 }, .comms = { names, 1 } }, 0, NULL },
		{ { .cpus = { some, 1 } }, PERF_SAMPLE_CPU, NULL },
		{ { .times = &times }, PERF_SAMPLE_TIME, NULL },
		{ { .cpus = { some, 1 }, .times = &times },
		  PERF_SAMPLE_CPU | PERF_SAMPLE_TIME | PERF_SAMPLE_IP,
		  NULL },
		{ { .cpus = { some, 1 } },
		  PERF_SAMPLE_TIME,
		  "option --cpu: samples of 'two' do not say on which CPU they were taken (record with "
		  "--sample-cpu)" },
		{ { .times = &times },
		  PERF_SAMPLE_CPU,
		  "option --time: samples of 'two' do not say when they were taken (record with -T)" },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct evlist l = { 0 };
		char text[NOTE_ROOM] = "";
		struct notify to = { keep_note, text };

		vec_push(&l.events, (struct event){ .name = (char *)"one",
						    .attr.sample_type = PERF_SAMPLE_CPU | PERF_SAMPLE_TIME });
		vec_push(&l.events, (struct event){ .name = (char *)"two", .attr.sample_type = rows[i].second });
		/* What lies behind the list is none of its events. */
		vec_push(&l.events, (struct event){ .name = (char *)"none" });
		l.events.n--;
		assert_int_equal(sample_filter_check(&rows[i].f, &l, &to), rows[i].error ? ERR_USAGE : 0);
		assert_string_equal(text, rows[i].error ? rows[i].error : "");
		vec_free(&l.events);
	}
}

/* --- reads of groups --- */

static void test_used(void **state)
{
	static const struct {
		u64 sample_type, read_format;
		bool used;
	} rows[] = {
		{ PERF_SAMPLE_READ, PERF_FORMAT_ID, true },
		{ PERF_SAMPLE_READ, PERF_FORMAT_GROUP, false },
		{ PERF_SAMPLE_TIME, PERF_FORMAT_ID, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct evlist l = { 0 };

		vec_push(&l.events, (struct event){ 0 });
		vec_push(&l.events, (struct event){ .attr = { .sample_type = rows[i].sample_type,
							      .read_format = rows[i].read_format } });
		/* What lies behind the list is none of its events. */
		vec_push(&l.events,
			 (struct event){ .attr = { .sample_type = PERF_SAMPLE_READ, .read_format = PERF_FORMAT_ID } });
		l.events.n--;
		assert_int_equal(group_read_used(&l), rows[i].used);
		vec_free(&l.events);
	}
}

/* Members' values and ids; at most `max` of the results are wanted. -> "event:weight ..." */
static const char *explode(struct group_read *g, const struct evlist *l, u32 tid, const u64 *words, u32 nr, u32 max)
{
	static char text[200];
	struct sample s = { .tid = tid };
	struct member_sample out[4];
	u32 n, at = 0;

	s.read = (struct read_values){
		.nr = nr, .stride = 2, .raw = { (const u8 *)words, 2 * nr, false }, .has_id = true, .id_at = 1
	};
	n = group_read_explode(g, l, &s, out, max);
	text[0] = 0;
	for (u32 i = 0; i < n; i++)
		at += (u32)snprintf(text + at, sizeof(text) - at, "%u:%llu ", out[i].event,
				    (unsigned long long)out[i].weight);
	return text;
}

static void events_with(struct evlist *l, u64 flags, u64 sample_type)
{
	const struct attr a = { .size = 112, .sample_type = sample_type, .flags = flags };

	for (u32 i = 0; i < 2; i++) {
		evlist_add(l, &a, "e", NULL);
		evlist_add_id(l, i, 100 + i);
	}
	assert_int_equal(evlist_seal(l, NULL, "test"), 0);
}

/* A sample weighs what its counter has counted since the last one. */
static void test_explode(void **state)
{
	const u64 first[] = { 10, 100, 0, 101, 5, 777 }, second[] = { 13, 100, 4, 101, 6, 777 };
	const u64 stray_first[] = { 6, 777, 14, 100, 5, 101 };
	struct group_read g = { 0 };
	struct evlist l = { 0 };

	(void)state;
	events_with(&l, 0, PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ);
	assert_string_equal(explode(&g, &l, 1, first, 3, 4), "0:10 ");
	assert_string_equal(explode(&g, &l, 2, second, 3, 4), "0:3 1:4 ");
	assert_string_equal(explode(&g, &l, 2, stray_first, 3, 4), "0:1 1:1 ");
	assert_string_equal(explode(&g, &l, 2, stray_first, 3, 4), "");
	assert_string_equal(explode(&g, &l, 2, first + 2, 1, 4), "1:18446744073709551611 ");
	assert_string_equal(explode(&g, &l, 2, second, 3, 1), "0:18446744073709551615 ");
	assert_string_equal(explode(&g, &l, 2, second, 3, 0), "");
	group_read_free(&g);
	evlist_free(&l);
}

/* Counters that children inherit have one id, and are each thread's. */
static void test_inherited(void **state)
{
	static const struct {
		u64 flags, sample_type;
		const char *second;
	} rows[] = {
		{ ATTR_INHERIT, PERF_SAMPLE_TID, "0:13 " },
		{ ATTR_INHERIT, 0, "0:3 " },
		{ 0, PERF_SAMPLE_TID, "0:3 " },
	};
	const u64 first[] = { 10, 100 }, second[] = { 13, 100 }, third[] = { 14, 100 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct group_read g = { 0 };
		struct evlist l = { 0 };

		events_with(&l, rows[i].flags,
			    PERF_SAMPLE_IP | PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_READ | rows[i].sample_type);
		assert_string_equal(explode(&g, &l, 1, first, 1, 4), "0:10 ");
		assert_string_equal(explode(&g, &l, 2, second, 1, 4), rows[i].second);
		assert_string_equal(explode(&g, &l, 2, third, 1, 4), "0:1 ");
		group_read_free(&g);
		evlist_free(&l);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_threads), cmocka_unit_test(test_made_up_names), cmocka_unit_test(test_places),
		cmocka_unit_test(test_inside),	cmocka_unit_test(test_check),	      cmocka_unit_test(test_used),
		cmocka_unit_test(test_explode), cmocka_unit_test(test_inherited),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
