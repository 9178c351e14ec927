/* SPDX-License-Identifier: Apache-2.0 */
/* The plugin's exact counts (vpmu/truth.c), over a thread and a call stack of a few lines. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "base/vec.h"
#include "codec/vpmu_truth.h"
#include "vpmu/truth.h"

#define MAIN 0x1000
#define CALLEE 0x2000
#define STUB 0x3000
#define BEHIND_PLT 0x900000

struct rig {
	struct vpmu_control control;
	struct vprocess process;
	struct vthread t;
	u64 clock;
	u32 marks[8], depth; /* of the frames */
	VEC(struct vpmu_truth) told;
};

static struct rig *rig_of(const struct vthread *t)
{
	return (struct rig *)((u8 *)t - offsetof(struct rig, t));
}

/* What pass/truth.c asks of others. */
u32 callstack_mark(const struct vthread *t)
{
	const struct rig *r = rig_of(t);

	return r->depth ? r->marks[r->depth - 1] : ID_NONE;
}
void callstack_set_mark(struct vthread *t, u32 mark)
{
	struct rig *r = rig_of(t);

	if (r->depth)
		r->marks[r->depth - 1] = mark;
}
u64 tasks_time(const struct vthread *t)
{
	return rig_of(t)->clock;
}
void channel_close(struct vthread *t)
{
	(void)t;
}

void channel_put(struct vthread *t, const struct bytes *record)
{
	struct vpmu_truth told;

	assert_int_equal(vpmu_truth_decode(cursor_over(record->p, record->len, false), &told), 0);
	vec_push(&rig_of(t)->told, told);
}

static struct rig *rig_new(void)
{
	struct rig *r = mem_zalloc(sizeof(*r));

	r->control.options.truth = true;
	r->control.nr_events = 1;
	r->process.control = &r->control;
	r->t.process = &r->process;
	r->t.pid = 5;
	r->t.tid = 6;
	r->clock = 100;
	truth_start(&r->t);
	return r;
}

static void rig_free(struct rig *r)
{
	assert_null(r->t.truth);
	vec_free(&r->told);
	free(r);
}

/* A block of two operations. */
static struct block *block_new(u32 id, u64 pc)
{
	struct block *b = mem_zalloc(sizeof(*b) + 2 * sizeof(struct op));

	b->id = id;
	b->nr = 2;
	b->pc = pc;
	b->ops[0].pc = pc;
	b->ops[1].pc = pc + 4;
	return b;
}

/* Runs it: one instruction each; the second one takes `slots`. */
static void run(struct rig *r, const struct block *b, u64 slots)
{
	for (u32 i = 0; i < 2; i++) {
		r->t.counts[VC_INSTRUCTIONS]++;
		r->t.counts[VC_SLOTS] += i ? slots : 1;
		r->t.counts[VC_CYCLES] = r->t.counts[VC_SLOTS] / 4;
		truth_op(&r->t, b, i);
	}
}

static void call(struct rig *r, u64 from, u64 to)
{
	r->marks[r->depth++] = 0;
	truth_transfer(&r->t, &(struct frame_event){ .from = from, .to = to }, false);
}

static void give_back(struct rig *r, u64 from, u64 to)
{
	r->depth--;
	truth_transfer(&r->t, &(struct frame_event){ .from = from, .to = to }, false);
}

static const struct vpmu_truth *find(const struct rig *r, u32 type, u64 pc)
{
	for (size_t i = 0; i < r->told.n; i++)
		if (r->told.v[i].type == type && r->told.v[i].pc == pc)
			return &r->told.v[i];
	return NULL;
}

/* The sums of a kind of records are what the thread counted. */
static void check_sum(const struct rig *r, u32 type)
{
	for (u32 c = 0; c < NR_VPMU_COUNTS; c++) {
		u64 sum = 0;

		for (size_t i = 0; i < r->told.n; i++)
			sum += r->told.v[i].type == type ? r->told.v[i].counts[c] : 0;
		assert_int_equal(sum, r->t.counts[c]);
	}
}

static void test_sums(void **state)
{
	struct block *a = block_new(3, MAIN), *b = block_new(1, CALLEE);
	struct rig *r = rig_new();

	(void)state;
	run(r, a, 6);
	call(r, MAIN + 4, CALLEE);
	run(r, b, 2);
	give_back(r, CALLEE + 4, MAIN + 8);
	run(r, a, 1);
	truth_end(&r->t);
	assert_int_equal(r->told.v[0].type, VPMU_RECORD_TRUTH_BEGIN);
	assert_int_equal(r->told.v[r->told.n - 1].type, VPMU_RECORD_TRUTH_END);
	assert_int_equal(r->told.v[r->told.n - 1].time, r->clock);
	for (u32 type = VPMU_RECORD_TRUTH_PC; type <= VPMU_RECORD_TRUTH_NODE; type++)
		check_sum(r, type);
	check_sum(r, VPMU_RECORD_TRUTH_END);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_PC, MAIN + 4)->counts[VC_SLOTS], 7);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_PC, CALLEE)->counts[VC_INSTRUCTIONS], 1);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, MAIN)->counts[VC_INSTRUCTIONS], 4);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, MAIN)->parent, 0);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, CALLEE)->parent, find(r, VPMU_RECORD_TRUTH_NODE, MAIN)->node);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, CALLEE)->other_pc, MAIN + 4);
	rig_free(r);
	free(a);
	free(b);
}

/* A stub jumps on: what it leads to has the same caller. A jump table within a function makes no node. */
static void test_jumps(void **state)
{
	struct block *a = block_new(0, MAIN), *stub = block_new(1, STUB), *far = block_new(2, BEHIND_PLT),
		     *label = block_new(3, BEHIND_PLT + 64);
	struct rig *r = rig_new();
	const struct vpmu_truth *n;

	(void)state;
	run(r, a, 1);
	call(r, MAIN + 4, STUB);
	run(r, stub, 1);
	truth_transfer(&r->t, &(struct frame_event){ .from = STUB + 4, .to = BEHIND_PLT }, true);
	run(r, far, 1);
	truth_transfer(&r->t, &(struct frame_event){ .from = BEHIND_PLT + 40, .to = BEHIND_PLT + 64 }, true);
	run(r, label, 1);
	give_back(r, BEHIND_PLT + 68, MAIN + 8);
	truth_end(&r->t);
	check_sum(r, VPMU_RECORD_TRUTH_NODE);
	n = find(r, VPMU_RECORD_TRUTH_NODE, BEHIND_PLT);
	assert_int_equal(n->parent, find(r, VPMU_RECORD_TRUTH_NODE, MAIN)->node);
	assert_int_equal(n->counts[VC_INSTRUCTIONS], 4);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, STUB)->counts[VC_INSTRUCTIONS], 2);
	assert_null(find(r, VPMU_RECORD_TRUTH_NODE, BEHIND_PLT + 64));
	rig_free(r);
	free(a);
	free(stub);
	free(far);
	free(label);
}

/* A jump by a pointer leaves its function when it goes far, either way; up to there it is a jump table's. */
static void test_far_jumps(void **state)
{
	static const struct {
		s64 by;
		bool leaves;
	} jumps[] = { { 16383, false }, { 16384, true }, { -16383, false }, { -16384, true } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(jumps); i++) {
		struct block *a = block_new(0, BEHIND_PLT), *b;
		struct rig *r = rig_new();
		u64 from = BEHIND_PLT + 64, to = from + (u64)jumps[i].by;

		b = block_new(1, to);
		run(r, a, 1);
		truth_transfer(&r->t, &(struct frame_event){ .from = from, .to = to }, true);
		run(r, b, 1);
		truth_end(&r->t);
		assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, to) != NULL, jumps[i].leaves);
		assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, BEHIND_PLT)->counts[VC_INSTRUCTIONS],
				 jumps[i].leaves ? 2 : 4);
		rig_free(r);
		free(a);
		free(b);
	}
}

static void test_windows(void **state)
{
	struct block *a = block_new(0, MAIN), *b = block_new(1, CALLEE);
	struct rig *r = rig_new();
	const struct vpmu_event *e = &r->control.events[0];
	const struct vpmu_truth *w;

	(void)state;
	run(r, a, 1);
	truth_window(&r->t, e, 9, MAIN + 4);
	assert_null(find(r, VPMU_RECORD_TRUTH_WINDOW, MAIN + 4));
	for (u32 i = 0; i < 3; i++) {
		r->t.counts[VC_CALLS]++;
		call(r, MAIN + 4, CALLEE);
		run(r, b, 2);
		r->t.counts[VC_RETURNS]++;
		give_back(r, CALLEE + 4, MAIN + 8);
	}
	truth_window(&r->t, e, 9, CALLEE);
	w = find(r, VPMU_RECORD_TRUTH_WINDOW, MAIN + 4);
	assert_int_equal(w->other_pc, CALLEE);
	assert_int_equal(w->id, 9);
	assert_int_equal(w->calls, 3);
	assert_int_equal(w->returns, 3);
	assert_int_equal(w->functions, 2);
	assert_int_equal(w->counts[VC_INSTRUCTIONS], 6);
	run(r, a, 1);
	truth_window(&r->t, e, 9, MAIN);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_WINDOW, CALLEE)->functions, 1);
	truth_end(&r->t);
	rig_free(r);
	free(a);
	free(b);
}

/* A child has its parent's frames and none of its counts. */
static void test_fork(void **state)
{
	struct block *a = block_new(0, MAIN), *b = block_new(1, CALLEE);
	struct rig *r = rig_new();

	(void)state;
	run(r, a, 1);
	call(r, MAIN + 4, CALLEE);
	run(r, b, 5);
	memset(r->t.counts, 0, sizeof(r->t.counts));
	r->clock = 200;
	r->told.n = 0;
	truth_start(&r->t);
	run(r, b, 3);
	truth_end(&r->t);
	for (u32 type = VPMU_RECORD_TRUTH_PC; type <= VPMU_RECORD_TRUTH_NODE; type++)
		check_sum(r, type);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, MAIN)->counts[VC_INSTRUCTIONS], 0);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, MAIN)->time, 200);
	assert_null(find(r, VPMU_RECORD_TRUTH_PC, MAIN));
	rig_free(r);
	free(a);
	free(b);
}

static u32 nr_of(const struct rig *r, u32 type)
{
	u32 n = 0;

	for (size_t i = 0; i < r->told.n; i++)
		n += r->told.v[i].type == type;
	return n;
}

/* A function has a node for each place that calls it, and one for all calls from there. */
static void test_calls(void **state)
{
	struct block *a = block_new(0, MAIN), *b = block_new(1, CALLEE);
	struct rig *r = rig_new();
	u64 slots[2] = { 0 };

	(void)state;
	run(r, a, 1);
	for (u32 i = 0; i < 6; i++) {
		u64 from = MAIN + 4 + 16 * (i % 2);

		r->clock = 200 + i;
		call(r, from, CALLEE);
		run(r, b, 10 + i);
		slots[i % 2] += 11 + i;
		/* It calls itself once. */
		call(r, CALLEE + 4, CALLEE);
		run(r, b, 100);
		give_back(r, CALLEE + 8, CALLEE + 8);
		give_back(r, CALLEE + 8, from + 5);
	}
	truth_end(&r->t);
	check_sum(r, VPMU_RECORD_TRUTH_NODE);
	assert_int_equal(nr_of(r, VPMU_RECORD_TRUTH_NODE), 5);
	assert_int_equal(nr_of(r, VPMU_RECORD_TRUTH_PC), 4);
	for (size_t i = 0; i < r->told.n; i++) {
		const struct vpmu_truth *n = &r->told.v[i];
		bool by_main = n->other_pc == MAIN + 4 || n->other_pc == MAIN + 20;

		if (n->type != VPMU_RECORD_TRUTH_NODE || n->pc == MAIN)
			continue;
		if (by_main) {
			assert_int_equal(n->counts[VC_SLOTS], slots[n->other_pc == MAIN + 20]);
			assert_int_equal(n->time, n->other_pc == MAIN + 20 ? 201 : 200); /* of the first call */
		} else {
			assert_int_equal(n->counts[VC_SLOTS], 3 * 101);
			assert_int_equal(n->other_pc, CALLEE + 4);
		}
	}
	rig_free(r);
	free(a);
	free(b);
}

/* A longjmp leads to the node of the frame that is left, and makes none, though it is a jump far away. */
static void test_longjmp(void **state)
{
	struct block *a = block_new(0, MAIN), *b = block_new(1, CALLEE), *c = block_new(2, BEHIND_PLT);
	struct rig *r = rig_new();

	(void)state;
	run(r, a, 1);
	call(r, MAIN + 4, CALLEE);
	run(r, b, 1);
	call(r, CALLEE + 4, BEHIND_PLT);
	run(r, c, 1);
	r->depth = 1;
	truth_transfer(&r->t, &(struct frame_event){ .from = BEHIND_PLT + 4, .to = CALLEE + 40 }, true);
	run(r, b, 1);
	truth_end(&r->t);
	assert_int_equal(nr_of(r, VPMU_RECORD_TRUTH_NODE), 3);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, CALLEE)->counts[VC_INSTRUCTIONS], 4);
	check_sum(r, VPMU_RECORD_TRUTH_NODE);
	rig_free(r);
	free(a);
	free(b);
	free(c);
}

/* A jump to what is called elsewhere leaves its function, however near it is; where nobody has called the function
 * that it leaves, returns lead to the new one from then on. */
static void test_near_jump_to_function(void **state)
{
	struct block *a = block_new(0, MAIN), *b = block_new(1, MAIN + 512), *c = block_new(2, CALLEE);
	struct rig *r = rig_new();

	(void)state;
	run(r, a, 1);
	call(r, MAIN + 4, MAIN + 512);
	run(r, b, 1);
	give_back(r, MAIN + 516, MAIN + 8);
	truth_transfer(&r->t, &(struct frame_event){ .from = MAIN + 256, .to = MAIN + 512 }, true);
	run(r, b, 1);
	call(r, MAIN + 516, CALLEE);
	run(r, c, 1);
	give_back(r, CALLEE + 4, MAIN + 520);
	run(r, b, 1);
	truth_end(&r->t);
	check_sum(r, VPMU_RECORD_TRUTH_NODE);
	for (size_t i = 0; i < r->told.n; i++)
		if (r->told.v[i].type == VPMU_RECORD_TRUTH_NODE && r->told.v[i].pc == MAIN + 512)
			assert_int_equal(r->told.v[i].counts[VC_INSTRUCTIONS], r->told.v[i].parent ? 2 : 4);
	assert_int_equal(find(r, VPMU_RECORD_TRUTH_NODE, MAIN)->counts[VC_INSTRUCTIONS], 2);
	rig_free(r);
	free(a);
	free(b);
	free(c);
}

/* Each event has its own windows. */
static void test_windows_of_two(void **state)
{
	struct block *a = block_new(0, MAIN), *b = block_new(1, CALLEE);
	const struct vpmu_truth *w;
	struct rig *r = rig_new();
	const struct vpmu_event *e = r->control.events;

	(void)state;
	truth_end(&r->t);
	r->control.nr_events = 2;
	truth_start(&r->t);
	run(r, a, 1);
	truth_window(&r->t, &e[0], 9, MAIN);
	call(r, MAIN + 4, CALLEE);
	run(r, b, 1);
	truth_window(&r->t, &e[1], 10, CALLEE);
	run(r, b, 1);
	truth_window(&r->t, &e[1], 10, CALLEE + 4);
	w = find(r, VPMU_RECORD_TRUTH_WINDOW, CALLEE);
	assert_int_equal(w->functions, 1);
	assert_int_equal(w->counts[VC_INSTRUCTIONS], 2);
	assert_int_equal(w->begun, 100);
	give_back(r, CALLEE + 4, MAIN + 8);
	run(r, a, 1);
	r->clock = 130;
	truth_window(&r->t, &e[0], 9, MAIN + 4);
	w = find(r, VPMU_RECORD_TRUTH_WINDOW, MAIN);
	assert_int_equal(w->functions, 2);
	assert_int_equal(w->counts[VC_INSTRUCTIONS], 6);
	assert_true(w->begun == 100 && w->time == 130);
	truth_end(&r->t);
	rig_free(r);
	free(a);
	free(b);
}

/* A window that is open at an exec goes on in the next program, whose functions are others; and in the same program,
 * if that has failed, whose are the same. What was not open is not. */
static void test_windows_over_exec(void **state)
{
	(void)state;
	for (u32 failed = 0; failed < 2; failed++) {
		struct block *a = block_new(0, MAIN), *b = block_new(1, CALLEE);
		struct truth_windows *w = calloc(1, sizeof(*w));
		struct rig *r = rig_new();
		const struct vpmu_event *e = &r->control.events[0];

		assert_non_null(w);
		run(r, a, 1);
		truth_window(&r->t, e, 9, MAIN + 4);
		call(r, MAIN + 4, CALLEE);
		run(r, b, 2);
		truth_save_windows(&r->t, w);
		assert_true(w->of[0].open && !w->of[1].open);
		assert_int_equal(w->of[0].counts[VC_INSTRUCTIONS], 2);
		if (failed) {
			truth_tell(&r->t);
		} else {
			truth_end(&r->t);
			r->depth = 0;
		}
		memset(r->t.counts, 0, sizeof(r->t.counts));
		r->t.carried.windows = w;
		truth_start(&r->t);
		assert_null(r->t.carried.windows);
		run(r, failed ? b : a, 1);
		truth_window(&r->t, e, 9, MAIN + 8);
		assert_int_equal(find(r, VPMU_RECORD_TRUTH_WINDOW, MAIN + 4)->counts[VC_INSTRUCTIONS], 4);
		assert_int_equal(find(r, VPMU_RECORD_TRUTH_WINDOW, MAIN + 4)->functions, failed ? 2 : 3);
		truth_end(&r->t);
		rig_free(r);
		free(a);
		free(b);
	}
}

/* A sampled operation is told with its thread, as it was handed on. */
static void test_operations(void **state)
{
	const struct vpmu_truth_operation o = { .kind = VPMU_OP_LOAD, .level = 2, .total = 9, .addr = 0x1234 };
	struct rig *r = rig_new();
	const struct vpmu_truth *told;

	(void)state;
	truth_operation(&r->t, 12, MAIN + 4, &o);
	told = find(r, VPMU_RECORD_TRUTH_OPERATION, MAIN + 4);
	assert_non_null(told);
	assert_memory_equal(&told->op, &o, sizeof(o));
	assert_true(told->id == 12 && told->time == 100 && told->pid == 5 && told->tid == 6);
	truth_end(&r->t);
	truth_operation(&r->t, 12, MAIN + 4, &o);
	assert_int_equal(nr_of(r, VPMU_RECORD_TRUTH_OPERATION), 1);
	rig_free(r);
}

/* Not asked for: nothing happens, nothing is needed. */
static void test_none(void **state)
{
	struct block *a = block_new(0, MAIN);
	struct rig *r = mem_zalloc(sizeof(*r));

	(void)state;
	r->process.control = &r->control;
	r->t.process = &r->process;
	truth_start(&r->t);
	assert_null(r->t.truth);
	run(r, a, 1);
	call(r, MAIN + 4, CALLEE);
	truth_window(&r->t, &r->control.events[0], 1, MAIN);
	truth_end(&r->t);
	assert_int_equal(r->told.n, 0);
	rig_free(r);
	free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sums),	       cmocka_unit_test(test_jumps),
		cmocka_unit_test(test_far_jumps),      cmocka_unit_test(test_windows),
		cmocka_unit_test(test_fork),	       cmocka_unit_test(test_none),
		cmocka_unit_test(test_calls),	       cmocka_unit_test(test_longjmp),
		cmocka_unit_test(test_operations),     cmocka_unit_test(test_near_jump_to_function),
		cmocka_unit_test(test_windows_of_two), cmocka_unit_test(test_windows_over_exec),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
