/* SPDX-License-Identifier: Apache-2.0 */
/* The verdict over cache lines: who uses which bytes, and what had to wait for it. */
#include "agg/shared_lines.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/perf_abi.h"

#define PART (7ull << 60) /* which part of a data_src a key is: above the part itself */
#define LINE 0x7000u

enum how {
	LOAD,
	HANDED,	    /* a load that another core answered, which had changed the line (x86) */
	HANDED_ARM, /* or had it */
	STORE,
	MISSED, /* a store that had to get the line */
};

struct use {
	u64 address;
	u32 tid;
	enum how how;
	u32 samples;
	u64 cost;
	u32 pid, cpu, code;
	bool locked;
};

static const u8 keys[] = { SORT_PID,	SORT_TID,   SORT_CPU,	       SORT_MEM_OP,    SORT_MEM,	 SORT_SNOOP,
			   SORT_LOCKED, SORT_DADDR, SORT_SYMBOL_DADDR, SORT_DSO_DADDR, SORT_SYMBOL_IADDR };
#define NR_KEYS ARRAY_LEN(keys)

/* Frames of code, by number: those with higher numbers lie further up in the file. */
#define NR_CODES 8u
static struct frames *codes(void)
{
	struct frames *f = frames_new();

	for (u32 i = 0; i < NR_CODES; i++)
		frames_intern(f, &(struct frame){ .sym = ID_NONE, .addr = 0x1000 - i });
	return f;
}

static struct shared_lines lines_of(const struct use *uses, u32 n)
{
	struct profile p = { .frames = codes() };
	struct profile_event e = { 0 };
	struct shared_lines lines;
	u64 words[32][NR_KEYS];

	for (u32 i = 0; i < NR_KEYS; i++)
		p.key_at[keys[i]] = (u8)i;
	for (u32 i = 0; i < n; i++) {
		const struct use *u = &uses[i];
		bool store = u->how >= STORE;
		const u64 v[NR_KEYS] = {
			u->pid ? u->pid : 10,
			u->tid,
			u->cpu,
			PART | (store ? PERF_MEM_S(OP, STORE) : PERF_MEM_S(OP, LOAD)),
			PART | PERF_MEM_S(LVL, L1) | (u->how == MISSED ? PERF_MEM_S(LVL, MISS) : PERF_MEM_S(LVL, HIT)),
			PART | (u->how == HANDED     ? PERF_MEM_S(SNOOP, HITM) :
				u->how == HANDED_ARM ? PERF_MEM_S(SNOOPX, PEER) :
						       PERF_MEM_S(SNOOP, HIT)),
			PART | (u->locked ? PERF_MEM_S(LOCK, LOCKED) : 0),
			u->address,
			1,
			2,
			u->code,
		};

		memcpy(words[i], v, sizeof(v));
		vec_push(&e.rows, (struct row){ .self = u->cost, .samples = u->samples, .keys = words[i], .comm = 3 });
	}
	vec_push(&p.events, e);
	shared_lines_make(&p, &lines);
	vec_free(&p.events);
	vec_free(&e.rows);
	frames_free(p.frames);
	return lines;
}

static void expect(const struct use *uses, u32 n, enum line_verdict verdict, double false_share)
{
	struct shared_lines lines = lines_of(uses, n);

	assert_int_equal(lines.lines.n, 1);
	assert_int_equal(lines.lines.v[0].verdict, verdict);
	assert_true(lines.lines.v[0].false_share == false_share);
	shared_lines_free(&lines);
}

static void test_false(void **state)
{
	const struct use uses[] = { { LINE, 1, STORE, 10 }, { LINE + 8, 2, HANDED, 10 } };
	const struct use arm[] = { { LINE, 1, STORE, 10 }, { LINE + 8, 2, HANDED_ARM, 10 } };
	const struct use last[] = { { LINE + 63, 1, STORE, 10 }, { LINE, 2, HANDED, 10 } };
	const struct use stores[] = { { LINE, 1, MISSED, 10 }, { LINE + 8, 2, MISSED, 10 } };
	const struct use load[] = { { LINE, 1, LOAD, 10 }, { LINE + 8, 2, MISSED, 10 } };

	(void)state;
	expect(uses, 2, LINE_FALSE, 1);
	expect(arm, 2, LINE_FALSE, 1);
	expect(last, 2, LINE_FALSE, 1);
	expect(stores, 2, LINE_FALSE, 1);
	/* A store waits for whoever uses the line, a load only for those who store. */
	expect(load, 2, LINE_FALSE, 1);
}

static void test_true(void **state)
{
	const struct use uses[] = { { LINE + 8, 1, STORE, 10 }, { LINE + 8, 2, HANDED, 10 } };
	const struct use other_too[] = { { LINE + 8, 1, STORE, 10 },
					 { LINE, 1, STORE, 10 },
					 { LINE + 8, 2, HANDED, 9 } };

	(void)state;
	expect(uses, 2, LINE_TRUE, 0);
	expect(other_too, 3, LINE_TRUE, 0);
}

static void test_neither(void **state)
{
	const struct use alone[] = { { LINE, 1, MISSED, 10 }, { LINE + 8, 1, HANDED, 10 } };
	const struct use read[] = { { LINE, 1, LOAD, 10 }, { LINE, 2, LOAD, 10 }, { LINE + 8, 3, HANDED, 10 } };
	/* The one that stores does not wait for itself, and the other had not to wait. */
	const struct use quiet[] = { { LINE, 1, STORE, 10 },
				     { LINE + 8, 2, LOAD, 10 },
				     { LINE, 1, HANDED, 2, .code = 1 } };

	(void)state;
	expect(alone, 2, LINE_ALONE, 0);
	expect(read, 3, LINE_READ, 0);
	expect(quiet, 3, LINE_READ, 0);
}

/* Nine of ten make the verdict. */
static void test_both(void **state)
{
	struct use uses[] = {
		{ LINE, 1, STORE, 1 },
		{ LINE + 8, 2, HANDED, 50 }, /* other bytes */
		{ LINE, 2, HANDED, 50 },     /* the same */
	};

	/* Of one place: loads that waited, and stores. */
	const struct use mixed[] = { { LINE, 1, STORE, 1 },
				     { LINE + 8, 2, HANDED, 20 },
				     { LINE + 8, 2, MISSED, 30 },
				     { LINE, 2, HANDED, 50 } };

	(void)state;
	expect(mixed, 4, LINE_BOTH, 0.5);
	expect(uses, 3, LINE_BOTH, 0.5);
	uses[1].samples = 90;
	uses[2].samples = 10;
	expect(uses, 3, LINE_FALSE, 0.9);
	uses[1].samples = 89;
	uses[2].samples = 11;
	expect(uses, 3, LINE_BOTH, 0.89);
	uses[1].samples = 9;
	uses[2].samples = 91;
	expect(uses, 3, LINE_TRUE, 0.09);
	uses[1].samples = 11;
	uses[2].samples = 89;
	expect(uses, 3, LINE_BOTH, 0.11);
}

/* Where nothing says what had to wait, all may have. */
static void test_nothing_said(void **state)
{
	const struct use uses[] = { { LINE, 1, STORE, 30 }, { LINE + 8, 2, LOAD, 50 }, { LINE, 2, LOAD, 20 } };

	(void)state;
	/* The store meets the load of its own bytes: 30 and 20 are together, 50 apart. */
	expect(uses, 3, LINE_BOTH, 0.5);
}

static void test_sums(void **state)
{
	const struct use uses[] = {
		{ LINE, 1, LOAD, 1, 100, .cpu = 1 },
		{ LINE, 1, HANDED, 2, 200, .cpu = 2 }, /* the same place: one use */
		{ LINE + 60, 2, STORE, 4, 400, .cpu = 2 },
		{ LINE + 60, 2, MISSED, 8, 800, .cpu = 2, .locked = true },
		{ LINE + 60, 2, STORE, 16, 1600, .code = 7 },
		{ LINE + 60, 1, LOAD, 32, 3200, .locked = true },
		{ 0, 1, LOAD, 64, 6400 },
	};
	struct shared_lines lines = lines_of(uses, ARRAY_LEN(uses));
	const struct shared_line *l = &lines.lines.v[0];

	(void)state;
	assert_int_equal(lines.lines.n, 1);
	assert_int_equal(lines.nowhere, 64);
	assert_int_equal(lines.loads, 35);
	assert_int_equal(lines.stores, 28);
	assert_int_equal(lines.handed, 2);
	assert_int_equal(lines.missed, 8);
	assert_int_equal(lines.cost, 3500);
	assert_int_equal(l->address, LINE);
	assert_int_equal(l->pid, 10);
	assert_int_equal(l->loads, 35);
	assert_int_equal(l->stores, 28);
	assert_int_equal(l->handed, 2);
	assert_int_equal(l->missed, 8);
	assert_int_equal(l->locked, 40);
	assert_int_equal(l->cost, 3500);
	assert_int_equal(l->nr_threads, 2);
	assert_int_equal(l->nr_writers, 1);
	assert_int_equal(l->nr_cpus, 3);
	assert_int_equal(l->uses.n, 4);
	assert_int_equal(l->uses.v[0].offset, 0);
	assert_int_equal(l->uses.v[0].loads, 3);
	assert_int_equal(l->uses.v[0].handed, 2);
	assert_int_equal(l->uses.v[0].cost, 300);
	assert_int_equal(l->uses.v[1].tid, 1);
	assert_int_equal(l->uses.v[1].locked, 32);
	/* By address: workers number code as they meet it, which is another order in each run. */
	assert_int_equal(l->uses.v[2].code, 7);
	assert_int_equal(l->uses.v[2].comm, 3);
	assert_int_equal(l->uses.v[2].datum, 1);
	assert_int_equal(l->uses.v[2].object, 2);
	assert_int_equal(l->uses.v[3].offset, 60);
	assert_int_equal(l->uses.v[3].stores, 12);
	assert_int_equal(l->uses.v[3].missed, 8);
	assert_int_equal(l->uses.v[3].locked, 8);
	assert_int_equal(l->uses.v[3].cost, 0);
	shared_lines_free(&lines);
}

/* Handed over most often first, then what stores missed, then cost, process and address. */
static void test_order(void **state)
{
	const struct use uses[] = {
		{ LINE + 64, 1, LOAD, 9, 5 },
		{ LINE, 1, LOAD, 9, 5 },
		{ LINE, 1, LOAD, 9, 5, .pid = 9 },
		{ LINE + 128, 1, LOAD, 9, 6 },
		{ LINE + 192, 1, MISSED, 1 },
		{ LINE + 256, 1, MISSED, 2 },
		{ LINE + 320, 1, HANDED, 1 },
		{ LINE + 384, 1, HANDED, 2 },
		{ LINE + 448, 1, HANDED, 1, 7, .pid = 4000 },
	};
	static const struct {
		u64 address;
		u32 pid;
	} order[] = { { LINE + 384, 10 }, { LINE + 448, 4000 }, { LINE + 320, 10 },
		      { LINE + 256, 10 }, { LINE + 192, 10 },	{ LINE + 128, 10 },
		      { LINE, 9 },	  { LINE, 10 },		{ LINE + 64, 10 } };
	struct shared_lines lines = lines_of(uses, ARRAY_LEN(uses));

	(void)state;
	assert_int_equal(lines.lines.n, ARRAY_LEN(order));
	for (u32 i = 0; i < ARRAY_LEN(order); i++) {
		assert_int_equal(lines.lines.v[i].address, order[i].address);
		assert_int_equal(lines.lines.v[i].pid, order[i].pid);
	}
	shared_lines_free(&lines);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_false), cmocka_unit_test(test_true),	   cmocka_unit_test(test_neither),
		cmocka_unit_test(test_both),  cmocka_unit_test(test_nothing_said), cmocka_unit_test(test_sums),
		cmocka_unit_test(test_order),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
