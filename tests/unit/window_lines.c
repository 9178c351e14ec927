/* SPDX-License-Identifier: Apache-2.0 */
/* Windows of some lines of a source file, and what is told of the file when none lies in them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/window_hits.h"

/* --- symbols and lines, instead of a file's: the line of an address is its number; from 1000 on nothing is known */

static const char *source_path = "/src/dir/a.c";

u32 dsos_source_at(struct dsos *d, u32 dso, u64 addr, struct source_frame *out, u32 max)
{
	(void)d, (void)dso;
	assert_true(max >= 1);
	out[0] = (struct source_frame){ .file = addr % 100 == 99 ? NULL : source_path, .line = (u32)addr };
	return addr < 1000;
}

const struct dso *dsos_at(const struct dsos *d, u32 id)
{
	static const struct dso files[] = { { .path = (char *)"/usr/bin/app", .short_name = (char *)"app" },
					    { .path = (char *)"/usr/lib/lib", .short_name = (char *)"lib" } };

	(void)d;
	return &files[id];
}

bool dsos_unnamed_function(struct dsos *d, u32 dso, u64 addr, u64 *start)
{
	(void)d, (void)dso, (void)addr, (void)start;
	return false;
}

struct fixture {
	struct frames *frames;
	struct windows w;
	struct window_hits *hits;
	struct window_sums sums;
	u32 turn;
};

static void begin(struct fixture *x, const struct code_range *range)
{
	*x = (struct fixture){ .frames = frames_new() };
	vec_push(&x->w.groups, (struct window_group){ .nr = 1 });
	x->hits = window_hits_new(&(struct window_setup){ .attribution = ATTRIBUTION_KEEP, .range = *range },
				  x->frames, NULL, &x->w);
}

static void drop(struct fixture *x)
{
	window_hits_free(x->hits);
	window_sums_free(&x->sums);
	windows_free(&x->w);
	frames_free(x->frames);
}

static void sample(struct fixture *x, u32 dso, u64 addr)
{
	u32 frame = frames_intern(x->frames, &(struct frame){ .dso = dso, .sym = 1, .addr = addr, .level = '.' });
	struct window w = { .turn = x->turn, .is_short = x->turn > 0, .length = 10, .counts = { 10 } };

	w.fault = x->turn++ ? WINDOW_SOUND : WINDOW_FIRST;
	window_hits_add(x->hits, &w, &(struct hit_place){ 1, frame, 7, addr }, &x->sums);
}

/* The windows that are kept where a thread goes from one of these lines to the next. */
static double kept(struct fixture *x, const u64 *lines, u32 n)
{
	for (u32 i = 0; i < n; i++)
		sample(x, 0, lines[i]);
	window_hits_flush(x->hits);
	return window_sums_at(&x->sums, 7)[WINDOWS_KEPT];
}

static void test_lines(void **state)
{
	static const u64 lines[] = { 10, 11, 20, 20, 21, 11, 11, 1500, 11, 199, 11, 12, 0, 11 };
	static const struct {
		const char *file;
		u32 first, last;
		double kept;
		bool inside, of_file;
	} rows[] = {
		{ "a.c", 1, 999, 7, true, true }, /* 10 11 20 20 21 11 11, and 11 12 */
		{ "dir/a.c", 11, 20, 4, true, true }, { "/src/dir/a.c", 10, 11, 2, true, true },
		{ "a.c", 20, 20, 1, true, true },     { "a.c", 21, 21, 0, true, true },
		{ "a.c", 22, 998, 0, false, true },   { "b.c", 1, 998, 0, false, false },
		{ ".c", 1, 998, 0, false, false },    { "other/src/dir/a.c", 1, 998, 0, false, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct code_range range = { .file = rows[i].file,
						  .first_line = rows[i].first,
						  .last_line = rows[i].last };
		struct code_seen seen;
		struct fixture x;

		begin(&x, &range);
		assert_int_equal((u32)kept(&x, lines, ARRAY_LEN(lines)), (u32)rows[i].kept);
		seen = window_hits_seen(x.hits);
		assert_true(seen.inside == rows[i].inside && seen.file == rows[i].of_file);
		assert_int_equal(seen.first_line, rows[i].of_file ? 10 : 0);
		assert_int_equal(seen.last_line, rows[i].of_file ? 21 : 0);
		drop(&x);
	}
}

/* Addresses are of an object, which is seen though nothing of it lies in them; with lines, both have to hold. */
static void test_addresses(void **state)
{
	static const struct {
		struct code_range range;
		u32 dso;
		bool inside, file;
	} rows[] = {
		{ { .start = 10, .end = 20, .object = "app" }, 0, true, true },
		{ { .start = 10, .end = 20, .object = "app" }, 1, false, false },
		{ { .start = 10, .end = 20 }, 1, true, true },
		{ { .start = 11, .end = 20, .object = "bin/app" }, 0, false, true },
		{ { .start = 1, .end = 10, .object = "app" }, 0, false, true },
		{ { .start = 1, .end = 11, .object = "app" }, 0, true, true },
		{ { .start = 10, .end = 20, .file = "a.c", .first_line = 10, .last_line = 10 }, 0, true, true },
		{ { .start = 10, .end = 20, .file = "b.c", .first_line = 10, .last_line = 10 }, 0, false, false },
		{ { .start = 11, .end = 20, .file = "a.c", .first_line = 10, .last_line = 10 }, 0, false, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct code_seen seen;
		struct fixture x;

		begin(&x, &rows[i].range);
		for (u32 k = 0; k < 3; k++)
			sample(&x, rows[i].dso, 10);
		window_hits_flush(x.hits);
		seen = window_hits_seen(x.hits);
		assert_int_equal((u32)window_sums_at(&x.sums, 7)[WINDOWS_KEPT], rows[i].inside ? 2 : 0);
		assert_int_equal((u32)window_sums_at(&x.sums, 7)[WINDOWS_OUTSIDE], rows[i].inside ? 0 : 2);
		assert_true(seen.inside == rows[i].inside && seen.file == rows[i].file);
		drop(&x);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_addresses),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
