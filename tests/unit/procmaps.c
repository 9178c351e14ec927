/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of /proc/PID/maps, whole and cut. */
#include "codec/procmaps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>
#include <sys/mman.h>

#include <cmocka.h>

static void test_lines(void **state)
{
	static const struct {
		const char *line;
		struct maps_line want;
	} rows[] = {
		{ "55d0c0a00000-55d0c0a21000 r-xp 00002000 fe:01 1443008                    /usr/bin/a b (deleted)",
		  { 0x55d0c0a00000,
		    0x55d0c0a21000,
		    0x2000,
		    1443008,
		    PROT_READ | PROT_EXEC,
		    MAP_PRIVATE,
		    0xfe,
		    1,
		    { "/usr/bin/a b (deleted)", 22 } } },
		{ "7ffd1000-7ffd2000 rw-s ffffffff000 00:0f 0",
		  { 0x7ffd1000,
		    0x7ffd2000,
		    0xffffffff000,
		    0,
		    PROT_READ | PROT_WRITE,
		    MAP_SHARED,
		    0,
		    0xf,
		    { "", 0 } } },
		{ "ffffffffff600000-ffffffffff601000 --xp 00000000 00:00 0                  [vsyscall]",
		  { 0xffffffffff600000,
		    0xffffffffff601000,
		    0,
		    0,
		    PROT_EXEC,
		    MAP_PRIVATE,
		    0,
		    0,
		    { "[vsyscall]", 10 } } },
		{ "1000-2000 ---p 00000000 00:00 0 ", { 0x1000, 0x2000, 0, 0, 0, MAP_PRIVATE, 0, 0, { "", 0 } } },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct maps_line *w = &rows[i].want;
		struct maps_line m;

		assert_true(maps_line_parse(rows[i].line, strlen(rows[i].line), &m));
		assert_true(m.start == w->start && m.end == w->end && m.pgoff == w->pgoff && m.ino == w->ino);
		assert_true(m.prot == w->prot && m.flags == w->flags && m.maj == w->maj && m.min == w->min);
		assert_int_equal(m.path.len, w->path.len);
		assert_memory_equal(m.path.p, w->path.p, w->path.len);
	}
}

static void test_no_lines(void **state)
{
	static const char *const lines[] = {
		"",
		"1000-2000",
		"1000 2000 r-xp 0 0:0 0",
		"1000-2000 r-xp 0 0:0", /* without an inode */
		"1000-2000 r-xp 0 0 0",
		"1000-2000 rwx 0 0:0 0",
		"2000-2000 r-xp 0 0:0 0", /* of nothing */
		"2000-1000 r-xp 0 0:0 0",
		"x000-2000 r-xp 0 0:0 0",
	};
	struct maps_line m;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(lines); i++)
		if (maps_line_parse(lines[i], strlen(lines[i]), &m))
			fail_msg("%s", lines[i]);
}

/* What is behind the line is none of it, though it looks like more of it. */
static void test_cut(void **state)
{
	static const char line[] = "1000-2000 r-xp 00003000 08:02 45   /bin/true";
	size_t whole = strlen("1000-2000 r-xp 00003000 08:02 4");
	struct maps_line m;

	(void)state;
	for (size_t n = 0; n < sizeof(line); n++) {
		bool is = maps_line_parse(line, n, &m);

		assert_int_equal(is, n >= whole);
		if (!is)
			continue;
		assert_int_equal(m.ino, n == whole ? 4 : 45);
		assert_ptr_equal(m.path.p + m.path.len, line + n);
		assert_true(!m.path.len || *m.path.p == '/');
	}
}

static void test_plain(void **state)
{
	static const char path[] = "/a\\012b\\0123\\01";
	struct bytes out = { 0 };

	(void)state;
	maps_path_plain((struct str){ path, sizeof(path) - 1 }, &out);
	assert_int_equal(out.len, strlen("/a\nb\n3\\01"));
	assert_memory_equal(out.p, "/a\nb\n3\\01", out.len);
	bytes_free(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_no_lines),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_plain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
