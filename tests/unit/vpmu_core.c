/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The core, run over made-up blocks. The strongest test is the last one: whatever events are armed, they are told at
 * the same operations, with the same counts, as when each operation is walked.
 */
#include "vpmu_world.h"

static void test_blocks_are_reused(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "nnmj", 16);
	assert_ptr_equal(block(&w, BASE, "nnmj", 16), b);
	assert_ptr_not_equal(block(&w, BASE, "nnmj", 20), b); /* the code has changed */
	assert_ptr_not_equal(block(&w, BASE, "nn", 0), b);
	assert_ptr_equal(block(&w, BASE, "nnmj", 16), b);
	assert_int_equal(code_nr_blocks(w.process.code), 3);
	assert_int_equal(code_nr_ops(w.process.code), 10);
	assert_int_equal(b->other, b->end + 16);
	/* A branch that does not end its block is none. */
	assert_int_equal(block(&w, BASE, "njn", 16)->sums[SUM_BRANCH], 0);
	teardown(&w);
}

static void test_counts(void **state)
{
	struct world w;
	const struct block *b, *c, *d;

	(void)state;
	for (u32 models_of = 0; models_of <= VPMU_MODEL_ALL; models_of++) {
		setup(&w, models_of, false);
		b = block(&w, BASE, "nnc", 0x100);
		c = block(&w, b->end + 0x100, "nnr", 0);
		d = block(&w, b->end, "nj", -8);
		for (u32 i = 0; i < 1000; i++) {
			enter(&w, b);
			enter(&w, c);
			enter(&w, d);
		}
		assert_int_equal(count(&w, VC_INSTRUCTIONS), 8000);
		assert_int_equal(count(&w, VC_BRANCHES), 3000);
		assert_int_equal(count(&w, VC_CALLS), 1000);
		assert_int_equal(count(&w, VC_RETURNS), 1000);
		if (!models_of)
			assert_int_equal(count(&w, VC_SLOTS), 8000);
		teardown(&w);
	}
}

/* A division costs its class; so the slots of a loop without anything else are known. */
static void test_slots(void **state)
{
	const struct model *m = &core_models[VPMU_GENERIC_X86];
	struct world w;
	const struct block *b;
	u64 slots, backend;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "nndg", -10);
	for (u32 i = 0; i < 100; i++)
		enter(&w, b);
	slots = count(&w, VC_SLOTS);
	backend = count(&w, VC_SLOTS_BACKEND);
	for (u32 i = 0; i < 100; i++)
		enter(&w, b);
	assert_int_equal(count(&w, VC_SLOTS_BACKEND) - backend, 100 * m->op[COST_DIV] * m->width);
	/* The last block of each hundred is settled without knowing where it goes: 99 taken jumps. */
	assert_int_equal(count(&w, VC_SLOTS) - slots, 100 * (4 + m->op[COST_DIV] * m->width) + 99 * m->taken_slots);
	assert_int_equal(count(&w, VC_CYCLES), count(&w, VC_SLOTS) / m->width);
	assert_int_equal(count(&w, VC_TIME_NS), count(&w, VC_CYCLES) * 1000 / m->mhz);
	teardown(&w);
}

static void test_accesses(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "mmmg", -14);
	enter(&w, b);
	access_at(&w, 0, 0x10000, 3, INFO_LOAD); /* a wide one, in two parts */
	access_at(&w, 0, 0x10008, 3, INFO_LOAD);
	access_at(&w, 1, 0x1003c, 3, INFO_STORE);	      /* two lines */
	access_at(&w, 2, 0x20ffe, 2, INFO_LOAD | INFO_STORE); /* two pages, and both ways */
	enter(&w, b);
	access_at(&w, 0, 0x10000, 3, INFO_LOAD); /* as far apart: two */
	access_at(&w, 0, 0x10010, 3, INFO_LOAD);
	assert_int_equal(count(&w, VC_L1D_LOADS), 4);
	assert_int_equal(count(&w, VC_L1D_STORES), 2);
	assert_int_equal(count(&w, VC_L1D_LOAD_MISSES), 3);
	assert_int_equal(count(&w, VC_L1D_STORE_MISSES), 1);
	assert_int_equal(count(&w, VC_DTLB_LOADS), 4);
	assert_int_equal(count(&w, VC_DTLB_LOAD_MISSES), 3);
	assert_int_equal(count(&w, VC_DTLB_STORE_MISSES), 0);
	assert_int_equal(count(&w, VC_L1I_MISSES), 1);
	assert_int_equal(count(&w, VC_L2_REFERENCES), 5);
	assert_int_equal(count(&w, VC_L2_MISSES), 5);
	assert_int_equal(count(&w, VC_LLC_REFERENCES), 5);
	assert_int_equal(count(&w, VC_LLC_MISSES), 5);
	teardown(&w);
}

/* Each line of a block's code is fetched, with a jump as well as without. */
static void test_lines_are_fetched(void **state)
{
	char text[41] = { 0 };
	struct world w;

	(void)state;
	memset(text, 'a', 40); /* of 4 bytes each */
	for (u32 models_of = VPMU_MODEL_CACHE; models_of <= VPMU_MODEL_ALL; models_of++) {
		const struct block *b;

		if (!(models_of & VPMU_MODEL_CACHE))
			continue;
		setup(&w, models_of, false);
		b = block(&w, BASE, text, 0);
		assert_int_equal(b->more_lines, 2);
		enter(&w, b);
		assert_int_equal(count(&w, VC_L1I_MISSES), 3);
		enter(&w, b);
		assert_int_equal(count(&w, VC_L1I_MISSES), 3);
		teardown(&w);
	}
}

/* A sample has the address of its own operation's last access, also at the end of a block; others have none. */
static void test_sampled_addresses(void **state)
{
	static const u64 want[] = { 0x10008, 0, 0x20000, 0x30000, 0, 0, 0 };
	struct world w;
	const struct block *b, *c;

	(void)state;
	for (u32 way = 0; way < 2; way++) {
		setup(&w, way ? VPMU_MODEL_ALL : 0, false);
		b = block(&w, BASE, "mnmr", 0);
		c = block(&w, 0x500000, "nnnn", 0);
		w.step = 1;
		arm(&w, VC_INSTRUCTIONS, 1);
		enter(&w, b);
		access_at(&w, 0, 0x10000, 3, INFO_LOAD);
		access_at(&w, 0, 0x10008, 3, INFO_LOAD);
		access_at(&w, 2, 0x20000, 3, INFO_STORE);
		access_at(&w, 3, 0x30000, 3, INFO_LOAD);
		enter(&w, c);
		assert_int_equal(count(&w, VC_INSTRUCTIONS), 8);
		assert_int_equal(w.seen.n, 8);
		for (u32 i = 0; i < ARRAY_LEN(want); i++)
			assert_int_equal(w.seen.v[i].addr, want[i]);
		teardown(&w);
	}
}

static void test_many_accesses_of_one(void **state)
{
	struct world w;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	enter(&w, block(&w, BASE, "m", 0));
	for (u32 i = 0; i < 1000; i++)
		access_at(&w, 0, 0x10000 + 128 * i, 3, INFO_LOAD);
	assert_int_equal(count(&w, VC_L1D_LOADS), 1000);
	assert_int_equal(count(&w, VC_L1D_LOAD_MISSES), 1000);
	teardown(&w);
}

static void tell_run(struct world *w, const struct block *b, u32 op, u64 addr)
{
	core_access_run(w->t, access_run(b, op), addr);
}

/* The log has room for a run wherever it begins, and what ran of one is counted. */
static void test_runs(void **state)
{
	struct world w;

	(void)state;
	for (u32 before = 40; before < 140; before++) {
		const struct block *b;

		setup(&w, VPMU_MODEL_ALL, false);
		b = block(&w, BASE, "mllllllllllllllll", 0);
		enter(&w, b);
		for (u32 i = 0; i < before; i++)
			access_at(&w, 0, 0x10000 + 128 * i, 3, INFO_LOAD);
		assert_int_equal(run_nr(access_run(b, 1)), RUN_MAX + 1);
		tell_run(&w, b, 1, 0x7ff013);
		assert_int_equal(count(&w, VC_L1D_LOADS), before + RUN_MAX + 1);
		assert_int_equal(count(&w, VC_L1D_LOAD_MISSES), before + 1);
		enter(&w, b);
		tell_run(&w, b, 1, 0x7ff013);
		enter(&w, block(&w, b->ops[4].pc, "n", 0));
		assert_int_equal(count(&w, VC_L1D_LOADS), before + RUN_MAX + 1 + 3);
		teardown(&w);
	}
}

/* What stood in the log where a run's last access has its place is no part of what comes next. */
static void test_run_ends_wide(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "llm", 0);
	enter(&w, b);
	tell_run(&w, b, 0, 0x7fe013);
	assert_int_equal(count(&w, VC_L1D_LOADS), 2);
	enter(&w, b);
	access_at(&w, 2, 0x10000, 3, INFO_LOAD);
	access_at(&w, 2, 0x20000, 3, INFO_LOAD);
	assert_int_equal(count(&w, VC_L1D_LOADS), 4);
	enter(&w, b);
	tell_run(&w, b, 0, 0x7fe013);
	access_at(&w, 2, 0x20008, 3, INFO_LOAD);
	assert_int_equal(count(&w, VC_L1D_LOADS), 7);
	teardown(&w);
}

static void test_repeats_are_one(void **state)
{
	static const u64 slots[] = { 96 + 100, 96 + 12, 96 + 800 };
	struct world w;
	const struct block *first, *again;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	first = block(&w, BASE, "nnR", 0);
	again = block(&w, BASE + 2, "R", 0);
	enter(&w, first);
	for (u32 i = 0; i < 10; i++) {
		access_at(&w, i ? 0 : 2, 0x1000 + 8 * i, 3, INFO_LOAD);
		enter(&w, again);
	}
	enter(&w, block(&w, first->end, "n", 0));
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 4);
	assert_int_equal(count(&w, VC_L1D_LOADS), 10);
	/* Not repeated at all: another one each time. */
	enter(&w, first);
	enter(&w, block(&w, first->end, "n", 0));
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 8);
	teardown(&w);
	/* They take time to begin, and as many bytes in a cycle as the core moves, whatever path counts them. */
	for (u32 k = 0; k < 6; k++) {
		setup(&w, k & 1 ? VPMU_MODEL_ALL : VPMU_MODEL_BRANCH, false);
		for (u32 i = 0; i <= 100; i++)
			enter(&w, block(&w, BASE, k < 2 ? "R" : k < 4 ? "S" : "C", 0));
		enter(&w, block(&w, BASE + (k < 2 ? 3 : 2), "n", 0));
		assert_int_equal(count(&w, VC_SLOTS_BACKEND), slots[k / 2]);
		teardown(&w);
	}
}

static void test_left_in_its_middle(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	w.t->stack = (struct callstack *)&w;
	b = block(&w, BASE, "nnmnc", 0);
	enter(&w, b);
	enter(&w, block(&w, BASE + 2, "m", 0)); /* the third again, alone */
	enter(&w, block(&w, BASE + 5, "nc", 0));
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 5);
	assert_int_equal(count(&w, VC_CALLS), 1);
	assert_int_equal(w.calls, 0);
	teardown(&w);
}

/* One operation of what has just run, again alone, then the rest of it. */
static void again(struct world *w, u64 pc, const char *text, u32 op)
{
	const struct block *b = block(w, pc, text, 0);
	char alone[2] = { text[op] };

	enter(w, b);
	enter(w, block(w, b->ops[op].pc, alone, 0));
	if (op + 1 < b->nr)
		enter(w, block(w, b->ops[op + 1].pc, text + op + 1, 0));
}

/* Its end may lead anywhere, or to what is done again; here it does not, but for the last time. */
static void test_again_alone(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	for (u32 models_of = 0; models_of <= VPMU_MODEL_ALL; models_of++) {
		setup(&w, models_of, false);
		again(&w, BASE, "nmnr", 1);
		assert_int_equal(count(&w, VC_INSTRUCTIONS), 4);
		assert_int_equal(count(&w, VC_RETURNS), 1);
		again(&w, BASE + 0x100, "mi", 0);
		assert_int_equal(count(&w, VC_INSTRUCTIONS), 6);
		again(&w, BASE + 0x200, "nI", 1);
		assert_int_equal(count(&w, VC_INSTRUCTIONS), 8);
		assert_int_equal(count(&w, VC_CALLS), 1);
		b = block(&w, BASE + 0x300, "mnj", -10);
		assert_int_equal(b->other, b->pc);
		for (u32 i = 0; i < 3; i++) {
			enter(&w, b);
			enter(&w, block(&w, b->pc, "m", 0));
			enter(&w, block(&w, b->pc + 3, "nj", -10));
		}
		assert_int_equal(count(&w, VC_INSTRUCTIONS), 8 + 9);
		assert_int_equal(count(&w, VC_BRANCHES), 3 + 3);
		enter(&w, block(&w, BASE + 0x400, "nni", 0));
		enter(&w, block(&w, BASE + 0x401, "ni", 0));
		enter(&w, block(&w, BASE + 0x402, "i", 0));
		enter(&w, block(&w, BASE + 0x402, "i", 0));
		assert_int_equal(count(&w, VC_INSTRUCTIONS), 17 + 3 + 2 + 1 + 1);
		assert_int_equal(count(&w, VC_BRANCHES), 6 + 4);
		teardown(&w);
	}
}

/* At the head of a loop: there its branch leads too. */
static void test_faults_and_loops(void **state)
{
	struct world w;
	const struct block *b, *handler, *string;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "mnj", -10);
	handler = block(&w, 0x500000, "ns", 0);
	w.process.handler_bits = handler_bit(handler->pc);
	w.was_at = BASE;
	w.fault = true;
	enter(&w, b);
	enter(&w, handler);
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 2);
	assert_int_equal(count(&w, VC_BRANCHES), 0);
	w.fault = false; /* it comes between two rounds */
	enter(&w, b);
	enter(&w, handler);
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 4 + 3);
	assert_int_equal(count(&w, VC_BRANCHES), 1);
	/* A string instruction goes on after either; one that has not begun yet begins. */
	string = block(&w, BASE + 0x100, "R", 0);
	w.was_at = string->pc;
	for (u32 i = 0; i < 6; i++) {
		w.fault = i % 3 != 2;
		enter(&w, string);
		if (i != 0)
			enter(&w, string);
		enter(&w, handler);
		core_settle(w.t);
	}
	enter(&w, string);
	enter(&w, block(&w, string->end, "n", 0));
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 7 + 6 * 2 + 1 + 1);
	teardown(&w);
}

static void test_signals(void **state)
{
	struct world w;
	const struct block *b, *handler;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	w.t->stack = (struct callstack *)&w;
	b = block(&w, BASE, "nnmr", 0);
	handler = block(&w, 0x500000, "nr", 0);
	w.process.handler_bits = handler_bit(handler->pc);
	w.was_at = BASE + 2; /* the load faults */
	w.fault = true;
	enter(&w, b);
	enter(&w, handler);
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 2 + 2);
	assert_int_equal(count(&w, VC_RETURNS), 1); /* the handler's */
	assert_int_equal(w.jumps, 1);
	assert_int_equal(w.returns, 0);
	w.was_at = 0x600000; /* it comes when the return is done, to code that cannot be run */
	enter(&w, b);
	enter(&w, handler);
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 4 + 4 + 2);
	assert_int_equal(w.returns, 1);
	/* Nobody knows: it counts as run, and is not judged. */
	w.was_at = 0;
	enter(&w, block(&w, BASE + 0x100, "nnj", 4));
	enter(&w, handler);
	assert_int_equal(count(&w, VC_INSTRUCTIONS), 10 + 3 + 2);
	assert_int_equal(w.jumps, 2);
	teardown(&w);
}

static void test_overflow_is_exact(void **state)
{
	struct world w;
	const struct block *b;

	(void)state;
	setup(&w, VPMU_MODEL_ALL, false);
	b = block(&w, BASE, "nnnnng", -10);
	arm(&w, VC_INSTRUCTIONS, 21);
	for (u32 i = 0; i < 10; i++)
		enter(&w, b);
	assert_int_equal(w.overflows, 1);
	assert_int_equal(w.seen.v[0].pc, BASE + 2);
	assert_int_equal(w.seen.v[0].counts[VC_INSTRUCTIONS], 21);
	assert_int_equal(w.seen.v[0].counts[VC_BRANCHES], 3);
	teardown(&w);
}

/* Of several that are armed, the nearest one is told of where it is due, whichever it is. */
static void test_nearest_of_several(void **state)
{
	static const u32 nearest[] = { 0, 1, ARMED_MAX - 1 };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(nearest); i++) {
		struct world w;
		const struct block *b;

		setup(&w, VPMU_MODEL_ALL, false);
		b = block(&w, BASE, "nnnnng", -10);
		for (u32 k = 0; k < ARMED_MAX; k++)
			core_armed(w.t)[k] =
				(struct armed){ .count = VC_INSTRUCTIONS, .at = k == nearest[i] ? 21 : 1000000 };
		core_set_armed(w.t, ARMED_MAX);
		for (u32 k = 0; k < 10; k++)
			enter(&w, b);
		assert_int_equal(w.overflows, 1);
		assert_int_equal(w.seen.v[0].pc, BASE + 2);
		assert_int_equal(w.seen.v[0].counts[VC_INSTRUCTIONS], 21);
		teardown(&w);
	}
}

/* A branch that is sure not to be taken, and then is, costs what taken ones cost. */
static void test_taken_at_last(void **state)
{
	const struct block *branch, *back, *there;
	struct world w;

	(void)state;
	setup(&w, VPMU_MODEL_BRANCH, false);
	branch = block(&w, BASE, "nj", 0x100);
	back = block(&w, branch->end, "ng", -13);
	there = block(&w, branch->end + 0x100, "ng", 4);
	for (u32 i = 0; i < 100; i++) {
		enter(&w, branch);
		enter(&w, back);
	}
	enter(&w, branch);
	enter(&w, there);
	assert_int_equal(count(&w, VC_BRANCH_MISSES), 1);
	/* The way back, and that one; where the last block leads nobody knows. */
	assert_int_equal(count(&w, VC_SLOTS_FRONTEND), (100 + 1) * core_models[VPMU_GENERIC_X86].taken_slots);
	teardown(&w);
}

/* --- whatever is armed --- */

static u64 next_random(u64 *state)
{
	*state = *state * 6364136223846793005 + 1442695040888963407;
	return *state >> 33;
}

static bool is_asked(const struct world *w)
{
	return w->control.options.models & (VPMU_MODEL_CACHE | VPMU_MODEL_TLB);
}

/* The string instruction at the end of b goes on for a while, then what is behind it runs. */
static void repeat(struct world *w, const struct block *b, u64 *random)
{
	const struct op *last = &b->ops[b->nr - 1];
	const struct block *again = block(w, last->pc, last->size == 3 ? "R" : "S", 0);
	u64 times = next_random(random) % 30, to = 0x300000 + next_random(random) % 100000;

	for (u64 i = 0; i < times; i++) {
		enter(w, again);
		if (is_asked(w))
			access_at(w, 0, to + 8 * i, 3, INFO_STORE);
	}
	enter(w, block(w, b->end, "n", 0));
}

/* Accesses around the stack pointer, as QEMU tells of them: one for each run. */
static void on_stack(struct world *w, const struct block *b, u32 op, const struct insn *k, u64 *stack)
{
	u64 run = access_run(b, op), addr = *stack + (u64)(s64)k->at;

	*stack += (u64)(s64)k->moves;
	if (!is_asked(w) || !k->how || b->ops[op].access & OP_FOLLOWS)
		return;
	if (run_nr(run) > 1)
		core_access_run(w->t, run, addr);
	else if (run)
		core_access(w->t, run, addr, k->how == INFO_STORE ? ACCESS_STORE : ACCESS_LOAD);
	else
		access_at(w, op, addr, k->log2, k->how);
	w->runs += run_nr(run) > 1;
}

/* A program of 60 blocks in a ring of jumps, calls and returns, with accesses that hit, miss and cross. */
static void run_program(struct world *w, u64 seed, u32 length)
{
	static const char *const texts[] = { "nnmj",	"mmmmmj",   "ndg",	"mnnc",
					     "nmr",	"nni",	    "mR",	"nnnnnnnnmmmmnnnnnnnnj",
					     "ppallbc", "lPnPbPPr", "llmblplj", "mS" };
	const struct block *blocks[60];
	u64 random = seed;
	u32 at = 0;

	for (u32 i = 0; i < ARRAY_LEN(blocks); i++)
		blocks[i] = block(w, BASE + 0x90 * i, texts[(i * 7) % ARRAY_LEN(texts)], 0x90);
	for (u32 n = 0; n < length; n++) {
		const struct block *b = blocks[at];
		const char *text = texts[(at * 7) % ARRAY_LEN(texts)];
		u64 far = next_random(&random), stack = 0x7ff000 + (far & 7 ? far >> 8 & 255 : far >> 8 & 0xffffff);

		enter(w, b);
		for (u32 i = 0; i < b->nr; i++) {
			u64 r = next_random(&random);
			u64 addr = r & 1 ? 0x100000 + r % 3000 : r & 2 ? 0x200000 + r % 300000 : 0x7ff000 + r % 200;

			if (is_asked(w) && b->ops[i].size == 3)
				access_at(w, i, addr, (u32)(r >> 20) % 4, r & 4 ? INFO_LOAD : INFO_STORE);
			on_stack(w, b, i, known_as(text[i]), &stack);
		}
		if (b->kind == OP_REP)
			repeat(w, b, &random);
		else if (far % 13 == 0)
			again(w, b->pc, text, (u32)(far >> 8) % b->nr);
		/* Most go to a neighbour, which is not where they should go: what is cut, or interrupted, comes too.
		 */
		at = next_random(&random) % 4 ? (at + 1) % ARRAY_LEN(blocks) :
						(u32)next_random(&random) % ARRAY_LEN(blocks);
	}
	core_settle(w->t);
}

/* The operations at which `count` reaches step, 2 step.. when each operation is looked at. */
static void check_armed(struct world *all, u32 models_of, u8 counted, u64 step, u64 seed, u32 length)
{
	struct world w;
	size_t k = 0;
	u64 at = step;

	setup(&w, models_of, false);
	w.step = step;
	arm(&w, counted, step);
	run_program(&w, seed, length);
	assert_memory_equal(w.t->counts, all->t->counts, sizeof(w.t->counts));
	assert_int_equal(all->runs, 0);
	assert_true(!is_asked(&w) || w.runs > length / 8);
	for (size_t i = 0; i < all->seen.n; i++) {
		const struct told *there = &all->seen.v[i];

		if (there->counts[counted] < at)
			continue;
		assert_true(k < w.seen.n);
		assert_int_equal(w.seen.v[k].pc, there->pc);
		assert_memory_equal(w.seen.v[k].counts, there->counts, sizeof(there->counts));
		k++;
		at += (there->counts[counted] - at) / step * step + step;
	}
	assert_int_equal(k, w.seen.n);
	teardown(&w);
}

static void check_all_armed(u32 models_of, u64 seed, u32 length)
{
	static const u64 steps[] = { 1013, 7, 20011, 300 };
	struct world all;

	setup(&all, models_of, true);
	run_program(&all, seed, length);
	for (u8 counted = 0; counted < VC_NONE; counted++)
		check_armed(&all, models_of, counted, steps[(counted + seed) % ARRAY_LEN(steps)], seed, length);
	teardown(&all);
}

static void test_any_event_is_exact(void **state)
{
	(void)state;
	for (u64 seed = 1; seed <= 4; seed++)
		check_all_armed(VPMU_MODEL_ALL, seed, 1500);
	check_all_armed(0, 5, 3000);
	check_all_armed(VPMU_MODEL_CACHE, 6, 1500);
	check_all_armed(VPMU_MODEL_BRANCH | VPMU_MODEL_TLB, 7, 1500);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_blocks_are_reused),
		cmocka_unit_test(test_counts),
		cmocka_unit_test(test_slots),
		cmocka_unit_test(test_accesses),
		cmocka_unit_test(test_lines_are_fetched),
		cmocka_unit_test(test_sampled_addresses),
		cmocka_unit_test(test_many_accesses_of_one),
		cmocka_unit_test(test_runs),
		cmocka_unit_test(test_run_ends_wide),
		cmocka_unit_test(test_repeats_are_one),
		cmocka_unit_test(test_left_in_its_middle),
		cmocka_unit_test(test_again_alone),
		cmocka_unit_test(test_faults_and_loops),
		cmocka_unit_test(test_signals),
		cmocka_unit_test(test_overflow_is_exact),
		cmocka_unit_test(test_nearest_of_several),
		cmocka_unit_test(test_taken_at_last),
		cmocka_unit_test(test_any_event_is_exact),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
