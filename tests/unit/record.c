/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "codec/record.h"
#include "recipe/swap.h"
#include "record_examples.h"

static const u64 trailers[] = {
	0,
	PERF_SAMPLE_TIME,
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_CPU | PERF_SAMPLE_IDENTIFIER,
	PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_ID | PERF_SAMPLE_STREAM_ID | PERF_SAMPLE_CPU,
};

static struct trailer_layout layout_of(u64 fields)
{
	const struct attr a = { .sample_type = fields | PERF_SAMPLE_IP, .flags = ATTR_SAMPLE_ID_ALL };

	return trailer_layout(&a);
}

static struct record with_trailer(const struct record_example *e, u64 fields)
{
	struct record r = e->r;

	r.sid = (struct sample_id){ .time = 0x1111, .id = 0x2222, .stream_id = 0x3333, .pid = 4, .tid = 5, .cpu = 6 };
	if (!(fields & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER)))
		r.sid.id = 0;
	return r;
}

static struct bytes encoded(const struct record *r, const struct trailer_layout *t)
{
	struct bytes out = { 0 };

	assert_int_equal(record_encode(r, t, &out), 0);
	return out;
}

static void expect_line(const struct record *r, const char *line)
{
	const struct record_kind *kind = record_kind(r->h.type);
	struct bytes out = { 0 };

	if (kind->print)
		kind->print(r, &out);
	bytes_u8(&out, 0);
	assert_string_equal((char *)out.p, line);
	bytes_free(&out);
}

static void expect_trailer(const struct sample_id *sid, u64 fields)
{
	assert_int_equal(sid->has, fields);
	assert_int_equal(sid->time, fields & PERF_SAMPLE_TIME ? 0x1111 : 0);
	assert_int_equal(sid->id, fields & (PERF_SAMPLE_ID | PERF_SAMPLE_IDENTIFIER) ? 0x2222 : 0);
	assert_int_equal(sid->stream_id, fields & PERF_SAMPLE_STREAM_ID ? 0x3333 : 0);
	assert_int_equal(sid->pid, fields & PERF_SAMPLE_TID ? 4 : 0);
	assert_int_equal(sid->tid, fields & PERF_SAMPLE_TID ? 5 : 0);
	assert_int_equal(sid->cpu, fields & PERF_SAMPLE_CPU ? 6 : 0);
}

static void every_kind_has_an_example(void **state)
{
	(void)state;
	for (u32 i = 0; record_kind_at(i); i++) {
		const struct record_kind *kind = record_kind_at(i);
		bool found = kind->type == PERF_RECORD_SAMPLE;

		assert_ptr_equal(record_kind(kind->type), kind);
		assert_int_equal(!kind->decode, !kind->print);
		assert_int_equal(!kind->decode, !kind->encode);
		for (u32 k = 0; k < nr_record_examples; k++)
			found |= record_examples[k].r.h.type == kind->type;
		if (!found)
			fail_msg("no example of %s", kind->name);
	}
	assert_null(record_kind(0));
	assert_null(record_kind(PERF_RECORD_TLS_USER + 1));
	assert_null(record_kind(63));
	assert_null(record_kind(PERF_RECORD_BPF_METADATA + 1));
	assert_null(record_kind(PERF_RECORD_SIMPLEPERF_KERNEL_SYMBOL - 1));
	assert_null(record_kind(PERF_RECORD_SIMPLEPERF_DEBUG + 1));
	assert_null(record_kind(UINT32_MAX));
}

/* Holds data whose layout the record codec does not know. */
static bool is_opaque(u32 type)
{
	return type == PERF_RECORD_CPU_MAP || type == PERF_RECORD_EVENT_UPDATE || type == PERF_RECORD_HEADER_FEATURE;
}

static void round_trip_one(const struct record_example *e, u64 fields, bool swap)
{
	const struct trailer_layout t = layout_of(fields);
	const struct record r = with_trailer(e, fields);
	struct bytes in = encoded(&r, &t), native = encoded(&r, &t), again;
	const bool has_trailer = record_kind(r.h.type)->has_trailer;
	struct sample_id sid;
	struct record got;

	if (swap)
		swap_record(in.p, &t, NULL);
	assert_int_equal(record_decode(cursor_over(in.p, in.len, swap), 0x50, &t, &got), 0);
	assert_int_equal(got.h.type, r.h.type);
	assert_int_equal(got.h.size, in.len);
	assert_int_equal(got.offset, 0x50);
	assert_int_equal(cursor_left(&got.body), in.len - 8);
	if (has_trailer)
		expect_trailer(&got.sid, fields);
	assert_int_equal(record_trailer_decode(cursor_over(in.p, in.len, swap), &t, &sid), 0);
	assert_memory_equal(&sid, &got.sid, sizeof(sid));
	expect_line(&got, e->line);
	again = encoded(&got, &t);
	if (!swap || !is_opaque(r.h.type)) {
		assert_int_equal(again.len, native.len);
		assert_memory_equal(again.p, native.p, native.len);
	}
	bytes_free(&again);
	bytes_free(&native);
	bytes_free(&in);
}

static void round_trips(void **state)
{
	(void)state;
	for (u32 i = 0; i < nr_record_examples; i++)
		for (u32 t = 0; t < ARRAY_LEN(trailers); t++)
			for (int swap = 0; swap < 2; swap++)
				round_trip_one(&record_examples[i], trailers[t], swap);
}

/* Decodes from a block of exactly n bytes, so that a read past it is seen by the sanitizer. */
static int decode_exact(const u8 *p, size_t n, u16 size_says, const struct trailer_layout *t, bool swap)
{
	struct bytes line = { 0 }, again = { 0 };
	u8 *copy = malloc(n ? n : 1);
	struct sample_id sid;
	struct record r;
	int err;

	memcpy(copy, p, n);
	if (n >= 8)
		memcpy(copy + 6, &size_says, 2);
	err = record_decode(cursor_over(copy, n, swap), 0, t, &r);
	record_trailer_decode(cursor_over(copy, n, swap), t, &sid);
	if (!err && record_kind(r.h.type) && record_kind(r.h.type)->print) {
		record_kind(r.h.type)->print(&r, &line);
		record_encode(&r, t, &again);
	}
	bytes_free(&line);
	bytes_free(&again);
	free(copy);
	return err;
}

static void truncated_at_every_offset(void **state)
{
	(void)state;
	for (u32 i = 0; i < nr_record_examples; i++) {
		const struct trailer_layout t = layout_of(trailers[i % ARRAY_LEN(trailers)]);
		const struct record r = with_trailer(&record_examples[i], t.fields);
		struct bytes in = encoded(&r, &t);

		for (size_t n = 0; n < in.len; n++) {
			/* The input ends early: said so. */
			assert_int_equal(decode_exact(in.p, n, (u16)in.len, &t, false), ERR_TRUNCATED);
			/* The record itself says that it is shorter: whatever that means, nothing is read behind it.
			 */
			if (n >= 8)
				decode_exact(in.p, n, (u16)n, &t, false);
		}
		bytes_free(&in);
	}
}

static void hostile_counts(void **state)
{
	static const u64 values[] = { UINT64_MAX, 1ull << 63, 1ull << 61, (1ull << 61) + 1, 0x1555555555555556,
				      UINT32_MAX, 1ull << 32, 0x80000000, 0x10000,	    0x5555555555555556 };

	(void)state;
	for (u32 i = 0; i < nr_record_examples; i++) {
		struct bytes in = encoded(&record_examples[i].r, NULL);

		for (size_t at = 8; at < in.len; at += 4)
			for (u32 v = 0; v < ARRAY_LEN(values); v++) {
				u8 saved[8];
				size_t n = MIN(in.len - at, sizeof(saved));

				memcpy(saved, in.p + at, n);
				memcpy(in.p + at, &values[v], n);
				decode_exact(in.p, in.len, (u16)in.len, NULL, false);
				memcpy(in.p + at, saved, n);
			}
		bytes_free(&in);
	}
}

static void old_forms(void **state)
{
	/* TIME_CONV of three fields; a build id without a length; HEADER_ATTR whose attr has size 0. */
	const u64 conv[] = { 1, 2, 3 };
	struct bytes b = { 0 };
	struct record r;

	(void)state;
	bytes_u32(&b, PERF_RECORD_TIME_CONV);
	bytes_u32(&b, 32u << 16);
	bytes_put(&b, conv, sizeof(conv));
	assert_int_equal(record_decode(cursor_over(b.p, b.len, false), 0, NULL, &r), 0);
	assert_int_equal(r.time_conv.zero, 3);
	assert_false(r.time_conv.cap_zero);

	b.len = 0;
	bytes_u32(&b, PERF_RECORD_HEADER_BUILD_ID);
	bytes_u32(&b, 48u << 16);
	bytes_u32(&b, 7);
	bytes_repeat(&b, 0x5a, 20);
	bytes_u32(&b, 0);
	bytes_put(&b, "/lib/abcdef", 12);
	assert_int_equal(record_decode(cursor_over(b.p, b.len, false), 0, NULL, &r), 0);
	assert_int_equal(r.build_id.size, 20);
	expect_line(&r, "pid 7 build-id 5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a /lib/abcdef");

	b.len = 0;
	bytes_u32(&b, PERF_RECORD_HEADER_ATTR);
	bytes_u32(&b, 80u << 16);
	bytes_zero(&b, 64);
	bytes_u64(&b, 77);
	assert_int_equal(record_decode(cursor_over(b.p, b.len, false), 0, NULL, &r), 0);
	assert_int_equal(r.header_attr.attr.size, 64);
	assert_int_equal(r.header_attr.ids.n, 1);
	assert_int_equal(u64s_at(&r.header_attr.ids, 0), 77);
	bytes_free(&b);
}

/* The kernel's own bytes, laid out by hand: a COMM record with a trailer of TID, TIME and IDENTIFIER. */
static void comm_by_hand(void **state)
{
	static const u8 raw[] = {
		3, 0, 0, 0, 0, 0x20, 48, 0, 0x11, 0, 0, 0, 0x12, 0, 0, 0, 'l',	's', 0, 0, 0, 0, 0, 0,
		1, 0, 0, 0, 2, 0,    0,	 0, 9,	  8, 7, 6, 5,	 4, 3, 2, 0x2a, 0,   0, 0, 0, 0, 0, 0,
	};
	const struct trailer_layout t = layout_of(PERF_SAMPLE_TID | PERF_SAMPLE_TIME | PERF_SAMPLE_IDENTIFIER);
	struct record r;

	(void)state;
	assert_int_equal(record_decode(cursor_over(raw, sizeof(raw), false), 0, &t, &r), 0);
	assert_int_equal(r.comm.pid, 0x11);
	assert_int_equal(r.comm.tid, 0x12);
	assert_true(r.comm.exec);
	assert_int_equal(r.comm.comm.len, 2);
	assert_int_equal(r.sid.pid, 1);
	assert_int_equal(r.sid.tid, 2);
	assert_int_equal(r.sid.time, 0x0203040506070809);
	assert_int_equal(r.sid.id, 42);
}

/* misc of MMAP2 speaks of a build id, and yet a device, 8:1 or 254:0, and an inode stand there: as kernels do it while
 * other events ask for build ids. */
static void build_id_that_is_a_device(void **state)
{
	static const u32 majors[] = { 8, 254, 259 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(majors); i++) {
		struct record r = { .h = { .type = PERF_RECORD_MMAP2 } }, back;
		struct bytes b = { 0 };
		u16 misc = PERF_RECORD_MISC_USER | PERF_RECORD_MISC_MMAP_BUILD_ID;

		r.mmap.maj = majors[i];
		r.mmap.min = 1;
		r.mmap.ino = 0x4c610;
		r.mmap.filename = (struct str){ "/lib/abcdef", 11 };
		assert_int_equal(record_encode(&r, NULL, &b), 0);
		memcpy(b.p + 4, &misc, sizeof(misc));
		assert_int_equal(record_decode(cursor_over(b.p, b.len, false), 0, NULL, &back), 0);
		assert_int_equal(back.mmap.build_id_size, 0);
		assert_int_equal(back.mmap.maj, majors[i]);
		assert_int_equal(back.mmap.ino, 0x4c610);
		bytes_free(&b);
	}
}

static void limits(void **state)
{
	char *name = malloc(70000);
	struct record r = { .h = { .type = PERF_RECORD_COMM } };
	struct bytes out = { 0 };

	(void)state;
	memset(name, 'x', 70000);
	r.comm.comm = (struct str){ name, 70000 };
	assert_int_equal(record_encode(&r, NULL, &out), ERR_LIMIT);
	assert_int_equal(out.len, 0);
	r.comm.comm.len = 65528 - 8 - 8 - 1; /* the most that an 8-aligned record holds */
	assert_int_equal(record_encode(&r, NULL, &out), 0);
	assert_int_equal(out.len, 65528);
	r.h.type = PERF_RECORD_SAMPLE;
	assert_int_equal(record_encode(&r, NULL, &out), ERR_UNSUPPORTED);
	r.h.type = 4000;
	assert_int_equal(record_encode(&r, NULL, &out), ERR_UNSUPPORTED);
	bytes_free(&out);
	free(name);
}

static void headers(void **state)
{
	static const u8 small[] = { 3, 0, 0, 0, 0, 0, 7, 0 };
	static const u8 unknown[] = { 0, 0x80, 0, 0, 0, 0, 8, 0 };
	struct record r;

	(void)state;
	assert_int_equal(record_decode(cursor_over(small, 8, false), 0, NULL, &r), ERR_FORMAT);
	assert_int_equal(record_decode(cursor_over(small, 7, false), 0, NULL, &r), ERR_TRUNCATED);
	assert_int_equal(record_decode(cursor_over(unknown, 8, false), 0, NULL, &r), 0);
	assert_int_equal(r.h.type, PERF_RECORD_SIMPLEPERF_START);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_kind_has_an_example),
		cmocka_unit_test(round_trips),
		cmocka_unit_test(truncated_at_every_offset),
		cmocka_unit_test(hostile_counts),
		cmocka_unit_test(old_forms),
		cmocka_unit_test(comm_by_hand),
		cmocka_unit_test(build_id_that_is_a_device),
		cmocka_unit_test(limits),
		cmocka_unit_test(headers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
