/* SPDX-License-Identifier: Apache-2.0 */
/* Lengths of instructions of x86-64: each form of prefixes, opcodes and operands once. */
#include "codec/x86_length.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define BYTES(...)                                                                                                    \
	(const u8[16])                                                                                                \
	{                                                                                                             \
		__VA_ARGS__                                                                                           \
	}

static const struct {
	const u8 *code;
	u32 size, opcode;
} insns[] = {
	{ BYTES(0x90), 1, 0 },
	{ BYTES(0xc3), 1, 0 },
	{ BYTES(0xeb, 0xfe), 2, 0 },
	{ BYTES(0x74, 0x10), 2, 0 },
	{ BYTES(0xe9, 1, 2, 3, 4), 5, 0 },
	{ BYTES(0x66, 0xe9, 1, 2, 3, 4), 6, 1 },
	{ BYTES(0x0f, 0x84, 1, 2, 3, 4), 6, 0 },
	{ BYTES(0x3e, 0xff, 0xe0), 3, 1 },		      /* notrack jmp *%rax */
	{ BYTES(0xff, 0x24, 0xc5, 1, 2, 3, 4), 7, 0 },	      /* jmp *table(,%rax,8) */
	{ BYTES(0xff, 0x60, 8), 3, 0 },			      /* jmp *8(%rax) */
	{ BYTES(0xff, 0x25, 1, 2, 3, 4), 6, 0 },	      /* jmp *symbol(%rip) */
	{ BYTES(0x41, 0xff, 0x64, 0x24, 8), 5, 1 },	      /* jmp *8(%r12) */
	{ BYTES(0x48, 0xb8, 1, 2, 3, 4, 5, 6, 7, 8), 10, 1 }, /* movabs $,%rax */
	{ BYTES(0xb8, 1, 2, 3, 4), 5, 0 },
	{ BYTES(0x66, 0xb8, 1, 2), 4, 1 },
	{ BYTES(0x66, 0x48, 0x05, 1, 2, 3, 4), 7, 2 },
	{ BYTES(0x48, 0x8b, 0x85, 0x68, 0xff, 0xff, 0xff), 7, 1 },
	{ BYTES(0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0), 9, 2 },
	{ BYTES(0xf6, 0xc1, 1), 3, 0 },			      /* test $1,%cl */
	{ BYTES(0xf6, 0xd1), 2, 0 },			      /* not %cl */
	{ BYTES(0xf7, 0x05, 1, 2, 3, 4, 1, 0, 0, 0), 10, 0 }, /* testl $1,symbol(%rip) */
	{ BYTES(0xf7, 0xd8), 2, 0 },
	{ BYTES(0xc7, 0x44, 0x24, 8, 1, 2, 3, 4), 8, 0 }, /* movl $,8(%rsp) */
	{ BYTES(0x66, 0xc7, 0x07, 1, 2), 5, 1 },
	{ BYTES(0xc8, 0x10, 0, 0), 4, 0 },
	{ BYTES(0xc2, 8, 0), 3, 0 },
	{ BYTES(0xa1, 1, 2, 3, 4, 5, 6, 7, 8), 9, 0 },
	{ BYTES(0x67, 0xa1, 1, 2, 3, 4), 6, 1 },
	{ BYTES(0xf3, 0x0f, 0x1e, 0xfa), 4, 1 }, /* endbr64 */
	{ BYTES(0x66, 0x2e, 0x0f, 0x1f, 0x84, 0, 0, 0, 0, 0), 10, 2 },
	{ BYTES(0x66, 0x0f, 0x3a, 0x0f, 0xc1, 8), 6, 1 },
	{ BYTES(0x66, 0x0f, 0x38, 0, 0xc1), 5, 1 },
	{ BYTES(0xc5, 0xf8, 0x77), 3, 0 },		  /* vzeroupper */
	{ BYTES(0xc5, 0xfd, 0x70, 0xc0, 1), 5, 0 },	  /* vpshufd */
	{ BYTES(0xc4, 0xe3, 0x7d, 0x39, 0xc1, 1), 6, 0 }, /* vextracti128 */
	{ BYTES(0xc4, 0xe2, 0x7d, 0x78, 0xc0), 5, 0 },	  /* vpbroadcastb */
	{ BYTES(0x62, 0xf1, 0x7d, 0x48, 0x6f, 0x46, 1), 7, 0 },
};

static void test_forms(void **state)
{
	struct x86_insn got;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(insns); i++) {
		assert_true(x86_insn_decode(insns[i].code, 16, &got));
		assert_int_equal(got.size, insns[i].size);
		assert_int_equal(got.opcode, insns[i].opcode);
		assert_int_equal(got.jump_table, insns[i].code[0] == 0x3e);
		assert_true(x86_insn_decode(insns[i].code, insns[i].size, &got));
	}
}

/* No byte is read that is not there. */
static void test_ends(void **state)
{
	struct x86_insn got;

	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(insns); i++) {
		for (u32 n = 0; n < insns[i].size; n++) {
			u8 *code = malloc(n + 1);

			/* Up to the end of what was allocated, where sanitizers look. */
			memcpy(code + 1, insns[i].code, n);
			assert_false(x86_insn_decode(code + 1, n, &got) && got.size > n);
			free(code);
		}
	}
	assert_false(x86_insn_decode((const u8 *)"\x06", 1, &got));
	assert_false(x86_insn_decode(
		BYTES(0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x66, 0x90),
		16, &got));
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms), cmocka_unit_test(test_ends) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
