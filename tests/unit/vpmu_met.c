/* SPDX-License-Identifier: Apache-2.0 */
/* What the core tells of an operation that an event has reached, of branches and frames, and to whom when. */
#include "vpmu_world.h"

#include <stdlib.h>

#include "vpmu/branch_regs.h"
#include "vpmu/coherence.h"

#define DATA 0x10000
#define MODEL (&core_models[VPMU_GENERIC_X86])

/* Each operation overflows. */
static void watch_all(struct world *w)
{
	w->step = 1;
	arm(w, VC_INSTRUCTIONS, 1);
}

/* What was told of the nth instruction, from 0. */
static const struct core_at *told(const struct world *w, u32 nth)
{
	assert_true(nth < w->seen.n);
	return &w->seen.v[nth].at;
}

static void check_met(const struct core_met *met, u64 addr, u32 cycles, u8 level, bool walk)
{
	assert_int_equal(met->addr, addr);
	assert_int_equal(met->cycles, cycles);
	assert_int_equal(met->level, level);
	assert_int_equal(met->walk, walk);
	assert_false(met->peer);
}

/* Which level answers, whether the page had to be found, and how long that took: 4 cycles where L1 has the line. */
static void test_accesses(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	watch_all(&w);
	b = block(&w, BASE, "mmmng", -15);
	for (u32 i = 0; i < 2; i++) {
		enter(&w, b);
		access_at(&w, 0, DATA, 3, INFO_LOAD);
		access_at(&w, 1, DATA + 64, 3, INFO_STORE);
		access_at(&w, 2, DATA + 128, 3, INFO_LOAD | INFO_STORE);
	}
	count(&w, VC_CYCLES);
	check_met(&told(&w, 0)->load, DATA, 4 + MODEL->load[IN_MEMORY] + MODEL->tlb_load, IN_MEMORY, true);
	assert_int_equal(told(&w, 0)->store.cycles, 0);
	check_met(&told(&w, 1)->store, DATA + 64, 4 + MODEL->store[IN_MEMORY], IN_MEMORY, false);
	assert_int_equal(told(&w, 1)->load.cycles, 0);
	/* What is read and written waits as a load does, and is both. */
	check_met(&told(&w, 2)->load, DATA + 128, 4 + MODEL->load[IN_MEMORY], IN_MEMORY, false);
	check_met(&told(&w, 2)->store, DATA + 128, 4 + MODEL->load[IN_MEMORY], IN_MEMORY, false);
	assert_true(!told(&w, 3)->load.cycles && !told(&w, 3)->store.cycles && !told(&w, 3)->addr);
	for (u32 i = 5; i < 8; i++)
		check_met(i == 6 ? &told(&w, i)->store : &told(&w, i)->load, DATA + 64 * (i - 5), 4, IN_L1, false);
	teardown(&w);
}

/* Of several accesses of one operation, the one that took longest; of two lines, what both take; the address is that
 * of the last one. */
static void test_several_accesses(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	watch_all(&w);
	b = block(&w, BASE, "mmg", -11);
	enter(&w, b);
	access_at(&w, 0, DATA, 3, INFO_LOAD);
	access_at(&w, 1, DATA + 8, 3, INFO_LOAD);
	access_at(&w, 1, DATA + 640, 3, INFO_LOAD);
	access_at(&w, 1, DATA + 24, 3, INFO_LOAD);
	enter(&w, b);
	access_at(&w, 0, DATA + 1020, 3, INFO_LOAD); /* of which one line is new, */
	access_at(&w, 1, DATA + 2044, 3, INFO_LOAD); /* and both */
	count(&w, VC_CYCLES);
	check_met(&told(&w, 1)->load, DATA + 640, 4 + MODEL->load[IN_MEMORY], IN_MEMORY, false);
	assert_int_equal(told(&w, 1)->addr, DATA + 24);
	check_met(&told(&w, 3)->load, DATA + 1020, 4 + 2 * MODEL->load[IN_MEMORY], IN_MEMORY, false);
	check_met(&told(&w, 4)->load, DATA + 2044, 4 + 2 * MODEL->load[IN_MEMORY], IN_MEMORY, false);
	teardown(&w);
}

/* An operation waits for what the one before it took beyond its slot, but not for that of another block. */
static void test_waits(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	watch_all(&w);
	b = block(&w, BASE, "dnmkng", -18);
	for (u32 i = 0; i < 2; i++) {
		enter(&w, b);
		access_at(&w, 2, DATA, 3, INFO_LOAD);
		access_at(&w, 3, DATA, 3, INFO_LOAD | INFO_STORE);
	}
	count(&w, VC_CYCLES);
	assert_int_equal(told(&w, 0)->stalls, MODEL->op[COST_DIV]);
	assert_int_equal(told(&w, 0)->waits, 0);
	assert_int_equal(told(&w, 1)->stalls, 0);
	assert_int_equal(told(&w, 1)->waits, MODEL->op[COST_DIV]);
	assert_int_equal(told(&w, 2)->waits, 0);
	assert_int_equal(told(&w, 3)->waits, MODEL->load[IN_MEMORY] + MODEL->tlb_load);
	assert_int_equal(told(&w, 3)->stalls, MODEL->op[COST_ATOMIC]);
	assert_true(told(&w, 3)->locked && !told(&w, 2)->locked);
	assert_int_equal(told(&w, 4)->waits, MODEL->op[COST_ATOMIC]);
	assert_int_equal(told(&w, 6)->waits, 0);
	assert_int_equal(told(&w, 9)->waits, 0); /* L1 has it now */
	teardown(&w);
}

/* The last operation of a block is what its end is, and where that led; the others are plain. */
static void test_branches(void **state)
{
	static const struct {
		const char *text;
		u8 kind;
		s32 to; /* from the block's end; -1: nobody knows */
	} rows[] = {
		{ "nj", OP_COND, 0x40 },	   { "nj", OP_COND, 0 },	   { "ng", OP_JUMP, 0x40 },
		{ "nc", OP_CALL, 0x40 },	   { "nr", OP_RETURN, 0x200 },	   { "ni", OP_JUMP_INDIRECT, 0x200 },
		{ "nI", OP_CALL_INDIRECT, 0x200 }, { "nI", OP_CALL_INDIRECT, -1 }, { "nn", OP_PLAIN, 0 },
	};

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		const struct block *b;

		setup(&w, VPMU_MODEL_ALL, false);
		watch_all(&w);
		b = block(&w, BASE, rows[i].text, 0x40);
		enter(&w, b);
		if (rows[i].to >= 0)
			enter(&w, block(&w, b->end + (u64)rows[i].to, "n", 0));
		else
			core_settle(w.t);
		assert_int_equal(told(&w, 0)->kind, OP_PLAIN);
		assert_int_equal(told(&w, 0)->to, NO_PC);
		assert_int_equal(told(&w, 1)->kind, rows[i].kind);
		assert_int_equal(told(&w, 1)->to, rows[i].to < 0 ? NO_PC : b->end + (u64)rows[i].to);
		assert_int_equal(told(&w, 1)->behind, b->end);
		assert_int_equal(told(&w, 0)->behind, BASE + 1);
		teardown(&w);
	}
}

/* A conditional branch that goes the same way each time is foreseen in the end, and not the first time it goes the
 * other way. */
static void test_wrong(void **state)
{
	struct world w;
	const struct block *b, *other;
	u32 wrong = 0, n;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	watch_all(&w);
	b = block(&w, BASE, "nj", -7);
	other = block(&w, b->end, "g", -12);
	for (u32 i = 0; i < 200; i++)
		enter(&w, b);
	enter(&w, other);
	enter(&w, b);
	core_settle(w.t);
	for (u32 i = 0; i < 199; i++)
		wrong += told(&w, 2 * i + 1)->wrong;
	assert_in_range(wrong, 1, 40);
	for (u32 i = 100; i < 199; i++)
		assert_false(told(&w, 2 * i + 1)->wrong);
	assert_true(told(&w, 399)->wrong);
	for (n = 0; n < 199; n++)
		assert_false(told(&w, 2 * n)->wrong); /* no branch */
	assert_int_equal(w.t->counts[VC_BRANCH_MISSES], wrong + 1);
	assert_int_equal(w.t->counts[VC_SLOTS_BAD_SPECULATION], (u64)(wrong + 1) * MODEL->mispredict * MODEL->width);
	teardown(&w);
}

/* Loads that took so many cycles at least. */
static void test_slow_loads(void **state)
{
	static const struct {
		u32 ldlat;
		u64 slow;
	} rows[] = { { 3, 2 }, { 4 + 180, 2 }, { 4 + 180 + 1, 1 }, { 4 + 180 + 14, 1 }, { 4 + 180 + 14 + 1, 0 } };

	(void)state;
	assert_true(MODEL->load[IN_MEMORY] == 180 && MODEL->tlb_load == 14);
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct world w;
		const struct block *b;

		setup_options(&w, &(struct vpmu_options){ .models = VPMU_MODEL_ALL, .ldlat = rows[i].ldlat }, NULL);
		b = block(&w, BASE, "mmmn", 0);
		enter(&w, b);
		access_at(&w, 0, DATA, 3, INFO_LOAD); /* with a walk */
		access_at(&w, 1, DATA + 64, 3, INFO_LOAD);
		access_at(&w, 2, DATA + 128, 3, INFO_STORE); /* is none */
		assert_int_equal(count(&w, VC_SLOW_LOADS), rows[i].slow);
		teardown(&w);
	}
}

/* --- where cores share memory */

/* Another core has the line, or has changed it: it is not the own caches that answer. */
static void test_shared(void **state)
{
	struct world w;
	const struct block *b;
	struct coherence *shared = coherence_new();

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	w.process.coherence = shared;
	w.t->in_memory = 1;
	watch_all(&w);
	b = block(&w, BASE, "mmg", -11);
	for (u32 i = 0; i < 4; i++) {
		enter(&w, b);
		core_access_shared(w.t, 3u << INFO_SIZE_SHIFT | INFO_LOAD, DATA);
		core_access_shared(w.t, 3u << INFO_SIZE_SHIFT | INFO_STORE | 1ull << TOLD_OP, DATA + 64);
		coherence_use(shared, 2, (DATA >> LINE_SHIFT) + (i == 1), i != 2); /* by another core, meanwhile */
	}
	count(&w, VC_CYCLES);
	check_met(&told(&w, 0)->load, DATA, 4 + MODEL->load[IN_MEMORY] + MODEL->tlb_load, IN_MEMORY, true);
	/* The other one has stored to the load's line. */
	assert_true(told(&w, 3)->load.peer && told(&w, 3)->load.level == IN_LLC);
	assert_int_equal(told(&w, 3)->load.cycles, 4 + MODEL->peer_load);
	assert_int_equal(told(&w, 4)->store.cycles, 4);
	/* To the store's. */
	check_met(&told(&w, 6)->load, DATA, 4, IN_L1, false);
	assert_true(told(&w, 7)->store.peer && told(&w, 7)->store.level == IN_LLC);
	assert_int_equal(told(&w, 7)->store.cycles, 4 + MODEL->peer_store);
	/* It has only read what we have loaded. */
	check_met(&told(&w, 9)->load, DATA, 4, IN_L1, false);
	assert_int_equal(count(&w, VC_L1D_LOADS), 4);
	assert_int_equal(count(&w, VC_L1D_STORES), 4);
	assert_int_equal(count(&w, VC_L1D_LOAD_MISSES), 2);
	assert_int_equal(count(&w, VC_LLC_LOADS), 2 + 1); /* and the code's */
	assert_int_equal(count(&w, VC_LLC_LOAD_MISSES), 1 + 1);
	teardown(&w);
	free(shared);
}

/* --- branch records */

static const struct attr branches = { .sample_type = PERF_SAMPLE_BRANCH_STACK,
				      .branch_sample_type = PERF_SAMPLE_BRANCH_ANY | PERF_SAMPLE_BRANCH_USER };

/* Taken branches, with what they were; not those that were not taken, nor what is no branch, or is left in its middle,
 * or leads nobody knows where. The same, however blocks are counted. */
static void test_branch_records(void **state)
{
	(void)state;
	for (u32 way = 0; way < 4; way++) {
		const struct vpmu_options o = { .models = way & 1 ? VPMU_MODEL_ALL : 0, .branch_depth = 16 };
		const struct block *loop, *call, *back, *end;
		u64 words[3 * 16], hw_idx;
		struct world w;
		u32 n;

		setup_options(&w, &o, &branches);
		if (way & 2)
			watch_all(&w);
		loop = block(&w, BASE, "nnj", -8);
		call = block(&w, loop->end, "nc", 0x100);
		back = block(&w, call->end + 0x100, "ns", 0);
		end = block(&w, back->end, "r", 0);
		enter(&w, loop);
		enter(&w, loop);
		enter(&w, call); /* not taken */
		enter(&w, back);
		core_leave(w.t);
		enter(&w, end);
		enter(&w, block(&w, call->end, "nng", 0x40));
		enter(&w, block(&w, call->end + 1, "ng", 0x40)); /* done again from there on */
		core_settle(w.t);
		n = branch_regs_read(w.t->branches, 0, words, NULL, &hw_idx);
		assert_int_equal(n, 3);
		assert_true(words[0] == end->pc && words[1] == call->end);
		assert_true(words[3] == call->pc + 1 && words[4] == back->pc);
		assert_true(words[6] == loop->pc + 2 && words[7] == loop->pc);
		/* Without a predictor nobody knows whether they were foreseen. */
		for (u32 i = 0; i < 3; i++)
			assert_int_equal((words[3 * i + 2] & 3) != 0, way & 1);
		teardown(&w);
	}
}

/* --- whom it tells */

/* Each way in which control leaves its function is told as what it is, with where from, where to, and what a call has
 * behind it. */
static void test_frames(void **state)
{
	static const struct {
		const char *text;
		u64 to;
		u32 calls, returns, jumps, far_jumps;
	} rows[] = { { "nc", 0x40, 1, 0, 0, 0 },  { "nI", 0x200, 1, 0, 0, 0 }, { "nr", 0x200, 0, 1, 0, 0 },
		     { "ni", 0x200, 0, 0, 1, 1 }, { "ng", 0x40, 0, 0, 0, 0 },  { "nj", 0x40, 0, 0, 0, 0 } };

	(void)state;
	for (u32 i = 0; i < 3 * ARRAY_LEN(rows); i++) {
		const u32 row = i / 3;
		struct world w;
		const struct block *b;

		setup(&w, i % 3 == 1 ? 0 : VPMU_MODEL_ALL, false);
		w.t->stack = (struct callstack *)&w;
		if (i % 3 == 2)
			watch_all(&w);
		b = block(&w, BASE, rows[row].text, 0x40);
		enter(&w, b);
		assert_int_equal(w.resumes, 1); /* it began there */
		assert_int_equal(w.transfers, 1);
		enter(&w, block(&w, b->end + rows[row].to, "n", 0));
		assert_true(w.calls == rows[row].calls && w.returns == rows[row].returns &&
			    w.jumps == rows[row].jumps);
		assert_int_equal(w.transfers, 1 + rows[row].calls + rows[row].returns + rows[row].jumps);
		assert_int_equal(w.far_jumps, rows[row].far_jumps);
		if (w.transfers > 1) {
			assert_int_equal(w.event.from, BASE + 1);
			assert_int_equal(w.event.expect, b->end);
			assert_int_equal(w.event.to, b->end + rows[row].to);
		}
		teardown(&w);
	}
}

/* Who waits for the entry of a block is told once; a syscall is left at its place, and what runs nothing is not left.
 */
static void test_sampler(void **state)
{
	struct world w;
	const struct block *b, *s;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "nng", -7);
	s = block(&w, BASE + 0x100, "nns", 0);
	core_leave(w.t);
	assert_int_equal(w.leaves, 0);
	enter(&w, b);
	core_retarget(core_of(w.t));
	w.t->sampler_waits = true;
	arm(&w, VC_INSTRUCTIONS, 4); /* so that it is looked at */
	enter(&w, b);
	enter(&w, b);
	assert_true(w.entries >= 1);
	assert_int_equal(w.entered_at, BASE);
	assert_false(w.t->sampler_waits);
	enter(&w, s);
	core_leave(w.t);
	assert_int_equal(w.leaves, 1);
	assert_int_equal(w.left_at, s->pc + 2);
	core_leave(w.t);
	assert_int_equal(w.leaves, 1);
	teardown(&w);
}

/* A thread whose time on its virtual CPU is over gives that up at the entry of a block, once the sampler has taken
 * what waited for it. */
static void test_pass(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "nng", -7);
	enter(&w, b);
	core_retarget(core_of(w.t));
	w.t->sampler_waits = true;
	arm(&w, VC_INSTRUCTIONS, 4);
	enter(&w, b);
	enter(&w, b);
	assert_true(w.entries >= 1);
	assert_int_equal(w.passes, 0); /* its time is not over */
	w.t->leaves = w.t->sampler_waits = true;
	arm(&w, VC_INSTRUCTIONS, w.t->counts[VC_INSTRUCTIONS] + 4);
	enter(&w, b);
	enter(&w, b);
	assert_int_equal(w.passes, 1);
	assert_int_equal(w.passed_after, w.entries);
	assert_false(w.t->leaves);
	teardown(&w);
}

/* A child goes on without the block that its parent was in, whose accesses are its parent's, and with no branches. */
static void test_fork(void **state)
{
	const struct vpmu_options o = { .models = VPMU_MODEL_ALL, .branch_depth = 16 };
	u64 words[3 * 16], hw_idx;
	struct world w;
	const struct block *b;

	(void)state;
	setup_options(&w, &o, &branches);
	b = block(&w, BASE, "mmg", -11);
	enter(&w, b);
	enter(&w, b);
	access_at(&w, 0, DATA, 3, INFO_LOAD);
	access_at(&w, 1, DATA, 3, INFO_LOAD);
	core_settle(w.t);
	enter(&w, b);
	access_at(&w, 0, DATA, 3, INFO_LOAD);
	memset(w.t->counts, 0, sizeof(w.t->counts));
	core_forked(w.t);
	assert_int_equal(branch_regs_read(w.t->branches, 0, words, NULL, &hw_idx), 0);
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 0);
	assert_int_equal(w.t->counts[VC_L1D_LOADS], 0);
	enter(&w, b);
	access_at(&w, 0, DATA, 3, INFO_LOAD);
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 3);
	assert_int_equal(w.t->counts[VC_L1D_LOADS], 1);
	assert_int_equal(w.t->counts[VC_L1D_LOAD_MISSES], 0); /* its caches are as they were */
	teardown(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_accesses), cmocka_unit_test(test_several_accesses),
		cmocka_unit_test(test_waits),	 cmocka_unit_test(test_branches),
		cmocka_unit_test(test_wrong),	 cmocka_unit_test(test_slow_loads),
		cmocka_unit_test(test_shared),	 cmocka_unit_test(test_branch_records),
		cmocka_unit_test(test_frames),	 cmocka_unit_test(test_sampler),
		cmocka_unit_test(test_pass),	 cmocka_unit_test(test_fork),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
