/* SPDX-License-Identifier: Apache-2.0 */
/* The rules at the top of state/symtab.c, one test each. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "state/symtab.h"

static void add(struct symtab_build *b, const char *name, u64 start, u64 size, enum symbol_bind bind)
{
	vec_push(&b->syms, (struct raw_symbol){ .start = start,
						.end = start + size,
						.name = symtab_build_name(b, name, strlen(name)),
						.bind = (u8)bind,
						.is_func = true });
}

/* The name of what holds addr, or "". */
static const char *at(struct symtab *t, u64 addr)
{
	u32 sym = symtab_find(t, addr);

	return sym == ID_NONE ? "" : symtab_shown_name(t, sym);
}

static void test_empty(void **state)
{
	struct symtab_build b;
	struct symtab *t;

	(void)state;
	symtab_build_init(&b);
	t = symtab_finish(&b);
	assert_int_equal(symtab_count(t), 0);
	assert_int_equal(symtab_find(t, 0), ID_NONE);
	assert_int_equal(symtab_find(t, UINT64_MAX), ID_NONE);
	symtab_free(t);
}

static void test_order_and_bounds(void **state)
{
	struct symtab_build b;
	struct symtab *t;

	(void)state;
	symtab_build_init(&b);
	add(&b, "c", 0x30000, 0x10, BIND_GLOBAL);
	add(&b, "a", 0x100, 0x10, BIND_GLOBAL);
	add(&b, "b", 0x110, 0x8, BIND_GLOBAL);
	t = symtab_finish(&b);
	assert_string_equal(at(t, 0xff), "");
	assert_string_equal(at(t, 0x100), "a");
	assert_string_equal(at(t, 0x10f), "a");
	assert_string_equal(at(t, 0x110), "b");
	assert_string_equal(at(t, 0x118), "");
	assert_string_equal(at(t, 0x3000f), "c");
	assert_string_equal(at(t, 0x30010), "");
	symtab_free(t);
}

static void test_missing_sizes(void **state)
{
	struct symtab_build b;
	struct symtab *t;

	(void)state;
	symtab_build_init(&b);
	add(&b, "first", 0x1000, 0, BIND_LOCAL);
	add(&b, "last", 0x2010, 0, BIND_LOCAL);
	t = symtab_finish(&b);
	assert_string_equal(at(t, 0x200f), "first");
	assert_string_equal(at(t, 0x3fff), "last");
	assert_string_equal(at(t, 0x4000), "");
	symtab_free(t);
}

static void test_aliases(void **state)
{
	static const struct {
		const char *a, *b;
		u64 size_a, size_b;
		enum symbol_bind bind_a, bind_b;
		const char *kept;
	} rows[] = {
		{ "unsized", "sized", 0, 8, BIND_GLOBAL, BIND_LOCAL, "sized" },
		{ "weak_but_long", "strong", 8, 8, BIND_WEAK, BIND_LOCAL, "strong" },
		{ "local_but_long", "global", 8, 8, BIND_LOCAL, BIND_GLOBAL, "global" },
		{ "__under", "plain", 8, 8, BIND_GLOBAL, BIND_GLOBAL, "plain" },
		{ "short", "longer", 8, 8, BIND_GLOBAL, BIND_GLOBAL, "longer" },
		{ "one", "two", 8, 8, BIND_GLOBAL, BIND_GLOBAL, "one" },
		{ "SyS_x", "sys_x", 8, 8, BIND_GLOBAL, BIND_GLOBAL, "sys_x" },
	};

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(rows); i++) {
		struct symtab_build b;
		struct symtab *t;

		symtab_build_init(&b);
		add(&b, rows[i].a, 0x100, rows[i].size_a, rows[i].bind_a);
		add(&b, rows[i].b, 0x100, rows[i].size_b, rows[i].bind_b);
		add(&b, "end", 0x108, 8, BIND_GLOBAL);
		t = symtab_finish(&b);
		assert_string_equal(at(t, 0x104), rows[i].kept);
		assert_int_equal(symtab_count(t), 2);
		symtab_free(t);
	}
}

/* Nothing has a size, as in kallsyms: the last name of an address is the one that reaches to the next symbol. */
static void test_last_unsized_alias(void **state)
{
	struct symtab_build b;
	struct symtab *t;

	(void)state;
	symtab_build_init(&b);
	add(&b, "_stext", 0x1000, 0, BIND_GLOBAL);
	add(&b, "the_longest_of_all", 0x1000, 0, BIND_GLOBAL);
	add(&b, "_text", 0x1000, 0, BIND_LOCAL);
	add(&b, "next", 0x1010, 0, BIND_GLOBAL);
	t = symtab_finish(&b);
	assert_string_equal(at(t, 0x1000), "_text");
	symtab_free(t);
}

static void test_overlaps(void **state)
{
	struct symtab_build b;
	struct symtab *t;
	u32 sym;

	(void)state;
	symtab_build_init(&b);
	add(&b, "outer", 0x1000, 0x100, BIND_GLOBAL);
	add(&b, "inner", 0x1040, 0x20, BIND_GLOBAL);
	add(&b, "innermost", 0x1050, 0x10, BIND_GLOBAL);
	add(&b, "crossing", 0x10f0, 0x20, BIND_GLOBAL);
	add(&b, "apart", 0x2000, 0x10, BIND_GLOBAL);
	t = symtab_finish(&b);
	assert_string_equal(at(t, 0x103f), "outer");
	assert_string_equal(at(t, 0x1040), "inner");
	assert_string_equal(at(t, 0x1050), "innermost");
	assert_string_equal(at(t, 0x1060), "outer");
	assert_string_equal(at(t, 0x10ef), "outer");
	assert_string_equal(at(t, 0x10f0), "crossing");
	assert_string_equal(at(t, 0x110f), "crossing");
	assert_string_equal(at(t, 0x1110), "");
	assert_string_equal(at(t, 0x2000), "apart");
	assert_string_equal(at(t, 0x2010), "");
	sym = symtab_find(t, 0x1070);
	assert_int_equal(symtab_at(t, sym)->start, 0x1000);
	symtab_free(t);
}

/* PLT entries come after sizes were settled: a label before them reaches over them until they cut it. */
static void test_plt_inside_label(void **state)
{
	struct symtab_build b;
	struct symtab *t;

	(void)state;
	symtab_build_init(&b);
	add(&b, "_init", 0x2000, 0, BIND_GLOBAL);
	add(&b, "_start", 0x2100, 0x10, BIND_GLOBAL);
	add(&b, "puts@plt", 0x2020, 0x10, BIND_GLOBAL);
	b.syms.v[b.syms.n - 1].late = true;
	t = symtab_finish(&b);
	assert_string_equal(at(t, 0x201f), "_init");
	assert_string_equal(at(t, 0x2020), "puts@plt");
	assert_string_equal(at(t, 0x2030), "");
	assert_string_equal(at(t, 0x2100), "_start");
	assert_string_equal(at(t, 0x2110), "");
	symtab_free(t);
}

/* Each address's span is told alike from all addresses in it, and its neighbours' begin where it ends. */
static void check_spans(struct symtab_build *b)
{
	struct symtab *t = symtab_finish(b);
	u64 from, to = 0;

	for (u64 addr = 0; addr < 0x60; addr++) {
		u64 f, u;

		if (addr == to) {
			from = addr;
			symtab_span(t, addr, &f, &to);
			assert_int_equal(f, from);
		}
		symtab_span(t, addr, &f, &u);
		assert_int_equal(f, from);
		assert_int_equal(u, to);
		assert_int_equal(symtab_find(t, addr), symtab_find(t, from));
		if (from)
			assert_int_not_equal(symtab_find(t, from), symtab_find(t, from - 1));
	}
	symtab_span(t, 0x60, &from, &to);
	assert_int_equal(to, UINT64_MAX);
	symtab_free(t);
}

static void test_spans(void **state)
{
	struct symtab_build b;

	(void)state;
	symtab_build_init(&b);
	check_spans(&b);
	symtab_build_init(&b);
	add(&b, "one", 0x10, 8, BIND_GLOBAL);
	add(&b, "behind it", 0x18, 8, BIND_GLOBAL);
	add(&b, "apart", 0x30, 0x10, BIND_GLOBAL);
	check_spans(&b);
	/* What is within another one that ends behind it, and begins with it: inlined calls. */
	symtab_build_init(&b);
	add(&b, "outer", 0x10, 0x12, BIND_GLOBAL);
	add(&b, "inlined", 0x10, 0x9, BIND_GLOBAL);
	b.syms.v[0].late = b.syms.v[1].late = true;
	add(&b, "next", 0x30, 0x10, BIND_GLOBAL);
	add(&b, "in the middle", 0x38, 2, BIND_GLOBAL);
	b.syms.v[2].late = b.syms.v[3].late = true;
	check_spans(&b);
}

static void test_end_of_address_space(void **state)
{
	struct symtab_build b;
	struct symtab *t;

	(void)state;
	symtab_build_init(&b);
	add(&b, "top", UINT64_MAX - 7, 0, BIND_GLOBAL);
	t = symtab_finish(&b);
	assert_string_equal(at(t, UINT64_MAX - 1), "top");
	symtab_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_empty),
		cmocka_unit_test(test_order_and_bounds),
		cmocka_unit_test(test_missing_sizes),
		cmocka_unit_test(test_aliases),
		cmocka_unit_test(test_last_unsized_alias),
		cmocka_unit_test(test_overlaps),
		cmocka_unit_test(test_plt_inside_label),
		cmocka_unit_test(test_spans),
		cmocka_unit_test(test_end_of_address_space),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
