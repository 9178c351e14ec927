/* SPDX-License-Identifier: Apache-2.0 */
/* Which accesses of a block one callback tells of, where the others are, and how it is packed. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "vpmu/access_run.h"

#define PC 0x400000

/* Instructions, a letter each. */
static const struct {
	char letter;
	u8 size, bytes[8];
} known[] = {
	{ 'p', 1, { 0x53 } },			      /* push %rbx */
	{ 'o', 1, { 0x5b } },			      /* pop %rbx */
	{ 'a', 4, { 0x48, 0x83, 0xec, 0x38 } },	      /* sub $0x38,%rsp */
	{ 'l', 5, { 0x48, 0x8b, 0x4c, 0x24, 0x08 } }, /* mov 8(%rsp),%rcx */
	{ 'h', 5, { 0x48, 0x8b, 0x4c, 0x24, 0x38 } }, /* mov 0x38(%rsp),%rcx */
	{ 'i', 5, { 0x48, 0x8b, 0x4c, 0x24, 0x39 } }, /* mov 0x39(%rsp),%rcx */
	{ 'z', 4, { 0x48, 0x8b, 0x0c, 0x24 } },	      /* mov (%rsp),%rcx */
	{ 'b', 4, { 0x88, 0x44, 0x24, 0xfb } },	      /* mov %al,-5(%rsp) */
	{ 'x', 4, { 0x48, 0x8b, 0x0c, 0xc4 } },	      /* mov (%rsp,%rax,8),%rcx */
	{ 'm', 3, { 0x48, 0x8b, 0x07 } },	      /* mov (%rdi),%rax */
	{ 'n', 1, { 0x90 } },			      /* nop */
	{ 'u', 2, { 0x0f, 0xa2 } },		      /* cpuid: not known */
	{ 's', 3, { 0x48, 0x89, 0xc4 } },	      /* mov %rax,%rsp */
	{ 'f', 7, { 0x8b, 0x04, 0x25, 0x40, 0x10 } }, /* mov 0x1040,%eax */
	{ 'g', 7, { 0x8b, 0x04, 0x25, 0x44, 0x10 } }, /* mov 0x1044,%eax */
	{ 'G', 7, { 0x89, 0x04, 0x25, 0x44, 0x10 } }, /* mov %eax,0x1044 */
	{ 'e', 7, { 0x8b, 0x04, 0x25, 0xfc, 0x1f } }, /* mov 0x1ffc,%eax */
	{ 'E', 7, { 0x8b, 0x04, 0x25, 0x00, 0x20 } }, /* mov 0x2000,%eax */
};

static const struct sample {
	const char *text;
	const char *want; /* of each: . no access, ! QEMU tells of any; else the number of those that follow, - it
			     follows */
	u32 pc;
} samples[] = {
	{ "ppp", "2--", PC },
	{ "ppnalb", "2-..-0", PC },
	{ "alozo", ".3---", PC },
	{ "pup", "0!0", PC },
	{ "psp", "0!0", PC },
	{ "pmp", "000", PC },
	{ "pxp", "000", PC },
	{ "mm", "00", PC },
	{ "zh", "1-", PC }, /* 64 bytes */
	{ "zi", "00", PC }, /* 65 */
	{ "hz", "1-", PC },
	{ "iz", "00", PC },
	{ "llllllllllllllll", "=---------------", PC }, /* 15 follow */
	{ "lllllllllllllllll", "=---------------0", PC },
	{ "fg", "1-", PC },
	{ "fG", "00", PC }, /* the page may be read-only */
	{ "Gf", "1-", PC },
	{ "eE", "00", PC }, /* two pages */
	{ "pf", "00", PC },
	{ "ppl", "1-!", PC + 0xffc }, /* across a page */
	{ "pppp", "2--!", PC + 0xffd },
};

static const struct block *block_of(struct code *c, const char *text, u64 pc)
{
	struct code_insn insns[32];
	u32 n = 0;

	for (; text[n]; n++) {
		u32 k = 0;

		while (known[k].letter != text[n])
			assert_true(++k < ARRAY_LEN(known));
		insns[n] = (struct code_insn){ pc, known[k].bytes, known[k].size };
		pc += known[k].size;
	}
	return code_block(c, insns, n);
}

static char found(const struct op *op)
{
	if (op->access & OP_FOLLOWS)
		return '-';
	if (op->access & OP_KNOWN)
		return op->followers == RUN_MAX ? '=' : (char)('0' + op->followers);
	return '.';
}

static void test_found(void **state)
{
	struct code *c = code_new(false, &core_models[VPMU_GENERIC_X86], VPMU_MODEL_ALL, true);

	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		const struct block *b = block_of(c, samples[i].text, samples[i].pc);
		char got[32] = "";

		for (u32 k = 0; k < b->nr; k++) {
			got[k] = found(&b->ops[k]);
			if (samples[i].want[k] == '!' && got[k] == '.')
				got[k] = '!';
			assert_int_equal(access_run(b, k) == 0, got[k] == '-' || got[k] == '.' || got[k] == '!');
		}
		if (strcmp(got, samples[i].want))
			fail_msg("%s at %x: %s, not %s", samples[i].text, samples[i].pc, got, samples[i].want);
	}
	code_free(c);
}

/* Without runs, and of another architecture, nothing is known. */
static void test_left_out(void **state)
{
	struct code *c = code_new(false, &core_models[VPMU_GENERIC_X86], VPMU_MODEL_ALL, false);
	const struct block *b = block_of(c, "ppp", PC);

	(void)state;
	for (u32 k = 0; k < b->nr; k++) {
		assert_int_equal(b->ops[k].access, 0);
		assert_int_equal(access_run(b, k), 0);
	}
	code_free(c);
}

static void test_packed(void **state)
{
	struct code *c = code_new(false, &core_models[VPMU_GENERIC_X86], VPMU_MODEL_ALL, true);
	const struct block *b = block_of(c, "npplb", PC); /* at -8, -16, 8 - 16 = -8, -21 */
	struct access log[RUN_MAX + 1] = { { 0x1000, 1ull << TOLD_OP } };
	u64 run = access_run(b, 1);

	(void)state;
	assert_int_equal(told_op(run), 1);
	assert_int_equal(run_low(run), -13);
	assert_int_equal(run_high(run), 7);
	assert_int_equal(run_last(run), -13);
	assert_int_equal(run_nr(run), 4);
	assert_int_equal(run_counts(run), 1 | 3u << RUN_STORES);
	assert_int_equal(access_run_fill(b, log), 3);
	assert_memory_equal(&log[1], (&(struct access){ 0xff8, 3 << INFO_SIZE_SHIFT | INFO_STORE | 2 << TOLD_OP }),
			    sizeof(log[1]));
	assert_memory_equal(&log[2], (&(struct access){ 0x1000, 3 << INFO_SIZE_SHIFT | INFO_LOAD | 3 << TOLD_OP }),
			    sizeof(log[2]));
	assert_memory_equal(&log[3], (&(struct access){ 0xff3, INFO_STORE | 4 << TOLD_OP }), sizeof(log[3]));
	code_free(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_found),
		cmocka_unit_test(test_left_out),
		cmocka_unit_test(test_packed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
