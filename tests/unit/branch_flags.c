/* SPDX-License-Identifier: Apache-2.0 */
/* What flags and counters of branch records are called, and which bits of a counters word are of which event. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "codec/branch_counters.h"
#include "codec/branch_flags.h"

static void test_types(void **state)
{
	static const struct {
		u64 flags;
		const char *name, *arm64;
	} rows[] = {
		{ 0, "", "" },
		{ 1 << 20, "COND", "COND" },
		{ 11 << 20, "ERET", "ERET" },
		{ 12 << 20, "IRQ", "IRQ" },
		{ 13 << 20, "SERROR", "SERROR" },
		{ 14 << 20, "NO_TX", "NO_TX" },
		{ 15 << 20, "FAULT_ALGN", "FAULT_ALGN" },
		{ 15 << 20 | 2 << 26, "FAULT_INST", "FAULT_INST" },
		{ 15 << 20 | 3 << 26, "ARCH_1", "ARM64_FIQ" },
		{ 15 << 20 | 4 << 26, "ARCH_2", "ARM64_DEBUG_HALT" },
		{ 15 << 20 | 5 << 26, "ARCH_3", "ARM64_DEBUG_EXIT" },
		{ 15 << 20 | 6 << 26, "ARCH_4", "ARM64_DEBUG_INST" },
		{ 15 << 20 | 7 << 26, "ARCH_5", "ARM64_DEBUG_DATA" },
		{ 15 << 20 | 8 << 26, "", "" },
		{ 15 << 20 | 15 << 26, "", "" },
		{ 4 << 20 | 9 << 26, "CALL", "CALL" }, /* new_type says nothing then */
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		assert_string_equal(branch_type_name(branch_type(rows[i].flags), false), rows[i].name);
		assert_string_equal(branch_type_name(branch_type(rows[i].flags), true), rows[i].arm64);
	}
	assert_string_equal(branch_type_name(UINT32_MAX, true), "");
}

static void test_levels(void **state)
{
	static const char *const specs[] = { "", "SPEC_WRONG_PATH", "NON_SPEC_CORRECT_PATH", "SPEC_CORRECT_PATH" };
	static const char *const privs[] = { "", "user", "kernel", "hv", "", "", "", "" };

	(void)state;
	for (u64 i = 0; i < ARRAY_LEN(specs); i++)
		assert_string_equal(branch_spec_name(branch_spec(i << 24)), specs[i]);
	for (u64 i = 0; i < ARRAY_LEN(privs); i++)
		assert_string_equal(branch_priv_name(branch_priv(i << 30)), privs[i]);
	assert_int_equal(branch_priv(BRANCH_FLAGS_KNOWN), 7);
	assert_int_equal(branch_priv(~BRANCH_FLAGS_KNOWN), 0);
}

static void add(struct evlist *l, const char *name, u64 filter, u32 leader)
{
	const struct attr a = { .size = sizeof(a),
				.sample_type = PERF_SAMPLE_BRANCH_STACK,
				.branch_sample_type = filter };

	u32 event = evlist_add(l, &a, name, NULL);

	l->events.v[event].leader = leader;
}

static void set_width(struct features *f, const char *width)
{
	static const char *const names[] = { "branches", "branch_counter_width" };
	static const char *values[] = { "32", NULL };

	values[1] = width;
	f->caps.n = 0;
	vec_push(&f->caps, (struct feat_caps){ .pmu = "cpu", .nr = 2, .names = names, .values = values });
}

static void expect_group(const struct branch_counters *c, u32 event, u32 first, u32 n)
{
	u32 got, at = branch_counters_of(c, event, &got);

	assert_int_equal(got, n);
	if (n)
		assert_int_equal(at, first);
}

/* {a, b, c}, of which b has none; d; and {e, f}. */
static void test_counters(void **state)
{
	const u64 any = PERF_SAMPLE_BRANCH_ANY;
	struct branch_counters c;
	struct features f = { 0 };
	struct evlist l = { 0 };
	struct bytes text = { 0 };

	(void)state;
	add(&l, "a", any | BRANCH_COUNTERS, 0);
	add(&l, "b", any, 0);
	add(&l, "c", BRANCH_COUNTERS, 0);
	add(&l, "d", any, 3);
	add(&l, "e", any | BRANCH_COUNTERS, 4);
	add(&l, "f", any | BRANCH_COUNTERS, 4);
	set_width(&f, "2");
	branch_counters_init(&c, &l, &f);
	assert_int_equal(c.v.n, 4);
	expect_group(&c, 0, 0, 2);
	expect_group(&c, 1, 0, 0);
	expect_group(&c, 2, 0, 2);
	expect_group(&c, 3, 0, 0);
	expect_group(&c, 5, 2, 2);
	assert_int_equal(branch_counter_value(&c, 0, 0xd), 1);
	assert_int_equal(branch_counter_value(&c, 1, 0xd), 3);
	assert_int_equal(branch_counter_value(&c, 3, 0xfb), 2);
	assert_int_equal(branch_counter_most(&c), 3);
	branch_counters_legend(&c, &l, &text);
	bytes_char(&text, 0);
	assert_non_null(strstr((const char *)text.p, "# a = A\n# c = B\n# e = C\n# f = D\n"));
	assert_null(strstr((const char *)text.p, "does not say"));
	branch_counters_free(&c);
	bytes_free(&text);
	vec_free(&f.caps);
	evlist_free(&l);
}

/* What a hostile file may say. */
static void test_widths(void **state)
{
	static const struct {
		const char *width;
		u64 first, second, most;
	} rows[] = {
		{ "0", UINT64_MAX, UINT64_MAX, 0 },	      { "", UINT64_MAX, UINT64_MAX, 0 },
		{ "many", UINT64_MAX, UINT64_MAX, 0 },	      { "4", 0xf, 0xe, 15 },
		{ "32", 0x123456ef, 0x789abcde, UINT32_MAX }, { "33", 0x1123456efull, UINT64_MAX, (1ull << 33) - 1 },
		{ "64", 0, UINT64_MAX, UINT64_MAX },	      { "99999999999999999999", 0, UINT64_MAX, UINT64_MAX },
	};
	const u64 any = PERF_SAMPLE_BRANCH_ANY | BRANCH_COUNTERS;
	struct features f = { 0 };
	struct evlist l = { 0 };

	(void)state;
	add(&l, "a", any, 0);
	add(&l, "b", any, 0);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const u64 word = i == 5 ? 0x1123456efull : 0x789abcde123456ef;
		struct branch_counters c;

		set_width(&f, rows[i].width);
		branch_counters_init(&c, &l, &f);
		assert_true(branch_counter_value(&c, 0, word) == (i >= 6 ? word : rows[i].first));
		assert_true(branch_counter_value(&c, 1, word) == rows[i].second);
		assert_true(branch_counter_most(&c) == rows[i].most);
		branch_counters_free(&c);
	}
	vec_free(&f.caps);
	evlist_free(&l);
}

/* More than a word has room for, all in one group; and so many that each must be found at once. */
static void test_many(void **state)
{
	struct branch_counters c;
	struct features f = { 0 };
	struct evlist l = { 0 };

	(void)state;
	for (u32 i = 0; i < 100000; i++)
		add(&l, "a", PERF_SAMPLE_BRANCH_ANY | BRANCH_COUNTERS, i < 50000 ? 0 : i);
	set_width(&f, "2");
	branch_counters_init(&c, &l, &f);
	expect_group(&c, 0, 0, 32);
	expect_group(&c, 49999, 0, 32);
	expect_group(&c, 50000, 50000, 1);
	expect_group(&c, 99999, 99999, 1);
	branch_counters_free(&c);
	vec_free(&f.caps);
	evlist_free(&l);
}

static void test_names(void **state)
{
	struct bytes text = { 0 };

	(void)state;
	for (u32 i = 25; i < 54; i += 14)
		branch_counter_name(i, &text);
	bytes_char(&text, 0);
	assert_string_equal((const char *)text.p, "ZN1B2");
	bytes_free(&text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_types),  cmocka_unit_test(test_levels), cmocka_unit_test(test_counters),
		cmocka_unit_test(test_widths), cmocka_unit_test(test_many),   cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
