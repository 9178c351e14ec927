/* SPDX-License-Identifier: Apache-2.0 */
/* Weights of rows by the mode of the CPU: from hits to nodes, of two workers, and to rows. */
#include "agg/cpu_modes.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "agg/profile.h"
#include "attrib/spe.h"
#include "codec/perf_abi.h"
#include "synthetic.h"

static const struct {
	u32 cpumode, mode; /* NR_CPU_MODES: none of these */
} modes[] = {
	{ PERF_RECORD_MISC_KERNEL, MODE_KERNEL },
	{ PERF_RECORD_MISC_USER, MODE_USER },
	{ PERF_RECORD_MISC_GUEST_KERNEL, MODE_GUEST_KERNEL },
	{ PERF_RECORD_MISC_GUEST_USER, MODE_GUEST_USER },
	{ PERF_RECORD_MISC_HYPERVISOR, NR_CPU_MODES },
	{ PERF_RECORD_MISC_CPUMODE_UNKNOWN, NR_CPU_MODES },
};

/* A hit stands for as many as its operation does. */
static void test_hold(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(modes); i++)
		for (u32 more = 0; more < 3; more++) {
			const struct spe_operation o = { .more = more };
			struct hit h = { .cpumode = modes[i].cpumode, .s.period = 100 };
			struct mode_held held = { 0 };

			h.operation = more ? &o : NULL;
			assert_int_equal(cpu_modes_hold(&h, &held), modes[i].mode < NR_CPU_MODES);
			if (modes[i].mode == NR_CPU_MODES)
				continue;
			assert_int_equal(held.mode, modes[i].mode);
			assert_int_equal(held.weight, 100 * (more + 1));
		}
}

static void add(struct mode_sums *s, u32 node, u32 mode, u64 weight)
{
	const struct mode_held held = { weight, mode };

	cpu_modes_add(NULL, &held, &(struct hit_place){ .node = node }, s);
}

/* Nodes that come in any order, and that the other worker had numbered otherwise; those without any weight have no new
 * number. */
static void test_merge(void **state)
{
	static const u32 at[] = { 77777777, 4, 99999999, 0, 2 };
	struct mode_sums a = { 0 }, b = { 0 };

	(void)state;
	for (u32 mode = 0; mode < NR_CPU_MODES; mode++) {
		add(&a, 2, mode, 1000 + mode);
		add(&a, 0, mode, 50 + mode);
		add(&b, 4, mode, 7);
		add(&b, 4, mode, 3);
	}
	add(&b, 1, MODE_GUEST_USER, 9);
	add(&b, 3, MODE_KERNEL, 100);
	mode_sums_merge(&a, &b, at);
	assert_int_equal(a.v.n, 5);
	for (u32 mode = 0; mode < NR_CPU_MODES; mode++) {
		assert_int_equal(a.v.v[0].of[mode], 50 + mode + (mode == MODE_KERNEL ? 100 : 0));
		assert_int_equal(a.v.v[1].of[mode], 0);
		assert_int_equal(a.v.v[2].of[mode], 1010 + mode);
		assert_int_equal(a.v.v[3].of[mode], 0);
		assert_int_equal(a.v.v[4].of[mode], mode == MODE_GUEST_USER ? 9 : 0);
	}
	assert_int_equal(b.v.n, 0);
	mode_sums_free(&a);
}

/* A row has what all of its nodes have. */
static void test_rows(void **state)
{
	static const char *const events[] = { "cycles", NULL };
	static const struct synthetic_stack stacks[] = {
		{ 0, "one", "app`main|app`work", 500, 5 },
		{ 0, "one", "app`work", 300, 3 },
		{ 0, "one", "app`main", 100, 1 },
	};
	struct mode_sums sums = { 0 };
	struct profile_event *e;
	struct profile_modes *m;
	struct synthetic s;
	u64 expected[4][NR_CPU_MODES] = { 0 };

	(void)state;
	synthetic_make(&s, events, stacks, ARRAY_LEN(stacks), false, NULL, 0);
	e = &s.profile->events.v[0];
	s.profile->measures = measures;
	assert_int_equal(e->rows.n, 2);
	for (u32 i = 1; i < e->tree.nodes.n; i++) {
		u32 row = profile_own_row(s.profile, e, i);

		for (u32 mode = 0; mode < NR_CPU_MODES; mode++) {
			add(&sums, i, mode, i * 100 + mode);
			if (row != ID_NONE)
				expected[row][mode] += i * 100 + mode;
		}
	}
	m = e->measured[MEASURE_CPU_MODES] = profile_modes_new(NULL, 0, &sums);
	assert_int_equal(sums.v.n, 0);
	profile_modes_rows(s.profile, e);
	assert_int_equal(m->nodes.v.n, 0);
	for (u32 i = 0; i < e->rows.n; i++)
		assert_memory_equal(m->rows[i].of, expected[i], sizeof(expected[i]));
	synthetic_free(&s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hold),
		cmocka_unit_test(test_merge),
		cmocka_unit_test(test_rows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
