/* SPDX-License-Identifier: Apache-2.0 */
/* Linkers' names are made readable apart: many with one question, once, and none when the parser dies of them. */
#include "state/readable.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/mem.h"
#include "own_dir.h"
#include "parser.h"
#include "state/apart.h"
#include "state/dso_names.h"
#include "state/dso_table.h"
#include "state/symtab.h"

static struct str text(const char *s)
{
	return (struct str){ s, (u32)strlen(s) };
}

static struct dsos *new_dsos(struct apart *a, const struct notify *to)
{
	return dsos_new(&(struct symbol_opts){ .demangle = true, .offline = true, .no_lines = true, .apart = a }, to);
}

static void count_note(void *ctx, const struct note *n)
{
	u32 *notes = ctx;

	*notes += strstr(n->text, "shown as linked") != NULL;
}

/* Code at 0x1000 * i, called _ZN4demo4f<i>Ev: "demo::f<i>". */
static u32 add_code(struct dsos *d, u32 n)
{
	u32 dso = dsos_get(d, &(struct dso_key){ .kind = DSO_JIT, .path = text("jitted-7-1.so"), .pid = 7 });
	char name[32];

	for (u32 i = 1; i <= n; i++) {
		snprintf(name, sizeof(name), "_ZN4demo4f%03uEv", i);
		dsos_add_symbol(d, dso, 0x1000ull * i, 0x1000ull * i + 16, text(name));
	}
	dsos_add_symbol(d, dso, 0x800, 0x810, text("plain"));
	return dso;
}

static const char *name_at(struct dsos *d, u32 dso, u64 addr)
{
	u32 sym = dsos_symbol_at(d, dso, addr);

	assert_int_not_equal(sym, ID_NONE);
	return dsos_symbol_name(d, dso, sym);
}

static void many_with_one_question(void **state)
{
	struct apart *a = apart_new();
	struct dsos *d = new_dsos(a, NULL);
	u32 dso = add_code(d, 700);

	(void)state;
	assert_string_equal(name_at(d, dso, 0x800), "plain");
	assert_int_equal(dsos_names_asked(d), 0);
	assert_string_equal(name_at(d, dso, 0x1000), "demo::f001");
	assert_int_equal(dsos_names_asked(d), 1);
	for (u64 i = 2; i <= APART_BATCH; i++)
		(void)dsos_symbol_at(d, dso, 0x1000 * i);
	for (u64 i = 2; i <= APART_BATCH; i++)
		(void)name_at(d, dso, 0x1000 * i);
	assert_string_equal(name_at(d, dso, 0x1000 * 77), "demo::f077");
	assert_int_equal(dsos_names_asked(d), 2);
	/* More than go with one. */
	for (u64 i = 1; i <= 700; i++)
		(void)dsos_symbol_at(d, dso, 0x1000 * i);
	assert_string_equal(name_at(d, dso, 0x1000 * 700), "demo::f700");
	assert_string_equal(name_at(d, dso, 0x1000 * 600), "demo::f600");
	assert_string_equal(name_at(d, dso, 0x1000 * 300), "demo::f300");
	assert_int_equal(dsos_names_asked(d), 4);
	dsos_free(d);
	apart_free(a);
}

/* Of two names of one address the longer one is kept, as they are shown. */
static void aliases_as_they_are_shown(void **state)
{
	static const struct {
		const char *a, *b, *kept;
	} rows[] = {
		{ "ab", "_ZN4demo4stepEv", "demo::step" },
		{ "a_longer_name_than_that", "_ZN4demo4stepEv", "a_longer_name_than_that" },
		{ "_ZN4demo4stepEv", "_ZN4demo6longerEv", "demo::longer" },
		{ "_ZN4demoC1Ev", "_ZN4demoC2Ev", "demo::demo" },
		{ "_Znotmangled", "ab", "ab" },
	};
	struct apart *a = apart_new();
	struct dsos *d = new_dsos(a, NULL);

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct dso_key key = { .kind = DSO_JIT, .path = text("jitted-7-1.so"), .pid = 10 + i };
		u32 dso = dsos_get(d, &key);

		dsos_add_symbol(d, dso, 0x1000, 0x1010, text(rows[i].a));
		dsos_add_symbol(d, dso, 0x1000, 0x1010, text(rows[i].b));
		assert_string_equal(name_at(d, dso, 0x1008), rows[i].kept);
	}
	dsos_free(d);
	apart_free(a);
}

/* Symbols of one address, in that order; is who parses asked which is the best? */
static const char *best_of(const char *const *names, bool *asked)
{
	struct apart *a = apart_new();
	struct dsos *d = new_dsos(a, NULL);
	u32 dso = dsos_get(d, &(struct dso_key){ .kind = DSO_JIT, .path = text("jitted-7-1.so"), .pid = 7 });
	static char shown[64];

	for (u32 i = 0; names[i]; i++)
		dsos_add_symbol(d, dso, 0x1000, 0x1010, text(names[i]));
	(void)dsos_symbol_at(d, dso, 0x1008);
	*asked = find_parser() > 0;
	snprintf(shown, sizeof(shown), "%s", name_at(d, dso, 0x1008));
	dsos_free(d);
	apart_free(a);
	return shown;
}

/* Names of one constructor, or of one destructor, have one readable name: that needs no question. */
static void constructors_are_alike(void **state)
{
	static const struct {
		const char *names[6], *kept;
		bool asks;
	} rows[] = {
		{ { "_ZN4demoC1Ev", "_ZN4demoC2Ev" }, "demo::demo", false },
		{ { "_ZN4demoD0Ev", "_ZN4demoD2Ev", "_ZN4demoD1Ev" }, "demo::~demo", false },
		{ { "_ZN4demoC1Ev", "_ZN4demoC2Ev", "_ZN4demoD1Ev" }, "demo::~demo", true },
		{ { "_ZN4demoC2Ev", "_ZN4demo9muchlongrEv", "_ZN4demoC1Ev" }, "demo::muchlongr", true },
		{ { "_ZN4demoC1IiEET_", "_ZN4demoC2IiEET_" }, "demo::demo<int>", false },
		{ { "_ZN3SySC1Ev", "_ZN3SySC2Ev" }, "SyS::SyS", true },
		{ { "_ZN4demo1aEv", "_ZN4demo1bEv" }, "demo::a", true },
		{ { "_Z2C1v", "_Z2C2v" }, "C1", true },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		bool asked;

		assert_string_equal(best_of(rows[i].names, &asked), rows[i].kept);
		assert_int_equal(asked, rows[i].asks);
	}
}

static void names_of_a_dead_parser(void **state)
{
	u32 notes = 0;
	const struct notify to = { count_note, &notes };
	struct apart *a = apart_new();
	struct dsos *d = new_dsos(a, &to);
	u32 dso = add_code(d, 8);

	(void)state;
	assert_string_equal(name_at(d, dso, 0x1000), "demo::f001");
	assert_int_equal(kill(find_parser(), SIGKILL), 0);
	assert_string_equal(name_at(d, dso, 0x2000), "_ZN4demo4f002Ev");
	assert_string_equal(name_at(d, dso, 0x3000), "_ZN4demo4f003Ev");
	assert_string_equal(name_at(d, dso, 0x1000), "demo::f001");
	assert_int_equal(notes, 1);
	dsos_free(d);
	apart_free(a);
}

/* What was said is kept by the symbols' numbers, and only with a key. */
static void said_once(void **state)
{
	char dir[OWN_DIR_PATH], *cmd;
	struct bytes key = { 0 }, names = { 0 }, reply = { 0 };
	struct apart *a = apart_new();
	const u32 syms[] = { 5, 9 };

	(void)state;
	own_dir_make(dir);
	setenv("XDG_CACHE_HOME", dir, 1);
	bytes_str(&key, "a table");
	bytes_put(&names, "_ZN4demo4stepEv\0_Zz", 20);
	for (u32 round = 0; round < 2; round++) {
		struct symbol_opts opts = { .demangle = true, .offline = true, .apart = a, .cache = true };
		struct dsos *d = dsos_new(&opts, NULL);
		struct dso_slot slot = { .pub.path = "x" };
		struct dso_names *n = dso_names_new(d, &slot);

		dso_names_key(n, &key);
		assert_null(dso_names_kept(n, 6));
		if (!round)
			assert_true(dso_names_ask(n, &names, syms, &reply));
		assert_string_equal(dso_names_kept(n, 5), "demo::step");
		assert_string_equal(dso_names_kept(n, 9), "");
		assert_int_equal(dsos_names_asked(d), !round);
		dso_names_free(n);
		n = dso_names_new(d, &slot);
		assert_null(dso_names_kept(n, 5));
		dso_names_free(n);
		dsos_free(d);
	}
	bytes_free(&key);
	bytes_free(&names);
	bytes_free(&reply);
	apart_free(a);
	cmd = mem_printf("rm -r %s", dir);
	assert_int_equal(system(cmd), 0);
	free(cmd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(many_with_one_question),
		cmocka_unit_test(aliases_as_they_are_shown),
		cmocka_unit_test(constructors_are_alike),
		cmocka_unit_test(names_of_a_dead_parser),
		cmocka_unit_test(said_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
