/* SPDX-License-Identifier: Apache-2.0 */
/* How good stacks are: which frames have no name, and which stacks do not reach their thread's beginning. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "agg/profile.h"

enum { MAIN, START_THREAD, WORK, MAIN_LOOP, CLONE, OWN_CLONE, NO_CLONE };

const char *dsos_symbol_name(struct dsos *d, u32 dso, u32 sym)
{
	static const char *const names[] = { "main", "start_thread", "work", "main_loop", "clone", "clone", "clone" };

	(void)d;
	assert_int_equal(dso, 1);
	return names[sym];
}

/* Files have one name, and that is enough for them here. */
const struct dso *dsos_at(const struct dsos *d, u32 dso)
{
	static const struct dso file = { .path = "/a/file", .short_name = "file" };

	(void)d;
	(void)dso;
	return &file;
}

const struct symbol *dsos_symbol(const struct dsos *d, u32 dso, u32 sym)
{
	static struct symbol s;

	(void)d;
	(void)dso;
	s = (struct symbol){ .start = sym * 0x100, .end = sym * 0x100 + 6 };
	return &s;
}

/* A call of a pointer, and behind it a system call or not; no code of the others. */
u32 dsos_code_at(struct dsos *d, u32 dso, u64 addr, u8 *out, u32 max, u16 *machine)
{
	static const u8 begins[] = { 0xff, 0xd2, 0x0f, 0x05, 0x0f, 0x0b },
			calls[] = { 0xff, 0xd2, 0x0f, 0x0b, 0x05, 0xc3 };

	(void)d;
	(void)dso;
	assert_int_equal(max, sizeof(begins));
	if (addr != CLONE * 0x100 && addr != OWN_CLONE * 0x100)
		return 0;
	*machine = EM_X86_64;
	memcpy(out, addr == CLONE * 0x100 ? begins : calls, max);
	return max;
}

struct fixture {
	struct profile p;
	struct evlist l;
	struct profile_event e;
};

static u32 add(struct fixture *f, u32 parent, u32 frame, u32 samples)
{
	vec_push(&f->e.tree.nodes, (struct tree_node){ .parent = parent, .frame = frame, .total_samples = samples });
	f->e.tree.nodes.v[f->e.tree.nodes.n - 1].samples = samples;
	f->e.tree.nodes.v[parent].samples -= parent ? samples : 0;
	return (u32)f->e.tree.nodes.n - 1;
}

static u32 frame(struct fixture *f, u32 sym, char level)
{
	return frames_intern(f->p.frames, &(struct frame){ .dso = 1, .sym = sym, .level = level, .addr = 0x1000 });
}

static void set_up(struct fixture *f, u64 sample_type, bool has_chains)
{
	*f = (struct fixture){ .p = { .frames = frames_new(), .has_chains = has_chains } };
	f->p.strings = mem_zalloc(sizeof(*f->p.strings));
	vec_push(&f->l.events, (struct event){ .attr.sample_type = sample_type });
	f->p.evlist = &f->l;
	add(f, 0, 0, 1000); /* the root */
	add(f, 0, 0, 1000); /* a group */
}

static void count(struct fixture *f, u64 frames, u64 unresolved, u64 stacks, u64 broken)
{
	profile_count_stacks(&f->p, &f->e);
	assert_int_equal(f->p.tally.frames, frames);
	assert_int_equal(f->p.tally.unresolved, unresolved);
	assert_int_equal(f->p.tally.stacks, stacks);
	assert_int_equal(f->p.tally.broken, broken);
	strtab_free(f->p.strings);
	free(f->p.strings);
	stack_cuts_free(&f->p.cuts);
	vec_free(&f->e.tree.nodes);
	vec_free(&f->l.events);
	frames_free(f->p.frames);
}

static void make_stacks(struct fixture *f)
{
	u32 at = add(f, 1, frame(f, MAIN, '.'), 100);

	at = add(f, at, frame(f, WORK, '.'), 60);
	add(f, at, frame(f, ID_NONE, '.'), 7);
	add(f, at, frame(f, WORK, 'k'), 11);
	at = add(f, 1, frame(f, START_THREAD, '.'), 20);
	add(f, at, frame(f, MAIN, '.'), 20);
	at = add(f, 1, frame(f, WORK, '.'), 5); /* not where a thread begins */
	add(f, at, frame(f, MAIN, '.'), 5);
	add(f, 1, frame(f, MAIN_LOOP, '.'), 4); /* nor is this, by its name */
	add(f, 1, frame(f, ID_NONE, '.'), 3);
	add(f, 1, frame(f, WORK, 'k'), 50); /* of the kernel alone: no stack of user space */
	add(f, 1, frame(f, ID_NONE, 'H'), 2);
}

#define FRAMES (100 + 60 + 7 + 11 + 20 + 20 + 5 + 5 + 4 + 3 + 50 + 2)

static void test_stacks(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, true);
	make_stacks(&f);
	count(&f, FRAMES, 7 + 3 + 2, 100 + 20 + 5 + 4 + 3, 5 + 4 + 3);
}

/* Why they are cut, and in which files: pointers that lead nowhere, or as many frames as the kernel records. */
static void test_ends(void **state)
{
	struct fixture f;
	const struct stack_counts *ends = &f.p.tally.ends;
	u32 at = 1;

	(void)state;
	set_up(&f, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, true);
	f.l.events.v[0].attr.sample_max_stack = 4;
	make_stacks(&f);
	for (u32 i = 0; i < 4; i++)
		at = add(&f, at, frame(&f, WORK, i < 3 ? '.' : 'k'), 6);
	profile_count_stacks(&f.p, &f.e);
	assert_int_equal(ends->stacks, 100 + 20 + 5 + 4 + 3 + 6);
	assert_int_equal(ends->ends[STACK_WHOLE], 100 + 20);
	assert_int_equal(ends->ends[STACK_NO_FP], 5 + 4 + 3);
	assert_int_equal(ends->ends[STACK_DEEP], 6);
	assert_int_equal(f.p.cuts.v.n, 2);
	assert_true(f.p.cuts.v.v[0].file & CUT_IN_DSO);
	assert_string_equal(dsos_at(f.p.dsos, f.p.cuts.v.v[0].file & ~CUT_IN_DSO)->path, "/a/file");
	f.p.tally = (struct tally){ 0 };
	f.p.stacks_told = true; /* the recorder knows more */
	count(&f, FRAMES + 4 * 6, 7 + 3 + 2, 100 + 20 + 5 + 4 + 3 + 6, 5 + 4 + 3 + 6);
	assert_int_equal(ends->stacks, 0);
}

/* Branch records have one reason. */
static void test_branch_records(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK, true);
	f.l.events.v[0].attr.branch_sample_type = PERF_SAMPLE_BRANCH_CALL_STACK;
	make_stacks(&f);
	count(&f, FRAMES, 7 + 3 + 2, 100 + 20 + 5 + 4 + 3, 5 + 4 + 3);
	assert_int_equal(f.p.tally.ends.ends[STACK_LBR], 5 + 4 + 3);
}

/* A program may have a function of that name: it begins no thread, and a stack that ends there is cut. */
static void test_own_names(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, true);
	add(&f, add(&f, 1, frame(&f, CLONE, '.'), 100), frame(&f, WORK, '.'), 100);
	add(&f, add(&f, 1, frame(&f, OWN_CLONE, '.'), 10), frame(&f, WORK, '.'), 10);
	add(&f, add(&f, 1, frame(&f, NO_CLONE, '.'), 1), frame(&f, WORK, '.'), 1);
	add(&f, add(&f, 1, frame(&f, OWN_CLONE, '.'), 20), frame(&f, MAIN, '.'), 20);
	count(&f, 262, 0, 131, 30);
	assert_int_equal(f.p.tally.ends.ends[STACK_WHOLE], 101);
}

/* Without chains there is nothing to judge but names. */
static void test_no_chains(void **state)
{
	struct fixture f;

	(void)state;
	set_up(&f, PERF_SAMPLE_IP | PERF_SAMPLE_CALLCHAIN, false);
	make_stacks(&f);
	count(&f, FRAMES, 7 + 3 + 2, 0, 0);
	set_up(&f, PERF_SAMPLE_IP, true); /* other events have some */
	make_stacks(&f);
	count(&f, FRAMES, 7 + 3 + 2, 0, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks),	       cmocka_unit_test(test_ends),
		cmocka_unit_test(test_branch_records), cmocka_unit_test(test_own_names),
		cmocka_unit_test(test_no_chains),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
