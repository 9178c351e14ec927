/* SPDX-License-Identifier: Apache-2.0 */
/* What goes behind the horizon is told in the order of time, once all that is older has come. */
#include "pass/horizon.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "codec/record.h"

static const struct trailer_layout timed = { .fields = PERF_SAMPLE_TIME, .size = 8 };

static void put(struct bytes *out, struct record r, u64 time)
{
	r.sid = (struct sample_id){ .has = PERF_SAMPLE_TIME, .time = time };
	assert_int_equal(record_encode(&r, &timed, out), 0);
}

static void put_comm(struct bytes *out, const char *name, u64 time)
{
	put(out,
	    (struct record){ .h.type = PERF_RECORD_COMM,
			     .comm = { 1, 1, { name, (u32)strlen(name) }, .exec = false } },
	    time);
}

static void put_lost(struct bytes *out, u64 lost)
{
	put(out, (struct record){ .h.type = PERF_RECORD_LOST, .lost = { .lost = lost } }, 5);
}

/* The round goes. */
static void take(struct horizon *h, struct bytes *round)
{
	const struct evlist events = { .trailer = timed };

	horizon_take(h, &events, round->p, round->len);
	bytes_free(round);
}

/* The names that it would tell, the last one of each COMM record: "a b ". */
static void expect(const struct horizon *h, const char *want)
{
	const struct trailer_layout none = { 0 };
	struct bytes records = { 0 }, text = { 0 };
	struct record r;

	horizon_put(h, &records);
	for (size_t at = 0; at < records.len; at += r.h.size) {
		assert_int_equal(record_decode(cursor_over(records.p + at, records.len - at, false), at, &none, &r),
				 0);
		assert_int_equal(r.h.type, PERF_RECORD_COMM);
		bytes_printf(&text, "%.*s ", (int)r.comm.comm.len, r.comm.comm.p);
	}
	bytes_char(&text, 0);
	assert_string_equal((const char *)text.p, want);
	bytes_free(&records);
	bytes_free(&text);
}

static void test_in_order_of_time(void **state)
{
	struct horizon h = { 0 };
	struct bytes round = { 0 };

	(void)state;
	put_comm(&round, "late", 30);
	put_comm(&round, "early", 10);
	put_comm(&round, "middle", 20);
	take(&h, &round);
	assert_int_equal(h.newest, 30);
	expect(&h, "late early middle ");
	horizon_move(&h); /* nothing is known to be complete before a second round goes */
	assert_int_equal(h.complete, 30);
	expect(&h, "early middle late ");
	put_comm(&round, "newer", 40);
	put_comm(&round, "older", 25); /* another ring's */
	take(&h, &round);
	horizon_move(&h);
	assert_int_equal(h.complete, 40);
	expect(&h, "newer late ");
	assert_int_equal(h.side.n, 1);
	horizon_move(&h);
	expect(&h, "newer ");
	assert_int_equal(h.side.n, 0);
	assert_int_equal(h.pending.len, 0);
	horizon_free(&h);
}

/* Of one time, in the order in which they came; the newest of what is complete is told. */
static void test_equal_times(void **state)
{
	struct horizon h = { 0 };
	struct bytes round = { 0 };

	(void)state;
	for (u32 i = 0; i < 40; i++)
		put_comm(&round, i == 39 ? "last" : "first", 7);
	take(&h, &round);
	horizon_move(&h);
	horizon_move(&h);
	assert_int_equal(h.side.n, 0);
	expect(&h, "last ");
	horizon_free(&h);
}

/* Without a time a record holds from the beginning, as in sessions. */
static void test_no_time(void **state)
{
	struct horizon h = { 0 };
	struct bytes round = { 0 };

	(void)state;
	put_comm(&round, "second", 3);
	put_comm(&round, "first", UINT64_MAX);
	take(&h, &round);
	assert_int_equal(h.newest, 3);
	horizon_move(&h);
	horizon_move(&h);
	expect(&h, "second ");
	horizon_free(&h);
}

static void test_sums(void **state)
{
	struct horizon h = { 0 };
	struct bytes round = { 0 };

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		put_lost(&round, 5);
		put(&round, (struct record){ .h.type = PERF_RECORD_THROTTLE }, 5);
		put(&round, (struct record){ .h.type = PERF_RECORD_UNTHROTTLE }, 6);
		put_lost(&round, 6);
		take(&h, &round);
	}
	assert_int_equal(h.lost, 22);
	assert_int_equal(h.throttled, 2);
	assert_int_equal(h.side.n, 0);
	assert_int_equal(h.newest, 0);
	horizon_free(&h);
}

/* What there was before the first round needs no times. */
static void test_beginning(void **state)
{
	struct horizon h = { 0 };
	struct bytes records = { 0 };

	(void)state;
	put_comm(&records, "old", 0);
	put_comm(&records, "new", 0);
	horizon_begin(&h, records.p, records.len);
	assert_int_equal(h.side.n, 0);
	expect(&h, "new ");
	bytes_free(&records);
	horizon_free(&h);
}

#define OUTPUT 5 /* the id of the event of activities; 4: of another one */

static void events_with_activities(struct evlist *l)
{
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .sample_type =
				  PERF_SAMPLE_IDENTIFIER | PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_RAW };

	evlist_add_id(l, evlist_add(l, &a, "cpu-clock", NULL), OUTPUT - 1);
	a.config = PERF_COUNT_SW_BPF_OUTPUT;
	evlist_add_id(l, evlist_add(l, &a, ACTIVITY_EVENT, NULL), OUTPUT);
	assert_int_equal(evlist_seal(l, NULL, "here"), 0);
	l->trailer = timed;
}

/* A sample; its record is of the kind `what`, and `data` are its data. */
static void put_said(struct bytes *out, const struct evlist *l, u64 id, u32 tid, u8 what, const char *data, u64 time)
{
	struct bytes raw = { 0 };
	struct sample s = { .id = id, .pid = 1, .tid = tid, .time = time };

	bytes_u8(&raw, ACTIVITY_VERSION);
	bytes_u8(&raw, what);
	bytes_u8(&raw, ACTIVITY_NONE);
	bytes_u8(&raw, 0);
	bytes_u32(&raw, (u32)strlen(data));
	bytes_u64(&raw, time);
	bytes_u64(&raw, 1);
	bytes_put(&raw, data, strlen(data));
	s.raw = raw.p;
	s.raw_size = (u32)raw.len;
	assert_int_equal(sample_encode(&l->events.v[0].layout, &s, out), 0);
	bytes_free(&raw);
}

/* What it would tell of activities, as "TID DATA; ", the oldest first. */
static void expect_said(const struct horizon *h, const struct evlist *l, const char *want)
{
	struct bytes records = { 0 }, text = { 0 };
	struct record_header head;

	horizon_put(h, &records);
	for (size_t at = 0; at < records.len; at += head.size) {
		struct activity_record said;
		struct sample s;

		memcpy(&head, records.p + at, sizeof(head));
		if (head.type != PERF_RECORD_SAMPLE)
			continue;
		assert_int_equal(
			sample_decode(&l->events.v[0].layout, cursor_over(records.p + at, head.size, false), &s), 0);
		assert_int_equal(s.id, OUTPUT);
		assert_true(activity_decode(cursor_over(s.raw, s.raw_size, false), &said));
		bytes_printf(&text, "%u %.*s; ", s.tid, (int)said.data.len, said.data.p);
	}
	bytes_char(&text, 0);
	assert_string_equal((const char *)text.p, want);
	bytes_free(&records);
	bytes_free(&text);
}

/* A thread says what it works for when that changes: it may go on for longer than rounds are kept. */
static void test_activities(void **state)
{
	struct horizon h = { 0 };
	struct bytes round = { 0 };
	struct evlist l = { 0 };

	(void)state;
	events_with_activities(&l);
	for (u32 tid = 1; tid <= 3; tid++)
		put(&round, (struct record){ .h.type = PERF_RECORD_FORK, .task = { 1, 1, tid, 1 } }, 1);
	put_said(&round, &l, OUTPUT, 1, ACTIVITY_PROCESS, "shop", 1);
	put_said(&round, &l, OUTPUT, 2, ACTIVITY_THREAD, "list", 3);
	put_said(&round, &l, OUTPUT, 2, ACTIVITY_THREAD, "buy", 2);
	put_said(&round, &l, OUTPUT - 1, 2, ACTIVITY_THREAD, "no event of these", 4);
	put_said(&round, &l, OUTPUT, 3, ACTIVITY_THREAD, "pay", 5);
	horizon_take(&h, &l, round.p, round.len);
	horizon_move(&h);
	horizon_move(&h);
	expect_said(&h, &l, "1 shop; 2 list; 3 pay; ");
	round.len = 0;
	put(&round, (struct record){ .h.type = PERF_RECORD_EXIT, .task = { 1, 1, 3, 1 } }, 6);
	put_said(&round, &l, OUTPUT, 3, ACTIVITY_THREAD, "after its end", 7);
	horizon_take(&h, &l, round.p, round.len);
	horizon_move(&h);
	horizon_move(&h);
	expect_said(&h, &l, "1 shop; 2 list; ");
	/* Another program says nothing yet. */
	round.len = 0;
	put(&round, (struct record){ .h.type = PERF_RECORD_COMM, .comm = { 1, 2, { "next", 4 }, .exec = true } }, 8);
	horizon_take(&h, &l, round.p, round.len);
	horizon_move(&h);
	horizon_move(&h);
	expect_said(&h, &l, "");
	bytes_free(&round);
	horizon_free(&h);
	evlist_free(&l);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order_of_time), cmocka_unit_test(test_equal_times),
		cmocka_unit_test(test_no_time),		 cmocka_unit_test(test_sums),
		cmocka_unit_test(test_beginning),	 cmocka_unit_test(test_activities),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
