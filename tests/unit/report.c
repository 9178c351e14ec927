/* SPDX-License-Identifier: Apache-2.0 */
/* What report prints of profiles made by hand, to the letter. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "synthetic.h"
#include "view/report.h"

typedef void render_fn(const struct profile *p, const struct report_opts *o, struct bytes *out);

static const char *const one_event[] = { "cycles", NULL };

/* Three ways into hot, and work of main's own. */
static const struct synthetic_stack work[] = {
	{ 0, "w", "w`main|w`a|w`hot", 6000, 60 },
	{ 0, "w", "w`main|w`b|w`hot", 3000, 30 },
	{ 0, "w", "w`main|[k]`sys_read|[k]`copy", 700, 7 },
	{ 0, "w", "w`main", 300, 3 },
};

static void check(struct synthetic *s, struct report_opts *o, render_fn *render, const char *expected)
{
	struct bytes out = { 0 };

	if (!o->nr_columns)
		report_default_columns(s->profile, false, false, o);
	render(s->profile, o, &out);
	bytes_char(&out, 0);
	assert_string_equal((const char *)out.p, expected);
	bytes_free(&out);
	synthetic_free(s);
}

static void make_work(struct synthetic *s, bool children)
{
	synthetic_make(s, one_event, work, ARRAY_LEN(work), children, NULL, 0);
}

static void test_flat(void **state)
{
	struct synthetic s;

	(void)state;
	make_work(&s, false);
	check(&s, &(struct report_opts){ 0 }, report_text,
	      "# Total Lost Samples: 0\n"
	      "# Recording: 100 samples, 0 lost, 0 throttled; 0.0% unresolved\n"
	      "# Stacks: 100, 100.0% whole\n"
	      "# Samples: 100  of event 'cycles'\n"
	      "# Event count (approx.): 10000\n"
	      "#\n"
	      "# Overhead  Command  Shared Object  Symbol  \n"
	      "# ........  .......  .............  ........\n"
	      "#\n"
	      "    90.00%  w        w              [.] hot\n"
	      "     7.00%  w        [k]            [k] copy\n"
	      "     3.00%  w        w              [.] main\n");
}

static void test_callees(void **state)
{
	struct synthetic s;

	(void)state;
	make_work(&s, false);
	check(&s, &(struct report_opts){ .graph = GRAPH_GRAPH, .graph_min = 0.5, .quiet = true }, report_text,
	      "    90.00%  w        w              [.] hot\n"
	      "            |\n"
	      "            ---hot\n"
	      "               |          \n"
	      "               |--60.00%--a\n"
	      "               |          main\n"
	      "               |          \n"
	      "                --30.00%--b\n"
	      "                          main\n"
	      "\n"
	      "     7.00%  w        [k]            [k] copy\n"
	      "            |\n"
	      "            ---copy\n"
	      "               sys_read\n"
	      "               main\n"
	      "\n"
	      "     3.00%  w        w              [.] main\n"
	      "            |\n"
	      "            ---main\n"
	      "\n");
}

static void test_callers(void **state)
{
	struct report_opts o = { .graph = GRAPH_GRAPH, .graph_min = 8, .caller = true, .quiet = true };
	struct synthetic s;

	(void)state;
	o.percent_limit = 50;
	make_work(&s, true);
	check(&s, &o, report_text,
	      "   100.00%     3.00%  w        w              [.] main\n"
	      "            |\n"
	      "            ---main\n"
	      "               |          \n"
	      "               |--60.00%--a\n"
	      "               |          hot\n"
	      "               |          \n"
	      "                --30.00%--b\n"
	      "                          hot\n"
	      "\n"
	      "    90.00%    90.00%  w        w              [.] hot\n"
	      "            |\n"
	      "            ---main\n"
	      "               |          \n"
	      "               |--60.00%--a\n"
	      "               |          hot\n"
	      "               |          \n"
	      "                --30.00%--b\n"
	      "                          hot\n"
	      "\n"
	      "    60.00%     0.00%  w        w              [.] a\n"
	      "            |\n"
	      "            ---a\n"
	      "               hot\n"
	      "\n");
}

/* Shares of the branch above, and what was left out as a branch of its own. */
static void test_fractal(void **state)
{
	struct report_opts o = { .graph = GRAPH_FRACTAL, .graph_min = 40, .quiet = true, .percent_limit = 50 };
	struct synthetic s;

	(void)state;
	make_work(&s, false);
	check(&s, &o, report_text,
	      "    90.00%  w        w              [.] hot\n"
	      "            |\n"
	      "            ---hot\n"
	      "               |          \n"
	      "               |--66.67%--a\n"
	      "               |          main\n"
	      "                --33.33%--[...]\n"
	      "\n");
}

static void test_stack_lists(void **state)
{
	struct report_opts flat = { .graph = GRAPH_FLAT, .graph_min = 0.5, .quiet = true, .percent_limit = 50 };
	struct report_opts folded = { .graph = GRAPH_FOLDED, .graph_min = 0.5, .quiet = true, .graph_limit = 1 };
	struct synthetic s;

	(void)state;
	make_work(&s, false);
	check(&s, &flat, report_text,
	      "    90.00%  w        w              [.] hot\n"
	      "           60.00%\n"
	      "                hot\n"
	      "                a\n"
	      "                main\n"
	      "\n"
	      "           30.00%\n"
	      "                hot\n"
	      "                b\n"
	      "                main\n"
	      "\n");
	make_work(&s, false);
	check(&s, &folded, report_text,
	      "    90.00%  w        w              [.] hot\n"
	      "60.00% hot;a;main\n"
	      "     7.00%  w        [k]            [k] copy\n"
	      "7.00% copy;sys_read;main\n"
	      "     3.00%  w        w              [.] main\n"
	      "3.00% main\n");
}

/* Rows that begin with the symbol: the graph does not say it again. */
static void test_symbol_first(void **state)
{
	static const u8 sort[] = { SORT_SYMBOL };
	struct report_opts o = { .graph = GRAPH_GRAPH, .graph_min = 0.5, .quiet = true, .percent_limit = 50 };
	struct synthetic s;

	(void)state;
	synthetic_make(&s, one_event, work, ARRAY_LEN(work), false, sort, 1);
	check(&s, &o, report_text,
	      "    90.00%  [.] hot\n"
	      "            |          \n"
	      "            |--60.00%--a\n"
	      "            |          main\n"
	      "            |          \n"
	      "             --30.00%--b\n"
	      "                       main\n"
	      "\n");
}

static void test_columns(void **state)
{
	struct report_opts o = { .quiet = true, .percent_limit = 50, .widths = { 0, 0, 0, 4, 0 } };
	struct report_opts parted = { .separator = 'o' };
	struct synthetic s;

	(void)state;
	make_work(&s, false);
	report_default_columns(s.profile, true, true, &o);
	check(&s, &o, report_text, "    90.00%            90          9000  w     w              [.] hot\n");
	make_work(&s, false);
	parted.quiet = true;
	check(&s, &parted, report_text, "90.00%owowo[.] h.t\n7.00%owo[k]o[k] c.py\n3.00%owowo[.] main\n");
}

static void test_color(void **state)
{
	static const struct synthetic_stack stacks[] = {
		{ 0, "w", "w`a", 950, 1 },
		{ 0, "w", "w`b", 49, 1 },
		{ 0, "w", "w`c", 1, 1 },
	};
	struct synthetic s;

	(void)state;
	synthetic_make(&s, one_event, stacks, ARRAY_LEN(stacks), false, NULL, 0);
	check(&s, &(struct report_opts){ .quiet = true, .color = true }, report_text,
	      "  \033[31m  95.00%\033[m  w        w              [.] a\n"
	      "  \033[32m   4.90%\033[m  w        w              [.] b\n"
	      "     0.10%  w        w              [.] c\n");
}

/* Named frames go by their names, others behind them by address, then by DSO; each pair has one order. */
static void test_order_of_frames(void **state)
{
	static const struct synthetic_stack stacks[] = {
		{ 0, "w", "x`a", 9, 1 },   { 0, "w", "y`a", 8, 1 },   { 0, "w", "x`b", 7, 1 },
		{ 0, "w", "x`+10", 6, 1 }, { 0, "w", "y`+10", 5, 1 }, { 0, "w", "x`+20", 4, 1 },
	};
	struct synthetic s;
	u32 frames[ARRAY_LEN(stacks)];

	(void)state;
	synthetic_make(&s, one_event, stacks, ARRAY_LEN(stacks), false, NULL, 0);
	for (u32 i = 0; i < ARRAY_LEN(stacks); i++)
		frames[i] = s.profile->events.v[0].rows.v[i].frame;
	for (u32 a = 0; a < ARRAY_LEN(stacks); a++)
		for (u32 b = 0; b < ARRAY_LEN(stacks); b++) {
			int order = profile_compare_frames(s.profile, frames[a], frames[b]);

			assert_int_equal(order < 0, a < b);
			assert_int_equal(order > 0, a > b);
		}
	synthetic_free(&s);
}

/* A name that is made up of a DSO's fits into the room that there is, with its offset. */
static void test_long_names(void **state)
{
	static const struct synthetic_stack stacks[] = {
		{ 0, "w", "a-library-with-a-long-name.so`+401000", 1, 1 },
	};
	struct synthetic s;
	char name[40];

	(void)state;
	synthetic_make(&s, one_event, stacks, 1, false, NULL, 0);
	memset(name, 'x', sizeof(name));
	profile_frame_name(s.profile, s.profile->events.v[0].rows.v[0].frame, name, 39);
	assert_string_equal(name, "[a-library-with-a-long-name.+0x401000]");
	assert_int_equal(name[39], 'x');
	profile_frame_name(s.profile, s.profile->events.v[0].rows.v[0].frame, name, 40);
	assert_string_equal(name, "[a-library-with-a-long-name.s+0x401000]");
	profile_frame_name(s.profile, s.profile->events.v[0].rows.v[0].frame, name, 12);
	assert_string_equal(name, "[+0x401000]");
	synthetic_free(&s);
}

static void test_hostile_names(void **state)
{
	static const struct synthetic_stack stacks[] = {
		{ 0, "a\033[2J\n\"b", "x,y`<&>\x01\xff;|x,y`+dead", 5, 1 },
	};
	static const u8 sort[] = { SORT_COMM, SORT_DSO, SORT_SYMBOL };
	struct report_opts o = { .graph = GRAPH_FOLDED, .quiet = true };
	struct synthetic s;

	(void)state;
	synthetic_make(&s, one_event, stacks, 1, false, sort, 3);
	check(&s, &o, report_text,
	      "   100.00%  a?[2J?\"b  x,y            [.] [x,y+0xdead]\n"
	      "100.00% [x,y+0xdead];<&>??;\n");
	synthetic_make(&s, one_event, stacks, 1, true, sort, 3);
	check(&s, &(struct report_opts){ 0 }, report_csv,
	      "event,whole,total,total_percent,self,self_percent,comm,dso,symbol\n"
	      "cycles,5,5,100.0000,5,100.0000,\"a?[2J?\"\"b\",\"x,y\",\"[x,y+0xdead]\"\n"
	      "cycles,5,5,100.0000,0,0.0000,\"a?[2J?\"\"b\",\"x,y\",<&>?\xef\xbf\xbd;\n");
}

static void test_csv(void **state)
{
	struct synthetic s;

	(void)state;
	make_work(&s, true);
	check(&s, &(struct report_opts){ .percent_limit = 60 }, report_csv,
	      "event,whole,total,total_percent,self,self_percent,comm,dso,symbol\n"
	      "cycles,10000,10000,100.0000,300,3.0000,w,w,main\n"
	      "cycles,10000,9000,90.0000,9000,90.0000,w,w,hot\n"
	      "cycles,10000,6000,60.0000,0,0.0000,w,w,a\n");
}

static void test_json(void **state)
{
	struct report_opts o = { .graph = GRAPH_GRAPH, .percent_limit = 50 };
	struct synthetic s;

	(void)state;
	make_work(&s, false);
	s.profile->tally.lost = 2;
	check(&s, &o, report_json,
	      "{\"meta\":{\"generator\":\"reticle " RETICLE_VERSION "\",\"sort\":[\"comm\",\"dso\",\"symbol\"],"
	      "\"children\":false,\"call_graph\":true,\"caller\":false,\"percent_limit\":50,\"time_slice_ns\":0,"
	      "\"simulated\":null},\n"
	      "\"tally\":{\"samples\":100,\"filtered\":0,\"lost\":2,\"lost_samples\":0,\"throttled\":0,"
	      "\"undecodable\":0,\"broken_records\":0,\"unknown_records\":0,\"frames\":294,\"unresolved_frames\":0,"
	      "\"user_stacks\":100,\"broken_stacks\":0,\"first_time_ns\":0,\"last_time_ns\":0,\"aux_lost\":0,"
	      "\"aux_truncated\":0,\"aux_collisions\":0,\"aux_operations\":0,\"aux_broken\":0,"
	      "\"aux_bad_bytes\":0,\"aux_unknown_packets\":0,\"aux_left_out_bytes\":0,\"left_out_bytes\":0,\"stacks\":"
	      "{\"stacks\":100,\"frames\":0,\"frames_by_frame_pointers\":0,\"whole\":100,\"too_little_copied\":0,"
	      "\"nothing_copied\":0,\"no_information\":0,\"unmapped\":0,\"no_memory\":0,\"too_deep\":0,\"not_64_bit\":"
	      "0,"
	      "\"no_frame_pointer\":0,\"branch_records\":0,\"cut\":[]}},\n"
	      "\"events\":[{\"name\":\"cycles\",\"weight\":10000,\"whole\":10000,\"samples\":100,\"rows\":[\n"
	      "{\"self\":9000,\"comm\":\"w\",\"dso\":\"w\",\"symbol\":\"hot\",\"graph\":[{\"frame\":\"hot\",\"self\":"
	      "0,"
	      "\"total\":9000,\"kids\":[{\"frame\":\"a\",\"self\":0,\"total\":6000,\"kids\":[{\"frame\":\"main\","
	      "\"self\":6000,\"total\":6000}]},{\"frame\":\"b\",\"self\":0,\"total\":3000,\"kids\":[{\"frame\":"
	      "\"main\",\"self\":3000,\"total\":3000}]}]}]}\n"
	      "]}]}\n");
}

/* What the virtual PMU counted is marked in every form. */
static void test_simulated(void **state)
{
	static const struct synthetic_stack stacks[] = { { 0, "w", "w`main|w`a", 2, 1 } };
	struct report_opts o = { .columns = { COLUMN_OVERHEAD, COLUMN_SYMBOL }, .nr_columns = 2 };
	struct str core = { "generic-x86,1", 11 };
	struct bytes out = { 0 };
	struct synthetic s;

	(void)state;
	synthetic_make(&s, one_event, stacks, 1, false, NULL, 0);
	s.profile->simulated = core;
	check(&s, &o, report_text,
	      "# Source: simulated (generic-x86)\n"
	      "# Total Lost Samples: 0\n"
	      "# Recording: 1 samples, 0 lost, 0 throttled; 0.0% unresolved\n"
	      "# Stacks: 1, 100.0% whole\n"
	      "# Samples: 1  of event 'cycles'\n"
	      "# Event count (approx.): 2\n"
	      "#\n"
	      "# Overhead  Symbol\n"
	      "# ........  ......\n"
	      "#\n"
	      "   100.00%  [.] a\n");
	synthetic_make(&s, one_event, stacks, 1, false, NULL, 0);
	s.profile->simulated = core;
	check(&s, &o, report_csv,
	      "event,whole,self,self_percent,symbol,simulated\n"
	      "cycles,2,2,100.0000,a,generic-x86\n");
	synthetic_make(&s, one_event, stacks, 1, false, NULL, 0);
	s.profile->simulated = core;
	report_json(s.profile, &o, &out);
	bytes_char(&out, 0);
	assert_non_null(strstr((const char *)out.p, ",\"simulated\":\"generic-x86\"},"));
	bytes_free(&out);
	synthetic_free(&s);
}

/* An event without samples has no table; the others keep their order. */
static void test_several_events(void **state)
{
	static const char *const events[] = { "cycles", "faults", "switches", NULL };
	static const struct synthetic_stack stacks[] = {
		{ 2, "w", "w`b", 1, 1 },
		{ 0, "w", "w`a", 3000, 2000 },
	};
	struct report_opts o = { .widths = { 0 } };
	struct synthetic s;

	(void)state;
	synthetic_make(&s, events, stacks, 2, false, NULL, 0);
	s.profile->tally = (struct tally){ .samples = 2001,
					   .lost = 4,
					   .lost_samples = 3,
					   .throttled = 1,
					   .filtered = 9,
					   .undecodable = 8,
					   .frames = 3,
					   .unresolved = 1 };
	check(&s, &o, report_text,
	      "# Total Lost Samples: 3\n"
	      "# Recording: 2001 samples, 7 lost, 1 throttled, 9 left out by filters, 8 undecodable; 33.3% "
	      "unresolved\n"
	      "# Samples: 2K of event 'cycles'\n"
	      "# Event count (approx.): 3000\n"
	      "#\n"
	      "# Overhead  Command  Shared Object  Symbol\n"
	      "# ........  .......  .............  ......\n"
	      "#\n"
	      "   100.00%  w        w              [.] a\n"
	      "\n\n"
	      "# Samples: 1  of event 'switches'\n"
	      "# Event count (approx.): 1\n"
	      "#\n"
	      "# Overhead  Command  Shared Object  Symbol\n"
	      "# ........  .......  .............  ......\n"
	      "#\n"
	      "   100.00%  w        w              [.] b\n");
}

static void test_no_samples(void **state)
{
	struct synthetic s;

	(void)state;
	synthetic_make(&s, one_event, NULL, 0, true, NULL, 0);
	check(&s, &(struct report_opts){ 0 }, report_text,
	      "# Total Lost Samples: 0\n"
	      "# Recording: 0 samples, 0 lost, 0 throttled; 0.0% unresolved\n"
	      "# No samples.\n");
	synthetic_make(&s, one_event, NULL, 0, false, NULL, 0);
	check(&s, &(struct report_opts){ 0 }, report_csv, "event,whole,self,self_percent,comm,dso,symbol\n");
}

/* Samples whose periods are 0 (counters that never ran) must not divide by it. */
static void test_no_weight(void **state)
{
	static const struct synthetic_stack stacks[] = { { 0, "w", "w`a|w`b", 0, 4 } };
	struct report_opts o = { .quiet = true, .graph = GRAPH_FRACTAL };
	struct synthetic s;

	(void)state;
	synthetic_make(&s, one_event, stacks, 1, false, NULL, 0);
	check(&s, &o, report_text, "     0.00%  w        w              [.] b\n");
}

static void test_names_of_columns(void **state)
{
	(void)state;
	assert_int_equal(column_find("sym", 3), COLUMN_SYMBOL);
	assert_int_equal(column_find("symbol", 6), COLUMN_SYMBOL);
	assert_int_equal(column_find("overhead", 8), COLUMN_OVERHEAD);
	assert_int_equal(column_find("over", 4), ID_NONE);
	for (u32 key = 0; key < SORT_FIELD; key++) {
		u32 column = column_of_key(key);

		assert_true(column_is_key(column));
		assert_int_equal(column_key(column), key);
		assert_int_equal(column_find(column_get(column)->name, strlen(column_get(column)->name)), column);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_callees),
		cmocka_unit_test(test_callers),
		cmocka_unit_test(test_fractal),
		cmocka_unit_test(test_stack_lists),
		cmocka_unit_test(test_symbol_first),
		cmocka_unit_test(test_columns),
		cmocka_unit_test(test_color),
		cmocka_unit_test(test_hostile_names),
		cmocka_unit_test(test_long_names),
		cmocka_unit_test(test_order_of_frames),
		cmocka_unit_test(test_csv),
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_simulated),
		cmocka_unit_test(test_several_events),
		cmocka_unit_test(test_no_samples),
		cmocka_unit_test(test_no_weight),
		cmocka_unit_test(test_names_of_columns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
