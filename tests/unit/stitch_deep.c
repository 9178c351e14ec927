/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that are compared with the thread's last one: how far they are the same, what is asked about the rest, and
 * how long they become. */
#include "base/hash.h"

#include "stitch_world.h"

#define MARKS 4096 /* that attrib/lbr.c has for functions */
#define FAR 99	   /* a function that no stack leads to */

/* Nobody else calls any of the functions. */
static void only_callers(void)
{
	for (u32 i = 0; i < ARRAY_LEN(code.called); i++)
		code.called[i] = CALLED_ONLY_THERE;
}

static int forget_code(void **state)
{
	(void)state;
	code = (struct code){ 0 };
	return 0;
}

/* The newest calls of both stacks may differ, the older ones are the same. What is the same is not looked at again,
 * and what is not is, from the very call on at which they part. */
static void test_parting_anywhere(void **state)
{
	static const struct {
		u32 last, now; /* calls of the thread's last sample, and of this one */
	} rows[] = { { 23, 23 }, { 9, 23 }, { 16, 17 }, { 8, 8 }, { 23, 9 }, { 1, 2 } };

	(void)state;
	code.cannot_jump = true;
	for (u32 row = 0; row < ARRAY_LEN(rows); row++)
		for (u32 same = 1; same < MIN(rows[row].last + 1, rows[row].now); same++) {
			struct made last = stack(rows[row].last + 1, rows[row].last, false);
			struct made now = stack(rows[row].now + 1, rows[row].now, false);
			u32 at = now.n - same - 1; /* its newest call that is not the same */
			struct run r;

			begin(&r);
			takes(&r, &last, last.n, last.n);
			now.words[3 * at] = IN(FAR); /* where the next older call did not lead */
			takes(&r, &now, at + 1, at + 1);
			assert_int_equal(lbr_counted(r.lbr)->cut, 1);
			end(&r);
		}
}

/* The code says of a jump that it cannot be only after the thread's first sample: what was taken for one stays. */
static void test_looked_at_once(void **state)
{
	(void)state;
	for (u32 n = 3; n < 24; n++) {
		struct made last = stack(n + 1, n, false), now = stack(n + 2, n + 1, false);
		struct run r;

		last.words[3 * (n - 2)] = now.words[3 * (n - 1)] = IN(FAR);
		code.cannot_jump = false;
		begin(&r);
		takes(&r, &last, n, n);
		code.cannot_jump = true;
		takes(&r, &now, n + 1, n + 1);
		end(&r);
		begin(&r);
		takes(&r, &now, n, n);
		end(&r);
	}
}

/* The last sample's oldest calls were overwritten since. */
static void test_overwritten(void **state)
{
	(void)state;
	code.cannot_jump = true;
	for (u32 same = 1; same < 20; same++) {
		struct made last = stack(24, 23, false), now = stack(24, 20, false);
		u32 at = now.n - same - 1;
		struct run r;

		begin(&r);
		takes(&r, &last, 23, 23);
		takes(&r, &now, 20, 20); /* nothing is known of who calls */
		now.words[3 * at] = IN(FAR);
		takes(&r, &now, at + 1, at + 1);
		end(&r);
	}
}

/* A stack ends with its oldest call, whatever lies behind that. */
static void test_behind_the_oldest(void **state)
{
	struct made m = stack(3, 2, false);
	struct run r;

	(void)state;
	code.cannot_jump = true;
	code.calls_itself = 2;
	begin(&r);
	r.out.v[2] = (struct lbr_call){ IN(FAR), FAR * SIZE };
	for (u32 i = 0; i < 3; i++)
		takes(&r, &m, 2, 2); /* a thread that jumps would be cut at 2 */
	assert_int_equal(lbr_counted(r.lbr)->cut, 0);
	end(&r);
	/* Nor does the kept one's end lead to the calls of the one before it. */
	forget_code(NULL);
	only_callers();
	begin(&r);
	for (u32 i = 0; i < 3; i++) {
		static const u32 calls[] = { 4, 2, 3 };

		m = stack(calls[i] + 1, calls[i], false);
		takes(&r, &m, calls[i], calls[i]);
	}
	end(&r);
}

/* Whether a function calls itself is asked anew for another call, and once something else is mapped. */
static void test_asked_anew(void **state)
{
	(void)state;
	only_callers();
	for (u32 moved = 0; moved < 2; moved++) {
		struct made first = stack(10, 4, false), next = stack(moved ? 12 : 11, 4, false);
		struct made last = stack(11, 4, false); /* 7 calls 8 */
		struct run r;

		first.clock = next.clock = moved ? MOVED : 0;
		last.clock = MOVED;
		begin(&r);
		assert_true(take(&r, &first));
		assert_true(take(&r, &next));
		assert_int_equal(r.out.n, moved ? 6 : 5);
		assert_int_equal(lbr_counted(r.lbr)->refused, 0);
		assert_true(take(&r, &last)); /* both are one function now */
		assert_int_equal(r.out.n, 4);
		assert_int_equal(lbr_counted(r.lbr)->refused, 1);
		end(&r);
	}
}

/* What was stitched once is known, so it is not asked about again. */
static void test_known_once(void **state)
{
	struct made first = stack(5, 4, false), deeper = stack(7, 4, false);
	struct run r;

	(void)state;
	only_callers();
	begin(&r);
	takes(&r, &first, 4, 4);
	takes(&r, &deeper, 6, 4);
	for (u32 i = 0; i < ARRAY_LEN(code.called); i++)
		code.called[i] = CALLED_ELSEWHERE;
	takes(&r, &deeper, 6, 4);
	end(&r);
}

/* There is room for so many calls, and what is stitched ends there. */
static void test_longest(void **state)
{
	(void)state;
	only_callers();
	for (u32 more = 0; more < 3; more++) {
		struct made whole = stack(LBR_STACK + 1, LBR_STACK, false);
		struct made deeper = stack(LBR_STACK + more, 4, false);
		struct run r;

		begin(&r);
		takes(&r, &whole, LBR_STACK, LBR_STACK);
		assert_true(take(&r, &deeper));
		assert_int_equal(r.out.own, 4);
		assert_int_equal(r.out.n, MIN(LBR_STACK, LBR_STACK - 1 + more));
		end(&r);
	}
}

/* The same sample once more, and once more: each time one stack more was refused, from so many on. */
static void refuses_each(struct run *r, const struct made *m, u32 from, u32 end)
{
	for (u32 i = from; i < end; i++) {
		takes(r, m, m->n, m->n);
		assert_int_equal(lbr_counted(r->lbr)->refused, i);
	}
}

/* Nothing older is known of the oldest call, which stays the same; but that call is one that a function makes of
 * itself. */
static void test_itself_stays(void **state)
{
	struct made m = { .ip = IN(2), .n = 2, .reg = -1, .words = { CALL(1, 2), CALL(1, 1) } };
	struct run r;

	(void)state;
	begin(&r);
	refuses_each(&r, &m, 0, 4);
	end(&r);
}

/* The oldest call stands in the stack twice, and new calls on top of that change nothing of it. */
static void test_twice_below(void **state)
{
	struct made first = { .ip = IN(2), .n = 3, .reg = -1, .words = { CALL(1, 2), CALL(2, 1), CALL(1, 2) } };
	struct made next = {
		.ip = IN(3), .n = 4, .reg = -1, .words = { CALL(2, 3), CALL(1, 2), CALL(2, 1), CALL(1, 2) }
	};
	struct run r;

	(void)state;
	begin(&r);
	takes(&r, &first, 3, 3);
	refuses_each(&r, &next, 1, 4);
	end(&r);
}

static bool one_mark(u32 a, u32 b)
{
	return hash_finish((u64)a * SIZE) % MARKS == hash_finish((u64)b * SIZE) % MARKS;
}

/* Between two calls of one function stands one of a function that has the same mark. */
static void test_one_mark(void **state)
{
	u32 a = 20, b = 21;
	struct run r;

	(void)state;
	while (!one_mark(a, b))
		if (++b == 1000)
			b = ++a + 1;
	{
		struct made m = {
			.ip = IN(a), .n = 4, .reg = -1, .words = { CALL(1, a), CALL(b, 1), CALL(a, b), CALL(1, a) }
		};

		begin(&r);
		refuses_each(&r, &m, 0, 3);
		end(&r);
	}
}

/* One of many new calls goes to a function that stands in what is stitched to them: that is remembered. */
static void test_again_above(void **state)
{
	struct made first = stack(5, 4, false), deeper = stack(7, 4, false);
	struct made other = {
		.ip = IN(2), .n = 4, .reg = -1, .words = { CALL(9, 2), CALL(8, 9), CALL(3, 8), CALL(2, 3) }
	};
	struct made back = { .ip = IN(3), .n = 1, .reg = -1, .words = { CALL(2, 3) } };
	struct run r;

	(void)state;
	only_callers();
	begin(&r);
	takes(&r, &first, 4, 4);
	takes(&r, &deeper, 6, 4);
	assert_true(take(&r, &other));
	assert_int_equal(r.out.n, 5);
	assert_int_equal(lbr_counted(r.lbr)->refused, 0);
	takes(&r, &back, 1, 1); /* 2 made the oldest call */
	assert_int_equal(lbr_counted(r.lbr)->refused, 1);
	end(&r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(test_parting_anywhere, forget_code),
		cmocka_unit_test_teardown(test_looked_at_once, forget_code),
		cmocka_unit_test_teardown(test_overwritten, forget_code),
		cmocka_unit_test_teardown(test_behind_the_oldest, forget_code),
		cmocka_unit_test_teardown(test_asked_anew, forget_code),
		cmocka_unit_test_teardown(test_known_once, forget_code),
		cmocka_unit_test_teardown(test_longest, forget_code),
		cmocka_unit_test_teardown(test_itself_stays, forget_code),
		cmocka_unit_test_teardown(test_twice_below, forget_code),
		cmocka_unit_test_teardown(test_one_mark, forget_code),
		cmocka_unit_test_teardown(test_again_above, forget_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
