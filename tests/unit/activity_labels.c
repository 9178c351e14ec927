/* SPDX-License-Identifier: Apache-2.0 */
/* Labels of threads, whole and broken. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* cmocka wants these first. */
#include <cmocka.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/bytes.h"
#include "spoil.h"
#include "state/timelines.h"

#define ROUNDS 20000

static struct str text(const char *s)
{
	return (struct str){ s, (u32)strlen(s) };
}

static bool equals(struct str s, const char *what)
{
	return s.len == strlen(what) && !memcmp(s.p, what, s.len);
}

static void put_head(struct bytes *b, u8 what, u8 status, u64 image)
{
	b->len = 0;
	bytes_u8(b, ACTIVITY_VERSION);
	bytes_u8(b, what);
	bytes_u8(b, status);
	bytes_u8(b, 0);
	bytes_u32(b, 0);
	bytes_u64(b, 100);
	bytes_u64(b, image);
}

static void put_label(struct bytes *b, const char *key, const char *value)
{
	u32 size;

	bytes_u8(b, (u8)strlen(key));
	bytes_u8(b, (u8)strlen(value));
	bytes_put(b, key, strlen(key));
	bytes_put(b, value, strlen(value));
	size = (u32)(b->len - sizeof(struct activity_head));
	memcpy(b->p + offsetof(struct activity_head, size), &size, sizeof(size));
}

/* The labels of a thread, each a key and a value. */
static void put_labels(struct bytes *b, const char *const labels[][2], size_t n)
{
	put_head(b, ACTIVITY_LABELS, ACTIVITY_KNOWN, 1);
	for (size_t i = 0; i < n; i++)
		put_label(b, labels[i][0], labels[i][1]);
}

static struct cursor over(const struct bytes *b)
{
	return cursor_over(b->p, b->len, false);
}

static const struct activity *only(struct timelines *t, const struct bytes *b)
{
	timelines_add(t, 10, 11, 100, over(b));
	timelines_seal(t);
	return &t->all.v[timelines_at(t, 10, 11, 100)];
}

static void test_ids(void **state)
{
	static const struct {
		const char *key, *value;
		enum activity_id id;
		u8 first, last; /* of its bytes */
	} rows[] = {
		{ "trace_id", "0102030405060708090a0b0c0d0e0f1F", ACTIVITY_TRACE_ID, 1, 0x1f },
		{ "trace id", "0102030405060708090a0b0c0d0e0f10", ACTIVITY_TRACE_ID, 1, 0x10 },
		{ "traceId", "0102030405060708090a0b0c0d0e0f10", ACTIVITY_TRACE_ID, 1, 0x10 },
		{ "trace.id", "0102030405060708090a0b0c0d0e0f10", ACTIVITY_TRACE_ID, 1, 0x10 },
		{ "trace_id", "0102030405060708090a0b0c0d0e0f1", ACTIVITY_NO_ID, 0, 0 },
		{ "trace_id", "0102030405060708090a0b0c0d0e0f1g", ACTIVITY_NO_ID, 0, 0 },
		{ "trace_id", "00000000000000000000000000000000", ACTIVITY_NO_ID, 0, 0 },
		{ "trace_ids", "0102030405060708090a0b0c0d0e0f10", ACTIVITY_NO_ID, 0, 0 },
		{ "trace", "0102030405060708090a0b0c0d0e0f10", ACTIVITY_NO_ID, 0, 0 },
		{ "span_id", "F102030405060708", ACTIVITY_SPAN_ID, 0xf1, 8 },
		{ "span_id", "1234", ACTIVITY_NO_ID, 0, 0 },
		{ "span id", "f102030405060708", ACTIVITY_SPAN_ID, 0xf1, 8 },
		{ "span id", "258", ACTIVITY_SPAN_ID, 0, 2 },
		{ "span id", "18446744073709551615", ACTIVITY_SPAN_ID, 255, 255 },
		{ "span id", "18446744073709551616", ACTIVITY_NO_ID, 0, 0 },
		{ "span id", "0", ACTIVITY_NO_ID, 0, 0 },
		{ "span id", "", ACTIVITY_NO_ID, 0, 0 },
		{ "local root span id", "7", ACTIVITY_ROOT_ID, 0, 7 },
		{ "", "0102030405060708", ACTIVITY_NO_ID, 0, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		u8 id[16];
		u32 n = rows[i].id == ACTIVITY_TRACE_ID ? 16 : 8;

		assert_int_equal(activity_label_id(text(rows[i].key), text(rows[i].value), id), rows[i].id);
		if (rows[i].id == ACTIVITY_NO_ID)
			continue;
		assert_int_equal(id[0], rows[i].first);
		assert_int_equal(id[n - 1], rows[i].last);
	}
}

static void test_labels(void **state)
{
	static const char *const labels[][2] = {
		{ "http.route", "/cart" }, { "span id", "258" }, { "local root span id", "255" },
		{ "", "empty" },	   { "empty", "" },
	};
	struct timelines t = { 0 };
	struct bytes b = { 0 };
	const struct activity *a;
	struct str value;

	(void)state;
	put_labels(&b, labels, ARRAY_LEN(labels));
	/* The same labels of another thread are the same activity. */
	timelines_add(&t, 10, 12, 100, over(&b));
	a = only(&t, &b);
	assert_int_equal(t.broken, 0);
	assert_int_equal(timelines_at(&t, 10, 11, 100), timelines_at(&t, 10, 12, 100));
	assert_int_equal(a->status, ACTIVITY_KNOWN);
	assert_null(activity_trace(a->record));
	assert_int_equal(activity_span(a->record)[6], 1);
	assert_int_equal(activity_span(a->record)[7], 2);
	assert_true(activity_attribute_named(a, "http.route", &value) && equals(value, "/cart"));
	assert_true(activity_attribute_named(a, "datadog.local_root_span_id", &value));
	assert_true(equals(value, "00000000000000ff"));
	assert_true(activity_attribute_named(a, "", &value) && equals(value, "empty"));
	assert_true(activity_attribute_named(a, "empty", &value) && equals(value, ""));
	assert_false(activity_attribute_named(a, "span id", &value));
	assert_true(timelines_has_attribute(&t, "http.route"));
	assert_false(timelines_has_attribute(&t, "span id"));
	timelines_free(&t);
	bytes_free(&b);
}

/* Each process has names of its own, and threads of a process may have labels, records, or nothing. */
static void test_names(void **state)
{
	struct timelines t = { 0 };
	struct bytes b[4] = { 0 };
	const struct activity *a;
	struct str value;

	(void)state;
	put_head(&b[0], ACTIVITY_LABELS, ACTIVITY_KNOWN, 1);
	put_label(&b[0], "one", "1");
	put_head(&b[1], ACTIVITY_LABELS, ACTIVITY_KNOWN, 2);
	put_label(&b[1], "two", "2");
	put_head(&b[2], ACTIVITY_LABELS, ACTIVITY_NONE, 1);
	put_head(&b[3], ACTIVITY_LABELS, ACTIVITY_KNOWN, 1);
	for (u32 i = 0; i < ARRAY_LEN(b); i++)
		timelines_add(&t, 10, 11 + i, 100, over(&b[i]));
	timelines_seal(&t);
	a = &t.all.v[timelines_at(&t, 10, 11, 100)];
	assert_true(activity_attribute_named(a, "one", &value) && equals(value, "1"));
	assert_false(activity_attribute_named(a, "two", &value));
	a = &t.all.v[timelines_at(&t, 10, 12, 100)];
	assert_true(activity_attribute_named(a, "two", &value) && equals(value, "2"));
	assert_false(activity_attribute_named(a, "one", &value));
	assert_int_equal(t.all.v[timelines_at(&t, 10, 13, 100)].status, ACTIVITY_NONE);
	a = &t.all.v[timelines_at(&t, 10, 14, 100)];
	assert_int_equal(a->status, ACTIVITY_KNOWN);
	assert_false(activity_attribute_named(a, "one", &value));
	timelines_free(&t);
	for (u32 i = 0; i < ARRAY_LEN(b); i++)
		bytes_free(&b[i]);
}

/* More names than there are numbers, and more labels than a record has room for: the rest is left out, and said. */
static void test_too_many(void **state)
{
	struct timelines t = { 0 };
	struct bytes b = { 0 };
	const struct activity *a;
	struct str value;
	char name[16];

	(void)state;
	put_head(&b, ACTIVITY_LABELS, ACTIVITY_KNOWN, 1);
	for (int i = 0; i < 300; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		put_label(&b, name, "");
	}
	a = only(&t, &b);
	assert_int_equal(a->status, ACTIVITY_BARE);
	assert_true(activity_attribute_named(a, "n255", &value));
	assert_false(activity_attribute_named(a, "n256", &value));
	timelines_free(&t);
	put_head(&b, ACTIVITY_LABELS, ACTIVITY_KNOWN, 1);
	for (int i = 0; i < 100; i++) {
		snprintf(name, sizeof(name), "n%d", i);
		put_label(&b, name, "0123456789");
	}
	a = only(&t, &b);
	assert_int_equal(a->status, ACTIVITY_BARE);
	assert_true(a->record.len <= LABELS_RECORD);
	assert_true(activity_attribute_named(a, "n0", &value) && equals(value, "0123456789"));
	assert_false(activity_attribute_named(a, "n99", &value));
	timelines_free(&t);
	bytes_free(&b);
}

/* While a label is replaced there are two of its name. */
static void test_first_counts(void **state)
{
	static const char *const labels[][2] = {
		{ "other", "1" },
		{ "same", "old" },
		{ "trace_id", "0102030405060708090a0b0c0d0e0f10" },
		{ "span_id", "0102030405060708" },
		{ "trace_id", "f102030405060708090a0b0c0d0e0f10" },
		{ "span_id", "f102030405060708" },
	};
	struct timelines t = { 0 };
	struct bytes b = { 0 };
	const struct activity *a;
	struct str value;

	(void)state;
	put_labels(&b, labels, ARRAY_LEN(labels));
	for (int i = 0; i < 400; i++)
		put_label(&b, "same", "new");
	a = only(&t, &b);
	assert_int_equal(a->status, ACTIVITY_KNOWN);
	assert_true(activity_attribute_named(a, "same", &value) && equals(value, "old"));
	assert_true(activity_attribute_named(a, "other", &value) && equals(value, "1"));
	assert_int_equal(activity_trace(a->record)[0], 1);
	assert_int_equal(activity_span(a->record)[0], 1);
	timelines_free(&t);
	bytes_free(&b);
}

static void test_broken_labels(void **state)
{
	struct bytes whole = { 0 };
	u64 seed = 1;

	(void)state;
	put_head(&whole, ACTIVITY_LABELS, ACTIVITY_KNOWN, 1);
	put_label(&whole, "http.route", "/cart");
	put_label(&whole, "trace_id", "0102030405060708090a0b0c0d0e0f10");
	put_label(&whole, "span id", "258");
	for (u32 i = 0; i < ROUNDS; i++) {
		struct timelines t = { 0 };
		struct str value;
		size_t len;
		u8 *spoiled = spoil(whole.p, whole.len, &seed, &len);

		timelines_add(&t, 10, 11, 100, cursor_over(spoiled, len, false));
		timelines_seal(&t);
		for (u32 k = 0; k < t.all.n; k++)
			activity_attribute_named(&t.all.v[k], "http.route", &value);
		timelines_free(&t);
		free(spoiled);
	}
	bytes_free(&whole);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_ids),	     cmocka_unit_test(test_labels),
		cmocka_unit_test(test_names),	     cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_first_counts), cmocka_unit_test(test_broken_labels),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
