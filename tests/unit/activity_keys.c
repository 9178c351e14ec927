/* SPDX-License-Identifier: Apache-2.0 */
/* What keys say of an activity, and an activity as one line. */
#include "agg/activity_keys.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define SPAN_AT 16

/* A field of a message of protocol buffers that has a length. */
static void put_field(struct bytes *out, u32 number, const struct bytes *of)
{
	bytes_u8(out, (u8)(number << 3 | 2));
	assert_true(of->len < 128);
	bytes_u8(out, (u8)of->len);
	bytes_put(out, of->p, of->len);
}

static void put_text(struct bytes *out, u32 number, const char *text)
{
	put_field(out, number, &(struct bytes){ .p = (u8 *)text, .len = strlen(text) });
}

/* Of an attribute: its name, and its value, which is made from `of`. */
static void put_pair(struct bytes *out, const char *name, const struct bytes *of)
{
	struct bytes pair = { 0 };

	put_text(&pair, 1, name);
	put_field(&pair, 2, of);
	put_field(out, 2, &pair);
	bytes_free(&pair);
}

/* What a process publishes (OTEP 4719): its service, and the names of its threads' attributes. */
static void publish(struct bytes *out, const char *service, const char *const *names, u32 n)
{
	struct bytes value = { 0 }, all = { 0 }, one = { 0 };

	put_text(&value, 1, service);
	put_pair(out, "service.name", &value);
	value.len = 0;
	for (u32 i = 0; i < n; i++) {
		one.len = 0;
		put_text(&one, 1, names[i]);
		put_field(&all, 1, &one);
	}
	put_field(&value, 5, &all);
	put_pair(out, "threadlocal.attribute_key_map", &value);
	bytes_free(&value);
	bytes_free(&all);
	bytes_free(&one);
}

/* A thread's record (OTEP 4947), from the trace id on. */
static void put_record(struct bytes *out, u8 trace, u8 span)
{
	for (u32 i = 0; i < ACTIVITY_FIXED; i++)
		bytes_u8(out, i < SPAN_AT ? trace : i < SPAN_AT + 8 ? span : 0);
}

static void put_attribute(struct bytes *out, u8 key, const char *value)
{
	bytes_u8(out, key);
	bytes_u8(out, (u8)strlen(value));
	bytes_str(out, value);
}

static struct str str_of(const struct bytes *b)
{
	return (struct str){ (const char *)b->p, (u32)b->len };
}

/* Activities 0 (nothing, as always), 1 (with ids and attributes), 2 (with attributes alone, whose service is unknown),
 * 3 (unreadable). */
struct some {
	struct timelines t;
	struct bytes records[2], payload;
};

static void some_begin(struct some *s)
{
	static const char *const names[] = { "http.route", "user", "http.route", "datadog.local_root_span_id" };

	*s = (struct some){ 0 };
	publish(&s->payload, "shop", names, ARRAY_LEN(names));
	put_record(&s->records[0], 0x11, 0x22);
	put_attribute(&s->records[0], 0, "/cart");
	put_attribute(&s->records[0], 1, "ann");
	put_attribute(&s->records[0], 2, "/other");
	put_attribute(&s->records[0], 3, "00000000000000ff");
	put_record(&s->records[1], 0, 0);
	put_attribute(&s->records[1], 1, "bob");
	vec_push(&s->t.all, (struct activity){ 0 });
	vec_push(&s->t.all, ((struct activity){ .pid = 1,
						.status = ACTIVITY_KNOWN,
						.record = str_of(&s->records[0]),
						.payload = str_of(&s->payload) }));
	vec_push(&s->t.all,
		 ((struct activity){ .pid = 2, .status = ACTIVITY_KNOWN, .record = str_of(&s->records[1]) }));
	vec_push(&s->t.all,
		 ((struct activity){ .pid = 1, .status = ACTIVITY_NO_RECORD, .payload = str_of(&s->payload) }));
	vec_push(&s->t.published, ((struct publication){ .pid = 1, .payload = str_of(&s->payload) }));
}

static void some_end(struct some *s)
{
	vec_free(&s->t.all);
	vec_free(&s->t.published);
	for (u32 i = 0; i < 2; i++)
		bytes_free(&s->records[i]);
	bytes_free(&s->payload);
}

static void check_text(const struct some *s, u32 activity, const char *key, const char *expected)
{
	struct bytes out = { 0 };

	if (key)
		activity_key_text(&s->t, activity, key, &out);
	else
		activity_text(&s->t, activity, &out);
	bytes_u8(&out, 0);
	assert_string_equal((const char *)out.p, expected);
	bytes_free(&out);
}

static void test_keys(void **state)
{
	static const struct {
		u32 activity;
		const char *key, *text;
	} rows[] = {
		{ 1, "trace_id", "11111111111111111111111111111111" },
		{ 1, "span_id", "2222222222222222" },
		{ 1, "root_span_id", "00000000000000ff" },
		{ 1, "service", "shop" },
		{ 1, "user", "ann" },
		{ 1, "http.route", "/cart" }, /* the first of that name */
		{ 1, "nobody.has", ACTIVITY_NOTHING },
		{ 2, "trace_id", ACTIVITY_NOTHING },
		{ 2, "service", ACTIVITY_NOTHING },
		{ 2, "user", ACTIVITY_NOTHING }, /* whose process does not say what it is called */
		{ 3, "service", "shop" },	 /* whether its threads can be read or not */
		{ 3, "user", ACTIVITY_NOTHING },
		{ 0, "service", ACTIVITY_NOTHING },
		{ 9, "service", ACTIVITY_NOTHING },
	};
	struct some s;

	(void)state;
	some_begin(&s);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		check_text(&s, rows[i].activity, rows[i].key, rows[i].text);
	assert_true(activity_key(&s.t, "trace_id") && activity_key(&s.t, "user"));
	assert_false(activity_key(&s.t, "nobody.has"));
	some_end(&s);
	s.t = (struct timelines){ 0 };
	assert_false(activity_key(&s.t, "trace_id")); /* where nobody says anything */
}

static void test_lines(void **state)
{
	struct some s;

	(void)state;
	some_begin(&s);
	check_text(&s, 1, NULL,
		   "11111111111111111111111111111111/2222222222222222 http.route=/cart user=ann "
		   "datadog.local_root_span_id=00000000000000ff");
	check_text(&s, 2, NULL, "without ids");
	check_text(&s, 3, NULL, "unreadable");
	check_text(&s, 0, NULL, "unknown");
	check_text(&s, 4, NULL, "unknown");
	some_end(&s);
}

/* Those with exactly that value. */
static void test_choice(void **state)
{
	struct some s;
	u8 *chosen;

	(void)state;
	some_begin(&s);
	chosen = activity_choose(&s.t, "service", "shop");
	assert_true(!chosen[0] && chosen[1] && !chosen[2] && chosen[3]);
	free(chosen);
	chosen = activity_choose(&s.t, "service", "shops");
	assert_true(!chosen[0] && !chosen[1] && !chosen[2] && !chosen[3]);
	free(chosen);
	chosen = activity_choose(&s.t, "user", ACTIVITY_NOTHING);
	assert_true(chosen[0] && !chosen[1] && chosen[2] && chosen[3]);
	free(chosen);
	some_end(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_choice),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
