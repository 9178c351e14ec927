/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/attr.h"
#include "recipe/swap.h"

static const u32 published[] = { 64, 72, 80, 96, 104, 112, 120, 128, 136, 144, 160, 168 };

/* Every byte different, but for the size. */
static struct attr full(void)
{
	struct attr a;

	for (u32 i = 0; i < sizeof(a); i++)
		((u8 *)&a)[i] = (u8)(i + 1);
	a.size = sizeof(a);
	return a;
}

/* What is left of it in an attr of that size. */
static struct attr cut(struct attr a, u32 size)
{
	memset((u8 *)&a + size, 0, sizeof(a) - size);
	a.size = size;
	return a;
}

static void every_size(void **state)
{
	const struct attr a = full();

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(published); i++) {
		const struct attr want = cut(a, published[i]);

		for (int swap = 0; swap < 2; swap++) {
			struct bytes b = { 0 };
			struct cursor c;
			struct attr got;
			bool unknown = true;

			attr_encode(&a, published[i], &b);
			assert_int_equal(b.len, published[i]);
			bytes_u64(&b, 0x5555); /* what follows must be left alone */
			if (swap)
				swap_attr(b.p, published[i]);
			c = cursor_over(b.p, b.len, swap);
			assert_int_equal(attr_decode(&c, 0, &got, &unknown), 0);
			assert_memory_equal(&got, &want, sizeof(got));
			assert_false(unknown);
			assert_int_equal(cursor_left(&c), 8);
			bytes_free(&b);
		}
	}
}

static void newer_than_us(void **state)
{
	struct attr a = full(), got;
	struct bytes b = { 0 };
	struct cursor c;
	bool unknown;

	(void)state;
	attr_encode(&a, 184, &b);
	c = cursor_over(b.p, b.len, false);
	assert_int_equal(attr_decode(&c, 0, &got, &unknown), 0);
	assert_false(unknown);
	assert_int_equal(got.size, 184);
	b.p[183] = 1;
	c = cursor_over(b.p, b.len, false);
	assert_int_equal(attr_decode(&c, 0, &got, &unknown), 0);
	assert_true(unknown);
	assert_int_equal(cursor_left(&c), 0);
	bytes_free(&b);
}

static void sections_and_bad_sizes(void **state)
{
	static const struct {
		u32 size, section;
		int err;
	} rows[] = {
		{ 128, 136, 0 },
		{ 136, 136, 0 },
		{ 0, 64, 0 },
		{ 63, 0, ERR_FORMAT },
		{ 8, 136, ERR_FORMAT },
		{ 137, 136, ERR_FORMAT },
		{ 4104, 0, ERR_FORMAT },
		{ 100, 136, ERR_FORMAT },
		{ 4096, 0, ERR_TRUNCATED },
		{ 128, 999, ERR_TRUNCATED },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		u8 bytes[200] = { 0 };
		struct cursor c = cursor_over(bytes, sizeof(bytes), false);
		struct attr got;

		memcpy(bytes + 4, &rows[i].size, 4);
		assert_int_equal(attr_decode(&c, rows[i].section, &got, NULL), rows[i].err);
		if (!rows[i].err)
			assert_int_equal(sizeof(bytes) - cursor_left(&c), rows[i].section);
	}
}

static void truncated_at_every_offset(void **state)
{
	const struct attr a = full();
	struct bytes b = { 0 };

	(void)state;
	attr_encode(&a, ATTR_SIZE_MAX_KNOWN, &b);
	for (size_t n = 0; n < b.len; n++) {
		u8 *copy = malloc(n ? n : 1);
		struct cursor c = cursor_over(copy, n, false);
		struct attr got;

		memcpy(copy, b.p, n);
		assert_int_equal(attr_decode(&c, 0, &got, NULL), ERR_TRUNCATED);
		free(copy);
	}
	bytes_free(&b);
}

/* perf on a big-endian machine: disabled, inherit and precise_ip 2 are the bits 63, 62 and 48 of its word. */
static void big_endian_flags(void **state)
{
	u8 raw[64] = { [7] = 64, [40] = 0xc0, [41] = 0x01 };
	struct cursor c = cursor_over(raw, sizeof(raw), true);
	struct attr got;

	(void)state;
	assert_int_equal(attr_decode(&c, 0, &got, NULL), 0);
	assert_int_equal(got.flags, ATTR_DISABLED | ATTR_INHERIT | 2ull << ATTR_PRECISE_IP_SHIFT);
	assert_int_equal(attr_precise_ip(&got), 2);
}

static void least_size(void **state)
{
	struct attr a = { .sig_data = 1 };

	(void)state;
	assert_int_equal(attr_least_size(&a), 128);
	a.config3 = 1;
	assert_int_equal(attr_least_size(&a), 136);
	a.config4 = 1;
	assert_int_equal(attr_least_size(&a), 144);
	a.sample_tls_flags = PERF_SAMPLE_TLS_DEREF;
	assert_int_equal(attr_least_size(&a), 144);
	/* It says where the rest of a sample is. */
	a.sample_tls_flags |= PERF_SAMPLE_TLS_DEFER;
	assert_int_equal(attr_least_size(&a), 168);
}

/* What others cannot read goes to the kernel only. */
static void open_size(void **state)
{
	struct attr a = { .config3 = 1 };

	(void)state;
	assert_int_equal(attr_open_size(&a), 136);
	a.sample_batch = 1;
	assert_int_equal(attr_open_size(&a), 160);
	a.sample_batch = 0;
	a.sample_period_jitter = 1;
	assert_int_equal(attr_open_size(&a), 160);
	a.sample_type = PERF_SAMPLE_TLS_USER;
	assert_int_equal(attr_open_size(&a), 168);
	assert_int_equal(attr_least_size(&a), 136);
}

/* Each bit of the flags is told once, by the field that has it. */
static void test_flags_are_told(void **state)
{
	static const struct {
		u64 flags;
		const char *text;
	} rows[] = {
		{ 1, "disabled 1" },
		{ 1 << 10, "freq 1" },
		{ 1 << 15, "precise_ip 1" },
		{ 1 << 16, "precise_ip 2" },
		{ 1ull << 38, "defer_callchain 1" },
		{ 1ull << 39, "defer_output 1" },
		{ 1ull << 40, "unknown_flags 1" },
		{ 1ull << 63, "unknown_flags 8388608" },
	};

	(void)state;
	for (u32 i = 0; i < 64 + ARRAY_LEN(rows); i++) {
		const struct attr a = { .flags = i < 64 ? 1ull << i : rows[i - 64].flags };
		struct bytes out = { 0 };

		attr_print(&a, " ", &out);
		bytes_u8(&out, 0);
		assert_null(strchr((const char *)out.p, ','));
		assert_non_null(strchr((const char *)out.p, ' '));
		if (i >= 64)
			assert_string_equal((const char *)out.p, rows[i - 64].text);
		bytes_free(&out);
	}
}

static void same_events_count_the_same(void **state)
{
	static const struct attr rows[] = { { .type = 1 },    { .config = 1 },	{ .config1 = 1 },
					    { .config2 = 1 }, { .config3 = 1 }, { .config4 = 1 } };
	const struct attr rare = { .sample_period = 7, .flags = ATTR_EXCLUDE_USER };

	(void)state;
	assert_true(attr_same_event(&rare, &(struct attr){ 0 }));
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		for (u32 k = 0; k < ARRAY_LEN(rows); k++)
			assert_int_equal(attr_same_event(&rows[i], &rows[k]), i == k);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_are_told),
		cmocka_unit_test(every_size),
		cmocka_unit_test(newer_than_us),
		cmocka_unit_test(sections_and_bad_sizes),
		cmocka_unit_test(truncated_at_every_offset),
		cmocka_unit_test(big_endian_flags),
		cmocka_unit_test(least_size),
		cmocka_unit_test(open_size),
		cmocka_unit_test(same_events_count_the_same),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
