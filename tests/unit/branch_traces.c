/* SPDX-License-Identifier: Apache-2.0 */
/* What branch stacks count for BOLT: branches, and the code between two of them. */
#include "agg/branch_traces.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#include "attrib/place.h"
#include "codec/perf_abi.h"

/* --- code, instead of that of files: functions of 0x1000 bytes, in two binaries --- */

#define OTHER 0x100000u	  /* from here on: of the second binary */
#define UNNAMED 0x5000u	  /* a part of the first without symbols */
#define NOWHERE 0x200000u /* from here on nothing is mapped */

static u32 views;

void procs_thread_at(const struct procs *p, u32 pid, u32 tid, u64 clock, struct thread_view *out)
{
	(void)p;
	views++;
	*out = (struct thread_view){ .from = clock / 10 * 10, .until = clock / 10 * 10 + 10, .pid = pid, .tid = tid };
}

u32 place_mode(const struct thread_view *thread, u64 addr)
{
	(void)thread;
	return addr >= OTHER ? PERF_RECORD_MISC_KERNEL : PERF_RECORD_MISC_USER;
}

void place_find(struct dsos *dsos, const struct thread_view *thread, u32 cpumode, u64 ip, struct place *out)
{
	(void)dsos;
	assert_int_equal(cpumode, place_mode(thread, ip));
	*out = (struct place){ .addr = ip % OTHER, .dso = ip >= OTHER ? 2 : 1, .sym = (u32)(ip % OTHER / 0x1000) };
	if (ip / 0x1000 == UNNAMED / 0x1000)
		out->sym = ID_NONE;
	if (ip >= NOWHERE)
		*out = (struct place){ .addr = ip, .sym = ID_NONE };
}

/* --- samples: branches with the newest first --- */

static void add(struct branch_traces *t, const u64 *branches, u32 n, u64 clock)
{
	const struct sample s = { .nr_branches = n, .branches = { (const u8 *)branches, 3 * n, false } };

	branch_traces_add(t, &(struct hit){ .full = &s, .s = { .pid = 3, .tid = 4 }, .clock = clock });
}

static void expect(struct branch_traces *t, const struct branch_trace *want, u32 n)
{
	branch_traces_sort(t);
	assert_int_equal(t->v.n, n);
	for (u32 i = 0; i < n; i++) {
		assert_int_equal(t->v.v[i].dso, want[i].dso);
		assert_int_equal(t->v.v[i].kind, want[i].kind);
		assert_int_equal(t->v.v[i].from, want[i].from);
		assert_int_equal(t->v.v[i].to, want[i].to);
		assert_int_equal(t->v.v[i].count, want[i].count);
		assert_int_equal(t->v.v[i].mispredicted, want[i].mispredicted);
	}
	branch_traces_free(t);
}

static void test_within_and_between(void **state)
{
	static const struct branch_trace want[] = {
		{ 1, TRACE_BRANCH, 0x1010, 0x1100, 2, 0 },	  { 1, TRACE_BRANCH, 0x1108, 0x1200, 2, 2 },
		{ 1, TRACE_BRANCH, 0x1208, 0x3000, 1, 1 },	  { 1, TRACE_BRANCH, 0x3010, 0x1210, 1, 0 },
		{ 1, TRACE_THROUGH, 0x1100, 0x1108, 2, 0 },	  { 1, TRACE_THROUGH, 0x1200, 0x1208, 1, 0 },
		{ 1, TRACE_THROUGH_ENTRY, 0x3000, 0x3010, 1, 0 },
	};
	static const u64 one[] = { 0x3010, 0x1210, 0, 0x1208, 0x3000, 1, 0x1108, 0x1200, 1, 0x1010, 0x1100, 0 };
	static const u64 two[] = { 0x1108, 0x1200, 3, 0x1010, 0x1100, 4 };
	struct branch_traces t = { 0 };

	(void)state;
	add(&t, one, 4, 0);
	add(&t, two, 2, 1);
	assert_int_equal(t.samples, 2);
	expect(&t, want, 7);
}

/* The same of samples that two workers had: what one has met is added, and what it has not is new. */
static void test_merged(void **state)
{
	static const struct branch_trace want[] = {
		{ 1, TRACE_BRANCH, 0x1010, 0x1100, 3, 1 },  { 1, TRACE_BRANCH, 0x1108, 0x1200, 2, 2 },
		{ 1, TRACE_BRANCH, 0x1208, 0x1300, 1, 0 },  { 1, TRACE_THROUGH, 0x1100, 0x1108, 2, 0 },
		{ 1, TRACE_THROUGH, 0x1200, 0x1208, 1, 0 },
	};
	static const u64 one[] = { 0x1108, 0x1200, 3 | 7 << 4, 0x1010, 0x1100, 4 }, other[] = { 0x1010, 0x1100, 1 };
	static const u64 longer[] = { 0x1208, 0x1300, 9 << 4, 0x1108, 0x1200, 1, 0x1010, 0x1100, 0 };
	struct branch_traces t = { .by_sample = true }, from = { .by_sample = true };

	(void)state;
	add(&t, one, 2, 0);
	add(&from, other, 1, 1);
	add(&from, longer, 3, 2);
	from.filtered = 5;
	branch_traces_merge(&t, &from);
	assert_int_equal(t.samples, 3);
	assert_int_equal(t.filtered, 5);
	assert_int_equal(t.cycles, 7 + 9);
	assert_int_equal(from.v.n, 0);
	for (size_t i = 0; i < t.v.n; i++) {
		assert_int_equal(t.v.v[i].samples, t.v.v[i].count);
		if (t.v.v[i].kind == TRACE_THROUGH)
			assert_int_equal(t.v.v[i].cycles, t.v.v[i].from == 0x1100 ? 7 : 9);
	}
	expect(&t, want, ARRAY_LEN(want));
}

/* What was counted until a branch belongs to the code that it ends; of groups, each has its own counters. */
static void test_counters(void **state)
{
	static const u64 branches[] = { 0x1208, 0x1300, 9 << 4, 0x1108, 0x1200, 1, 0x1010, 0x1100, 0 };
	static const u64 words[] = { 1 | 3 << 2, 2, 3 | 3 << 2 }, others[] = { 3, 1, 1 };
	struct branch_counter v[] = { { 0, 0, 0 }, { 1, 0, 1 }, { 2, 2, 0 } };
	struct branch_counter_group groups[] = { { 0, 2 }, { 0, 2 }, { 2, 1 } };
	const struct branch_counters c = { .width = 2, .v = { v, 3, 3 }, .groups = { groups, 3, 3 } };
	struct branch_traces t = { .counters = &c }, from = { .counters = &c };
	const struct {
		u64 begin;
		struct event_sum sums[3];
	} want[] = {
		{ 0x1100, { { 4, 2, 0 }, { 0, 2, 0 }, { 1, 1, 0 } } },
		{ 0x1200, { { 2, 2, 0 }, { 6, 2, 2 }, { 3, 1, 1 } } },
	};
	u32 found = 0;

	(void)state;
	for (u32 i = 0; i < 4; i++) {
		const struct sample s = { .nr_branches = 3,
					  .branches = { (const u8 *)branches, 9, false },
					  .branch_counters = { (const u8 *)(i == 2 ? others : words), 3, false } };
		struct hit h = { .full = &s, .s = { .pid = 3, .tid = 4 }, .event = i == 2 ? 2 : 0, .clock = 2 };

		if (i == 1)
			add(&from, branches, 3, 2); /* one without any */
		else
			branch_traces_add(i == 3 ? &from : i == 2 ? &from : &t, &h);
	}
	branch_traces_merge(&t, &from);
	branch_traces_sort(&t);
	for (size_t i = 0; i < t.v.n; i++) {
		const struct event_sum *sums = branch_trace_events(&t, &t.v.v[i]);

		assert_int_equal(!sums, t.v.v[i].kind == TRACE_BRANCH);
		for (u32 k = 0; sums && k < ARRAY_LEN(want); k++)
			if (t.v.v[i].from == want[k].begin) {
				assert_memory_equal(sums, want[k].sums, sizeof(want[k].sums));
				found++;
			}
	}
	assert_int_equal(found, 2);
	branch_traces_free(&t);
}

/* A branch from one binary to another counts in both; each knows its own end. */
static void test_two_binaries(void **state)
{
	static const struct branch_trace want[] = {
		{ 1, TRACE_BRANCH, 0x1010, TRACE_OUTSIDE, 1, 1 }, { 1, TRACE_BRANCH, TRACE_OUTSIDE, 0x1014, 1, 0 },
		{ 2, TRACE_BRANCH, 0x1020, TRACE_OUTSIDE, 1, 0 }, { 2, TRACE_BRANCH, TRACE_OUTSIDE, 0x1000, 1, 1 },
		{ 2, TRACE_THROUGH_ENTRY, 0x1000, 0x1020, 1, 0 },
	};
	static const u64 there_and_back[] = { OTHER + 0x1020, 0x1014, 0, 0x1010, OTHER + 0x1000, 1 };
	struct branch_traces t = { 0 };

	(void)state;
	add(&t, there_and_back, 2, 0);
	expect(&t, want, 5);
}

/* What is in no binary counts in none. */
static void test_nowhere(void **state)
{
	static const struct branch_trace want[] = { { 1, TRACE_BRANCH, 0x1010, TRACE_OUTSIDE, 1, 0 },
						    { 1, TRACE_BRANCH, TRACE_OUTSIDE, 0x1014, 1, 0 } };
	static const u64 out[] = { NOWHERE + 8, 0x1014, 0, NOWHERE, NOWHERE + 4, 0, 0x1010, NOWHERE, 0 };
	struct branch_traces t = { 0 };

	(void)state;
	add(&t, out, 3, 0);
	expect(&t, want, 2);
}

/* Only what goes forwards within one function ran through. */
static void test_not_through(void **state)
{
	static const struct {
		u64 to, next; /* where a branch led to, and where the next one was taken */
		bool through;
	} rows[] = {
		{ 0x1100, 0x1108, true },  { 0x1100, 0x1100, true },	      { 0x1100, 0x10fc, false },
		{ 0x1100, 0x2100, false }, { 0x1100, OTHER + 0x1100, false }, { UNNAMED, UNNAMED + 8, false },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const u64 branches[] = { rows[i].next, 0x1010, 0, 0x1010, rows[i].to, 0 };
		struct branch_traces t = { 0 };
		bool through = false;

		add(&t, branches, 2, 0);
		for (u32 k = 0; k < t.v.n; k++)
			through |= t.v.v[k].kind != TRACE_BRANCH;
		assert_int_equal(through, rows[i].through);
		branch_traces_free(&t);
	}
}

static void test_thread_is_kept(void **state)
{
	static const u64 branch[] = { 0x1010, 0x1100, 0 };
	struct branch_traces t = { 0 };

	(void)state;
	views = 0;
	add(&t, branch, 1, 10);
	add(&t, branch, 1, 19);
	assert_int_equal(views, 1);
	add(&t, branch, 1, 20);
	assert_int_equal(views, 2);
	add(&t, branch, 1, 19);
	assert_int_equal(views, 3);
	t.thread.pid++;
	add(&t, branch, 1, 19);
	t.thread.tid++;
	add(&t, branch, 1, 19);
	assert_int_equal(views, 5);
	branch_traces_free(&t);
}

/* A branch that a sample has twice is in one sample, and so is what ran between. A single cycle is told, too. */
static void test_twice_in_a_sample(void **state)
{
	static const u64 thrice[] = { 0x1110, 0x1100, 1 << 4, 0x1110, 0x1100, 1 << 4, 0x1110, 0x1100, 0 };
	struct branch_traces t = { .by_sample = true };

	(void)state;
	add(&t, thrice, 3, 0);
	add(&t, thrice, 3, 1);
	branch_traces_sort(&t);
	assert_int_equal(t.v.n, 2);
	for (u32 i = 0; i < 2; i++)
		assert_int_equal(t.v.v[i].samples, 2);
	assert_int_equal(t.v.v[0].count, 6);
	assert_int_equal(t.v.v[1].count, 4);
	assert_int_equal(t.v.v[1].timed, 4);
	assert_int_equal(t.v.v[1].cycles, 4);
	branch_traces_free(&t);
}

/* Samples with more branches than are looked up at once, in both byte orders: what ran between two of these belongs to
 * both. */
static void test_long_samples(void **state)
{
	u64 branches[100 * 3], swapped[100 * 3];

	(void)state;
	for (u32 i = 0; i < 100; i++) {
		branches[3 * i] = 0x1f00 - 16 * i;
		branches[3 * i + 1] = branches[3 * i] + 8;
		branches[3 * i + 2] = 0;
	}
	for (u32 i = 0; i < 300; i++)
		swapped[i] = __builtin_bswap64(branches[i]);
	for (u32 n = 31; n <= 100; n += n < 66 ? 1 : 34) {
		const struct sample s = { .nr_branches = n, .branches = { (const u8 *)swapped, 3 * n, true } };
		struct branch_traces t = { 0 };
		u64 through = 0;

		add(&t, branches, n, 0);
		branch_traces_add(&t, &(struct hit){ .full = &s, .s = { .pid = 3, .tid = 4 } });
		branch_traces_sort(&t);
		assert_int_equal(t.v.n, 2 * n - 1);
		for (size_t i = 0; i < t.v.n; i++) {
			assert_int_equal(t.v.v[i].count, 2);
			if (t.v.v[i].kind == TRACE_THROUGH)
				through += t.v.v[i].to - t.v.v[i].from == 8;
		}
		assert_int_equal(through, n - 1);
		branch_traces_free(&t);
	}
}

/* More steps in one function than are ever kept; what ran between branches ends where the next one was
 * taken. */
static void test_more_than_are_known(void **state)
{
	struct branch_traces t = { 0 };
	u64 random = 1, branches[32 * 3], taken = 0, passed = 0, ends = 0;

	(void)state;
	for (u32 k = 0; k < 8000; k++) {
		for (u32 i = 0; i < 32; i++) {
			u64 *b = &branches[3 * i], next = i ? b[-3] : 0;

			random = random * 6364136223846793005u + 1442695040888963407u;
			b[0] = 0x1000 + (random >> 36 & 0xfff);
			b[1] = 0x1000 + (random >> 52);
			b[2] = 0;
			passed += b[1] <= next;
			ends += b[1] <= next ? next : 0;
		}
		add(&t, branches, 32, k);
	}
	branch_traces_sort(&t);
	for (size_t i = 0; i < t.v.n; i++) {
		bool branch = t.v.v[i].kind == TRACE_BRANCH;

		taken += branch ? t.v.v[i].count : 0;
		passed -= branch ? 0 : t.v.v[i].count;
		ends -= branch ? 0 : t.v.v[i].count * t.v.v[i].to;
	}
	assert_int_equal(taken, 8000 * 32);
	assert_int_equal(passed, 0);
	assert_int_equal(ends, 0);
	branch_traces_free(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_within_and_between),
		cmocka_unit_test(test_merged),
		cmocka_unit_test(test_counters),
		cmocka_unit_test(test_two_binaries),
		cmocka_unit_test(test_nowhere),
		cmocka_unit_test(test_not_through),
		cmocka_unit_test(test_thread_is_kept),
		cmocka_unit_test(test_twice_in_a_sample),
		cmocka_unit_test(test_long_samples),
		cmocka_unit_test(test_more_than_are_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
