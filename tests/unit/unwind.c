/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How stacks are climbed, and why they end, decision by decision: over code of which the test says what is known.
 * tests/unit/cfi.c climbs this machine's own, and tests/cli/unwind.py what real programs left.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attrib/place.h"
#include "attrib/unwind.h"
#include "codec/cfi.h"

#define PID 10u
#define TID 11u
#define SP 0x7000u
#define WORDS 64u /* of the copy, unless a test says otherwise */

/* Code, by where it begins. */
#define PLAIN 0x1000u	  /* frames of two words, the return address above one that holds nothing */
#define KEEPS_FP 0x2000u  /* the same, with the caller's frame pointer in the lower word */
#define SIGNAL 0x3000u	  /* restores all from the stack: word 0 is its stack pointer, 1 where it was */
#define OUTERMOST 0x4000u /* has no caller */
#define STUCK 0x5000u	  /* says that its caller's frame lies no higher */
#define ELSEWHERE 0x6000u /* needs memory by a register that is not the stack's */
#define UNTOLD 0x7000u	  /* nothing is known of it */
#define ENTRY 0x8000u	  /* the same, and the program begins there */
#define LEAF 0x9000u	  /* aarch64: has pushed nothing, and returns by x30 */
#define UNMAPPED 0x10000u
#define MOVED 0x1800u /* plain code up to clock 100, untold from then on */

enum {
	NO_RULES = ID_NONE,
	PLAIN_RULES = 0,
	FP_RULES,
	SIGNAL_RULES,
	OUTERMOST_RULES,
	STUCK_RULES,
	ELSEWHERE_RULES,
	LEAF_RULES
};

static const struct {
	u32 start, rules;
} code[] = { { PLAIN, PLAIN_RULES },	     { KEEPS_FP, FP_RULES }, { SIGNAL, SIGNAL_RULES },
	     { OUTERMOST, OUTERMOST_RULES }, { STUCK, STUCK_RULES }, { ELSEWHERE, ELSEWHERE_RULES },
	     { UNTOLD, NO_RULES },	     { ENTRY, NO_RULES },    { LEAF, LEAF_RULES } };

/* --- processes and files, instead of those of a recording --- */

static struct space space = { .regions = { [0 ...(1 << SPACE_REGION_BITS) / 64 - 1] = UINT64_MAX } };
static struct cfi cfi, none;
static u32 views;

void procs_thread_at(const struct procs *p, u32 pid, u32 tid, u64 clock, struct thread_view *out)
{
	(void)p;
	views++;
	*out = (struct thread_view){ .from = clock / 100 * 100,
				     .until = clock / 100 * 100 + 100,
				     .pid = pid,
				     .tid = tid,
				     .maps = { &space, (u32)(clock / 100) } };
}

const struct vmap *maps_find(const struct maps *maps, u64 addr)
{
	static const struct vmap mapped = { .dso = 5 }, other = { .dso = 6 }, gone = { .dso = 0 };

	if (addr >= UNMAPPED)
		return addr >= 2 * UNMAPPED ? &gone : NULL;
	return maps->n && addr >= MOVED && addr < KEEPS_FP ? &other : &mapped;
}

u64 vmap_addr(const struct vmap *m, const struct dsos *dsos, u64 addr)
{
	(void)m;
	(void)dsos;
	return addr;
}

const struct cfi *dsos_cfi(struct dsos *d, u32 dso)
{
	(void)d;
	return dso == 5 ? &cfi : &none;
}

/* What is mapped now matters to recorders alone (tests/unit/unwinding.c). */
struct current_space *current_space(struct current *c, u32 pid)
{
	(void)c;
	(void)pid;
	return NULL;
}

bool current_find(struct current *c, struct current_space *s, u64 pc, struct current_code *out)
{
	(void)c;
	(void)s;
	(void)pc;
	(void)out;
	return false;
}

u32 current_rules(struct current *c, struct current_space *s, const struct current_code *at, u64 addr)
{
	(void)c;
	(void)s;
	(void)at;
	(void)addr;
	return ID_NONE;
}

u32 current_generation(const struct current *c)
{
	(void)c;
	return 0;
}

/* As in attrib/place.c, which would bring files along. */
u32 context_cpumode(u64 mark)
{
	return mark == PERF_CONTEXT_USER ? PERF_RECORD_MISC_USER : PERF_RECORD_MISC_KERNEL;
}

static struct cfi_rules rules_of(u32 sp, u32 pc, s32 cfa)
{
	struct cfi_rules r = { .cfa = cfa, .cfa_how = CFI_OFFSET, .cfa_reg = (u8)sp, .return_reg = (u8)pc };

	r.how[pc] = CFI_SAVED;
	r.value[pc] = -8;
	return r;
}

static void make_code(u32 sp, u32 fp, u32 pc, u32 returns)
{
	struct cfi_rules r[LEAF_RULES + 1];

	for (u32 i = 0; i <= LEAF_RULES; i++)
		r[i] = rules_of(sp, returns, 16);
	r[FP_RULES].how[fp] = CFI_SAVED;
	r[FP_RULES].value[fp] = -16;
	r[SIGNAL_RULES].signal = true;
	r[SIGNAL_RULES].how[sp] = CFI_SAVED;
	r[SIGNAL_RULES].value[sp] = -16;
	r[OUTERMOST_RULES].how[returns] = CFI_UNDEFINED;
	r[STUCK_RULES].cfa = 0;
	r[STUCK_RULES].value[returns] = 8;
	r[ELSEWHERE_RULES].cfa_reg = (u8)fp;
	r[LEAF_RULES].cfa = 0;
	r[LEAF_RULES].how[returns] = CFI_SAME;
	(void)pc;
	for (u32 i = 0; i <= LEAF_RULES; i++)
		vec_push(&cfi.rules, r[i]);
	for (u32 i = 0; i < ARRAY_LEN(code); i++)
		vec_push(&cfi.rows, (struct cfi_row){ code[i].start, code[i].rules });
	cfi.entry = ENTRY;
}

static int begin_x86(void **state)
{
	(void)state;
	make_code(CFI_X86_SP, CFI_X86_FP, CFI_X86_PC, CFI_X86_PC);
	return 0;
}

static int begin_arm64(void **state)
{
	(void)state;
	make_code(CFI_ARM64_SP, CFI_ARM64_FP, CFI_ARM64_PC, CFI_ARM64_LR);
	return 0;
}

static int end(void **state)
{
	(void)state;
	cfi_free(&cfi);
	return 0;
}

/* --- samples --- */

struct made {
	u64 pc, fp, lr;
	u64 stack[WORDS];
	u32 words;    /* that were there; 0: all that were asked for */
	u64 abi;      /* 0: of 64 bits */
	bool no_sp;   /* was recorded */
	bool nothing; /* was copied */
	u64 clock;
};

/* perf's numbers of registers: bp, sp and ip of x86; x29, x30, sp and pc of aarch64. */
static bool take(struct unwinder *u, const struct made *m, bool arm64, struct unwound *out)
{
	const u64 arm64_regs[] = { m->fp, m->lr, SP, m->pc };
	const u64 x86_regs[] = { m->fp, SP, m->pc }, no_sp[] = { m->fp, m->pc };
	const u64 *regs = m->no_sp ? no_sp : arm64 ? arm64_regs : x86_regs;
	const struct event e = {
		.layout.regs_user_mask = m->no_sp ? 1u << 6 | 1u << 8 :
					 arm64	  ? 15ull << 29 :
						    7u << 6,
	};
	const struct sample s = {
		.pid = PID,
		.tid = TID,
		.regs_user_abi = m->abi ? m->abi : PERF_SAMPLE_REGS_ABI_64,
		.regs_user = { (const u8 *)regs,
			       m->no_sp ? 2 :
			       arm64	? 4 :
					  3,
			       false },
		.stack_user = (const u8 *)m->stack,
		.stack_user_size = WORDS * 8,
		.stack_user_dyn_size = m->nothing ? 0 : (m->words ? m->words : WORDS) * 8,
	};
	const struct hit h = { .e = &e, .full = &s, .s = { .pid = PID, .tid = TID, .ip = m->pc }, .clock = m->clock };

	return unwind_take(u, &h, out);
}

/* The stack has these addresses, ends so, and of its frames so many were guessed. */
static void climbs(const struct made *m, bool arm64, enum stack_end ends, u32 guessed, const char *addresses)
{
	struct unwinder *u = unwinder_new(NULL, NULL, arm64 ? "aarch64" : "x86_64");
	struct unwound out;
	bool took;
	char text[200];
	u32 at = 0;

	took = take(u, m, arm64, &out);
	assert_int_equal(took, out.n > 0);
	text[0] = 0;
	for (u32 i = 0; i < out.n; i++)
		at += (u32)snprintf(text + at, sizeof(text) - at, "%s%llx", i ? " " : "",
				    (unsigned long long)out.v[i]);
	assert_string_equal(text, addresses);
	assert_string_equal(stack_end_name(out.end), stack_end_name(ends));
	assert_int_equal(out.guessed, guessed);
	assert_int_equal(unwind_counted(u)->stacks, 1);
	assert_int_equal(unwind_counted(u)->frames, out.n);
	assert_int_equal(unwind_counted(u)->guessed, guessed);
	assert_int_equal(unwind_counted(u)->ends[ends], 1);
	unwinder_free(u);
}

/* --- tests --- */

static void test_whole(void **state)
{
	const struct made outermost = { .pc = PLAIN + 4, .stack = { 0, PLAIN + 9, 0, OUTERMOST + 9 } };
	const struct made entry = { .pc = PLAIN + 4, .stack = { 0, ENTRY + 9 } };
	const struct made to_nothing = { .pc = PLAIN + 4, .stack = { 0, 0 } };

	(void)state;
	/* Of callers the last byte of the call. */
	climbs(&outermost, false, STACK_WHOLE, 0, "1004 1008 4008");
	climbs(&entry, false, STACK_WHOLE, 0, "1004 8008");
	climbs(&to_nothing, false, STACK_WHOLE, 0, "1004");
}

/* A call at the very end of a function returns to the next one. */
static void test_boundaries(void **state)
{
	const struct made called = { .pc = PLAIN, .stack = { 0, OUTERMOST, SP + 16, OUTERMOST } };

	(void)state;
	climbs(&called, false, STACK_WHOLE, 0, "1000 3fff 4000");
}

/* What a signal handler returns to was not called, and may have another stack. */
static void test_signal(void **state)
{
	const struct made m = { .pc = PLAIN + 4, .stack = { 0, SIGNAL + 1, SP, OUTERMOST } };

	(void)state;
	climbs(&m, false, STACK_WHOLE, 0, "1004 3000 4000");
}

static void test_guesses(void **state)
{
	struct made m = { .pc = UNTOLD + 4, .fp = SP + 16, .stack = { 1, 2, 0, OUTERMOST + 5 } };
	struct made kept = { .pc = KEEPS_FP + 4, .stack = { SP + 32, UNTOLD + 5, 0, 0, 0, OUTERMOST + 5 } };

	(void)state;
	climbs(&m, false, STACK_WHOLE, 1, "7004 4004");
	climbs(&kept, false, STACK_WHOLE, 1, "2004 7004 4004");
	m.fp = SP; /* may be where the stack ends */
	m.stack[1] = OUTERMOST + 5;
	climbs(&m, false, STACK_WHOLE, 1, "7004 4004");
	/* Not plausible: below the stack, uneven, outside of it; or lost. */
	m.fp = SP - 8;
	climbs(&m, false, STACK_NO_INFO, 0, "7004");
	m.fp = SP + 4;
	climbs(&m, false, STACK_NO_INFO, 0, "7004");
	m.fp = SP + WORDS * 8 + (1u << 30);
	climbs(&m, false, STACK_NO_INFO, 0, "7004");
	kept.pc = PLAIN + 4; /* does not say where it is, but leaves it */
	kept.fp = SP + 32;
	climbs(&kept, false, STACK_WHOLE, 1, "1004 7004 4004");
}

/* Frame pointers by which a frame would be its own caller do not go on for ever. */
static void test_goes_up(void **state)
{
	struct made m = { .pc = UNTOLD + 4, .fp = SP, .stack = { SP, UNTOLD + 5 } };
	const struct made stuck = { .pc = STUCK + 4, .stack = { 0, PLAIN + 5 } };

	(void)state;
	climbs(&m, false, STACK_NO_INFO, 1, "7004 7004");
	climbs(&stuck, false, STACK_MEMORY, 0, "5004");
}

static void test_ends(void **state)
{
	struct made m = { .pc = PLAIN + 4, .stack = { 0, UNMAPPED + 5 } };
	struct made elsewhere = { .pc = ELSEWHERE + 4, .fp = 0x100 };

	(void)state;
	climbs(&m, false, STACK_UNMAPPED, 0, "1004");
	m.stack[1] = 2 * UNMAPPED + 5; /* unmapped again */
	climbs(&m, false, STACK_UNMAPPED, 0, "1004");
	m.pc = UNMAPPED;
	climbs(&m, false, STACK_UNMAPPED, 0, "");
	climbs(&elsewhere, false, STACK_MEMORY, 0, "6004");
}

/* The copy is too small only if it might have been larger, and if what was wanted lies behind it. */
static void test_short(void **state)
{
	struct made far = { .pc = ELSEWHERE + 4, .fp = SP + WORDS * 8 + 16 };
	struct made last = { .pc = PLAIN + 4, .words = 2, .stack = { 0, OUTERMOST + 5 } };

	(void)state;
	climbs(&last, false, STACK_WHOLE, 0, "1004 4004");
	last.words = 1;
	climbs(&last, false, STACK_MEMORY, 0, "1004"); /* there is no more stack */
	last.words = 0;
	last.nothing = true;
	climbs(&last, false, STACK_EMPTY, 0, "1004");
	climbs(&far, false, STACK_SHORT, 0, "6004");
	/* No stack is so large: the first byte that is not near, and the last one that is. */
	far.fp = SP - 8 + (1u << 30);
	climbs(&far, false, STACK_MEMORY, 0, "6004");
	far.fp -= 1;
	climbs(&far, false, STACK_SHORT, 0, "6004");
}

static void test_what_was_copied(void **state)
{
	struct unwinder *u = unwinder_new(NULL, NULL, "x86_64");
	struct made m = { .pc = PLAIN + 4 };
	struct unwound out;

	(void)state;
	for (u32 i = 1; i < WORDS; i += 2)
		m.stack[i] = PLAIN + 5;
	assert_true(take(u, &m, false, &out));
	assert_int_equal(out.n, 1 + WORDS / 2);
	assert_int_equal(out.end, STACK_SHORT);
	assert_int_equal(out.dso, 5);
	m.no_sp = true;
	assert_false(take(u, &m, false, &out));
	assert_int_equal(unwind_counted(u)->stacks, 1);
	m.no_sp = false;
	m.abi = PERF_SAMPLE_REGS_ABI_32;
	assert_false(take(u, &m, false, &out));
	assert_int_equal(out.end, STACK_NOT_64);
	assert_int_equal(unwind_counted(u)->stacks, 2);
	unwinder_free(u);
}

/* Not more frames than are kept. */
static void test_deep(void **state)
{
	static u64 stack[2 * UNWIND_STACK + 2];
	const u64 regs[] = { 0, SP, PLAIN + 4 };
	const struct event e = { .layout.regs_user_mask = 7u << 6 };
	const struct sample s = { .regs_user_abi = PERF_SAMPLE_REGS_ABI_64,
				  .regs_user = { (const u8 *)regs, 3, false },
				  .stack_user = (const u8 *)stack,
				  .stack_user_size = sizeof(stack),
				  .stack_user_dyn_size = sizeof(stack) };
	const struct hit h = { .e = &e, .full = &s, .s = { .pid = PID, .tid = TID } };
	struct unwinder *u = unwinder_new(NULL, NULL, "x86_64");
	struct unwound out;

	(void)state;
	for (u32 i = 1; i < ARRAY_LEN(stack); i += 2)
		stack[i] = PLAIN + 5;
	assert_true(unwind_take(u, &h, &out));
	assert_int_equal(out.n, UNWIND_STACK);
	assert_int_equal(out.end, STACK_DEEP);
	unwinder_free(u);
}

/* What is known of a thread and of an address holds as long as its maps do. */
static void test_kept(void **state)
{
	struct unwinder *u = unwinder_new(NULL, NULL, "x86_64");
	struct made m = { .pc = MOVED + 4, .stack = { 0, OUTERMOST + 5 } };
	struct unwound out;

	(void)state;
	views = 0;
	for (u32 i = 0; i < 3; i++) {
		take(u, &m, false, &out);
		assert_int_equal(out.n, 2);
		assert_int_equal(out.dso, 5);
	}
	m.clock = 99;
	take(u, &m, false, &out);
	assert_int_equal(views, 1);
	m.clock = 100;
	take(u, &m, false, &out);
	assert_int_equal(out.n, 1);
	assert_int_equal(out.dso, 6);
	assert_int_equal(views, 2);
	m.clock = 99;
	take(u, &m, false, &out);
	assert_int_equal(out.n, 2);
	assert_int_equal(views, 3);
	unwinder_free(u);
}

/* A leaf has nothing on the stack; addresses may be signed. */
static void test_arm64(void **state)
{
	struct made m = { .pc = LEAF + 4, .lr = OUTERMOST + 8 };
	const struct made signed_return = { .pc = LEAF + 4, .lr = 0x123ull << 48 | (OUTERMOST + 8) };
	const struct made stuck = { .pc = LEAF + 4, .lr = STUCK + 8, .stack = { 0, 0, 0, 0 } };

	(void)state;
	climbs(&m, true, STACK_WHOLE, 0, "9004 4007");
	climbs(&signed_return, true, STACK_WHOLE, 0, "9004 4007");
	climbs(&stuck, true, STACK_WHOLE, 0, "9004 5007");
}

static void test_used(void **state)
{
	static const u64 both = PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
	static const struct {
		u64 sample_type, flags;
		bool used;
	} rows[] = { { both, ATTR_EXCLUDE_CALLCHAIN_USER, true },
		     { both, 0, false },
		     { PERF_SAMPLE_REGS_USER, ATTR_EXCLUDE_CALLCHAIN_USER, false },
		     { PERF_SAMPLE_STACK_USER, ATTR_EXCLUDE_CALLCHAIN_USER, false } };

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		struct evlist l = { 0 };

		vec_push(&l.events, (struct event){ 0 });
		vec_push(&l.events,
			 (struct event){ .attr = { .sample_type = rows[i].sample_type, .flags = rows[i].flags } });
		/* What lies behind the list is none of its events. */
		vec_push(&l.events,
			 (struct event){ .attr = { .sample_type = both, .flags = ATTR_EXCLUDE_CALLCHAIN_USER } });
		l.events.n--;
		assert_int_equal(unwind_used(&l), rows[i].used);
		vec_free(&l.events);
	}
}

static void test_chain(void **state)
{
	const struct unwound s = { .n = 2, .v = { 0x1004, 0x2004 } };
	const u64 recorded[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000001, PERF_CONTEXT_USER, 0x77 };
	struct hit h = { .cpumode = PERF_RECORD_MISC_USER, .s = { .ip = 0x1008 } };
	const u64 user[] = { PERF_CONTEXT_USER, 0x1008, 0x2004 };
	const u64 kernel[] = { PERF_CONTEXT_KERNEL, 0xffffffff81000001, PERF_CONTEXT_USER, 0x1004, 0x2004 };
	u64 words[CHAIN_WORDS];

	(void)state;
	assert_int_equal(unwind_chain(&s, h.cpumode, h.s.ip, &h.s.chain, words), ARRAY_LEN(user));
	assert_memory_equal(words, user, sizeof(user));
	h.cpumode = PERF_RECORD_MISC_KERNEL;
	h.s.chain = (struct u64s){ (const u8 *)recorded, 4, false };
	assert_int_equal(unwind_chain(&s, h.cpumode, h.s.ip, &h.s.chain, words), ARRAY_LEN(kernel));
	assert_memory_equal(words, kernel, sizeof(kernel));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_whole, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_boundaries, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_signal, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_guesses, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_goes_up, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_ends, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_short, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_what_was_copied, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_deep, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_kept, begin_x86, end),
		cmocka_unit_test_setup_teardown(test_arm64, begin_arm64, end),
		cmocka_unit_test(test_used),
		cmocka_unit_test(test_chain),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
