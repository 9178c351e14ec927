/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/features.h"
#include "codec/perfdata.h"

static const struct perfdata_header example = {
	.attr_size = 144,
	.attrs = { 120, 288 },
	.data = { 408, 0x123456789 },
	.event_types = { 1, 2 },
	.features = { 1ull << FEAT_HOSTNAME | 1ull << FEAT_PMU_CAPS, 1, 2, 1ull << 63 },
};

static struct bytes encoded(const struct perfdata_header *h)
{
	struct bytes b = { 0 };

	perfdata_header_encode(h, &b);
	return b;
}

static void expect_example(const struct perfdata_header *h)
{
	assert_false(h->pipe);
	assert_int_equal(h->size, PERFDATA_HEADER_SIZE);
	assert_int_equal(h->attr_size, example.attr_size);
	assert_memory_equal(&h->attrs, &example.attrs, sizeof(h->attrs));
	assert_memory_equal(&h->data, &example.data, sizeof(h->data));
	assert_memory_equal(&h->event_types, &example.event_types, sizeof(h->event_types));
	assert_memory_equal(h->features, example.features, sizeof(h->features));
}

static void swap_words(u8 *p, size_t n, size_t width)
{
	for (size_t at = 0; at < n; at += width)
		for (size_t i = 0; i < width / 2; i++) {
			u8 t = p[at + i];

			p[at + i] = p[at + width - 1 - i];
			p[at + width - 1 - i] = t;
		}
}

static void reads_back(void **state)
{
	struct bytes b = encoded(&example);
	struct perfdata_header h;

	(void)state;
	assert_int_equal(b.len, PERFDATA_HEADER_SIZE);
	assert_memory_equal(b.p, "PERFILE2", 8);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	assert_false(h.swap);
	expect_example(&h);
	bytes_free(&b);
}

static void reads_the_other_byte_order(void **state)
{
	struct bytes b = encoded(&example);
	struct perfdata_header h;

	(void)state;
	swap_words(b.p, b.len, 8);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	assert_true(h.swap);
	expect_example(&h);
	/* A 32-bit machine's longs: the first 32 features stand first. */
	swap_words(b.p + 72, 32, 8);
	swap_words(b.p + 72, 32, 4);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	expect_example(&h);
	bytes_free(&b);
}

static void reads_pipe_headers(void **state)
{
	struct bytes b = encoded(&(struct perfdata_header){ .pipe = true });
	struct perfdata_header h;

	(void)state;
	assert_int_equal(b.len, PERFDATA_PIPE_HEADER_SIZE);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	assert_true(h.pipe);
	assert_false(h.swap);
	swap_words(b.p, b.len, 8);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	assert_true(h.pipe);
	assert_true(h.swap);
	bytes_free(&b);
}

static void reads_old_headers(void **state)
{
	struct bytes b = encoded(&example);
	struct perfdata_header h;
	const u64 without_features = 72;

	(void)state;
	memcpy(b.p, "PERFFILE", 8);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	expect_example(&h);
	swap_words(b.p + 8, b.len - 8, 8);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), 0);
	assert_true(h.swap);
	expect_example(&h);
	bytes_free(&b);

	b = encoded(&example);
	memcpy(b.p + 8, &without_features, 8);
	assert_int_equal(perfdata_header_decode(cursor_over(b.p, without_features, false), &h), 0);
	assert_int_equal(h.features[0], 0);
	bytes_free(&b);
}

static void refuses_what_is_none(void **state)
{
	struct bytes b = encoded(&example);
	struct perfdata_header h;
	const u64 sizes[] = { 0, 1, 17, 71, 73, 103 };

	(void)state;
	for (size_t n = 0; n < b.len; n++) {
		u8 *cut = malloc(n ? n : 1);

		memcpy(cut, b.p, n);
		assert_int_equal(perfdata_header_decode(cursor_over(cut, n, false), &h), ERR_TRUNCATED);
		free(cut);
	}
	for (size_t i = 0; i < 8; i++) {
		b.p[i] ^= 1;
		assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), ERR_FORMAT);
		b.p[i] ^= 1;
	}
	for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
		memcpy(b.p + 8, &sizes[i], 8);
		assert_int_equal(perfdata_header_decode(cursor_over(b.p, b.len, false), &h), ERR_FORMAT);
	}
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(reads_back),		cmocka_unit_test(reads_the_other_byte_order),
		cmocka_unit_test(reads_pipe_headers),	cmocka_unit_test(reads_old_headers),
		cmocka_unit_test(refuses_what_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
