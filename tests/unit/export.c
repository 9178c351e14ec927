/* SPDX-License-Identifier: Apache-2.0 */
/* Folded stacks to the letter, and what has to be in a flame graph. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "synthetic.h"
#include "view/export/flamegraph.h"
#include "view/export/stacks.h"

static const char *const one_event[] = { "cycles", NULL };
static const u8 by_comm[] = { SORT_COMM };

static const struct synthetic_stack work[] = {
	{ 0, "zsh", "w`main|w`b", 1000, 4 },
	{ 0, "make", "w`main|w`b|[k]`read", 2000, 5 },
	{ 0, "make", "w`main|w`a", 5000, 1 },
	{ 0, "make", "w`main", 2000, 2 },
};

static char *folded(const struct synthetic_stack *stacks, u32 n, const struct folded_opts *o)
{
	struct synthetic s;
	struct bytes out = { 0 };

	synthetic_make(&s, one_event, stacks, n, false, by_comm, 1);
	view_folded(s.profile, &s.profile->events.v[0], o, &out);
	bytes_char(&out, 0);
	synthetic_free(&s);
	return (char *)out.p;
}

static char *picture(const struct synthetic_stack *stacks, u32 n, const struct flamegraph_opts *o)
{
	struct synthetic s;
	struct bytes out = { 0 };

	synthetic_make(&s, one_event, stacks, n, false, by_comm, 1);
	view_flamegraph(s.profile, &s.profile->events.v[0], o, &out);
	bytes_char(&out, 0);
	synthetic_free(&s);
	return (char *)out.p;
}

static void test_folded(void **state)
{
	char *out = folded(work, ARRAY_LEN(work), &(struct folded_opts){ 0 });

	(void)state;
	assert_string_equal(out, "make;main 2000\n"
				 "make;main;a 5000\n"
				 "make;main;b;read 2000\n"
				 "zsh;main;b 1000\n");
	free(out);
	out = folded(work, ARRAY_LEN(work), &(struct folded_opts){ .samples = true, .mark_kernel = true });
	assert_string_equal(out, "make;main 2\n"
				 "make;main;a 1\n"
				 "make;main;b;read_[k] 5\n"
				 "zsh;main;b 4\n");
	free(out);
}

static void test_folded_hostile(void **state)
{
	static const struct synthetic_stack stacks[] = { { 0, "a;b\n", "w`x;\x1b[0m|w`+10", 1, 1 } };
	char *out = folded(stacks, 1, &(struct folded_opts){ 0 });

	(void)state;
	assert_string_equal(out, "a:b?;x:?[0m;[w+0x10] 1\n");
	free(out);
}

static void expect(const char *in, const char *what)
{
	if (!strstr(in, what))
		fail_msg("not in the picture: %s", what);
}

static u32 count(const char *in, const char *what)
{
	u32 n = 0;

	for (; (in = strstr(in, what)); in += strlen(what))
		n++;
	return n;
}

/* 1000 pixels of 10000 units between the margins: places and widths are the weights over ten. */
static void test_picture(void **state)
{
	struct flamegraph_opts o = { .width = 1020, .min_width = 0.1 };
	char *out = picture(work, ARRAY_LEN(work), &o);

	(void)state;
	expect(out,
	       "<title>all (12 samples, 10000 in all, 100.00%)</title><rect x=\"10.00\" y=\"120\" width=\"1000.00\"");
	expect(out,
	       "<title>make (8 samples, 9000 in all, 90.00%)</title><rect x=\"10.00\" y=\"104\" width=\"900.00\"");
	expect(out,
	       "<title>zsh (4 samples, 1000 in all, 10.00%)</title><rect x=\"910.00\" y=\"104\" width=\"100.00\"");
	expect(out, "<title>a (1 samples, 5000 in all, 50.00%)</title><rect x=\"10.00\" y=\"72\" width=\"500.00\"");
	expect(out,
	       "<title>read (5 samples, 2000 in all, 20.00%)</title><rect x=\"510.00\" y=\"56\" width=\"200.00\"");
	expect(out, "Flame graph of cycles</text>");
	assert_int_equal(count(out, "<g class=\"f\">"), 9);
	free(out);
	o.icicle = true;
	out = picture(work, ARRAY_LEN(work), &o);
	expect(out, "<title>all (12 samples, 10000 in all, 100.00%)</title><rect x=\"10.00\" y=\"56\"");
	free(out);
}

/* Too narrow to be seen: left out with all above; siblings stay where they are. */
static void test_picture_narrow(void **state)
{
	struct flamegraph_opts o = { .width = 1020, .min_width = 150, .samples = true };
	char *out = picture(work, ARRAY_LEN(work), &o);

	(void)state;
	expect(out, "<title>zsh (4 samples, 33.33%)</title><rect x=\"676.67\"");
	assert_int_equal(count(out, "<title>a ("), 0);
	assert_int_equal(count(out, "<title>b ("), 2);
	free(out);
}

static void test_picture_hostile(void **state)
{
	static const struct synthetic_stack stacks[] = {
		{ 0, "</svg>", "w`<script>alert('1')</script>\x02\xff|w`]]>", 1, 1 },
	};
	struct flamegraph_opts o = FLAMEGRAPH_DEFAULTS;
	char *out;

	(void)state;
	o.title = "<b>\xef\xbf\xbf";
	out = picture(stacks, 1, &o);
	assert_int_equal(count(out, "<script>"), 1);
	assert_int_equal(count(out, "</svg>"), 1);
	assert_int_equal(count(out, "]]>"), 1);
	assert_int_equal(count(out, "<b>"), 0);
	assert_int_equal(count(out, "\xff"), 0);
	assert_int_equal(count(out, "\xef\xbf\xbf"), 0);
	free(out);
}

/* Names are cut between characters, never inside one. */
static void test_labels(void **state)
{
	static const struct synthetic_stack stacks[] = {
		{ 0, "w", "w`\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xe2\x82\xac", 1, 1 }, { 0, "w", "w`z", 4, 4 }
	};
	struct flamegraph_opts o = { .width = 200, .min_width = 0.1 };
	char *out = picture(stacks, 2, &o); /* 36 pixels: four characters of the five */

	(void)state;
	expect(out, ">\xc3\xa4\xc3\xb6..</text>");
	free(out);
	o.width = 240; /* 44 pixels: all five */
	out = picture(stacks, 2, &o);
	expect(out, ">\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xe2\x82\xac</text>");
	free(out);
}

static void test_palettes(void **state)
{
	struct flamegraph_opts o = FLAMEGRAPH_DEFAULTS;
	char *hot = picture(work, ARRAY_LEN(work), &o), *gray;

	(void)state;
	assert_int_equal(flamegraph_palette("none such"), ID_NONE);
	o.palette = flamegraph_palette("gray");
	gray = picture(work, ARRAY_LEN(work), &o);
	assert_int_equal(strlen(hot), strlen(gray));
	assert_string_not_equal(hot, gray);
	free(hot);
	free(gray);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_folded),		cmocka_unit_test(test_folded_hostile),
		cmocka_unit_test(test_picture),		cmocka_unit_test(test_picture_narrow),
		cmocka_unit_test(test_picture_hostile), cmocka_unit_test(test_labels),
		cmocka_unit_test(test_palettes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
