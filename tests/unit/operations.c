/* SPDX-License-Identifier: Apache-2.0 */
/* What is added up of Arm SPE's operations, of the modes of the CPU, and of the cycles of code; and which operations
 * are equal to a report. */
#include "agg/operations.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "agg/code_blocks.h"
#include "agg/cpu_modes.h"
#include "agg/operation_wants.h"
#include "agg/profile.h"
#include "attrib/spe.h"

#define NEOVERSE_N1 (0x41ull << 24 | 0xd0c << 4)
#define SAYS(counter) (1u << (counter))

/* --- what one operation says */

static struct operation_held held_of(u8 class, u8 operation, u64 events, u64 source, u64 more)
{
	const struct spe_record r = { .has = SPE_HAS(SPE_OPERATION) | SPE_HAS(SPE_EVENTS) | SPE_HAS(SPE_SOURCE) |
					     SPE_HAS_LATENCY(SPE_TOTAL) | SPE_HAS_LATENCY(SPE_ISSUE),
				      .operation_class = class,
				      .operation = operation,
				      .events = events,
				      .source = source,
				      .latency = { [SPE_TOTAL] = 40, [SPE_ISSUE] = 7, [SPE_TRANSLATION] = 99 } };
	const struct spe_operation o = { .record = &r, .midr = NEOVERSE_N1, .more = more };
	const struct hit h = { .operation = &o };
	struct operation_held held = { 0 };

	assert_true(operations_hold(&h, &held));
	return held;
}

/* An event is a part of those that might have happened: accesses of accesses, mispredictions of branches. */
static void test_held(void **state)
{
	static const struct {
		u8 class, operation;
		u64 events;
		u32 might_have, happened;
	} rows[] = {
		{ SPE_LOAD_STORE, 0, SPE_EV_L1D_ACCESS | SPE_EV_TLB_ACCESS,
		  1 << OPERATION_L1D_MISS | 1 << OPERATION_TLB_WALK | 1 << OPERATION_REMOTE, 0 },
		{ SPE_LOAD_STORE, 1, SPE_EV_L1D_REFILL | SPE_EV_LLC_ACCESS | SPE_EV_LLC_REFILL | SPE_EV_TLB_WALK,
		  1 << OPERATION_L1D_MISS | 1 << OPERATION_LLC_MISS | 1 << OPERATION_TLB_WALK | 1 << OPERATION_REMOTE,
		  1 << OPERATION_L1D_MISS | 1 << OPERATION_LLC_MISS | 1 << OPERATION_TLB_WALK },
		{ SPE_LOAD_STORE, 0, SPE_EV_LLC_ACCESS | SPE_EV_REMOTE_ACCESS | SPE_EV_MISPREDICTED,
		  1 << OPERATION_LLC_MISS | 1 << OPERATION_REMOTE, 1 << OPERATION_REMOTE },
		{ SPE_BRANCH, 0, SPE_EV_NOT_TAKEN, 1 << OPERATION_NOT_TAKEN | 1 << OPERATION_MISPREDICTED,
		  1 << OPERATION_NOT_TAKEN },
		{ SPE_BRANCH, 1, SPE_EV_MISPREDICTED | SPE_EV_L1D_REFILL,
		  1 << OPERATION_NOT_TAKEN | 1 << OPERATION_MISPREDICTED, 1 << OPERATION_MISPREDICTED },
		{ SPE_OTHER, 0, SPE_EV_L1D_REFILL | SPE_EV_MISPREDICTED, 0, 0 },
	};
	const struct hit none = { 0 };
	struct operation_held held;

	(void)state;
	assert_false(operations_hold(&none, &held));
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		held = held_of(rows[i].class, rows[i].operation, rows[i].events, 8, i);
		assert_int_equal(held.might_have, rows[i].might_have);
		assert_int_equal(held.happened, rows[i].happened);
		assert_int_equal(held.times, i + 1);
		assert_int_equal(held.latencies, SAYS(SPE_TOTAL) | SAYS(SPE_ISSUE));
		assert_int_equal(held.kind, rows[i].class == SPE_OTHER	? OPERATION_OTHER :
					    rows[i].class == SPE_BRANCH ? OPERATION_BRANCH :
					    rows[i].operation		? OPERATION_STORE :
									  SPE_FROM_L2);
	}
}

/* --- latencies by class */

/* Short ones have a class each; in others no two differ by more than one part in 32; and together they are all. */
static void test_classes(void **state)
{
	struct operation_sums s = { 0 };
	u32 last = 0;

	(void)state;
	for (u32 latency = 1; latency <= UINT16_MAX; latency++) {
		struct operation_held o = { .times = 1, .latencies = SAYS(SPE_TOTAL) };
		u32 class;

		o.latency[SPE_TOTAL] = (u16)latency;
		operations_add(NULL, &o, &(struct hit_place){ .node = 1 }, &s);
		class = s.classes.v[s.classes.n - 1].what & ((1u << OPERATION_CLASS_BITS) - 1);
		assert_true(class >= last); /* longer ones have no smaller class */
		last = class;
		assert_true(operation_class_first(class) <= latency && latency < operation_class_first(class + 1));
		assert_true(latency - operation_class_first(class) <= latency / 32);
		if (latency < 64)
			assert_int_equal(operation_class_first(class), latency);
	}
	assert_true(s.classes.n <= 384);
	operation_sums_free(&s);
}

static void add(struct operation_sums *s, u32 node, u32 kind, u16 total, u64 times)
{
	struct operation_held o = { .kind = (u8)kind, .times = times, .latencies = SAYS(SPE_TOTAL) | SAYS(SPE_ISSUE) };

	o.latency[SPE_TOTAL] = total;
	o.latency[SPE_ISSUE] = 3;
	o.might_have = 1 << OPERATION_L1D_MISS;
	o.happened = total > 100 ? 1 << OPERATION_L1D_MISS : 0;
	operations_add(NULL, &o, &(struct hit_place){ .node = node }, s);
}

/* --- rows: nodes 1 and 2 have row 0, node 3 row 1; node 4 has none */

static const u32 row_of[] = { ID_NONE, 0, 0, 1, ID_NONE };

struct rows {
	struct tree_node nodes[ARRAY_LEN(row_of)];
	struct profile p;
	struct profile_event e;
};

static void rows_begin(struct rows *r)
{
	memset(r, 0, sizeof(*r));
	r->e.row_of = (u32 *)row_of;
	r->e.tree.nodes.v = r->nodes;
	r->e.tree.nodes.n = ARRAY_LEN(row_of);
	r->e.rows.n = 2;
}

static const struct operation_part *part_of(const struct profile_operations *o, size_t row, u32 kind)
{
	u32 n;
	const struct operation_part *parts = profile_operations_parts(o, row, &n);

	for (u32 i = 0; i < n; i++)
		if (parts[i].kind == kind)
			return &parts[i];
	return NULL;
}

static u64 sum_of_bars(const struct profile_operations *o, size_t row, u32 kind, enum spe_counter counter)
{
	static struct operation_bar bars[OPERATION_BARS];
	u32 n = profile_operations_histogram(o, row, kind, counter, bars);
	u64 sum = 0;

	for (u32 i = 0; i < n; i++) {
		assert_true(bars[i].n > 0 && bars[i].from <= bars[i].to);
		assert_true(!i || bars[i - 1].to < bars[i].from);
		sum += bars[i].n;
	}
	return sum;
}

/* Two workers' operations, whose nodes have other numbers, as rows: by kind, as a whole, and of all rows. */
static void test_rows(void **state)
{
	const u32 at[] = { 0, 2, 1, 4, 3 };
	struct operation_sums s = { 0 }, other = { 0 };
	const struct operation_part *all, *loads, *whole;
	struct profile_operations *o;
	struct rows r;
	u32 n;

	(void)state;
	for (u16 i = 1; i <= 50; i++)
		add(&s, 1, SPE_FROM_L1, i, 1);
	for (u16 i = 51; i <= 60; i++)
		add(&other, 1, SPE_FROM_L1, i, 4); /* node 2 here */
	add(&other, 2, SPE_FROM_DRAM, 900, 10);	   /* node 1 */
	add(&other, 4, OPERATION_STORE, 2, 5);	   /* node 3 */
	add(&s, 3, OPERATION_STORE, 2, 1);
	add(&s, 4, OPERATION_STORE, 2, 1000); /* of no row */
	operation_sums_merge(&s, &other, at);
	rows_begin(&r);
	o = profile_operations_new(NULL, 0, &s);
	assert_int_equal(s.counts.n, 0); /* they have moved */
	r.e.measured[MEASURE_OPERATIONS] = o;
	profile_operations_rows(&r.p, &r.e);
	all = profile_operations_parts(o, 0, &n);
	assert_int_equal(n, 3);
	assert_int_equal(all->kind, OPERATION_ALL);
	assert_int_equal(all->n, 100);
	assert_int_equal(all->ratios[OPERATION_L1D_MISS].n, 10);
	assert_int_equal(all->ratios[OPERATION_L1D_MISS].of, 100);
	assert_int_equal(all->latency[SPE_TOTAL].n, 100);
	assert_int_equal(all->latency[SPE_TOTAL].sum, 50 * 51 / 2 + 4 * 10 * 111 / 2 + 9000);
	assert_int_equal(all->latency[SPE_TOTAL].p50, 50);
	assert_int_equal(all->latency[SPE_TOTAL].p95, 900);
	assert_int_equal(all->latency[SPE_ISSUE].p99, 3);
	assert_int_equal(all->latency[SPE_TRANSLATION].n, 0);
	loads = part_of(o, 0, SPE_FROM_L1);
	assert_int_equal(loads->n, 90);
	assert_int_equal(loads->latency[SPE_TOTAL].p50, 45);
	assert_int_equal(loads->latency[SPE_TOTAL].p95, 59); /* the 86th */
	assert_int_equal(loads->latency[SPE_TOTAL].p99, 60); /* the 90th */
	assert_int_equal(loads->ratios[OPERATION_L1D_MISS].n, 0);
	assert_int_equal(part_of(o, 0, SPE_FROM_DRAM)->n, 10);
	assert_null(part_of(o, 0, OPERATION_STORE));
	assert_int_equal(part_of(o, 1, OPERATION_STORE)->n, 6);
	assert_int_equal(part_of(o, 1, OPERATION_ALL)->n, 6);
	whole = part_of(o, 2, OPERATION_ALL);
	assert_int_equal(whole->n, 106);
	assert_int_equal(whole->latency[SPE_TOTAL].sum, all->latency[SPE_TOTAL].sum + 12);
	assert_int_equal(part_of(o, 2, SPE_FROM_L1)->latency[SPE_TOTAL].p95, 59);
	assert_int_equal(sum_of_bars(o, 0, OPERATION_ALL, SPE_TOTAL), 100);
	assert_int_equal(sum_of_bars(o, 0, SPE_FROM_DRAM, SPE_TOTAL), 10);
	assert_int_equal(sum_of_bars(o, 0, OPERATION_STORE, SPE_TOTAL), 0);
	assert_int_equal(sum_of_bars(o, 0, OPERATION_ALL, SPE_TRANSLATION), 0);
	assert_int_equal(sum_of_bars(o, 2, OPERATION_ALL, SPE_ISSUE), 106);
	profile_operations_free(o);
}

/* Where two kinds share a class, it is one bar of all, and each kind's own has its part. */
static void test_shared_bar(void **state)
{
	struct operation_bar bars[OPERATION_BARS];
	struct operation_sums s = { 0 };
	struct profile_operations *o;
	struct rows r;

	(void)state;
	for (u32 i = 0; i < 2; i++) {
		add(&s, 1 + i, SPE_FROM_L1, 20, 3);
		add(&s, 1 + i, SPE_FROM_L2, 20, 4);
		add(&s, 1 + i, SPE_FROM_L1, 21, 1);
	}
	rows_begin(&r);
	o = r.e.measured[MEASURE_OPERATIONS] = profile_operations_new(NULL, 0, &s);
	profile_operations_rows(&r.p, &r.e);
	assert_int_equal(profile_operations_histogram(o, 0, OPERATION_ALL, SPE_TOTAL, bars), 2);
	assert_true(bars[0].from == 20 && bars[0].to == 20 && bars[0].n == 14);
	assert_true(bars[1].from == 21 && bars[1].n == 2);
	assert_int_equal(profile_operations_histogram(o, 0, SPE_FROM_L1, SPE_TOTAL, bars), 2);
	assert_true(bars[0].n == 6 && bars[1].n == 2);
	assert_int_equal(profile_operations_histogram(o, 0, SPE_FROM_L2, SPE_TOTAL, bars), 1);
	assert_int_equal(bars[0].n, 8);
	profile_operations_free(o);
}

/* --- modes of the CPU */

static void test_modes(void **state)
{
	static const struct {
		u8 cpumode;
		s32 mode; /* -1: none of them */
	} rows[] = { { PERF_RECORD_MISC_KERNEL, MODE_KERNEL },
		     { PERF_RECORD_MISC_USER, MODE_USER },
		     { PERF_RECORD_MISC_GUEST_KERNEL, MODE_GUEST_KERNEL },
		     { PERF_RECORD_MISC_GUEST_USER, MODE_GUEST_USER },
		     { PERF_RECORD_MISC_HYPERVISOR, -1 },
		     { PERF_RECORD_MISC_CPUMODE_UNKNOWN, -1 } };
	const u32 at[] = { 0, 3, 2, 1 };
	struct mode_sums s = { 0 }, other = { 0 };
	struct profile_modes *m;
	struct rows r;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		const struct spe_operation three = { .more = 2 };
		struct hit h = { .cpumode = rows[i].cpumode, .s.period = 10 + i, .operation = i == 1 ? &three : NULL };
		struct mode_held held;

		assert_int_equal(cpu_modes_hold(&h, &held), rows[i].mode >= 0);
		if (rows[i].mode < 0)
			continue;
		assert_int_equal(held.mode, rows[i].mode);
		assert_int_equal(held.weight, (10 + i) * (i == 1 ? 3 : 1));
		cpu_modes_add(NULL, &held, &(struct hit_place){ .node = 1 }, &s);
		cpu_modes_add(NULL, &held, &(struct hit_place){ .node = 3 }, &other); /* node 1 here */
		cpu_modes_add(NULL, &held, &(struct hit_place){ .node = 1 }, &other); /* node 3 */
	}
	cpu_modes_add(NULL, &(struct mode_held){ 1000, MODE_USER }, &(struct hit_place){ .node = 4 }, &s);
	mode_sums_merge(&s, &other, at);
	rows_begin(&r);
	m = r.e.measured[MEASURE_CPU_MODES] = profile_modes_new(NULL, 0, &s);
	profile_modes_rows(&r.p, &r.e);
	assert_int_equal(m->rows[0].of[MODE_KERNEL], 20);
	assert_int_equal(m->rows[0].of[MODE_USER], 66);
	assert_int_equal(m->rows[0].of[MODE_GUEST_KERNEL], 24);
	assert_int_equal(m->rows[0].of[MODE_GUEST_USER], 26);
	assert_int_equal(m->rows[1].of[MODE_USER], 33);
	profile_modes_free(m);
}

/* --- cycles of blocks */

/* The same code that was entered in two ways is one block; the dearest comes first, those that are as dear by place; a
 * branch is none, nor is code of which nothing is known. */
static void test_blocks(void **state)
{
	static const struct branch_trace traces[] = {
		{ 1, TRACE_BRANCH, 0x10, 0x20, 9, 0, 1, 1, 500, 5 },
		{ 1, TRACE_THROUGH, 0x20, 0x30, 9, 0, 1, 1, 60, 3 },
		{ 1, TRACE_THROUGH, 0x20, 0x40, 9, 0, 1, 1, 0, 0 },
		{ 1, TRACE_THROUGH, 0x28, 0x30, 9, 0, 1, 1, 100, 2 },
		{ 1, TRACE_THROUGH_ENTRY, 0x20, 0x30, 9, 0, 1, 1, 40, 1 },
		{ 2, TRACE_THROUGH, 0x20, 0x30, 9, 0, 1, 1, 300, 10 },
		{ 2, TRACE_THROUGH, 0x20, 0x38, 9, 0, 1, 1, 100, 4 },
	};
	static const struct code_block want[] = {
		{ 2, 0x20, 0x30, 300, 10 },
		{ 1, 0x20, 0x30, 100, 4 },
		{ 1, 0x28, 0x30, 100, 2 },
		{ 2, 0x20, 0x38, 100, 4 },
	};
	struct branch_traces t = { .cycles = 2000 }, none = { .cycles = 7 };
	struct code_blocks b;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(traces); i++)
		vec_push(&t.v, traces[i]);
	code_blocks_make(&b, &t);
	assert_int_equal(b.v.n, ARRAY_LEN(want));
	for (u32 i = 0; i < ARRAY_LEN(want); i++) {
		assert_true(b.v.v[i].dso == want[i].dso && b.v.v[i].from == want[i].from && b.v.v[i].to == want[i].to);
		assert_true(b.v.v[i].cycles == want[i].cycles && b.v.v[i].times == want[i].times);
	}
	assert_int_equal(b.cycles, 2000);
	assert_int_equal(b.known, 600);
	assert_true(b.averages == 30 + 25 + 50 + 25);
	code_blocks_free(&b);
	code_blocks_make(&b, &none);
	assert_int_equal(b.v.n, 0);
	assert_int_equal(b.cycles, 7);
	code_blocks_free(&b);
	vec_free(&t.v);
}

/* What was counted in the same code is summed up. */
static void test_block_events(void **state)
{
	static const struct branch_trace traces[] = {
		{ 1, TRACE_THROUGH, 0x20, 0x30, 9, 0, 1, 1, 60, 3, 1 },
		{ 1, TRACE_THROUGH, 0x28, 0x30, 9, 0, 1, 1, 50, 2, 0 },
		{ 1, TRACE_THROUGH_ENTRY, 0x20, 0x30, 9, 0, 1, 1, 40, 1, 2 },
		{ 1, TRACE_THROUGH_ENTRY, 0x28, 0x30, 9, 0, 1, 1, 1, 1, 3 },
		{ 1, TRACE_THROUGH, 0x44, 0x48, 9, 0, 1, 1, 1, 1, 0 },
	};
	static const struct event_sum sums[] = { { 5, 3, 1 }, { 2, 3, 0 }, { 4, 2, 1 },
						 { 0, 2, 0 }, { 7, 4, 3 }, { 1, 4, 0 } };
	struct branch_counter v[2] = { { 0 } };
	const struct branch_counters c = { .width = 2, .v = { v, 2, 2 } };
	struct branch_traces t = { .cycles = 200, .counters = &c };
	struct code_blocks b;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(traces); i++)
		vec_push(&t.v, traces[i]);
	for (u32 i = 0; i < ARRAY_LEN(sums); i++)
		vec_push(&t.event_sums, sums[i]);
	code_blocks_make(&b, &t);
	assert_int_equal(b.v.n, 3);
	assert_int_equal(b.nr_counted, 2);
	assert_int_equal(b.v.v[0].from, 0x20);
	assert_memory_equal(code_block_events(&b, &b.v.v[0]), ((struct event_sum[]){ { 9, 5, 2 }, { 2, 5, 0 } }),
			    2 * sizeof(*sums));
	assert_int_equal(b.v.v[1].from, 0x28);
	assert_memory_equal(code_block_events(&b, &b.v.v[1]), &sums[4], 2 * sizeof(*sums));
	assert_null(code_block_events(&b, &b.v.v[2]));
	code_blocks_free(&b);
	vec_free(&t.v);
	vec_free(&t.event_sums);
}

/* --- which operations are equal */

static bool wants(const u32 *keys, u32 nr, struct collector_opts *o, struct operation_wants *out)
{
	struct spe spe = { 0 };
	struct profile p = { .nr_sort = nr };

	for (u32 i = 0; i < nr; i++)
		p.sort_order[i] = keys[i];
	for (u32 i = 0; i < SPE_NR_EVENTS; i++)
		spe.of[i] = ID_NONE;
	spe.of[SPE_EVENT_BRANCH_MISS] = 3;
	o->keys = &p;
	return operation_wants(o, &spe, out);
}

/* What a report looks at, it must not take for equal; what it does not look at, it may. */
static void test_wants(void **state)
{
	static const struct {
		u32 key;
		bool equal, cpu, thread;
		u32 field; /* that it looks at; or SPE_NR_FIELDS */
	} rows[] = {
		{ SORT_COMM, true, false, false, SPE_NR_FIELDS },
		{ SORT_SYMBOL, true, false, false, SPE_NR_FIELDS },
		{ SORT_CGROUP, true, false, false, SPE_NR_FIELDS },
		{ SORT_TID, true, false, true, SPE_NR_FIELDS },
		{ SORT_CPU, true, true, false, SPE_NR_FIELDS },
		{ SORT_SOCKET, true, true, false, SPE_NR_FIELDS },
		{ SORT_WEIGHT, true, false, false, SPE_FIELD_LATENCY + SPE_TOTAL },
		{ SORT_LOCAL_WEIGHT, true, false, false, SPE_FIELD_LATENCY + SPE_TOTAL },
		{ SORT_MEM, true, false, false, SPE_FIELD_SOURCE },
		{ SORT_TLB, true, false, false, SPE_FIELD_EVENTS },
		{ SORT_LOCKED, true, false, false, SPE_FIELD_OPERATION },
		{ SORT_SYMBOL_DADDR, true, false, false, SPE_FIELD_VIRTUAL },
		{ SORT_DCACHELINE, true, false, false, SPE_FIELD_TARGET },
		{ SORT_TYPE, true, false, false, SPE_FIELD_VIRTUAL },
		{ SORT_TYPEOFF, true, false, false, SPE_FIELD_VIRTUAL },
		{ SORT_PHYS_DADDR, true, false, false, SPE_FIELD_PHYSICAL },
		{ SORT_TIME, false, false, false, SPE_NR_FIELDS },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct collector_opts o = { 0 };
		struct operation_wants w;

		assert_int_equal(wants(&rows[i].key, 1, &o, &w), rows[i].equal);
		assert_true(w.bits[SPE_FIELD_PC] == UINT64_MAX);
		assert_true(w.bits[SPE_FIELD_EVENTS] & SPE_EV_MISPREDICTED); /* the event that is made of it */
		assert_int_equal(w.cpu, rows[i].cpu);
		assert_int_equal(w.thread, rows[i].thread);
		for (u32 f = SPE_FIELD_TARGET; f < SPE_NR_FIELDS; f++) {
			if (f == rows[i].field)
				assert_true(w.bits[f] != 0);
			else if (rows[i].field == SPE_NR_FIELDS && f != SPE_FIELD_EVENTS)
				assert_int_equal(w.bits[f], 0);
		}
	}
}

/* A datum's address counts as far as a row tells it: the whole of it, or its line; a pointer's tag never does. */
static void test_wants_data(void **state)
{
	const u32 line[] = { SORT_DCACHELINE }, datum[] = { SORT_SYMBOL_DADDR },
		  both[] = { SORT_DADDR, SORT_DCACHELINE };
	struct collector_opts o = { 0 };
	struct operation_wants w;

	(void)state;
	assert_true(wants(line, 1, &o, &w));
	assert_int_equal(w.bits[SPE_FIELD_VIRTUAL], 0x00ffffffffffffc0);
	assert_true(wants(datum, 1, &o, &w));
	assert_int_equal(w.bits[SPE_FIELD_VIRTUAL], 0x00ffffffffffffff);
	assert_true(wants(both, 2, &o, &w));
	assert_int_equal(w.bits[SPE_FIELD_VIRTUAL], 0x00ffffffffffffff);
}

/* Beside keys: costs, measures and filters. */
static void test_wants_more(void **state)
{
	const u32 keys[] = { SORT_SYMBOL };
	u32 one[] = { 1 };

	(void)state;
	for (u32 i = 0; i < 10; i++) {
		struct sample_filter f = { 0 };
		struct timeranges times = { 0 };
		struct collector_opts o = { .costs = i == 1, .filter = i > 4 ? &f : NULL };
		struct operation_wants w;
		bool total = i == 1 || i == 2 || i == 3;

		o.measuring.used = i == 2 ? MEASURE_BIT(MEASURE_WEIGHTS) :
				   i == 3 ? MEASURE_BIT(MEASURE_OPERATIONS) :
				   i == 4 ? MEASURE_BIT(MEASURE_BRANCH_NOTES) :
				   i == 9 ? MEASURE_BIT(MEASURE_WINDOWS) :
					    MEASURE_BIT(MEASURE_CPU_MODES);
		if (i == 5) {
			f.cpus.v = one;
			f.cpus.n = 1;
		} else if (i == 6) {
			f.pids.v = one;
			f.pids.n = 1;
		} else if (i == 7) {
			f.tids.v = one;
			f.tids.n = 1;
		} else if (i == 8) {
			f.times = &times;
		}
		assert_int_equal(wants(keys, 1, &o, &w), i != 4 && i != 8);
		assert_int_equal(w.bits[SPE_FIELD_LATENCY + SPE_TOTAL], total ? UINT64_MAX : 0);
		assert_int_equal(w.bits[SPE_FIELD_LATENCY + SPE_TRANSLATION], i == 3 ? UINT64_MAX : 0);
		assert_int_equal(w.bits[SPE_FIELD_SOURCE], i == 3 ? UINT64_MAX : 0);
		assert_int_equal(w.cpu, i == 5);
		assert_int_equal(w.thread, i == 6 || i == 7);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_held),	     cmocka_unit_test(test_classes), cmocka_unit_test(test_rows),
		cmocka_unit_test(test_shared_bar),   cmocka_unit_test(test_modes),   cmocka_unit_test(test_blocks),
		cmocka_unit_test(test_block_events), cmocka_unit_test(test_wants),   cmocka_unit_test(test_wants_data),
		cmocka_unit_test(test_wants_more),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
