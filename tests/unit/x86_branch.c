/* SPDX-License-Identifier: Apache-2.0 */
/* Branches of x86, as assemblers write them. */
#include "codec/x86_branch.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define NONE INT64_MAX

static const struct {
	const char *code;
	u32 n;
	u32 size64, size32; /* 0: no branch there */
	enum x86_flow flow;
	s64 target;
} rows[] = {
	{ "\x74\xfe", 2, 2, 2, X86_MAYBE, -2 },
	{ "\x3e\x7f\x10", 3, 3, 3, X86_MAYBE, 16 },		     /* jg, with a hint */
	{ "\xe3\x05", 2, 2, 2, X86_MAYBE, 5 },			     /* jrcxz */
	{ "\x0f\x84\x00\x01\x00\x00", 6, 6, 6, X86_MAYBE, 256 },     /* je */
	{ "\x2e\x0f\x8f\xff\xff\xff\xff", 7, 7, 7, X86_MAYBE, -1 },  /* jg, with a hint */
	{ "\xeb\x80", 2, 2, 2, X86_AWAY, -128 },		     /* jmp */
	{ "\xe9\x00\x00\x00\x80", 5, 5, 5, X86_AWAY, INT32_MIN },    /* jmp */
	{ "\xf2\xe9\x01\x00\x00\x00", 6, 6, 6, X86_AWAY, 1 },	     /* bnd jmp */
	{ "\xe8\x01\x00\x00\x00", 5, 5, 5, X86_CALL, 1 },	     /* call */
	{ "\x48\xe8\x01\x00\x00\x00", 6, 6, 0, X86_CALL, 1 },	     /* call; dec %eax */
	{ "\x66\x48\xe8\x01\x00\x00\x00", 7, 7, 0, X86_CALL, 1 },    /* call, as for __tls_get_addr */
	{ "\xc3", 1, 1, 1, X86_AWAY, NONE },			     /* ret */
	{ "\xf3\xc3", 2, 2, 2, X86_AWAY, NONE },		     /* rep ret */
	{ "\xc2\x08\x00", 3, 3, 3, X86_AWAY, NONE },		     /* ret $8 */
	{ "\xca\x08\x00", 3, 3, 3, X86_AWAY, NONE },		     /* lret $8 */
	{ "\x48\xcf", 2, 2, 0, X86_AWAY, NONE },		     /* iretq; dec %eax */
	{ "\xf4", 1, 1, 1, X86_AWAY, NONE },			     /* hlt */
	{ "\x0f\x0b", 2, 2, 2, X86_AWAY, NONE },		     /* ud2 */
	{ "\xcd\x80", 2, 2, 2, X86_ON, NONE },			     /* int $0x80 */
	{ "\xcc", 1, 1, 1, X86_ON, NONE },			     /* int3 */
	{ "\x0f\x05", 2, 2, 2, X86_ON, NONE },			     /* syscall */
	{ "\x0f\x34", 2, 2, 2, X86_ON, NONE },			     /* sysenter */
	{ "\xff\xe0", 2, 2, 2, X86_AWAY, NONE },		     /* jmp *%rax */
	{ "\x41\xff\xe3", 3, 3, 0, X86_AWAY, NONE },		     /* jmp *%r11; inc %ecx */
	{ "\x3e\xff\xe0", 3, 3, 3, X86_AWAY, NONE },		     /* notrack jmp *%rax */
	{ "\xff\x25\x00\x10\x00\x00", 6, 6, 6, X86_AWAY, NONE },     /* jmp *0x1000(%rip) */
	{ "\xff\x24\xc5\x00\x10\x00\x00", 7, 7, 7, X86_AWAY, NONE }, /* jmp *0x1000(,%rax,8) */
	{ "\xff\x64\x24\x08", 4, 4, 4, X86_AWAY, NONE },	     /* jmp *8(%rsp) */
	{ "\xff\xa3\x00\x10\x00\x00", 6, 6, 6, X86_AWAY, NONE },     /* jmp *0x1000(%rbx) */
	{ "\xff\xd0", 2, 2, 2, X86_CALL, NONE },		     /* call *%rax */
	{ "\x41\xff\x54\x24\x08", 5, 5, 0, X86_CALL, NONE },	     /* call *8(%r12); inc %ecx */
	{ "\xff\x10", 2, 2, 2, X86_CALL, NONE },		     /* call *(%rax) */
	{ "\xff\x18", 2, 2, 2, X86_CALL, NONE },		     /* lcall *(%rax) */
	{ "\xff\x30", 2, 0, 0, X86_ON, NONE },			     /* push (%rax) */
	{ "\xff\xc0", 2, 0, 0, X86_ON, NONE },			     /* inc %eax */
	{ "\x90", 1, 0, 0, X86_ON, NONE },			     /* nop */
	{ "\x0f\x1f\x40\x00", 4, 0, 0, X86_ON, NONE },		     /* nopl */
};

static void test_forms(void **state)
{
	(void)state;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++) {
		/* What stands behind it does not matter, and half of it is none. */
		u8 code[24];
		struct x86_branch b;

		for (u32 is64 = 0; is64 < 2; is64++) {
			u32 size = is64 ? rows[i].size64 : rows[i].size32;

			memset(code, 0x84, sizeof(code));
			memcpy(code, rows[i].code, rows[i].n);
			x86_branch_decode(code, sizeof(code), is64, &b);
			assert_int_equal(b.size, size);
			assert_int_equal(b.flow, size ? rows[i].flow : X86_ON);
			assert_int_equal(b.target, size ? rows[i].target : NONE);
			for (u32 n = 0; n < size; n++) {
				x86_branch_decode(code, n, is64, &b);
				assert_int_equal(b.size, 0);
				assert_int_equal(b.flow, X86_ON);
				assert_int_equal(b.target, NONE);
			}
		}
	}
}

/* 32-bit code has 16-bit offsets and addresses as well. */
static void test_short_operands(void **state)
{
	static const u8 call[] = { 0x66, 0xe8, 0xfe, 0xff, 0x11, 0x22 },
			jump[] = { 0x67, 0xff, 0x26, 0x34, 0x12, 0x99, 0x99 };
	static const u8 far[] = { 0x9a, 1, 2, 3, 4, 5, 6 };
	struct x86_branch b;

	(void)state;
	x86_branch_decode(call, sizeof(call), false, &b);
	assert_int_equal(b.size, 4);
	assert_int_equal(b.target, -2);
	x86_branch_decode(call, sizeof(call), true, &b);
	assert_int_equal(b.size, 6);
	x86_branch_decode(jump, sizeof(jump), false, &b);
	assert_int_equal(b.size, 5);
	x86_branch_decode(jump, sizeof(jump), true, &b);
	assert_int_equal(b.size, 3);
	x86_branch_decode(far, sizeof(far), false, &b);
	assert_int_equal(b.size, 7);
	assert_int_equal(b.flow, X86_CALL);
	x86_branch_decode(far, sizeof(far), true, &b);
	assert_int_equal(b.size, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_forms), cmocka_unit_test(test_short_operands) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
