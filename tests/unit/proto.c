/* SPDX-License-Identifier: Apache-2.0 */
/* Protocol buffers, byte by byte: lengths that grow by a byte, and numbers at both ends. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/cursor.h"
#include "codec/proto.h"

static void expect(struct bytes *out, const char *hex)
{
	struct bytes text = { 0 };

	bytes_hex_of(&text, out->p, out->len);
	bytes_char(&text, 0);
	assert_string_equal((char *)text.p, hex);
	bytes_free(&text);
	out->len = 0;
}

static void test_fields(void **state)
{
	struct bytes out = { 0 };

	(void)state;
	proto_number(&out, 1, 0);
	proto_number(&out, 1, 150);
	expect(&out, "0800089601");
	proto_nonzero(&out, 2, 0);
	assert_int_equal(out.len, 0);
	proto_nonzero(&out, 2, 1);
	expect(&out, "1001");
	proto_number(&out, 1, (u64)-1);
	expect(&out, "08ffffffffffffffffff01");
	proto_number(&out, 16, 1);
	expect(&out, "800101");
	proto_fixed64(&out, 3, 0x0102030405060708);
	expect(&out, "190807060504030201");
	proto_text(&out, 2, "testing");
	expect(&out, "120774657374696e67");
	proto_bytes(&out, 2, NULL, 0);
	expect(&out, "1200");
	bytes_free(&out);
}

/* Whatever it holds, a message within messages reads as what was put into it. */
static void test_lengths(void **state)
{
	static const size_t sizes[] = { 0,   1,	  120,	 123,	124,   125,	126,	127,
					128, 129, 16380, 16383, 16384, 2097151, 2097152 };
	struct bytes out = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(sizes); i++) {
		size_t outer, inner;
		struct cursor c;

		out.len = 0;
		bytes_u8(&out, 0x55);
		outer = proto_begin(&out, 1);
		inner = proto_begin(&out, 2);
		for (size_t k = 0; k < sizes[i]; k++)
			bytes_u8(&out, (u8)(k * 7 + i));
		proto_end(&out, inner);
		proto_number(&out, 3, 1);
		proto_end(&out, outer);
		c = cursor_over(out.p, out.len, false);
		assert_int_equal(cursor_u8(&c), 0x55);
		assert_int_equal(cursor_leb(&c, false), 1 << 3 | 2);
		outer = cursor_leb(&c, false);
		assert_int_equal(outer, cursor_left(&c));
		assert_int_equal(cursor_leb(&c, false), 2 << 3 | 2);
		assert_int_equal(cursor_leb(&c, false), sizes[i]);
		for (size_t k = 0; k < sizes[i]; k++)
			if (cursor_u8(&c) != (u8)(k * 7 + i))
				fail_msg("byte %zu of %zu is another one", k, sizes[i]);
		assert_int_equal(cursor_leb(&c, false), 3 << 3);
		assert_int_equal(cursor_leb(&c, false), 1);
		assert_true(!cursor_left(&c) && !c.bad);
	}
	bytes_free(&out);
}

static void test_next(void **state)
{
	static const u8 message[] = { 0x08, 0x96, 0x01, 0x12, 2, 'o', 'k', 0x1d, 1, 2, 3,
				      4,    0x21, 1,	2,    3, 4,   5,   6,	 7, 8 };
	static const u8 broken[][3] = { { 0x12, 9, 'x' }, { 0x0b, 0, 0 }, { 0x08, 0x80, 0x80 } };
	struct cursor c = cursor_over(message, sizeof(message), false);
	struct proto_value v;

	(void)state;
	assert_true(proto_next(&c, &v) && v.field == 1 && v.number == 150);
	assert_true(proto_next(&c, &v) && v.field == 2 && cursor_left(&v.bytes) == 2 && !memcmp(v.bytes.p, "ok", 2));
	assert_true(proto_next(&c, &v) && v.field == 3 && !v.number && !cursor_left(&v.bytes));
	assert_true(proto_next(&c, &v) && v.field == 4 && !cursor_left(&v.bytes));
	assert_false(proto_next(&c, &v));
	assert_false(c.bad);
	for (u32 i = 0; i < ARRAY_LEN(broken); i++) {
		c = cursor_over(broken[i], sizeof(broken[i]), false);
		assert_false(proto_next(&c, &v));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_next),
		cmocka_unit_test(test_fields),
		cmocka_unit_test(test_lengths),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
