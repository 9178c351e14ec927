/* SPDX-License-Identifier: Apache-2.0 */
/* Packets of Arm SPE: published dumps and their texts, and what an encoder wrote. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/random.h"
#include "codec/spe_reader.h"
#include "codec/spe_shapes.h"

/* As perf report -D printed them in public mails and documents, of hardware unless it says otherwise. */
static const struct vector {
	const char *bytes, *text;
} published[] = {
	{ "b0f4d3291000 80ffa0", "PC 0xff80001029d3f4 el1 ns=1" },
	{ "990b00", "LAT 11 ISSUE" },
	{ "980d00", "LAT 13 TOT" },
	{ "9a0100", "LAT 1 XLAT" },
	{ "521600", "EV RETIRED L1D-ACCESS TLB-ACCESS" },
	{ "4900", "LD GP-REG" },
	{ "b2d040d8700000ff00", "VA 0xff000070d840d0" },
	{ "71a51fb32014000000", "TS 86447955877" },
	{ "520200", "EV RETIRED" },
	{ "4800", "OTHER INSN-OTHER" },
	{ "b2c03b290f0000ffff", "VA 0xffff00000f293bc0" }, /* a model from here on */
	{ "b3c0eb24fb00000080", "PA 0xfb24ebc0 ns=1 ch=0 pat=0" },
	{ "4216", "EV RETIRED L1D-ACCESS TLB-ACCESS" },
	{ "b000c415080000ffff", "PC 0xff00000815c400 el3 ns=1" },
	{ "4a01", "B COND" },
	{ "b10000000000000080", "TGT 0x0 el0 ns=1" },
	{ "4242", "EV RETIRED NOT-TAKEN" },
	{ "65df0e0000", "CONTEXT 0xedf el2" },
	{ "b3435a952c03080080", "PA 0x8032c955a43 ns=1 ch=0 pat=0" }, /* Neoverse again */
	{ "4300", "DATA-SOURCE 0" },
	{ "4916", "LD AT AR" },
	{ "4905", "ST SIMD-FP" },
	{ "4a02", "B IND" },
	{ "521e03", "EV RETIRED L1D-ACCESS L1D-REFILL TLB-ACCESS LLC-ACCESS LLC-REFILL" },
	{ "52c200", "EV RETIRED NOT-TAKEN MISPRED" },
	/* Not published; by the Arm ARM. */
	{ "01", "END" },
	{ "000000", "PAD" },
	{ "20b40100000000000000", "PBT 0x1 el0 ns=0" },
	{ "4849", "OTHER COND-SELECT" },
	{ "485a", "SVE-OTHER EVLEN 1024 FP" },
	{ "49ac", "LD EVLEN 128 PRED SG" },
	{ "4914", "LD MTE-TAG" },
	{ "7342000000000000 00", "DATA-SOURCE 66" },
	{ "8105", "UNKNOWN header 8100 payload 0x5" },
	{ "31", "Bad packet!" },
	{ "ff0000", "Bad packet!" },
	{ "b0f4", "Bad packet!" }, /* cut off */
	{ "20", "Bad packet!" },
};

static u64 unhex(const char *text, u8 *out)
{
	u64 n = 0;

	for (const char *t = text; *t; t += 2) {
		char digits[3] = { 0 };

		t += *t == ' ';
		memcpy(digits, t, 2);
		out[n++] = (u8)strtoul(digits, NULL, 16);
	}
	return n;
}

static void test_published(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(published); i++) {
		struct bytes text = { 0 };
		struct spe_packet p;
		u8 bytes[16];
		u64 n = unhex(published[i].bytes, bytes);

		u8 *exact = memcpy(malloc(n), bytes, n); /* sanitizers see what is read behind it */

		spe_packet_decode(exact, n, 0, 0, &p);
		free(exact);
		spe_packet_print(&p, &text);
		bytes_char(&text, '\0');
		assert_string_equal((char *)text.p, published[i].text);
		assert_int_equal(p.size, p.type == SPE_BAD ? 1 : n);
		bytes_free(&text);
	}
}

/* Every packet that can be written reads back as itself. */
static void test_round_trip(void **state)
{
	static const u8 types[] = { SPE_TIMESTAMP, SPE_ADDRESS, SPE_COUNTER, SPE_CONTEXT,
				    SPE_OPERATION, SPE_EVENTS,	SPE_SOURCE,  SPE_END };
	static const u8 bits[SPE_NR_TYPES] = {
		[SPE_TIMESTAMP] = 63, [SPE_ADDRESS] = 63, [SPE_COUNTER] = 16, [SPE_CONTEXT] = 32,
		[SPE_OPERATION] = 8,  [SPE_EVENTS] = 63,  [SPE_SOURCE] = 63
	};
	static const u8 indices[SPE_NR_TYPES] = {
		[SPE_ADDRESS] = 32, [SPE_COUNTER] = 32, [SPE_CONTEXT] = 4, [SPE_OPERATION] = 4
	};
	u64 r = 1;

	(void)state;
	for (u32 i = 0; i < 20000; i++) {
		u8 type = types[random_next(&r) % ARRAY_LEN(types)];
		u32 index = indices[type] ? (u32)(random_next(&r) % indices[type]) : 0;
		u64 payload = bits[type] ? random_next(&r) & ((2ull << (random_next(&r) % bits[type])) - 1) : 0;
		struct bytes b = { 0 };
		struct spe_packet p;

		spe_packet_encode(type, index, payload, &b);
		spe_packet_decode(b.p, b.len, 0, 0, &p);
		assert_int_equal(p.type, type);
		assert_int_equal(p.index, index);
		assert_int_equal(p.payload, payload);
		assert_int_equal(p.size, b.len);
		/* Without its last byte it is none. */
		if (b.len > 1 && type != SPE_END) {
			spe_packet_decode(b.p, b.len - 1, 0, 0, &p);
			assert_int_equal(p.type, SPE_BAD);
		}
		bytes_free(&b);
	}
}

/* Alignment counts from where the buffer stood in the AUX area, not from where it lies in memory. */
static void test_alignment(void **state)
{
	u8 bytes[64] = { 0 };
	struct spe_packet p;

	(void)state;
	memset(bytes, 0x71, sizeof(bytes));
	bytes[3] = 0x22; /* to a multiple of 8 */
	bytes[4] = 0x00;
	for (u64 base = 0; base < 32; base++) {
		spe_packet_decode(bytes, sizeof(bytes), 3, base, &p);
		assert_int_equal(p.type, SPE_PAD);
		assert_int_equal((base + 3 + p.size) % 8, 0);
		assert_in_range(p.size, 1, 8);
	}
	spe_packet_decode(bytes, 5, 3, 0, &p); /* it ends behind the buffer */
	assert_int_equal(p.type, SPE_BAD);
}

static void put_load(struct bytes *b, u64 pc, u64 address, u64 time)
{
	spe_packet_encode(SPE_ADDRESS, SPE_PC, pc, b);
	spe_packet_encode(SPE_CONTEXT, 0, 4242, b);
	spe_packet_encode(SPE_COUNTER, SPE_ISSUE, 4, b);
	spe_packet_encode(SPE_COUNTER, SPE_TOTAL, 300, b);
	spe_packet_encode(SPE_COUNTER, SPE_TRANSLATION, 2, b);
	spe_packet_encode(SPE_EVENTS, 0, SPE_EV_RETIRED | SPE_EV_L1D_ACCESS | SPE_EV_L1D_REFILL, b);
	spe_packet_encode(SPE_OPERATION, SPE_LOAD_STORE, 0, b);
	spe_packet_encode(SPE_COUNTER, SPE_NR_COUNTERS, 0xffff, b); /* one that is not known here */
	spe_packet_encode(SPE_ADDRESS, SPE_VIRTUAL, address, b);
	spe_packet_encode(SPE_ADDRESS, SPE_PHYSICAL, 1ull << 63 | 0x1234, b);
	spe_packet_encode(SPE_SOURCE, 0, 9, b);
	spe_packet_encode(SPE_PAD, 0, 3, b);
	spe_packet_encode(SPE_TIMESTAMP, 0, time, b);
}

static void test_records(void **state)
{
	struct bytes b = { 0 };
	struct spe_reader r;
	struct spe_record rec;
	u64 second;

	(void)state;
	put_load(&b, 1ull << 63 | 0x400123, 0x0b00aaaabbbb0010, 100); /* a tagged pointer */
	second = b.len;
	put_load(&b, 1ull << 63 | 1ull << 61 | 0x00ff800010000000, 0x00ff000070d840d0, 200); /* of the kernel */
	spe_packet_encode(SPE_ADDRESS, SPE_PC, 5, &b);					     /* cut off */

	r = (struct spe_reader){ .data = b.p, .len = b.len };
	assert_true(spe_next(&r, &rec));
	assert_int_equal(rec.at, 0);
	assert_int_equal(rec.end, second);
	assert_int_equal(rec.pc, 0x400123);
	assert_int_equal(rec.level, 0);
	assert_int_equal(rec.virtual, 0xaaaabbbb0010);
	assert_int_equal(rec.physical, 0x1234);
	assert_int_equal(rec.context, 4242);
	assert_int_equal(rec.latency[SPE_TOTAL], 300);
	assert_int_equal(rec.latency[SPE_ISSUE], 4);
	assert_int_equal(rec.latency[SPE_TRANSLATION], 2);
	assert_int_equal(rec.source, 9);
	assert_int_equal(rec.time, 100);
	assert_true(spe_is_load(&rec));
	assert_false(spe_is_store(&rec));
	assert_true(spe_next(&r, &rec));
	assert_int_equal(rec.pc, 0xffff800010000000);
	assert_int_equal(rec.virtual, 0xffff000070d840d0);
	assert_int_equal(rec.at, second);
	assert_false(spe_next(&r, &rec));
	assert_int_equal(r.bad_bytes, 0);

	/* Garbage takes the record it is in, and no other. */
	b.p[1 + 8] = 0xff;
	b.p[9] = 0x0f; /* where the context packet began */
	r = (struct spe_reader){ .data = b.p, .len = b.len };
	assert_true(spe_next(&r, &rec));
	assert_int_equal(rec.pc, 0xffff800010000000);
	assert_int_equal(rec.at, second);
	assert_false(spe_next(&r, &rec));
	assert_int_equal(r.broken, 1);
	assert_true(r.bad_bytes > 0);
	bytes_free(&b);
}

/* Bytes that are the same by shapes and packet by packet, whatever the damage. Returns how many records. */
static u32 same_by_shapes(const struct bytes *b, struct spe_shapes *shapes)
{
	struct spe_reader plain = { .data = b->p, .len = b->len };
	struct spe_reader shaped = { .data = b->p, .len = b->len, .shapes = shapes };
	struct spe_record x, y;
	u32 n = 0;

	for (;; n++) {
		bool more;

		memset(&x, 0, sizeof(x));
		memset(&y, 0, sizeof(y));
		more = spe_next(&plain, &x);
		assert_int_equal(spe_next(&shaped, &y), more);
		if (!more)
			break;
		assert_memory_equal(&x, &y, sizeof(x));
	}
	assert_int_equal(shaped.at, plain.at);
	assert_int_equal(shaped.bad_bytes, plain.bad_bytes);
	assert_int_equal(shaped.broken, plain.broken);
	assert_int_equal(shaped.unknown, plain.unknown);
	return n;
}

static void put_branch(struct bytes *b, u64 pc)
{
	spe_packet_encode(SPE_ADDRESS, SPE_PC, pc, b);
	spe_packet_encode(SPE_OPERATION, SPE_BRANCH, 1, b);
	spe_packet_encode(SPE_ADDRESS, SPE_TARGET, 1ull << 63 | 1ull << 61 | 0x00ff800010000040, b);
	spe_packet_encode(SPE_ADDRESS, SPE_PREVIOUS_TARGET, 0x400200, b);
	spe_packet_encode(SPE_ADDRESS, SPE_PC, pc + 4, b); /* the later one holds */
	spe_packet_encode(SPE_EVENTS, 0, 0x80000002, b);
	spe_packet_encode(SPE_END, 0, 0, b);
}

static void test_shapes(void **state)
{
	struct spe_shapes shapes = { 0 };
	struct bytes b = { 0 };
	const struct spe_shape *known;
	u32 seed = 1;

	(void)state;
	for (u32 i = 0; i < 40; i++) {
		put_load(&b, 1ull << 63 | (0x400000 + 4 * i), 0x0b00aaaabbbb0010 + 64 * i, 100 + i);
		put_branch(&b, 0x400100 + 8 * i);
		spe_packet_encode(SPE_PAD, 0, i % 20, &b);
	}
	assert_int_equal(same_by_shapes(&b, &shapes), 80);
	assert_int_equal(shapes.n, 2);
	known = spe_shape_of(&shapes, b.p, b.len, 0);
	assert_non_null(known);
	assert_null(spe_shape_of(&shapes, b.p + 1, b.len - 1, 0));
	assert_null(spe_shape_of(&shapes, b.p, known->size, 0)); /* its last field is read with what follows */
	assert_ptr_equal(spe_shape_of(&shapes, b.p, known->size, b.len - known->size), known);
	assert_null(spe_shape_of(&shapes, b.p, known->size - 1, b.len - known->size + 1)); /* cut off */

	for (u32 i = 0; i < 2000; i++) {
		u8 *at, was;

		seed = seed * 1664525 + 1013904223;
		at = &b.p[seed % b.len];
		was = *at;
		*at = (u8)(seed >> 24);
		same_by_shapes(&b, &shapes);
		*at = was;
	}
	assert_true(shapes.n <= SPE_SHAPES);
	bytes_free(&b);
}

/* 64 bytes, of which two kinds are the same but for the last eight. */
static void put_long(struct bytes *b, u32 i)
{
	size_t start = b->len;

	spe_packet_encode(SPE_ADDRESS, SPE_PC, 0x400000 + 4 * i, b);
	spe_packet_encode(SPE_ADDRESS, SPE_TARGET, 0x500000, b);
	spe_packet_encode(SPE_ADDRESS, SPE_VIRTUAL, 0x600000, b);
	spe_packet_encode(SPE_ADDRESS, SPE_PHYSICAL, 0x700000, b);
	spe_packet_encode(SPE_ADDRESS, SPE_PREVIOUS_TARGET, 0x800000, b);
	spe_packet_encode(SPE_CONTEXT, 0, 7, b);
	spe_packet_encode(SPE_COUNTER, SPE_TOTAL, 40 + i % 9, b);
	spe_packet_encode(SPE_COUNTER, SPE_ISSUE, 3, b);
	if (i % 2)
		spe_packet_encode(SPE_COUNTER, SPE_TRANSLATION, 5, b);
	spe_packet_encode(SPE_OPERATION, SPE_LOAD_STORE, i % 3 != 0, b);
	if (i % 2 == 0)
		spe_packet_encode(SPE_COUNTER, SPE_TRANSLATION, 6, b);
	spe_packet_encode(SPE_EVENTS, 0, 2, b);
	spe_packet_encode(SPE_END, 0, 0, b);
	assert_int_equal(b->len - start, 64);
}

/* The largest that is a shape is compared to its end. */
static void test_long_shapes(void **state)
{
	struct spe_shapes shapes = { 0 };
	struct bytes b = { 0 };

	(void)state;
	for (u32 i = 0; i < 40; i++)
		put_long(&b, i);
	assert_int_equal(same_by_shapes(&b, &shapes), 40);
	assert_int_equal(shapes.n, 2);
	bytes_free(&b);
}

/* Records that are not wanted are passed over, and counted; the time of the last one is told. */
static void test_wanted(void **state)
{
	const struct spe_wanted wanted[] = { { .accesses = true }, { .events = 1u << 31 }, { .all = true }, { 0 } };
	const u32 found[] = { 40, 40, 80, 0 };
	struct spe_shapes shapes = { 0 };
	struct spe_record rec;
	struct bytes b = { 0 };

	(void)state;
	for (u32 i = 0; i < 40; i++) {
		put_load(&b, 1ull << 63 | (0x400000 + 4 * i), 0x0b00aaaabbbb0010, 100 + i);
		put_branch(&b, 0x400100 + 8 * i);
	}
	same_by_shapes(&b, &shapes);
	bytes_zero(&b, 8 * SPE_SHAPE_WORDS + SPE_SHAPE_SPARE); /* so that each record's shape is known */
	for (u32 i = 0; i < ARRAY_LEN(wanted); i++) {
		struct spe_reader r = { .data = b.p, .len = b.len, .shapes = &shapes, .wanted = &wanted[i] };
		u32 n = 0;

		for (; spe_next(&r, &rec); n++) {
			bool after_load = i == 1;

			assert_int_equal(r.has_ticks, after_load);
			assert_true(!after_load || r.ticks == 100 + n);
		}
		assert_int_equal(n, found[i]);
		assert_int_equal(n + r.passed, 80);
	}
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published), cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_alignment), cmocka_unit_test(test_records),
		cmocka_unit_test(test_shapes),	  cmocka_unit_test(test_long_shapes),
		cmocka_unit_test(test_wanted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
