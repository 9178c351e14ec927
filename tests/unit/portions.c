/* SPDX-License-Identifier: Apache-2.0 */
/* When parts of a profile may be added up, and which belong together. */
#include "pass/portions.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define GROUP (PERF_FORMAT_GROUP | PERF_FORMAT_ID)
#define UNWIND (PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER)

/* Two events; the second one is this. */
static bool suffice(const struct pipeline_opts *o, const struct attr *second)
{
	struct source src = { 0 };
	bool is;

	vec_push(&src.events.events, (struct event){ .attr = { .sample_type = PERF_SAMPLE_IP } });
	vec_push(&src.events.events, (struct event){ .attr = *second });
	/* What lies behind the list is none of its events. */
	vec_push(&src.events.events, (struct event){ .attr.flags = ATTR_DEFER_CALLCHAIN });
	src.events.events.n--;
	is = portions_suffice(o, &src);
	vec_free(&src.events.events);
	return is;
}

/* Not where it takes several samples to know what one says. */
static void test_samples_stand_alone(void **state)
{
	static const struct {
		struct attr attr;
		bool alone;
	} rows[] = {
		{ { .sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN }, true },
		{ { .sample_type = PERF_SAMPLE_READ, .read_format = GROUP }, false },
		{ { .sample_type = PERF_SAMPLE_READ }, true },
		{ { .sample_type = PERF_SAMPLE_IP, .read_format = GROUP }, true },
		{ { .sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK },
		  false },
		{ { .sample_type = PERF_SAMPLE_BRANCH_STACK, .branch_sample_type = PERF_SAMPLE_BRANCH_ANY }, true },
		{ { .branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK }, true },
		{ { .sample_type = UNWIND, .flags = ATTR_EXCLUDE_CALLCHAIN_USER }, false },
		{ { .sample_type = UNWIND }, true },
		{ { .sample_type = PERF_SAMPLE_REGS_USER, .flags = ATTR_EXCLUDE_CALLCHAIN_USER }, true },
		{ { .sample_type = PERF_SAMPLE_STACK_USER, .flags = ATTR_EXCLUDE_CALLCHAIN_USER }, true },
		{ { .flags = ATTR_DEFER_CALLCHAIN }, false },
	};
	const struct pipeline_opts o = { 0 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(suffice(&o, &rows[i].attr), rows[i].alone);
}

/* Not where values mean what the whole recording says. */
static void test_values_stand_alone(void **state)
{
	static const struct {
		struct pipeline_opts opts;
		bool alone;
	} rows[] = {
		{ { .sort_order = { SORT_COMM, SORT_DSO, SORT_SYMBOL }, .nr_sort = 3 }, true },
		{ { .sort_order = { SORT_COMM, SORT_TIME }, .nr_sort = 2 }, false },
		{ { .sort_order = { SORT_COMM, SORT_TIME }, .nr_sort = 1 }, true },
		{ { .sort_order = { SORT_TRACE }, .nr_sort = 1 }, false },
		{ { .sort_order = { SORT_COMM, SORT_FIELD + 1 }, .nr_sort = 2 }, false },
		{ { .measures = 2 }, false },
		{ { .time = "10%" }, false },
	};
	const struct attr plain = { .sample_type = PERF_SAMPLE_IP };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		assert_int_equal(suffice(&rows[i].opts, &plain), rows[i].alone);
}

/* Whatever decides what comes of samples makes another kind. */
static void test_kinds(void **state)
{
	static const char *const one[] = { "a", "b" }, *const two[] = { "ab" }, *const other[] = { "b", "a" };
	static const u32 numbers[] = { 0, 1 };
	static const struct pipeline_opts rows[] = {
		{ .costs = false },
		{ .costs = true },
		{ .children = true },
		{ .no_chains = true },
		{ .no_inline = true },
		{ .graph_key = 1 },
		{ .graph_key = 2 },
		{ .branches = BRANCHES_ON },
		{ .branches = BRANCHES_AUTO },
		{ .nr_sort = 1 },
		{ .nr_sort = 2 },
		{ .sort_order = { 1 }, .nr_sort = 1 },
		{ .sort_order = { 1 }, .nr_sort = 2 },
		{ .sort_order = { 0, 1 }, .nr_sort = 2 },
		{ .samples.comms = { one, 1 } },
		{ .samples.comms = { one, 2 } },
		{ .samples.comms = { two, 1 } },
		{ .samples.comms = { other, 2 } },
		{ .samples.pids = { numbers, 1 } },
		{ .samples.pids = { numbers, 2 } },
		{ .samples.pids = { numbers + 1, 1 } },
		{ .samples.tids = { numbers, 1 } },
		{ .samples.cpus = { numbers, 1 } },
		{ .samples = { .pids = { numbers, 1 }, .tids = { numbers, 1 } } },
		{ .samples = { .tids = { numbers, 1 }, .cpus = { numbers, 1 } } },
	};

	(void)state;
	for (u32 a = 0; a < ARRAY_LEN(rows); a++)
		for (u32 b = 0; b < ARRAY_LEN(rows); b++)
			if (a == b)
				assert_int_equal(portions_kind(&rows[a]), portions_kind(&rows[b]));
			else
				assert_int_not_equal(portions_kind(&rows[a]), portions_kind(&rows[b]));
}

/* Only keys that are used count, and names by what they say. */
static void test_same_kind(void **state)
{
	char a[] = "name", b[] = "name";
	const char *const first[] = { a }, *const second[] = { b };
	struct pipeline_opts x = { .sort_order = { 3, 4 }, .nr_sort = 1, .samples.comms = { first, 1 } };
	struct pipeline_opts y = { .sort_order = { 3, 5 }, .nr_sort = 1, .samples.comms = { second, 1 } };

	(void)state;
	assert_int_equal(portions_kind(&x), portions_kind(&y));
	y.input = "elsewhere";
	assert_int_equal(portions_kind(&x), portions_kind(&y));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples_stand_alone),
		cmocka_unit_test(test_values_stand_alone),
		cmocka_unit_test(test_kinds),
		cmocka_unit_test(test_same_kind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
