/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/jitdump.h"

static struct str text(const char *s)
{
	return (struct str){ s, (u32)strlen(s) };
}

static void encode_all(struct bytes *b)
{
	static const u8 code[5] = { 1, 2, 3, 4, 5 };
	struct bytes lines = { 0 };

	jitdump_line_encode(&lines, &(struct jitdump_line){ 0x1000, 10, 1, text("a.js") });
	jitdump_line_encode(&lines, &(struct jitdump_line){ 0x1004, 11, 0, text("b.js") });
	jitdump_header_encode(
		b, &(struct jitdump_header){ .version = 1, .machine = 62, .pid = 42, .time = 77, .flags = 1 });
	jitdump_encode(
		b, &(struct jitdump_record){
			   .id = JITDUMP_DEBUG_INFO,
			   .time = 1,
			   .debug = { .addr = 0x1000, .n = 2, .entries = cursor_over(lines.p, lines.len, false) } });
	jitdump_encode(b, &(struct jitdump_record){
				  .id = JITDUMP_CODE_LOAD,
				  .time = 2,
				  .load = { 42, 43, 0x1000, 0x1000, sizeof(code), 7, text("function"), code } });
	jitdump_encode(b, &(struct jitdump_record){ .id = JITDUMP_CODE_MOVE,
						    .time = 3,
						    .move = { 42, 43, 0x2000, 0x1000, 0x2000, 5, 7 } });
	jitdump_encode(b, &(struct jitdump_record){ .id = JITDUMP_UNWINDING_INFO,
						    .time = 4,
						    .unwind = { sizeof(code), 2, 4096, code } });
	jitdump_encode(b, &(struct jitdump_record){ .id = JITDUMP_CODE_CLOSE, .time = 5 });
	bytes_free(&lines);
}

static void check_debug(struct jitdump_debug d)
{
	struct jitdump_line l;

	assert_int_equal(d.addr, 0x1000);
	assert_true(jitdump_line(&d, &l));
	assert_int_equal(l.addr, 0x1000);
	assert_int_equal(l.line, 10);
	assert_int_equal(l.discriminator, 1);
	assert_memory_equal(l.file.p, "a.js", 5);
	assert_true(jitdump_line(&d, &l));
	assert_int_equal(l.line, 11);
	assert_false(jitdump_line(&d, &l));
}

static void test_round_trip(void **state)
{
	struct bytes b = { 0 };
	struct jitdump_record r;
	struct jitdump_header h;
	size_t at;

	(void)state;
	encode_all(&b);
	assert_int_equal(jitdump_header_decode(b.p, b.len, &h), 0);
	assert_int_equal(h.machine, 62);
	assert_int_equal(h.pid, 42);
	assert_int_equal(h.time, 77);
	assert_int_equal(h.flags, JITDUMP_ARCH_TIMESTAMP);
	assert_false(h.swap);

	at = h.size;
	assert_int_equal(jitdump_decode(b.p + at, b.len - at, false, &r), 0);
	assert_int_equal(r.id, JITDUMP_DEBUG_INFO);
	check_debug(r.debug);
	at += r.size;
	assert_int_equal(jitdump_decode(b.p + at, b.len - at, false, &r), 0);
	assert_int_equal(r.id, JITDUMP_CODE_LOAD);
	assert_int_equal(r.time, 2);
	assert_int_equal(r.load.tid, 43);
	assert_int_equal(r.load.index, 7);
	assert_int_equal(r.load.name.len, 8);
	assert_memory_equal(r.load.name.p, "function", 9);
	assert_int_equal(r.load.code[4], 5);
	at += r.size;
	assert_int_equal(jitdump_decode(b.p + at, b.len - at, false, &r), 0);
	assert_int_equal(r.id, JITDUMP_CODE_MOVE);
	assert_int_equal(r.move.new_addr, 0x2000);
	at += r.size;
	assert_int_equal(jitdump_decode(b.p + at, b.len - at, false, &r), 0);
	assert_int_equal(r.id, JITDUMP_UNWINDING_INFO);
	assert_int_equal(r.unwind.mapped_size, 4096);
	assert_int_equal(r.unwind.data[0], 1);
	at += r.size;
	assert_int_equal(jitdump_decode(b.p + at, b.len - at, false, &r), 0);
	assert_int_equal(r.id, JITDUMP_CODE_CLOSE);
	assert_int_equal(at + r.size, b.len);
	bytes_free(&b);
}

/* A CODE_LOAD as a machine of the other byte order writes it, byte by byte. */
static void test_other_byte_order(void **state)
{
	static const u8 other[] = {
		0, 0, 0, 0,  0, 0, 0,	 59, 0,	  0, 0,	   0, 0, 0, 0,	  9, /* id, size, time */
		0, 0, 0, 42, 0, 0, 0,	 43, 0,	  0, 0,	   0, 0, 0, 0x20, 0, /* pid, tid, vma */
		0, 0, 0, 0,  0, 0, 0x10, 0,  0,	  0, 0,	   0, 0, 0, 0,	  1, /* address, size of the code */
		0, 0, 0, 0,  0, 0, 0,	 7,  'f', 0, 0xc3,		     /* index, name, code */
	};
	static const u8 magic[40] = { 0x4a, 0x69, 0x54, 0x44, 0, 0, 0, 1, 0, 0, 0, 40 };
	struct jitdump_header h;
	struct jitdump_record r;
	bool little = __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__;

	(void)state;
	assert_int_equal(jitdump_header_decode(magic, sizeof(magic), &h), 0);
	assert_int_equal(h.swap, little);
	assert_int_equal(jitdump_decode(other, sizeof(other), h.swap, &r), 0);
	assert_int_equal(r.size, 59);
	assert_int_equal(r.time, 9);
	assert_int_equal(r.load.pid, 42);
	assert_int_equal(r.load.vma, 0x2000);
	assert_int_equal(r.load.addr, 0x1000);
	assert_int_equal(r.load.index, 7);
	assert_int_equal(*r.load.code, 0xc3);
}

/* Given less than the record, a decoder says so, except that it can do without the code itself. */
static void test_truncated(void **state)
{
	struct bytes b = { 0 };
	struct jitdump_header h;
	size_t at = JITDUMP_HEADER_SIZE;

	(void)state;
	encode_all(&b);
	for (size_t n = 0; n < JITDUMP_HEADER_SIZE; n++)
		assert_int_equal(jitdump_header_decode(b.p, n, &h), ERR_TRUNCATED);
	while (at < b.len) {
		struct jitdump_record whole, r;

		assert_int_equal(jitdump_decode(b.p + at, b.len - at, false, &whole), 0);
		for (size_t n = 0; n < whole.size; n++) {
			u8 *exact = malloc(n ? n : 1);
			int err;

			memcpy(exact, b.p + at, n);
			err = jitdump_decode(exact, n, false, &r);
			if (err == 0 && r.id == JITDUMP_CODE_LOAD)
				assert_null(r.load.code);
			else if (err == 0 && r.id == JITDUMP_UNWINDING_INFO)
				assert_null(r.unwind.data);
			else if (err == 0)
				assert_int_equal(r.id, JITDUMP_DEBUG_INFO);
			else
				assert_int_equal(err, ERR_TRUNCATED);
			free(exact);
		}
		at += whole.size;
	}
	bytes_free(&b);
}

static void test_contradictions(void **state)
{
	struct bytes b = { 0 };
	struct jitdump_record r;
	struct jitdump_header h;
	u64 huge = UINT64_MAX - 4;
	u32 eight = 8;

	(void)state;
	assert_int_equal(jitdump_header_decode((const u8 *)"ELF, not a dump of code, and long enough for one", 48, &h),
			 ERR_FORMAT);
	jitdump_encode(&b, &(struct jitdump_record){ .id = JITDUMP_CODE_LOAD, .load = { .name = text("f") } });
	memcpy(b.p + 40, &huge, 8); /* more code than the record has room for */
	assert_int_equal(jitdump_decode(b.p, b.len, false, &r), ERR_FORMAT);
	assert_int_equal(r.size, b.len);
	memcpy(b.p + 4, &eight, 4); /* smaller than a record's header */
	assert_int_equal(jitdump_decode(b.p, b.len, false, &r), ERR_FORMAT);
	assert_int_equal(r.size, 0);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_other_byte_order),
		cmocka_unit_test(test_truncated),
		cmocka_unit_test(test_contradictions),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
