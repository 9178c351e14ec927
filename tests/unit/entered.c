/* SPDX-License-Identifier: Apache-2.0 */
/* From where functions are entered: of this test's own file, in which some are written so that each way is there. */
#include "state/entered.h"

#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#ifdef __x86_64__

#define BEGIN(name) ".type " name ", @function\n" name ":\n"
#define END(name) ".size " name ", . - " name "\n"

/* Calls of t_caller are at t_caller and behind it, five bytes each. */
/* clang-format off */
__asm__(".text\n"
	BEGIN("t_caller") "call t_once\n call t_twice\n call t_twice\n lea t_lea(%rip), %rax\n ret\n" END("t_caller")
	BEGIN("t_once") "ret\n" END("t_once")
	BEGIN("t_twice") "ret\n" END("t_twice")
	BEGIN("t_lea") "ret\n" END("t_lea")
	BEGIN("t_self") "call t_self\n ret\n" END("t_self")
	BEGIN("t_kept") "ret\n" END("t_kept")
	BEGIN("t_jumper") "test %eax, %eax\n je t_jumped\n jmp t_jumped_twice\n" END("t_jumper")
	BEGIN("t_jumped") "jmp t_jumped_twice\n" END("t_jumped")
	BEGIN("t_jumped_twice") "ret\n" END("t_jumped_twice")
	BEGIN("t_runs_on") "xor %eax, %eax\n nop\n" END("t_runs_on")
	BEGIN("t_run_into") "ret\n nop\n" END("t_run_into")
	BEGIN("t_none") "jmp t_none\n" END("t_none")
	BEGIN("t_comes_back") "call _setjmp\n call t_comes_back\n ret\n" END("t_comes_back")
	BEGIN("t_outer") "test %eax, %eax\n je t_inner\n call t_by_inner\n xor %eax, %eax\n"
	BEGIN("t_inner") "call t_by_inner\n ret\n" END("t_inner") "ret\n" END("t_outer")
	BEGIN("t_by_inner") "ret\n" END("t_by_inner")
	".byte 0x48, 0xb8\n"
	BEGIN("t_after_data") "call t_hidden\n call t_hidden_too\n ret\n" END("t_after_data")
	BEGIN("t_has_data") "jmp 1f\n .byte 0x48, 0xb8\n 1: call t_hidden_too\n ret\n" END("t_has_data")
	BEGIN("t_hidden") "ret\n" END("t_hidden")
	BEGIN("t_hidden_too") "ret\n" END("t_hidden_too")
	".balign 16\n"
	BEGIN("t_calls_last") "call t_once_more\n" END("t_calls_last")
	BEGIN("t_behind") "call t_no_return\n" END("t_behind")
	".balign 16\n"
	BEGIN("t_aligned") "ret\n" END("t_aligned")
	BEGIN("t_once_more") "ret\n" END("t_once_more")
	BEGIN("t_no_return") "ret\n" END("t_no_return")
	".data\n .balign 8\n .quad t_kept\n .text\n");
/* clang-format on */

static char path[PATH_MAX];
static struct dsos *dsos;
static u32 dso;

/* Names of the functions above are nowhere in C, as that would keep their addresses. */
static u32 find(const char *name, const struct symbol **at)
{
	for (u64 offset = 0; offset < 16u << 20; offset++) {
		u32 sym = dsos_symbol_at(dsos, dso, offset);

		if (sym == ID_NONE)
			continue;
		*at = dsos_symbol(dsos, dso, sym);
		if (!strcmp(dsos_symbol_name(dsos, dso, sym), name))
			return sym;
	}
	fail_msg("no symbol %s", name);
	return ID_NONE;
}

static struct entered entered(const char *name)
{
	const struct symbol *at;
	struct entered e;

	assert_true(dsos_entered(dsos, dso, find(name, &at), &e));
	return e;
}

static void test_calls(void **state)
{
	const struct symbol *caller, *self;
	struct entered e = entered("t_once");

	(void)state;
	find("t_caller", &caller);
	find("t_self", &self);
	assert_true(e.site == caller->start && !e.several && !e.anywhere && !e.by_itself && e.jumped_from == ID_NONE);
	e = entered("t_twice");
	assert_true(e.site == caller->start + 10 && e.several && !e.anywhere);
	e = entered("t_self");
	assert_true(e.site == self->start && e.by_itself && !e.several && !e.anywhere);
}

static void test_comes_back(void **state)
{
	(void)state;
	assert_true(entered("t_comes_back").comes_back);
	assert_true(!entered("t_caller").comes_back && !entered("t_calls_last").comes_back);
}

static void test_addresses(void **state)
{
	(void)state;
	assert_true(entered("t_lea").anywhere && !entered("t_lea").site);
	assert_true(entered("t_kept").anywhere);
}

static void test_jumps(void **state)
{
	const struct symbol *at;
	struct entered e = entered("t_jumped");

	(void)state;
	assert_true(e.jumped_from == find("t_jumper", &at) && !e.anywhere && !e.site);
	assert_true(entered("t_jumped_twice").anywhere);
	e = entered("t_run_into");
	assert_true(e.jumped_from == find("t_runs_on", &at) && !e.anywhere);
	/* It begins behind a return, and jumps to itself. */
	e = entered("t_none");
	assert_true(e.jumped_from == ID_NONE && !e.anywhere && !e.site && !e.by_itself);
}

/* Symbols inside others, as hand-written code has them. */
static void test_nested(void **state)
{
	const struct symbol *at, *outer;
	struct entered e = entered("t_inner");

	(void)state;
	assert_true(e.jumped_from == find("t_outer", &outer) && !e.anywhere && !e.site);
	assert_true(entered("t_by_inner").several);
	assert_true(entered("t_by_inner").site > outer->start && find("t_inner", &at) != ID_NONE);
	assert_true(entered("t_outer").jumped_from == ID_NONE && !entered("t_outer").anywhere);
}

/* Data that could be the beginning of an instruction, before a function and inside one. */
static void test_data(void **state)
{
	const struct symbol *at;

	(void)state;
	find("t_after_data", &at);
	assert_true(entered("t_hidden").site == at->start && !entered("t_hidden").several);
	assert_true(entered("t_hidden_too").several);
}

/* A call may be the last thing that a function does. */
static void test_behind_calls(void **state)
{
	const struct symbol *at;

	(void)state;
	assert_true(entered("t_behind").jumped_from == find("t_calls_last", &at));
	assert_true(entered("t_aligned").jumped_from == ID_NONE && !entered("t_aligned").anywhere);
}

static void test_unknown(void **state)
{
	u32 none = dsos_get(dsos, &(struct dso_key){ .kind = DSO_FILE, .path = { "/nowhere/x", 10 } });
	struct entered e;

	(void)state;
	assert_false(dsos_entered(dsos, none, 0, &e));
	assert_false(dsos_entered(dsos, dso, ID_NONE, &e));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_calls),	cmocka_unit_test(test_comes_back),   cmocka_unit_test(test_addresses),
		cmocka_unit_test(test_jumps),	cmocka_unit_test(test_nested),	     cmocka_unit_test(test_data),
		cmocka_unit_test(test_unknown), cmocka_unit_test(test_behind_calls),
	};
	const struct symbol_opts opts = { .no_kernel = true, .no_lines = true };
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	int failed;

	if (n < 0)
		return 1;
	dsos = dsos_new(&opts, NULL);
	dso = dsos_get(dsos, &(struct dso_key){ .kind = DSO_FILE, .path = { path, (u32)n } });
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	dsos_free(dsos);
	return failed;
}

#else

int main(void)
{
	return 77;
}

#endif
