/* SPDX-License-Identifier: Apache-2.0 */
/* Formats of tracepoints, and the text that samples become with them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include <cmocka.h>

#include "attrib/tracepoint.h"
#include "base/bytes.h"
#include "codec/tracefmt.h"
#include "tracing_data.h"

static const char work_format[] =
	"name: work\nID: 301\n" TRACING_COMMON "\tfield:char who[8];\toffset:8;\tsize:8;\tsigned:0;\n"
	"\tfield:__data_loc char[] what;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:int left;\toffset:20;\tsize:4;\tsigned:1;\n\n"
	"print fmt: \"%s: %s, %d left\", REC->who, __get_str(what), REC->left\n";
/* Divides by what the sample says: not for the library's eyes. */
static const char wild_format[] =
	"name: wild\nID: 302\n" TRACING_COMMON "\tfield:int part;\toffset:8;\tsize:4;\tsigned:1;\n"
	"\tfield:u32 whole;\toffset:12;\tsize:4;\tsigned:0;\n\n"
	"print fmt: \"%d\", REC->part / REC->whole\n";

static struct str str(const char *text)
{
	return (struct str){ text, (u32)strlen(text) };
}

/* What the library would evaluate without looking: indices and counts of the record, widths, pointers, divisions. */
static void knows_what_is_tame(void **state)
{
	static const struct {
		const char *print;
		bool tame;
	} cases[] = {
		{ "\"prev_comm=%s prev_pid=%d%s ==> next_comm=%s\", REC->prev_comm, REC->prev_pid, REC->prev_state & "
		  "(0x0100 - 1) "
		  "? __print_flags(REC->prev_state, \"|\", { 0x0001, \"S\" }, { 0x0002, \"D\" }) : \"R\", "
		  "REC->next_comm",
		  true },
		{ "\"NR %ld (%lx, %lx)\", REC->id, REC->args[0], REC->args[5]", true },
		{ "\"%d %016llx %-8s %.*s\", REC->a / 1000, (unsigned long long)REC->b % (60), __get_str(c), 4, "
		  "REC->d",
		  true },
		{ "\"%p\", (void *)REC->ptr", true },
		{ "\"%d\", REC->a * 4 + REC->b * REC->c", true },
		{ "", true },
		{ "\"%d\", REC->a[REC->i]", false },
		{ "\"%d\", REC->a[16]", false },
		{ "\"%d\", REC->a[-1]", false },
		{ "\"%d\", *(int *)(REC->p + 4)", false },
		{ "\"%d\", 1 + *REC->p", false },
		{ "\"%s\", __print_hex(REC->buf, REC->len)", false },
		{ "\"%s\", __print_array(__get_dynamic_array(a), REC->n, 8)", false },
		{ "\"%d\", sizeof(", false },
		{ "\"%d\", sizeof(int)", false },
		{ "\"%100000000lld\", REC->a", false },
		{ "\"%*d\", REC->w, REC->a", false },
		{ "\"%.9999d\", REC->a", false },
		{ "\"%n\", REC->a", false },
		{ "\"%lllld\", REC->a", false },
		{ "\"\\%hhhhhhhhd\", REC->a", false },
		{ "\"\\%9999s\", REC->a", false },
		{ "\"%d", false },
		{ "\"%d\", REC->a / REC->b", false },
		{ "\"%d\", REC->a / (1 - 1)", false },
		{ "\"%d\", REC->a % 0", false },
		{ "\"%d\", REC->a / -1", false },
		{ "\"%d\", REC->a # 1", false },
		{ "\"%d\", (REC->a + 1", false },
		{ "\"%d\", REC->a)", false },
		{ "\"%s\", __print_symbolic(REC->a, { 1, \"one\" }), REC->b ? __print_f", false },
		{ "\"%s\", __print_symbolic(REC->a, { 1, \"on", false },
		{ "\"%s\", __print_symbolic(REC->a, { 1, \"one\" )}", false },
		{ "\"%d\", REC->a +", false },
		{ "\"%d\", REC->", false },
		{ "\"%d\", REC->a ?", false },
	};
	char deep[200];

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(cases); i++)
		if (trace_print_is_tame(str(cases[i].print)) != cases[i].tame)
			fail_msg("%s", cases[i].print);
	memset(deep, '(', sizeof(deep) - 1);
	deep[sizeof(deep) - 1] = 0;
	assert_false(trace_print_is_tame(str(deep)));
}

/* None of them stands in another one. */
static void many_brackets_are_tame(void **state)
{
	char text[1000] = "\"%d\", 1";

	(void)state;
	while (strlen(text) + sizeof(" + (REC->a)") < sizeof(text))
		strcat(text, " + (REC->a)");
	assert_true(trace_print_is_tame(str(text)));
}

static void decodes_fields(void **state)
{
	struct trace_event e;

	(void)state;
	assert_int_equal(trace_event_decode(str("sys"), str(work_format), &e), 0);
	assert_int_equal(e.id, 301);
	assert_memory_equal(e.name.p, "work", 4);
	assert_int_equal(e.fields.n, 5);
	assert_true(e.fields.v[0].common);
	assert_int_equal(e.fields.v[2].kind, TRACE_ARRAY);
	assert_true(e.fields.v[2].text);
	assert_int_equal(e.fields.v[3].kind, TRACE_DATA_LOC);
	assert_int_equal(e.fields.v[3].offset, 16);
	assert_memory_equal(e.fields.v[3].name.p, "what", 4);
	assert_true(e.fields.v[4].is_signed);
	assert_true(e.print_is_tame);
	vec_free(&e.fields);
	assert_int_equal(trace_event_decode(str("sys"), str(wild_format), &e), 0);
	assert_false(e.print_is_tame);
	vec_free(&e.fields);
}

static void refuses_what_makes_no_sense(void **state)
{
	static const char *const bad[] = {
		"",
		"name: x\n",
		"ID: 1\n",
		"name: x\nID: y\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:65534;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:99999999999;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a;\toffset:-8;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:int a;\tsize:4;\tsigned:1;\n",
		"name: x\nID: 1\n\tfield:;\toffset:0;\tsize:4;\tsigned:1;\n",
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
		struct trace_event e;

		assert_int_equal(trace_event_decode(str("sys"), str(bad[i]), &e), ERR_FORMAT);
	}
}

static void decodes_the_section_cut_anywhere(void **state)
{
	const char *const formats[] = { work_format, "name: broken\n", wild_format };
	struct bytes b = tracing_data(formats, 3);
	struct tracefmt f;

	(void)state;
	assert_int_equal(tracefmt_decode(cursor_over(b.p, b.len, false), &f), 0);
	assert_int_equal(f.events.n, 2);
	assert_int_equal(f.refused, 1);
	assert_int_equal(f.long_size, 8);
	assert_int_equal(f.printk.len, 4);
	assert_non_null(tracefmt_find(&f, 302));
	assert_null(tracefmt_find(&f, 7));
	tracefmt_free(&f);
	for (size_t cut = 0; cut < b.len; cut++) {
		u8 *exact = malloc(cut ? cut : 1);

		memcpy(exact, b.p, cut);
		assert_true(tracefmt_decode(cursor_over(exact, cut, false), &f) < 0);
		tracefmt_free(&f);
		free(exact);
	}
	bytes_free(&b);
}

static const char *no_symbol(void *ctx, u64 addr, u64 *start, const char **module)
{
	(void)ctx;
	(void)addr;
	(void)start;
	(void)module;
	return NULL;
}

static void expect_text(struct tracepoints *t, u32 id, const void *raw, u32 size, const char *want)
{
	struct bytes out = { 0 };

	assert_true(tracepoints_print(t, id, raw, size, &out));
	bytes_u8(&out, 0);
	assert_string_equal((char *)out.p, want);
	bytes_free(&out);
}

static void prints_samples(void **state)
{
	const char *const formats[] = { work_format, wild_format };
	struct bytes b = tracing_data(formats, 2), raw = { 0 }, out = { 0 };
	struct tracepoints *t = tracepoints_new(b.p, b.len, no_symbol, NULL, NULL);

	(void)state;
	bytes_u32(&raw, 301);
	bytes_u32(&raw, 10);
	bytes_put(&raw, "bob\0\0\0\0", 8);
	bytes_u32(&raw, 24 | 5u << 16);
	bytes_u32(&raw, (u32)-3);
	bytes_put(&raw, "dish", 5);
	expect_text(t, 301, raw.p, (u32)raw.len, "bob: dish, -3 left");
	raw.len = 0;
	bytes_u32(&raw, 302);
	bytes_u32(&raw, 10);
	bytes_u32(&raw, 12);
	bytes_u32(&raw, 0);
	expect_text(t, 302, raw.p, (u32)raw.len, "part=12 whole=0x0");
	/* Cut short: what is missing is left out. */
	expect_text(t, 302, raw.p, 12, "part=12");
	assert_false(tracepoints_print(t, 303, raw.p, (u32)raw.len, &out));
	tracepoints_free(t);
	bytes_free(&raw);
	bytes_free(&b);
}

/* What it cannot be printed by, so that fields are: text by where it lies, in the whole or behind its own field. */
static const char loose_format[] =
	"name: loose\nID: 304\n" TRACING_COMMON "\tfield:__data_loc char[] what;\toffset:8;\tsize:4;\tsigned:0;\n"
	"\tfield:__rel_loc char[] who;\toffset:12;\tsize:4;\tsigned:0;\n"
	"\tfield:__data_loc u8[] bytes;\toffset:16;\tsize:4;\tsigned:0;\n"
	"\tfield:unsigned long where;\toffset:20;\tsize:8;\tsigned:0;\n"
	"\tfield:s16 small;\toffset:28;\tsize:2;\tsigned:1;\n"
	"\tfield:u16 count;\toffset:30;\tsize:2;\tsigned:0;\n\n"
	"print fmt: \"%d\", REC->count / REC->small\n";

static void expect_field(struct tracepoints *t, const char *name, const struct bytes *raw, const char *want)
{
	struct bytes out = { 0 };
	u32 field;

	assert_true(tracepoints_find_field(t, 304, name, &field));
	assert_int_equal(tracepoints_field_is_text(t, 304, field), !strcmp(name, "what") || !strcmp(name, "who"));
	assert_int_equal(tracepoints_print_field(t, 304, field, raw->p, (u32)raw->len, &out), want != NULL);
	bytes_u8(&out, 0);
	if (want)
		assert_string_equal((char *)out.p, want);
	bytes_free(&out);
}

static void prints_fields(void **state)
{
	const char *const formats[] = { loose_format };
	struct bytes b = tracing_data(formats, 1), raw = { 0 };
	struct tracepoints *t = tracepoints_new(b.p, b.len, no_symbol, NULL, NULL);
	u32 field;

	(void)state;
	bytes_u32(&raw, 304);
	bytes_u32(&raw, 10);
	bytes_u32(&raw, 32 | 5u << 16); /* dish */
	bytes_u32(&raw, 21 | 4u << 16); /* 16 + 21: bob */
	bytes_u32(&raw, 41 | 2u << 16);
	bytes_u64(&raw, 0xffff0000);
	bytes_put(&raw, "\xfe\xff\x07\x00", 4);
	bytes_put(&raw, "dish\0bob\0\x01\xab", 11);
	expect_text(t, 304, raw.p, (u32)raw.len, "what=dish who=bob bytes=01,ab where=0xffff0000 small=-2 count=0x7");
	expect_field(t, "what", &raw, "dish");
	expect_field(t, "who", &raw, "bob");
	expect_field(t, "bytes", &raw, "01,ab");
	expect_field(t, "where", &raw, "0xffff0000"); /* a long may be an address, */
	expect_field(t, "count", &raw, "7");	      /* others are numbers */
	expect_field(t, "small", &raw, "-2");
	assert_false(tracepoints_find_field(t, 304, "wha", &field));
	assert_false(tracepoints_find_field(t, 304, "whats", &field));
	assert_false(tracepoints_find_field(t, 305, "what", &field));
	/* What lies behind the end is not there. */
	raw.len--;
	expect_field(t, "bytes", &raw, NULL);
	expect_field(t, "who", &raw, "bob");
	raw.len = 29;
	expect_field(t, "small", &raw, NULL);
	expect_field(t, "where", &raw, "0xffff0000");
	raw.len = 15;
	expect_field(t, "who", &raw, NULL);
	tracepoints_free(t);
	bytes_free(&raw);
	bytes_free(&b);
}

static const char *one_symbol(void *ctx, u64 addr, u64 *start, const char **module)
{
	(void)ctx;
	(void)module;
	*start = 0x1000;
	return addr == 0x1010 ? "schedule" : NULL;
}

#define FIELD(type, offset, size) "\tfield:" type ";\toffset:" #offset ";\tsize:" #size ";\tsigned:0;\n"
#define RECORD_FIELDS                                                                                                 \
	FIELD("unsigned short common_type", 0, 2)                                                                     \
	FIELD("int a", 4, 4)                                                                                          \
	FIELD("unsigned long long b", 8, 8)                                                                           \
	FIELD("char name[8]", 16, 8)                                                                                  \
	FIELD("__data_loc char[] text", 24, 4)                                                                        \
	FIELD("__data_loc cpumask_t mask", 28, 4)                                                                     \
	FIELD("unsigned short list[4]", 32, 8)                                                                        \
	FIELD("__u8 ip4[4]", 40, 4)                                                                                   \
	FIELD("__u8 ip6[16]", 44, 16)                                                                                 \
	FIELD("void * where", 64, 8)                                                                                  \
	FIELD("const char * said", 72, 8)                                                                             \
	FIELD("__u8 in4[16]", 96, 16)                                                                                 \
	FIELD("__u8 in6[28]", 112, 28)

/* The record that the formats below are printed for. */
static void put_record(struct bytes *b)
{
	static const u16 list[4] = { 7, 8, 9, 65535 };
	static const u8 ip6[16] = { 0x20, 0x01, 0x0d, 0xb8, [15] = 1 };

	bytes_u32(b, 400);
	bytes_u32(b, (u32)-3);
	bytes_u64(b, 0x1234567890);
	bytes_put(b, "worker\0\0", 8);
	bytes_u32(b, 80 | 5u << 16);
	bytes_u32(b, 88 | 8u << 16);
	bytes_put(b, list, sizeof(list));
	bytes_put(b, "\xc0\0\2\1", 4);
	bytes_put(b, ip6, sizeof(ip6));
	bytes_u32(b, 0);
	bytes_u64(b, 0x1010);
	bytes_u64(b, 4);
	bytes_put(b, "dish\0\0\0\0", 8);
	bytes_u64(b, 0x10000e1);
	bytes_u16(b, AF_INET);
	bytes_put(b, "\0\x50\xc0\0\2\1\0\0\0\0\0\0\0\0", 14);
	bytes_u16(b, AF_INET6);
	bytes_put(b, "\x1f\x90\1\2\3\4", 6); /* behind the port, the flow */
	bytes_put(b, ip6, sizeof(ip6));
	bytes_u32(b, 7);
}

/* As libtraceevent prints them, but for what it cannot parse ('c', and choices between numbers). */
static const struct {
	const char *print, *want;
} carried[] = {
	{ "\"%d %u %x %#x %05d|%-6d|%6d\", REC->a, REC->a, REC->a, REC->list[0], REC->list[1], REC->list[1], "
	  "REC->list[1]",
	  "-3 4294967293 fffffffd 0x7 00008|8     |     8" },
	{ "\"%llx %lu %hd %hhu 100%% \\\"a\\tb\\\"\", REC->b, (unsigned long)REC->b, REC->list[3], "
	  "REC->list[3]",
	  "1234567890 78187493520 -1 255 100% \"a\tb\"" },
	{ "\"%s|%-8s|%8s|%.3s|%.*s\", REC->name, REC->name, __get_str(text), REC->name, 2, REC->name",
	  "worker|worker  |    dish|wor|wo" },
	{ "\"a\" \"b %d\", 2 + 3 * 4 - 1 - 1 << 1", "ab 24" },
	{ "\"%d %d %d %d\", 7 / 2 % 2, !REC->a, (~0) & 6 ^ 1 | 8, -REC->a", "1 0 15 3" },
	{ "\"%d %d %d\", 1 == 2 || 3 != 4 && 5 <= 5, 1 < 2, 3 >= 4", "1 1 0" },
	{ "\"%s %c\", REC->b > 5 ? \"large\" : \"small\", REC->a ? 'x' : '\\n'", "large x" },
	{ "\"%d %d %llu\", (u8)(REC->a), (REC)->a, (u64)(unsigned short)REC->a", "253 -3 65533" },
	{ "\"%s\", __print_flags(REC->list[0], \"|\", { 0x0001, \"A\" }, { (1UL << 1), \"B\" }, { 16, \"C\" "
	  "})",
	  "A|B|0x4" },
	{ "\"%s|%s\", __print_flags(0, \"|\", { 1, \"A\" }), __print_flags(REC->b - REC->b, \"\", { -1, "
	  "\"none\" })",
	  "|none" },
	{ "\"%s %s %s\", __print_symbolic(REC->list[1], { 7, \"seven\" }, { 8, \"eight\" }), "
	  "__print_symbolic(REC->list[2], { 1, \"one\" }, { -1, ((void *)0) }), "
	  "__print_symbolic(REC->list[2], { RCU_SOFTIRQ, \"RCU\" })",
	  "eight 0x9 RCU" },
	{ "\"%s %s\", __get_bitmask(mask), __get_cpumask(mask)", "00000000,010000e1 0,5-7,24" },
	{ "\"%pI4 %pI6 %pI6c\", REC->ip4, REC->ip6, REC->ip6",
	  "192.0.2.1 2001:0db8:0000:0000:0000:0000:0000:0001 2001:db8::1" },
	{ "\"%pISpc %pISpc\", REC->in4, REC->in6", "192.0.2.1:80 [2001:db8::1]:8080" },
	{ "\"%p %ps %pS %pF\", REC->where, REC->where, (void *)REC->where, REC->b",
	  "0x1010 schedule schedule+0x10 0x1234567890" },
	{ "\"%s\", REC->said", "text" },
	{ "\"%s\", (REC->flags & 1) ? \"a\" : \"b\"", NULL },
	{ "\"%d %d\", REC->a", NULL },
	{ "\"%pX\", REC->a", NULL },
	{ "\"%hhhd\", REC->a", NULL },
	{ "\"%1000d\", REC->a", NULL },
	{ "\"%s\", __get_str(name)", NULL },
	{ "\"%d\", REC->text[0]", NULL },
};

static void carries_formats_out(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(carried); i++) {
		char format[2048];
		const char *const formats[] = { format };
		struct bytes b = { 0 }, raw = { 0 }, out = { 0 };
		struct tracepoints *t;

		snprintf(format, sizeof(format), "name: x\nID: 400\nformat:\n" RECORD_FIELDS "\nprint fmt: %s\n",
			 carried[i].print);
		b = tracing_data(formats, 1);
		b.len -= 8; /* its strings of the kernel */
		bytes_u32(&b, 10);
		bytes_str(&b, "4 : \"text\"");
		t = tracepoints_new(b.p, b.len, one_symbol, NULL, NULL);
		put_record(&raw);
		assert_true(tracepoints_print(t, 400, raw.p, (u32)raw.len, &out));
		bytes_u8(&out, 0);
		if (carried[i].want)
			assert_string_equal((char *)out.p, carried[i].want);
		else
			assert_memory_equal(out.p, "a=0xfffffffd b=", 15);
		/* Cut anywhere, of just that length; what lies behind it is not read. */
		for (u32 n = 0; n < raw.len; n++) {
			u8 *exact = malloc(n ? n : 1);
			struct bytes same = { 0 };

			memcpy(exact, raw.p, n);
			out.len = 0;
			tracepoints_print(t, 400, exact, n, &out);
			free(exact);
			tracepoints_print(t, 400, raw.p, n, &same);
			assert_int_equal(out.len, same.len);
			assert_memory_equal(out.p ? out.p : (u8 *)"", same.p ? same.p : (u8 *)"", out.len);
			bytes_free(&same);
		}
		tracepoints_free(t);
		bytes_free(&out);
		bytes_free(&raw);
		bytes_free(&b);
	}
}

/* Trees are walked by recursion: what nests or goes on without end is printed field by field. */
static void deep_formats_are_not_carried_out(void **state)
{
	static const char *const parts[] = { "!", "-", "(int)", "1+", "1?2:" };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(parts); i++) {
		struct bytes format = { 0 }, b, out = { 0 };
		const char *formats[1];
		struct tracepoints *t;
		u8 raw[96] = { 0 };

		bytes_str(&format, "name: x\nID: 400\nformat:\n" RECORD_FIELDS "\nprint fmt: \"%d\", ");
		for (u32 k = 0; k < 100000; k++)
			bytes_str(&format, parts[i]);
		bytes_put(&format, "1\n", 3);
		formats[0] = (char *)format.p;
		b = tracing_data(formats, 1);
		t = tracepoints_new(b.p, b.len, one_symbol, NULL, NULL);
		assert_true(tracepoints_print(t, 400, raw, sizeof(raw), &out));
		assert_memory_equal(out.p, "a=0x0 b=", 8);
		tracepoints_free(t);
		bytes_free(&out);
		bytes_free(&b);
		bytes_free(&format);
	}
}

/* Offsets and lengths in the raw data may point anywhere. */
static void hostile_offsets_do_no_harm(void **state)
{
	const char *const formats[] = { work_format };
	struct bytes b = tracing_data(formats, 1);
	struct tracepoints *t = tracepoints_new(b.p, b.len, no_symbol, NULL, NULL);

	(void)state;
	for (u32 loc = 0; loc < 64; loc++) {
		u32 raw[7] = { 301, 10, 0, 0, loc * 0x04100410u, 1, 2 };
		struct bytes out = { 0 };
		u8 *exact = malloc(sizeof(raw));

		memcpy(exact, raw, sizeof(raw));
		for (u32 size = 4; size <= sizeof(raw); size++)
			tracepoints_print(t, 301, exact, size, &out);
		free(exact);
		bytes_free(&out);
	}
	tracepoints_free(t);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(knows_what_is_tame),
		cmocka_unit_test(many_brackets_are_tame),
		cmocka_unit_test(decodes_fields),
		cmocka_unit_test(refuses_what_makes_no_sense),
		cmocka_unit_test(decodes_the_section_cut_anywhere),
		cmocka_unit_test(prints_samples),
		cmocka_unit_test(prints_fields),
		cmocka_unit_test(carries_formats_out),
		cmocka_unit_test(deep_formats_are_not_carried_out),
		cmocka_unit_test(hostile_offsets_do_no_harm),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
