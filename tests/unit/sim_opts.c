/* SPDX-License-Identifier: Apache-2.0 */
/* io/sim_opts: the text behind --pmu. */
#include "sim/opts.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>

#include <cmocka.h>

static void keep(void *ctx, const struct note *n)
{
	snprintf(ctx, 1024, "%s", n->text);
}

static void test_keys(void **state)
{
	struct sim_opts o;

	(void)state;
	assert_int_equal(sim_opts_parse(&o, "hw", NULL), 0);
	assert_false(o.on);
	assert_int_equal(sim_opts_parse(&o, "sim", NULL), 0);
	assert_true(o.on);
	assert_int_equal(o.v.models, VPMU_MODEL_ALL);
	assert_int_equal(o.v.seed, 1);
	assert_false(o.core_given || o.kind_given);
	assert_int_equal(
		sim_opts_parse(&o,
			       "sim,core=neoverse-n1,seed=18446744073709551615,skid=2-9,throttle=100,lose=3/10,"
			       "interrupt=4,cpus=2,quantum=7,branches=16,records=brbe,ids=real,sysroot=/a/b",
			       NULL),
		0);
	assert_true(o.core_given && o.v.core == VPMU_NEOVERSE_N1);
	assert_true(o.v.seed == UINT64_MAX);
	assert_true(o.v.skid_min == 2 && o.v.skid_max == 9);
	assert_true(o.v.throttle == 100 && o.v.lose_count == 3 && o.v.lose_every == 10);
	assert_true(o.v.interrupt_cycles == 4 && o.v.cpus == 2 && o.v.quantum == 7 && o.v.real_ids);
	assert_int_equal(o.v.branch_depth, 16);
	assert_true(o.kind_given && o.v.branch_kind == VPMU_BRBE);
	assert_string_equal(o.sysroot, "/a/b");
	assert_int_equal(sim_opts_parse(&o, "sim,skid=5", NULL), 0);
	assert_true(o.v.skid_min == 5 && o.v.skid_max == 5);
}

static void test_models(void **state)
{
	static const struct {
		const char *text;
		u32 models;
	} rows[] = {
		{ "sim,models=none", 0 },
		{ "sim,models=branch", VPMU_MODEL_BRANCH },
		{ "sim,models=branch,cache,seed=3", VPMU_MODEL_BRANCH | VPMU_MODEL_CACHE },
		{ "sim,models=all,seed=2", VPMU_MODEL_ALL },
		{ "sim,models=tlb,cache", VPMU_MODEL_TLB | VPMU_MODEL_CACHE },
	};
	struct sim_opts o;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		assert_int_equal(sim_opts_parse(&o, rows[i].text, NULL), 0);
		assert_int_equal(o.v.models, rows[i].models);
	}
}

/* Each is refused, and the note points at the place and says what would be right. */
static void test_mistakes(void **state)
{
	static const struct {
		const char *text, *at, *says;
	} rows[] = {
		{ "swim", "    ^^^^", "no such PMU" },
		{ "hw,seed=1", "    ^^", "no such PMU" },
		{ "sim,sed=1", "        ^^^", "did you mean 'seed'" },
		{ "sim,", "        ^", "no such key" },
		{ "sim,seed", "        ^^^^", "needs a value" },
		{ "sim,seed=", "             ^", "a decimal number" },
		{ "sim,seed=0x1", "             ^^^", "a decimal number" },
		{ "sim,seed=18446744073709551616", "             ^^^", "a decimal number" },
		{ "sim,cpus=9999", "             ^^^^", "up to 1024" },
		{ "sim,quantum=0", "                ^", "at least one" },
		{ "sim,branches=0", "             ^", "at least one record" },
		{ "sim,branches=513", "             ^^^", "up to 512" },
		{ "sim,records=lbe", "            ^^^", "did you mean 'lbr'" },
		{ "sim,records=arm", "            ^^^", "kinds: lbr, brbe" },
		{ "sim,skid=9-2", "             ^^^", "A not larger than B" },
		{ "sim,lose=3", "             ^", "COUNT/EVERY" },
		{ "sim,lose=3/2", "             ^^^", "COUNT/EVERY" },
		{ "sim,lose=0/0", "             ^^^", "COUNT/EVERY" },
		{ "sim,core=neoverse-n2", "             ^^^", "did you mean 'neoverse-n1'" },
		{ "sim,models=brunch", "               ^^^^^^", "did you mean 'branch'" },
		{ "sim,models=branch,cahce", "                      ^^^^^", "did you mean 'cache'" },
		{ "sim,seed=1,branch", "               ^^^^^^", "no such key" },
		{ "sim,ids=mine", "            ^^^^", "own or real" },
		{ "sim,sysroot=", "                ^", "a directory" },
	};
	struct sim_opts o;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		char text[1024] = "";
		struct notify to = { keep, text };

		assert_int_equal(sim_opts_parse(&o, rows[i].text, &to), ERR_USAGE);
		if (!strstr(text, rows[i].at) || !strstr(text, rows[i].says))
			fail_msg("%s: %s", rows[i].text, text);
	}
}

/* A line per key, and each can be given. */
static void test_help(void **state)
{
	struct bytes b = { 0 };
	u32 lines = 0;

	(void)state;
	sim_opts_help(&b);
	for (size_t i = 0; i < b.len; i++)
		lines += b.p[i] == '\n';
	assert_int_equal(lines, 13);
	bytes_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_keys),
		cmocka_unit_test(test_models),
		cmocka_unit_test(test_mistakes),
		cmocka_unit_test(test_help),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
