/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols from text: kallsyms and perf maps; and names made readable. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "state/demangle.h"
#include "state/kallsyms.h"
#include "state/perfmap.h"
#include "state/text.h"

static const char kallsyms_text[] = "0000000000000000 A fixed_percpu_data\n"
				    "ffffffff81000000 T _stext\n"
				    "ffffffff81000000 T startup_64\n"
				    "ffffffff81000000 T _text\n"
				    "ffffffff81000100 t helper\n"
				    "ffffffff81000180 W weak_one\n"
				    "ffffffff81000200 R read_only\n"
				    "ffffffff81000300 D some_data\n"
				    "ffffffff81000400 t $x.1\n"
				    "not a line\n"
				    "ffffffff81000500 T\n"
				    "ffffffff81000600 T _etext\n"
				    "ffffffffc0000000 t init_one\t[first_mod]\n"
				    "ffffffffc0000040 t exit_one\t[first_mod]\n"
				    "ffffffffc0010000 t init_one\t[second]\n";

static void parse(struct kallsyms *k, const char *text, size_t n)
{
	struct bytes copy = { 0 };

	bytes_put(&copy, text, n);
	kallsyms_parse(k, &copy);
}

/* A module's: after the kernel's were taken, as they are then elsewhere. */
static struct symtab *table_of(const char *text, const char *module, u64 delta)
{
	struct symtab_build b;
	struct kallsyms k;

	symtab_build_init(&b);
	b.keep_names = true;
	parse(&k, text, strlen(text));
	kallsyms_take_kernel(&b, &k, delta);
	if (*module) {
		symtab_build_free(&b);
		symtab_build_init(&b);
		b.keep_names = true;
		kallsyms_add_module(&b, &k, (struct str){ module, (u32)strlen(module) }, delta);
	}
	kallsyms_free(&k);
	return symtab_finish(&b);
}

static const char *at(struct symtab *t, u64 addr)
{
	u32 sym = symtab_find(t, addr);

	return sym == ID_NONE ? "" : symtab_shown_name(t, sym);
}

static void test_kernel(void **state)
{
	struct symtab *t = table_of(kallsyms_text, "", 0);

	(void)state;
	assert_string_equal(at(t, 0xffffffff81000000), "_text");
	assert_string_equal(at(t, 0xffffffff810000ff), "_text");
	assert_string_equal(at(t, 0xffffffff81000100), "helper");
	assert_string_equal(at(t, 0xffffffff81000180), "weak_one");
	assert_string_equal(at(t, 0xffffffff81000200), "weak_one"); /* R does not count */
	assert_string_equal(at(t, 0xffffffff81000300), "some_data");
	assert_string_equal(at(t, 0xffffffff81000400), "some_data"); /* $x does not count */
	assert_string_equal(at(t, 0xffffffff81000600), "_etext");
	assert_string_equal(at(t, 0xffffffff81001fff), "_etext"); /* the last one reaches a page on */
	assert_string_equal(at(t, 0xffffffff81002000), "");
	assert_string_equal(at(t, 0xffffffffc0000000), "");
	symtab_free(t);
}

static void test_moved_kernel(void **state)
{
	struct symtab *t = table_of(kallsyms_text, "", 0x1000000);

	(void)state;
	assert_string_equal(at(t, 0xffffffff81000100), "");
	assert_string_equal(at(t, 0xffffffff82000100), "helper");
	symtab_free(t);
}

static void test_modules(void **state)
{
	struct symtab *t = table_of(kallsyms_text, "first_mod", 0);

	(void)state;
	assert_int_equal(symtab_count(t), 2);
	assert_string_equal(at(t, 0xffffffffc0000000), "init_one");
	assert_string_equal(at(t, 0xffffffffc0000040), "exit_one");
	assert_string_equal(at(t, 0xffffffffc0010000), "");
	symtab_free(t);
	t = table_of(kallsyms_text, "first", 0);
	assert_int_equal(symtab_count(t), 0);
	symtab_free(t);
}

static void test_reference_symbol(void **state)
{
	struct kallsyms k;
	u64 addr = 0;

	(void)state;
	parse(&k, kallsyms_text, sizeof(kallsyms_text) - 1);
	assert_true(kallsyms_address(&k, (struct str){ "_text", 5 }, &addr));
	assert_int_equal(addr, 0xffffffff81000000);
	assert_false(kallsyms_address(&k, (struct str){ "_tex", 4 }, &addr));
	assert_false(kallsyms_address(&k, (struct str){ "init_one", 8 }, &addr));
	kallsyms_free(&k);
}

static void test_hidden_addresses(void **state)
{
	static const char text[] = "0000000000000000 T _text\n0000000000000000 t helper\n";
	struct kallsyms k;

	(void)state;
	parse(&k, text, sizeof(text) - 1);
	assert_int_equal(k.lines, 2);
	assert_int_equal(k.zeros, 2);
	kallsyms_free(&k);
}

/* Cut anywhere, the text gives no more symbols than the whole, and nothing is read beyond it. */
static void test_kallsyms_truncated(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(kallsyms_text); n++) {
		struct bytes exact = { .p = malloc(n + 1), .len = n, .cap = n + 1 };
		struct kallsyms k;

		memcpy(exact.p, kallsyms_text, n);
		kallsyms_parse(&k, &exact);
		assert_true(k.syms.n <= 10);
		kallsyms_free(&k);
	}
}

static const char map_text[] = "1000 10 first\n"
			       "0x2000 0x00000010 void J.run(int)\n" /* as the JVM writes them */
			       "0x 10 no number\n"
			       "3000 20 LazyCompile:~f /app/a b.js:1\n"
			       "  4000   8 indented\r\n"
			       "5000 0 empty\n"
			       "6000 10\n"
			       "6000 10 \n"
			       "zzz\n"
			       "\n"
			       "ffffffffffffff00 ffffffffffffffff wraps\n"
			       "1000 10 rewritten\n"
			       "3008 8 inside\n"
			       "7000 4 last";

static void test_perf_map(void **state)
{
	struct symtab_build b;
	struct symtab *t;

	(void)state;
	symtab_build_init(&b);
	assert_int_equal(perfmap_parse(&b, map_text, sizeof(map_text) - 1), 8);
	t = symtab_finish(&b);
	assert_string_equal(at(t, 0x1000), "rewritten"); /* the later line is of the newer code */
	assert_string_equal(at(t, 0x100f), "rewritten");
	assert_string_equal(at(t, 0x1010), "");
	assert_string_equal(at(t, 0x200f), "void J.run(int)");
	assert_string_equal(at(t, 0x2010), "");
	assert_string_equal(at(t, 0x3007), "LazyCompile:~f /app/a b.js:1");
	assert_string_equal(at(t, 0x3008), "inside");
	assert_string_equal(at(t, 0x3010), "LazyCompile:~f /app/a b.js:1");
	assert_string_equal(at(t, 0x4000), "indented");
	assert_string_equal(at(t, 0x5000), "");
	assert_string_equal(at(t, 0x7003), "last");
	assert_string_equal(at(t, 0xfffffffffffffff0), "wraps");
	symtab_free(t);
}

static void test_perf_map_truncated(void **state)
{
	(void)state;
	for (size_t n = 0; n < sizeof(map_text); n++) {
		char *exact = malloc(n ? n : 1);
		struct symtab_build b;

		memcpy(exact, map_text, n);
		symtab_build_init(&b);
		perfmap_parse(&b, exact, n);
		symtab_free(symtab_finish(&b));
		free(exact);
	}
}

/* A link could make us read a file of ours under another name: maps are never followed through one. */
static void test_perf_map_is_no_link(void **state)
{
	char path[64];
	struct symtab_build b;
	u32 pid = 4194304u + (u32)getpid(); /* above the largest number a process can have */

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	assert_int_equal(symlink("/etc/passwd", path), 0);
	symtab_build_init(&b);
	assert_true(perfmap_load(&b, pid, NULL) < 0);
	unlink(path);
	symtab_build_free(&b);
}

static void test_perf_map_of_ended_process(void **state)
{
	char path[64];
	struct symtab_build b;
	u32 pid = 4194304u + (u32)getpid();
	FILE *f;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%u.map", pid);
	f = fopen(path, "we");
	assert_non_null(f);
	fputs("1000 10 jitted\n", f);
	fclose(f);
	symtab_build_init(&b);
	assert_int_equal(perfmap_load(&b, pid, NULL), 0);
	assert_int_equal(b.syms.n, 1);
	unlink(path);
	symtab_build_free(&b);
}

static void test_demangle(void **state)
{
	static const struct {
		const char *linked, *shown;
	} rows[] = {
		{ "_ZN3app4spinIdEET_RSt6vectorIS1_SaIS1_EEi", "app::spin<double>" },
		{ "_ZNK3app1SclERKi", "app::S::operator()" },
		{ "_ZN1r4spin17h7386afe26152f6eeE", "r::spin" },
		{ "_RINvCs6GmmlP4bgsG_1r4spinmEB2_", "r::spin::<u32>" },
		{ "_Znwm@plt", "operator new@plt" },
	};
	char *name = demangle("_Znwm");

	(void)state;
	if (!name)
		skip(); /* built without libiberty */
	free(name);
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		name = demangle(rows[i].linked);
		assert_non_null(name);
		assert_string_equal(name, rows[i].shown);
		free(name);
	}
	assert_null(demangle("main"));
	assert_null(demangle("_start"));
	assert_null(demangle("puts@plt"));
	assert_null(demangle("@plt"));
	assert_null(demangle(""));
}

/* The profiled process writes the file: a terabyte of nothing is not read. */
static void test_perf_map_too_large(void **state)
{
	char path[] = "/tmp/reticle-test-XXXXXX";
	struct bytes text = { 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	unlink(path);
	assert_int_equal(ftruncate(fd, 1ll << 40), 0);
	assert_int_equal(text_read_fd(fd, &text), ERR_LIMIT);
	assert_int_equal(text.len, 0);
	assert_int_equal(ftruncate(fd, 64 << 20), 0); /* not too large, but nothing is there */
	assert_int_equal(text_read_fd(fd, &text), ERR_LIMIT);
	assert_int_equal(text.len, 0);
	assert_int_equal(ftruncate(fd, 5), 0);
	assert_int_equal(text_read_fd(fd, &text), 0);
	assert_int_equal(text.len, 5);
	bytes_free(&text);
	close(fd);
}

/* f<A<int, int>, A<A<..>, A<..>>, ...>: each argument is twice as long as the one before it. */
static char *demangle_doubled(u32 times)
{
	static const char digits[] = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ";
	char text[512];
	size_t n = (size_t)snprintf(text, sizeof(text), "_Z1fI1AIiiE");

	for (u32 i = 1; i <= times; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "S0_IS%c_S%c_E", digits[i], digits[i]);
	snprintf(text + n, sizeof(text) - n, "Evv");
	return demangle(text);
}

static void test_demangle_doubling(void **state)
{
	char *name = demangle_doubled(1);

	(void)state;
	if (!name)
		skip(); /* built without libiberty */
	assert_string_equal(name, "f<A<int, int>, A<A<int, int>, A<int, int> > >");
	free(name);
	assert_null(demangle_doubled(30));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_kernel),
		cmocka_unit_test(test_moved_kernel),
		cmocka_unit_test(test_modules),
		cmocka_unit_test(test_reference_symbol),
		cmocka_unit_test(test_hidden_addresses),
		cmocka_unit_test(test_kallsyms_truncated),
		cmocka_unit_test(test_perf_map),
		cmocka_unit_test(test_perf_map_truncated),
		cmocka_unit_test(test_perf_map_is_no_link),
		cmocka_unit_test(test_perf_map_of_ended_process),
		cmocka_unit_test(test_perf_map_too_large),
		cmocka_unit_test(test_demangle),
		cmocka_unit_test(test_demangle_doubling),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
