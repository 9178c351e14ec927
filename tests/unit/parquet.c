/* SPDX-License-Identifier: Apache-2.0 */
/* Parquet: runs and packed bits are read back; texts; files that fail. Whole files are read by tests/cli/parquet.py.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "codec/parquet.h"
#include "codec/rle_hybrid.h"

static u64 read_varint(const struct bytes *b, size_t *at)
{
	u64 v = 0;

	for (u32 shift = 0;; shift += 7) {
		assert_in_range(*at, 0, b->len - 1);
		v |= (u64)(b->p[*at] & 127) << shift;
		if (b->p[(*at)++] < 128)
			return v;
	}
}

/* A bit at a time. Returns how many numbers there were, with those that fill up the last group. */
static u32 read_hybrid(const struct bytes *b, u32 width, u32 *out)
{
	u32 n = 0;

	for (size_t at = 0; at < b->len;) {
		u64 head = read_varint(b, &at), count = head & 1 ? (head >> 1) * 8 : head >> 1;
		u32 bytes = head & 1 ? (u32)(head >> 1) * width : (width + 7) / 8;

		assert_in_range(at + bytes, 0, b->len);
		for (u64 i = 0; i < count; i++, n++) {
			u64 from = head & 1 ? i * width : 0;

			out[n] = 0;
			for (u32 bit = 0; bit < width; bit++)
				out[n] |= (u32)(b->p[at + (from + bit) / 8] >> (from + bit) % 8 & 1) << bit;
		}
		at += bytes;
	}
	return n;
}

static void check_hybrid(const u32 *v, u32 n, u32 width)
{
	u32 *read = malloc((n + 8) * sizeof(*read));
	struct bytes b = { 0 };
	u32 nr;

	rle_hybrid_put(v, n, width, &b);
	nr = read_hybrid(&b, width, read);
	assert_in_range(nr, n, n + 7);
	if (n)
		assert_memory_equal(v, read, n * sizeof(*v));
	for (u32 i = n; i < nr; i++)
		assert_int_equal(read[i], 0);
	bytes_free(&b);
	free(read);
}

static void test_hybrid(void **state)
{
	u32 v[700];
	u64 seed = 1;

	(void)state;
	for (u32 width = 1; width <= 32; width++)
		for (u32 turn = 0; turn < 40; turn++) {
			u32 n = (u32)random_below(&seed, turn < 20 ? 40 : 700), run = 1 + (u32)random_below(&seed, 30);

			for (u32 i = 0; i < n; i++)
				v[i] = i && random_below(&seed, run) ? v[i - 1] :
								       (u32)(random_next(&seed) >> (64 - width));
			check_hybrid(v, n, width);
		}
}

static void test_hybrid_sizes(void **state)
{
	u32 v[1000] = { 0 };
	struct bytes b = { 0 };

	(void)state;
	rle_hybrid_put(v, 1000, 1, &b); /* one run: its length in two bytes, and its value */
	assert_int_equal(b.len, 3);
	b.len = 0;
	for (u32 i = 0; i < 1000; i++)
		v[i] = i & 1;
	rle_hybrid_put(v, 1000, 1, &b); /* one row of 125 groups of a byte each */
	assert_int_equal(b.len, 2 + 125);
	bytes_free(&b);
	assert_int_equal(rle_hybrid_width(0), 1);
	assert_int_equal(rle_hybrid_width(1), 1);
	assert_int_equal(rle_hybrid_width(2), 2);
	assert_int_equal(rle_hybrid_width(65535), 16);
	assert_int_equal(rle_hybrid_width(65536), 17);
}

static const struct parquet_column columns[] = { { "text", PARQUET_TEXT, true }, { "number", PARQUET_S64, false } };

static bool pack_nothing(void *ctx, const struct bytes *in, struct bytes *out)
{
	(void)in;
	(void)out;
	++*(u32 *)ctx;
	return false;
}

static bool holds(const struct bytes *b, const char *text, size_t n)
{
	return memmem(b->p, b->len, text, n) != NULL;
}

static void test_texts(void **state)
{
	struct bytes out = { 0 };
	struct parquet_opts o = { .columns = columns, .nr_columns = 2, .group_rows = 10 };
	struct parquet *p = parquet_new(&o, &out);
	char longest[PARQUET_TEXT_MAX + 2];
	u32 a, cut;

	(void)state;
	a = parquet_text(p, "one", 3);
	assert_int_equal(parquet_text(p, "one more", 3), a);
	assert_int_not_equal(parquet_text(p, "one", 2), a);
	/* What they become is what they are known by. */
	assert_int_equal(parquet_text(p, "b\xffz", 3), parquet_text(p, "b\xfez", 3));
	/* A character of two bytes, of which the limit would leave one. */
	memset(longest, 'l', sizeof(longest));
	cut = parquet_text(p, longest, PARQUET_TEXT_MAX - 1);
	longest[PARQUET_TEXT_MAX - 1] = (char)0xc3;
	longest[PARQUET_TEXT_MAX] = (char)0xa4;
	assert_int_equal(parquet_text(p, longest, PARQUET_TEXT_MAX + 1), cut);
	parquet_row(p, (u64[]){ parquet_text(p, "b\xffz", 3), 1 }, (bool[]){ false, false });
	parquet_row(p, (u64[]){ 0, 2 }, (bool[]){ true, false });
	assert_true(parquet_end(p));
	assert_true(holds(&out, "b\xef\xbf\xbdz", 5));
	assert_false(holds(&out,
			   "\xff"
			   "z",
			   2));
	assert_memory_equal(out.p, "PAR1", 4);
	assert_memory_equal(out.p + out.len - 4, "PAR1", 4);
	parquet_free(p);
	bytes_free(&out);
}

static void test_packing_fails(void **state)
{
	struct bytes out = { 0 };
	u32 calls = 0;
	struct parquet_opts o = { columns, 2, 10, pack_nothing, &calls };
	struct parquet *p = parquet_new(&o, &out);

	(void)state;
	parquet_row(p, (u64[]){ 0, 2 }, (bool[]){ true, false });
	assert_false(parquet_end(p));
	assert_int_not_equal(calls, 0);
	parquet_free(p);
	bytes_free(&out);
}

/* What is held does not grow with the rows: a group is written when it is full. */
static void test_groups_are_written(void **state)
{
	struct bytes out = { 0 };
	struct parquet_opts o = { .columns = columns, .nr_columns = 2, .group_rows = 100 };
	struct parquet *p = parquet_new(&o, &out);
	size_t before = out.len;

	(void)state;
	for (u64 i = 0; i < 1000; i++) {
		parquet_row(p, (u64[]){ 0, i * i }, (bool[]){ true, false });
		assert_int_equal(out.len > before, i % 100 == 99);
		before = out.len;
	}
	assert_true(parquet_end(p));
	parquet_free(p);
	bytes_free(&out);
}

static void put_number(struct bytes *b, u8 head, u64 v)
{
	bytes_u8(b, head);
	bytes_varint(b, 2 * v); /* as thrift has numbers with a sign */
}

/* The sizes of a group are those of all its columns: where nothing is packed, both are the bytes between the file's
 * first four and its footer. */
static void test_sizes_of_group(void **state)
{
	struct bytes out = { 0 }, group = { 0 };
	struct parquet_opts o = { .columns = columns, .nr_columns = 2, .group_rows = 100 };
	struct parquet *p = parquet_new(&o, &out);
	u32 footer;

	(void)state;
	for (u64 i = 0; i < 5; i++)
		parquet_row(p, (u64[]){ parquet_text(p, "some text", 5 + i), i }, (bool[]){ false, false });
	assert_true(parquet_end(p));
	memcpy(&footer, out.p + out.len - 8, sizeof(footer));
	/* Of a RowGroup: total_byte_size, num_rows, file_offset, total_compressed_size, and its end. The high half of
	 * a head is what is added to the number of the field before. */
	put_number(&group, 0x16, out.len - 8 - footer - 4);
	put_number(&group, 0x16, 5);
	put_number(&group, 0x26, 4);
	put_number(&group, 0x16, out.len - 8 - footer - 4);
	bytes_u8(&group, 0);
	assert_true(holds(&out, (const char *)group.p, group.len));
	parquet_free(p);
	bytes_free(&out);
	bytes_free(&group);
}

#define DISTINCT 7

static void compare_tuples(u32 group_rows, u32 rows)
{
	static const struct parquet_column parts[] = { { "text", PARQUET_TEXT, true, 0 },
						       { "number", PARQUET_S32, false, 0 },
						       { "square", PARQUET_S64, false, 1 },
						       { "address", PARQUET_U64, true, 2 } };
	struct bytes shared = { 0 }, own = { 0 };
	struct parquet_opts o = { .columns = parts, .nr_columns = 4, .group_rows = group_rows };
	struct parquet *p = parquet_new(&o, &shared), *q = parquet_new(&o, &own);
	bool gone = true;
	u32 known[DISTINCT];

	for (u32 i = 0; i < rows; i++) {
		u32 kind = i * i % DISTINCT;
		u64 v[] = { parquet_text(q, "abcdefgh", kind), kind * 3u, i / 2, UINT64_MAX - i };
		bool missing[] = { kind == 4, false, false, i % 3 == 0 };

		for (u32 k = 0; gone && k < DISTINCT; k++)
			known[k] = ID_NONE;
		parquet_row(q, v, missing);
		if (known[kind] == ID_NONE)
			known[kind] =
				parquet_tuple(p, 0, (u64[]){ parquet_text(p, "abcdefgh", kind), kind * 3u }, missing);
		gone = parquet_row_of(p, (u32[]){ known[kind], parquet_tuple(p, 1, v + 2, missing + 2),
						  parquet_tuple(p, 2, v + 3, missing + 3) });
		assert_int_equal(gone, i % group_rows == group_rows - 1);
	}
	assert_true(parquet_end(p));
	assert_true(parquet_end(q));
	assert_int_equal(shared.len, own.len);
	assert_memory_equal(shared.p, own.p, own.len);
	parquet_free(p);
	parquet_free(q);
	bytes_free(&shared);
	bytes_free(&own);
}

/* A table is the same whether rows share tuples or each has its own, and whether a dictionary pays or not, which is
 * found out after 4096 values. */
static void test_tuples(void **state)
{
	(void)state;
	compare_tuples(100, 1000);
	compare_tuples(4096, 8192);
	compare_tuples(8192, 8192);
	compare_tuples(10000, 20000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hybrid),
		cmocka_unit_test(test_hybrid_sizes),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_packing_fails),
		cmocka_unit_test(test_groups_are_written),
		cmocka_unit_test(test_sizes_of_group),
		cmocka_unit_test(test_tuples),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
