/* SPDX-License-Identifier: Apache-2.0 */
/* Events that write into AUX areas: how they are configured, and how what is in an area is read. */
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/mem.h"
#include "notes.h"
#include "open/set.h"

#define SIZE 64

/* Positions only grow; what wraps around the end of the area comes in two parts. */
static void test_parts(void **state)
{
	static const struct {
		u64 tail, head, first, second;
	} rows[] = {
		{ 0, 0, 0, 0 },	       { 0, 10, 10, 0 },   { 10, 64, 54, 0 },	      { 0, 64, 64, 0 },
		{ 60, 70, 4, 6 },      { 640, 640, 0, 0 }, { 650, 650 + 64, 54, 10 }, { 64, 65, 1, 0 },
		{ 100, 1000, 28, 36 }, /* more than it holds */
	};
	struct perf_event_mmap_page page = { 0 };
	u8 data[SIZE];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct aux_area a = { .page = &page, .data = data, .size = SIZE, .tail = rows[i].tail };
		struct iovec part[2];
		u64 n;
		int nr;

		page.aux_head = rows[i].head;
		aux_area_look(&a);
		n = aux_area_peek(&a, part, &nr);
		assert_int_equal(n, rows[i].first + rows[i].second);
		assert_int_equal(nr, (rows[i].first != 0) + (rows[i].second != 0));
		if (nr)
			assert_ptr_equal(part[0].iov_base, data + rows[i].tail % SIZE);
		if (nr > 0)
			assert_int_equal(part[0].iov_len, rows[i].first);
		if (nr > 1)
			assert_ptr_equal(part[1].iov_base, data);
		if (nr > 1)
			assert_int_equal(part[1].iov_len, rows[i].second);
		aux_area_consume(&a, n);
		assert_int_equal(page.aux_tail, rows[i].tail + n);
	}
}

/* Records that came since tell of more; others do not move it back, nor beyond what the area holds. */
static void test_told(void **state)
{
	static const struct {
		u64 tail, head, told, n;
	} rows[] = {
		{ 0, 10, 30, 30 },    { 0, 30, 10, 30 },     { 640, 650, 700, 60 },
		{ 640, 640, 0, 0 },   { 640, 650, 705, 10 }, { 640, 650, UINT64_MAX, 10 },
		{ 640, 640, 630, 0 },
	};
	struct perf_event_mmap_page page = { 0 };
	u8 data[SIZE];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct aux_area a = { .page = &page, .data = data, .size = SIZE, .tail = rows[i].tail };
		struct iovec part[2];
		int nr;

		page.aux_head = rows[i].head;
		aux_area_look(&a);
		aux_area_told(&a, rows[i].told);
		assert_int_equal(aux_area_peek(&a, part, &nr), rows[i].n);
	}
}

/* Of an area that is overwritten: what came since the last time, at most what it holds, and what was asked for. */
static void test_taken(void **state)
{
	static const struct {
		u64 before, came, skipped, most, n; /* skipped: bytes that the driver left out at the area's end */
	} rows[] = {
		{ 0, 0, 0, SIZE, 0 },		{ 0, 10, 0, SIZE, 10 },	     { 0, SIZE, 0, SIZE, SIZE },
		{ 10, 20, 0, SIZE, 20 },	{ 60, 10, 0, SIZE, 10 },     { 60, 10, 4, SIZE, 14 },
		{ 10, SIZE, 0, SIZE, SIZE },	{ 10, 5 * SIZE, 0, 16, 16 }, { 3 * SIZE, 8, 0, 16, 8 },
		{ 0, SIZE + 8, 0, SIZE, SIZE },
	};
	struct perf_event_mmap_page page = { 0 };
	u8 data[SIZE];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct aux_area a = { .page = &page, .data = data, .size = SIZE, .overwritten = true };
		u64 end = rows[i].before + rows[i].came + rows[i].skipped, n;
		struct iovec part[2];
		int nr;

		page.aux_head = rows[i].before % SIZE;
		aux_area_take(&a, rows[i].before, SIZE);
		aux_area_consume(&a, aux_area_peek(&a, part, &nr));
		assert_int_equal(a.tail, rows[i].before);
		page.aux_head = end % SIZE;
		aux_area_take(&a, rows[i].before + rows[i].came, rows[i].most);
		n = aux_area_peek(&a, part, &nr);
		assert_int_equal(n, rows[i].n);
		if (n)
			assert_ptr_equal(part[0].iov_base, data + (end - n) % SIZE);
		aux_area_consume(&a, n);
		assert_int_equal(a.tail, end);
		assert_int_equal(page.aux_tail, 0); /* the kernel does not ask for it, nor may it be written */
	}
}

static void test_none(void **state)
{
	struct aux_area none = { 0 };
	struct iovec part[2];
	int nr;

	(void)state;
	aux_area_look(&none);
	aux_area_told(&none, 10);
	assert_int_equal(aux_area_peek(&none, part, &nr), 0);
	assert_int_equal(nr, 0);
	aux_area_unmap(&none);
}

static int configure(struct event_set *set, struct event_specs *specs, const struct attr_opts *o, char note[NOTE_ROOM])
{
	struct target t = { 0 };
	struct notify to = { keep_note, note };
	int err;

	memset(note, 0, 256);
	vec_push(&t.cpus, 0);
	vec_push(&t.tasks, ((struct target_task){ 5, 5 }));
	err = event_set_configure(set, specs, o, &t, true, &to);
	target_free(&t);
	return err;
}

/* Beside an event that takes samples: each has what it needs, and a third one says who ran when. */
static void test_configured(void **state)
{
	static const struct {
		u64 given, period;
		const char *note;
	} rows[] = {
		{ RECORD_UNSET, 1024, "" },
		{ 5000, 5000, "" },
		{ 1000, 1024, "of 1024 operations at most: using that instead of 1000" },
	};
	char note[NOTE_ROOM];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct attr_opts o = { .freq = RECORD_UNSET, .period = rows[i].given, .callgraph = CALLGRAPH_FP };
		struct event_specs specs = { 0 };
		struct event_set set = { 0 };
		const struct attr *spe, *other, *tracking;

		assert_int_equal(event_specs_parse(&specs, "cpu-clock,cpu-clock", NULL, NULL), 0);
		specs.v.v[0].aux = true;
		specs.v.v[0].least_period = specs.v.v[0].attr.sample_period = 1024;
		assert_int_equal(configure(&set, &specs, &o, note), 0);
		assert_true(set.aux);
		assert_int_equal(set.events.n, 3);
		spe = &set.events.v[0].attr;
		other = &set.events.v[1].attr;
		tracking = &set.events.v[2].attr;
		assert_int_equal(spe->sample_period, rows[i].period);
		assert_false(spe->flags & ATTR_FREQ);
		assert_false(spe->sample_type & PERF_SAMPLE_CALLCHAIN);
		assert_true(other->sample_type & PERF_SAMPLE_CALLCHAIN);
		for (u32 e = 0; e < 3; e++)
			assert_int_equal(set.events.v[e].attr.sample_type &
						 (PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER),
					 PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER);
		assert_true(set.events.v[2].tracking);
		assert_true(tracking->flags & ATTR_CONTEXT_SWITCH);
		if (!strstr(note, rows[i].note) || (*note && !*rows[i].note))
			fail_msg("-c %llu: %s", (unsigned long long)rows[i].given, note);
		event_set_free(&set);
		event_specs_free(&specs);
	}
}

/* A frequency is refused, as the PMU cannot follow one. */
static void test_frequency(void **state)
{
	struct attr_opts o = { .freq = RECORD_UNSET, .period = RECORD_UNSET };
	struct event_specs specs = { 0 };
	struct event_set set = { 0 };
	char note[NOTE_ROOM];

	(void)state;
	assert_int_equal(event_specs_parse(&specs, "cpu-clock/freq=99/", NULL, NULL), 0);
	specs.v.v[0].aux = true;
	assert_int_equal(configure(&set, &specs, &o, note), ERR_USAGE);
	assert_non_null(strstr(note, "takes an interval"));
	event_set_free(&set);
	event_specs_free(&specs);
}

/* What has no effect on what fills AUX areas, or would spoil it, is said. */
static void test_refused(void **state)
{
	static const struct {
		const char *events;
		struct attr_opts o;
		bool per_thread;
		int err;
		const char *note; /* NULL: none */
	} rows[] = {
		{ "cpu-clock", { .freq = 99, .period = RECORD_UNSET }, false, 0, "-F does not hold for it" },
		{ "cpu-clock",
		  { .freq = RECORD_UNSET, .period = RECORD_UNSET, .freq_max = true },
		  false,
		  0,
		  "-F does not hold for it" },
		{ "cpu-clock/period=5000/", { .freq = 99, .period = RECORD_UNSET }, false, 0, NULL },
		{ "cpu-clock", { .freq = 99, .period = 5000 }, false, 0, NULL },
		{ "cpu-clock",
		  { .freq = RECORD_UNSET, .period = RECORD_UNSET, .use_clockid = true, .clockid = 1 },
		  false,
		  ERR_USAGE,
		  "-k: the times in the AUX data of cpu-clock" },
		{ "cpu-clock",
		  { .freq = RECORD_UNSET, .period = RECORD_UNSET, .overwrite = true },
		  false,
		  ERR_USAGE,
		  "--overwrite keeps only the last samples" },
		{ "cpu-clock,page-faults/overwrite/",
		  { .freq = RECORD_UNSET, .period = RECORD_UNSET },
		  false,
		  ERR_USAGE,
		  "--overwrite keeps only the last samples" },
		{ "cpu-clock,cs", { .freq = RECORD_UNSET, .period = RECORD_UNSET }, true, 0, NULL },
		{ "cpu-clock,cs/period=7/", { .freq = RECORD_UNSET, .period = RECORD_UNSET }, false, 0, NULL },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct attr_opts o = rows[i].o;
		struct event_specs specs = { 0 };
		struct event_set set = { 0 };
		struct target t = { .per_thread = rows[i].per_thread };
		char note[NOTE_ROOM] = "";
		struct notify to = { keep_note, note };

		assert_int_equal(event_specs_parse(&specs, rows[i].events, NULL, NULL), 0);
		specs.v.v[0].aux = true;
		specs.v.v[0].attr.sample_period = 1024;
		if (event_set_configure(&set, &specs, &o, &t, true, &to) != rows[i].err || !rows[i].note != !*note ||
		    (rows[i].note && !strstr(note, rows[i].note)))
			fail_msg("row %u: %s", i, note);
		event_set_free(&set);
		event_specs_free(&specs);
	}
}

/* A thread's ring has one area. */
static void test_two_pmus(void **state)
{
	struct attr_opts o = { .freq = RECORD_UNSET, .period = RECORD_UNSET };
	struct event_specs specs = { 0 };

	(void)state;
	assert_int_equal(event_specs_parse(&specs, "cpu-clock,cpu-clock", NULL, NULL), 0);
	specs.v.v[0].aux = specs.v.v[1].aux = true;
	specs.v.v[1].attr.type = 77;
	for (u32 per_thread = 0; per_thread < 2; per_thread++) {
		struct target t = { .per_thread = per_thread };
		struct event_set set = { 0 };
		char note[NOTE_ROOM] = "";
		struct notify to = { keep_note, note };

		assert_int_equal(event_set_configure(&set, &specs, &o, &t, true, &to), per_thread ? ERR_USAGE : 0);
		assert_int_equal(strstr(note, "has one AUX area") != NULL, per_thread);
		event_set_free(&set);
	}
	event_specs_free(&specs);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_parts),	cmocka_unit_test(test_none),	   cmocka_unit_test(test_told),
		cmocka_unit_test(test_taken),	cmocka_unit_test(test_configured), cmocka_unit_test(test_frequency),
		cmocka_unit_test(test_refused), cmocka_unit_test(test_two_pmus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
