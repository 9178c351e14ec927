/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be stitched to a call stack of branch records, decision by decision. tests/cli/lbr.py holds it against a
 * model of the hardware with symbols of files; here functions are what the test says that they are.
 */
#include "stitch_world.h"

static bool only(const struct run *r, u32 function, u64 from, u64 to)
{
	const struct callee f = { PID, function };

	return callers_only(r->callers, &f, from, to);
}

/* --- callers --- */

static void test_reads_calls(void **state)
{
	struct made a = stack(4, 3, false), b = { .ip = IN(4), .words = { CALL(9, 4) }, .n = 1, .reg = -1, .tid = 12 };
	const u64 c43[] = { CALL(3, 4) }, c32[] = { CALL(2, 3) }, c21[] = { CALL(1, 2) };
	struct run r;

	(void)state;
	begin(&r);
	read_one(&r, &a);
	assert_true(only(&r, 4, c43[0], c43[1]));
	assert_true(only(&r, 3, c32[0], c32[1]));
	assert_true(only(&r, 2, c21[0], c21[1]));
	assert_false(only(&r, 1, c21[0], c21[1]));
	read_one(&r, &b);
	assert_false(only(&r, 4, c43[0], c43[1]));
	assert_true(only(&r, 3, c32[0], c32[1]));
	end(&r);
}

/* What is no call ends them; so does their number, whatever lies behind them. */
static void test_ends_at_no_call(void **state)
{
	struct made m = { .ip = IN(4), .n = 3, .reg = -1, .words = { CALL(3, 4), CALL(2, 3), CALL(1, 2) } };
	const u64 c43[] = { CALL(3, 4) }, c32[] = { CALL(2, 3) };

	(void)state;
	for (u32 word = 3; word < 6; word++) {
		struct made cut = m;
		struct run r;

		begin(&r);
		cut.n = word < 5 ? 3 : 1;
		cut.words[word] = 0;
		read_one(&r, &cut);
		assert_true(only(&r, 4, c43[0], c43[1]));
		assert_false(only(&r, 3, c32[0], c32[1]));
		assert_false(only(&r, 2, m.words[6], m.words[7]));
		takes(&r, &cut, 1, 1);
		end(&r);
	}
}

/* A call that led to another function than its target counts for both. */
static void test_jumps(void **state)
{
	struct made first = { .ip = IN(3), .words = { CALL(2, 3), CALL(1, 2) }, .n = 2, .reg = -1 };
	struct made later = { .ip = IN(5), .words = { CALL(9, 5), CALL(2, 3), CALL(1, 2) }, .n = 3, .reg = -1 };
	const u64 call[] = { CALL(2, 3) };
	struct run r;

	(void)state;
	begin(&r);
	read_one(&r, &first);
	assert_true(only(&r, 3, call[0], call[1]));
	assert_false(only(&r, 9, call[0], call[1]));
	read_one(&r, &later); /* 3 has jumped to 9 since */
	assert_true(only(&r, 3, call[0], call[1]));
	assert_true(only(&r, 9, call[0], call[1]));
	end(&r);
	/* The address of a sample in the kernel tells nothing about user space. */
	begin(&r);
	first.ip = IN(9);
	first.kernel = true;
	read_one(&r, &first);
	assert_true(only(&r, 3, call[0], call[1]));
	assert_false(only(&r, 9, call[0], call[1]));
	end(&r);
}

static void test_registers_told(void **state)
{
	static const struct {
		s32 reg;
		bool indexed;
	} rows[] = { { -1, false }, { 0, false }, { 1, true }, { DEPTH - 1, true }, { DEPTH, false } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct made m = stack(4, 3, true);
		struct run r;

		begin(&r);
		m.reg = rows[i].reg;
		read_one(&r, &m);
		assert_int_equal(callers_indexed(r.callers), rows[i].indexed);
		end(&r);
	}
}

/* What is mapped elsewhere meanwhile is read anew. */
static void test_maps_change(void **state)
{
	struct made m = { .ip = IN(8), .words = { CALL(2, 8) }, .n = 1, .reg = -1, .clock = MOVED - 1 };
	const u64 call[] = { CALL(2, 8) };
	struct run r;

	(void)state;
	begin(&r);
	read_one(&r, &m);
	assert_true(only(&r, 8, call[0], call[1]));
	assert_false(only(&r, 7, call[0], call[1]));
	m.clock = MOVED;
	read_one(&r, &m);
	assert_true(only(&r, 7, call[0], call[1]));
	end(&r);
}

/* --- stitching --- */

/* Both have been read, and the first one, whose registers are full, has been taken. */
static void begin_behind(struct run *r, const struct made *first, const struct made *second)
{
	begin(r);
	read_one(r, first);
	read_one(r, second);
	takes(r, first, 4, 4);
}

static void test_stitches(void **state)
{
	(void)state;
	for (u32 told = 0; told < 2; told++) {
		struct made first = stack(5, 4, told), deeper = stack(7, 4, told), one_up = stack(3, 0, told);
		struct run r;

		begin_behind(&r, &first, &deeper);
		takes(&r, &deeper, 6, 4);
		assert_int_equal(lbr_counted(r.lbr)->stacks, 2);
		assert_int_equal(lbr_counted(r.lbr)->stitched, 1);
		assert_int_equal(lbr_counted(r.lbr)->calls, 2);
		/* It has returned from all that registers hold: the function itself was called in the kept stack. */
		takes(&r, &one_up, 2, 0);
		assert_int_equal(lbr_counted(r.lbr)->stitched, 2);
		assert_int_equal(lbr_counted(r.lbr)->calls, 4);
		assert_int_equal(lbr_counted(r.lbr)->refused, 0);
		assert_int_equal(lbr_counted(r.lbr)->cut, 0);
		end(&r);
	}
}

/* A call to a function that is called from elsewhere, too, is not added, nor is what is older. */
static void test_other_way(void **state)
{
	struct made other = { .ip = IN(3), .words = { CALL(9, 3) }, .n = 1, .reg = -1, .tid = 12 };
	struct made first = stack(5, 4, false), deeper = stack(6, 4, false), deepest = stack(7, 4, false);
	struct run r;

	(void)state;
	begin(&r);
	read_one(&r, &first);
	read_one(&r, &deeper);
	read_one(&r, &deepest);
	takes(&r, &first, 4, 4);
	takes(&r, &deeper, 5, 4); /* the call to 2 */
	takes(&r, &deepest, 6, 4);
	end(&r);
	begin_behind(&r, &first, &other);
	takes(&r, &deeper, 5, 4);
	assert_true(take(&r, &deepest)); /* that to 3 has another way */
	assert_int_equal(r.out.n, 4);
	end(&r);
	/* Without a table nothing is stitched. */
	begin(&r);
	lbr_free(r.lbr);
	r.lbr = lbr_new(DEPTH, NULL, NULL, NULL);
	takes(&r, &first, 4, 4);
	takes(&r, &deeper, 4, 4);
	end(&r);
}

/* What the code says of a function counts, whatever the samples have shown. */
static void test_code_says(void **state)
{
	struct made other = { .ip = IN(3), .words = { CALL(9, 3) }, .n = 1, .reg = -1, .tid = 12 };
	struct made first = stack(5, 4, false), deepest = stack(7, 4, false);
	struct run r;

	(void)state;
	for (u32 shown = 0; shown < 2; shown++) {
		/* The call to 3 is the first one that would be stitched, and that to 2 the next. */
		const struct {
			enum called of[4];
			u32 n;
		} rows[] = {
			{ { CALLED_UNKNOWN }, shown ? 4 : 6 },
			{ { [3] = CALLED_ELSEWHERE }, 4 },
			{ { [3] = CALLED_ONLY_THERE }, 6 },
			{ { [2] = CALLED_ELSEWHERE, [3] = CALLED_ONLY_THERE }, 5 },
		};

		for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
			memcpy(code.called, rows[i].of, sizeof(rows[i].of));
			begin(&r);
			read_one(&r, &first);
			if (shown)
				read_one(&r, &other);
			takes(&r, &first, 4, 4);
			assert_true(take(&r, &deepest));
			assert_int_equal(r.out.n, rows[i].n);
			end(&r);
		}
	}
	memset(code.called, 0, sizeof(code.called));
}

/* Samples in which a function was called at one depth from one place alone do not say that this is its only call:
 * the way to it from another place may have been overwritten each time. */
static void test_other_depth(void **state)
{
	struct made first = stack(5, 4, true), deepest = stack(7, 4, true);
	struct made other = { .ip = IN(3), .words = { CALL(9, 3) }, .n = 1, .reg = 0 };
	struct run r;

	(void)state;
	begin_behind(&r, &first, &other); /* register 0, and in the stack it is 1 */
	assert_true(take(&r, &deepest));
	assert_int_equal(r.out.n, 4);
	end(&r);
}

/* A call of the kept stack is the same only if it was in the same register. */
static void test_register_differs(void **state)
{
	struct made first = stack(5, 4, true), deeper = stack(7, 4, true);
	struct run r;

	(void)state;
	begin(&r);
	read_one(&r, &first);
	read_one(&r, &deeper);
	deeper.reg = (deeper.reg + 1) % (s32)DEPTH;
	takes(&r, &first, 4, 4);
	takes(&r, &deeper, 4, 4);
	end(&r);
}

/* Where both stacks part, both calls have to be made by one function. */
static void test_parting(void **state)
{
	struct made first = stack(5, 4, false);
	struct made same = {
		.ip = IN(8), .n = 4, .reg = -1, .words = { CALL(6, 8), CALL(4, 6), CALL(3, 4), CALL(2, 3) }
	};
	struct made apart = { .ip = IN(8), .n = 3, .reg = -1, .words = { CALL(6, 8), CALL(9, 6), CALL(2, 3) } };
	struct run r;

	(void)state;
	begin_behind(&r, &first, &same);
	assert_true(take(&r, &same)); /* 4 called 5 first, and 6 then */
	assert_int_equal(r.out.n, 5);
	takes(&r, &first, 4, 4);
	assert_true(take(&r, &apart)); /* 3 called 4, and now it was 9 that called */
	assert_int_equal(r.out.n, 3);
	end(&r);
}

static void test_threads_apart(void **state)
{
	struct made first = stack(5, 4, false), deeper = stack(6, 4, false);
	struct run r;

	(void)state;
	begin(&r);
	read_one(&r, &first);
	takes(&r, &first, 4, 4);
	deeper.tid = 12;
	takes(&r, &deeper, 4, 4); /* another thread's */
	deeper.tid = 0;
	lbr_forget(r.lbr, 12);
	takes(&r, &deeper, 5, 4);
	takes(&r, &first, 4, 4);
	lbr_forget(r.lbr, TID); /* it runs another program */
	takes(&r, &deeper, 4, 4);
	end(&r);
}

/* --- what contradicts itself --- */

/* What was kept before a stack was cut still completes the next one, but nothing of it counts as checked. */
static void test_kept_over_cut(void **state)
{
	struct made first = stack(5, 4, false), deeper = stack(7, 4, false);
	struct made left = { .ip = IN(9), .n = 3, .reg = -1, .words = { CALL(9, 3), CALL(1, 9), CALL(2, 1) } };
	struct run r;

	(void)state;
	begin_behind(&r, &first, &deeper);
	takes(&r, &left, 0, 0);
	assert_int_equal(lbr_counted(r.lbr)->cut, 1);
	takes(&r, &deeper, 6, 4);
	end(&r);
}

/* A thread that some later sample shows to jump is cut at recursive functions from its first one on: those that its
 * code shows, or its samples. What another program did there does not count. */
static void test_jumps_later(void **state)
{
	struct made first = stack(5, 4, false);
	struct made left = { .ip = IN(9), .n = 3, .reg = -1, .words = { CALL(9, 3), CALL(1, 9), CALL(2, 1) } };
	struct run r;

	(void)state;
	for (u32 row = 0; row < 3; row++) {
		code.cannot_jump = true;
		code.calls_itself = 3;
		begin(&r);
		left.tid = row == 1 ? 12 : 0;
		if (row < 2)
			read_one(&r, &left);
		code.cannot_jump = false;
		read_one(&r, &first);
		/* The calls to 5 and 4 are newer than that to 3. */
		takes(&r, &first, row ? 4 : 2, row ? 4 : 2);
		end(&r);
	}
	code.calls_itself = 0;
}

static void test_recursion_refused(void **state)
{
	struct made itself = {
		.ip = IN(3), .n = 4, .reg = -1, .words = { CALL(3, 3), CALL(2, 3), CALL(1, 2), CALL(5, 1) }
	};
	struct made deeper = {
		.ip = IN(3), .n = 4, .reg = -1, .words = { CALL(3, 3), CALL(3, 3), CALL(3, 3), CALL(2, 3) }
	};
	struct made deepest = {
		.ip = IN(3), .n = 4, .reg = -1, .words = { CALL(3, 3), CALL(3, 3), CALL(3, 3), CALL(3, 3) }
	};
	struct run r;

	(void)state;
	begin(&r);
	read_one(&r, &itself);
	takes(&r, &itself, 4, 4);
	assert_true(take(&r, &deeper)); /* that call stands in both once */
	assert_int_equal(r.out.n, 6);
	assert_int_equal(lbr_counted(r.lbr)->refused, 0);
	assert_true(take(&r, &deepest)); /* nobody knows which of them it is */
	assert_int_equal(r.out.n, 4);
	assert_int_equal(lbr_counted(r.lbr)->refused, 1);
	end(&r);
}

/* A new call goes to a function that was called before: that is remembered. */
static void test_recursion_by_new_call(void **state)
{
	struct made first = stack(3, 2, false);
	struct made again = { .ip = IN(2), .n = 3, .reg = -1, .words = { CALL(3, 2), CALL(2, 3), CALL(1, 2) } };
	struct made later = {
		.ip = IN(5), .n = 4, .reg = -1, .words = { CALL(4, 5), CALL(2, 4), CALL(3, 2), CALL(2, 3) }
	};
	struct run r;

	(void)state;
	begin(&r);
	takes(&r, &first, 2, 2);
	takes(&r, &again, 3, 3);
	assert_int_equal(lbr_counted(r.lbr)->refused, 0);
	takes(&r, &later, 4, 4); /* 2 made the oldest call */
	assert_int_equal(lbr_counted(r.lbr)->refused, 1);
	end(&r);
}

/* Another program of a thread is looked at anew, also if its stacks are those of the one before. */
static void test_recursion_after_exec(void **state)
{
	struct made first = {
		.ip = IN(4), .n = 4, .reg = -1, .words = { CALL(3, 4), CALL(2, 3), CALL(3, 2), CALL(1, 3) }
	};
	struct made deeper = {
		.ip = IN(5), .n = 4, .reg = -1, .words = { CALL(4, 5), CALL(3, 4), CALL(2, 3), CALL(3, 2) }
	};
	struct made back = { .ip = IN(3), .reg = -1 };
	struct run r;

	(void)state;
	begin(&r);
	takes(&r, &first, 4, 4);
	takes(&r, &back, 0, 0); /* in which of the two calls of 3 nobody knows */
	assert_int_equal(lbr_counted(r.lbr)->refused, 1);
	lbr_forget(r.lbr, TID);
	takes(&r, &first, 4, 4);
	takes(&r, &deeper, 4, 4); /* 3 made the oldest call */
	assert_int_equal(lbr_counted(r.lbr)->refused, 2);
	end(&r);
}

/* What a thread that jumps has said before it was seen to jump is not taken for checked. */
static void test_jump_after_tail_call(void **state)
{
	/* 2 was called, and is in 3: allowed while nobody jumps. */
	struct made tail = { .ip = IN(5), .n = 3, .reg = -1, .words = { CALL(4, 5), CALL(3, 4), CALL(1, 2) } };
	struct made jump = { .ip = IN(9), .n = 2, .reg = -1, .words = { CALL(9, 3), CALL(1, 9) } };
	struct run r;

	(void)state;
	for (u32 seen_before = 0; seen_before < 2; seen_before++) {
		begin(&r);
		if (seen_before)
			takes(&r, &tail, 3, 3);
		assert_true(take(&r, &jump));
		for (u32 i = 0; i < 2; i++)
			takes(&r, &tail, 2, 2);
		end(&r);
	}
}

/* The oldest call was the only one of its kind, until it was made again. */
static void test_oldest_again(void **state)
{
	struct made first = stack(3, 2, false);
	struct made again = {
		.ip = IN(2), .n = 4, .reg = -1, .words = { CALL(1, 2), CALL(3, 1), CALL(2, 3), CALL(1, 2) }
	};
	struct run r;

	(void)state;
	begin(&r);
	for (u32 i = 0; i < 3; i++)
		takes(&r, &first, 2, 2);
	assert_int_equal(lbr_counted(r.lbr)->refused, 0);
	for (u32 i = 1; i <= 2; i++) {
		takes(&r, &again, 4, 4);
		assert_int_equal(lbr_counted(r.lbr)->refused, i);
	}
	end(&r);
}

/* The sample's oldest call stands twice in the kept stack, whose oldest it is, too. */
static void test_oldest_twice(void **state)
{
	struct made first = { .ip = IN(2), .n = 3, .reg = -1, .words = { CALL(1, 2), CALL(2, 1), CALL(1, 2) } };
	struct made next = { .ip = IN(4), .n = 3, .reg = -1, .words = { CALL(3, 4), CALL(2, 3), CALL(1, 2) } };
	struct run r;

	(void)state;
	begin(&r);
	takes(&r, &first, 3, 3);
	takes(&r, &next, 3, 3);
	assert_int_equal(lbr_counted(r.lbr)->refused, 1);
	end(&r);
}

/* The oldest call is not among the last sample's own, but it was stitched to them. */
static void test_oldest_stitched(void **state)
{
	struct made first = stack(5, 4, true), deeper = stack(7, 4, true), again = stack(3, 1, true);
	struct run r;

	(void)state;
	begin_behind(&r, &first, &deeper);
	takes(&r, &deeper, 6, 4);
	takes(&r, &again, 2, 1);
	assert_int_equal(lbr_counted(r.lbr)->refused, 0);
	end(&r);
}

static void test_cut(void **state)
{
	/* 9 called 3, is where the thread is, and was called: 3 did not return. */
	struct made left = { .ip = IN(9), .n = 3, .reg = -1, .words = { CALL(9, 3), CALL(1, 9), CALL(2, 1) } };
	/* 9 has never been called: 3 has jumped there. */
	struct made jumped = { .ip = IN(9), .n = 2, .reg = -1, .words = { CALL(1, 3), CALL(2, 1) } };
	struct made fits = stack(4, 3, false);
	struct run r;

	(void)state;
	begin(&r);
	takes(&r, &jumped, 2, 2);
	takes(&r, &fits, 3, 3);
	assert_int_equal(lbr_counted(r.lbr)->cut, 0);
	takes(&r, &left, 0, 0);
	assert_int_equal(lbr_counted(r.lbr)->cut, 1);
	/* Whoever was seen to do so may have done it again. */
	takes(&r, &jumped, 0, 0);
	assert_int_equal(lbr_counted(r.lbr)->cut, 2);
	takes(&r, &fits, 3, 3);
	lbr_forget(r.lbr, TID);
	takes(&r, &jumped, 2, 2);
	/* In the kernel nobody knows where user space is. */
	jumped.kernel = left.kernel = true;
	takes(&r, &left, 3, 3);
	assert_int_equal(lbr_counted(r.lbr)->cut, 2);
	end(&r);
}

/* A function that was not called by the newest call: it was jumped to, or, if no code can, it is a signal's handler.
 * The thread does not count as one that jumps. */
static void test_no_jump(void **state)
{
	struct made in_handler = { .ip = IN(5), .words = { CALL(9, 5), CALL(2, 3), CALL(1, 2) }, .n = 3, .reg = -1 };
	struct made behind = { .ip = IN(3), .words = { CALL(2, 3), CALL(1, 2) }, .n = 2, .reg = -1 };
	struct run r;

	(void)state;
	begin(&r);
	takes(&r, &in_handler, 3, 3);
	code.cannot_jump = true;
	end(&r);
	begin(&r);
	takes(&r, &in_handler, 1, 1);
	takes(&r, &behind, 2, 2);
	assert_int_equal(lbr_counted(r.lbr)->cut, 1);
	code.cannot_jump = false;
	end(&r);
}

/* The dynamic linker is on the way from the PLT to a function. */
static void test_binding(void **state)
{
	struct made binds = { .ip = LINKER + 8, .n = 2, .reg = -1, .words = { IN(2), PLT(3), 0, CALL(1, 2) } };
	struct made left = { .ip = IN(9), .n = 3, .reg = -1, .words = { CALL(9, 3), CALL(1, 9), CALL(2, 1) } };
	struct made is_not = binds;
	struct run r;

	(void)state;
	begin(&r);
	takes(&r, &left, 0, 0); /* from now on all that does not fit is cut */
	takes(&r, &binds, 2, 2);
	is_not.ip = UNNAMED + 8;
	takes(&r, &is_not, 0, 0);
	end(&r);
}

/* --- what it looks like --- */

static void test_chain(void **state)
{
	const struct lbr_stack s = { .n = 2, .own = 2, .v = { { 0x2008, 0x3000 }, { 0x1008, 0x2000 } } };
	const u64 recorded[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000001, PERF_CONTEXT_USER, 0x77 };
	struct hit h = { .cpumode = PERF_RECORD_MISC_USER, .s = { .ip = 0x3004 } };
	const u64 user[] = { PERF_CONTEXT_USER, 0x3004, 0x2008, 0x1008 };
	const u64 kernel[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000001, PERF_CONTEXT_USER, 0x3000, 0x2008, 0x1008 };
	u64 words[CHAIN_WORDS];

	(void)state;
	assert_int_equal(lbr_chain(&s, &h, words), ARRAY_LEN(user));
	assert_memory_equal(words, user, sizeof(user));
	h.cpumode = PERF_RECORD_MISC_KERNEL;
	h.s.ip = recorded[1];
	h.s.chain = (struct u64s){ (const u8 *)recorded, 4, false };
	assert_int_equal(lbr_chain(&s, &h, words), ARRAY_LEN(kernel));
	assert_memory_equal(words, kernel, sizeof(kernel));
}

/* A sample in the kernel without entries says nothing of user space. */
static void test_nothing(void **state)
{
	struct made m = { .ip = IN(3), .reg = -1, .kernel = true };
	struct run r;

	(void)state;
	begin(&r);
	assert_false(take(&r, &m));
	assert_int_equal(lbr_counted(r.lbr)->stacks, 0);
	m.kernel = false;
	takes(&r, &m, 0, 0);
	assert_int_equal(lbr_counted(r.lbr)->stacks, 1);
	end(&r);
}

static void test_used(void **state)
{
	static const struct {
		u64 sample_type, branches;
		bool used;
	} rows[] = { { PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_CALL_STACK, true },
		     { PERF_SAMPLE_BRANCH_STACK, PERF_SAMPLE_BRANCH_ANY, false },
		     { PERF_SAMPLE_IP, PERF_SAMPLE_BRANCH_CALL_STACK, false } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct evlist l = { 0 };

		vec_push(&l.events, (struct event){ 0 });
		vec_push(&l.events, (struct event){ .attr = { .sample_type = rows[i].sample_type,
							      .branch_sample_type = rows[i].branches } });
		/* What lies behind the list is none of its events. */
		vec_push(&l.events, (struct event){ .attr = { .sample_type = PERF_SAMPLE_BRANCH_STACK,
							      .branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK } });
		l.events.n--;
		assert_int_equal(lbr_used(&l), rows[i].used);
		vec_free(&l.events);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_reads_calls),
		cmocka_unit_test(test_ends_at_no_call),
		cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_registers_told),
		cmocka_unit_test(test_maps_change),
		cmocka_unit_test(test_stitches),
		cmocka_unit_test(test_other_way),
		cmocka_unit_test(test_code_says),
		cmocka_unit_test(test_other_depth),
		cmocka_unit_test(test_register_differs),
		cmocka_unit_test(test_parting),
		cmocka_unit_test(test_threads_apart),
		cmocka_unit_test(test_kept_over_cut),
		cmocka_unit_test(test_jumps_later),
		cmocka_unit_test(test_recursion_refused),
		cmocka_unit_test(test_recursion_by_new_call),
		cmocka_unit_test(test_recursion_after_exec),
		cmocka_unit_test(test_oldest_again),
		cmocka_unit_test(test_oldest_twice),
		cmocka_unit_test(test_oldest_stitched),
		cmocka_unit_test(test_jump_after_tail_call),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_no_jump),
		cmocka_unit_test(test_binding),
		cmocka_unit_test(test_chain),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_used),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
