/* SPDX-License-Identifier: Apache-2.0 */
/* Where code of x86-64 jumps to. */
#include "attrib/jumps.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define START 0x1000u
#define FIND(j, ...) jumps_find((const u8[]){ __VA_ARGS__ }, (u32)sizeof((const u8[]){ __VA_ARGS__ }), START, j)

static void test_direct(void **state)
{
	struct jumps j;

	(void)state;
	FIND(&j, 0xe9, 0xfb, 0x0f, 0, 0); /* jmp */
	assert_false(j.anywhere);
	assert_int_equal(j.n, 1);
	assert_int_equal(j.to[0], 0x2000);
	FIND(&j, 0x90, 0x0f, 0x84, 0xf9, 0xff, 0xff, 0xff, 0xeb, 0x10); /* je to its beginning, and a short one */
	assert_int_equal(j.n, 1);
	assert_int_equal(j.to[0], START + 9 + 0x10);
	FIND(&j, 0x74, 0x80, 0xe2, 0x7e, 0xe9, 0x79, 0xff, 0xff, 0xff); /* two of three lead to one place */
	assert_int_equal(j.n, 2);
	assert_int_equal(j.to[0], START - 126);
	assert_int_equal(j.to[1], START + 4 + 126);
	FIND(&j, 0x74, 0, 0x3e, 0x74, 0xfb); /* to its own beginning and next instruction */
	assert_int_equal(j.n, 0);
	FIND(&j, 0xe8, 0, 0x10, 0, 0, 0xff, 0xd0, 0xff, 0x15, 0, 0, 0, 0, 0xc3); /* calls, and a return */
	assert_true(!j.n && !j.anywhere);
}

static void test_anywhere(void **state)
{
	struct jumps j;

	(void)state;
	FIND(&j, 0xff, 0xe2); /* jmp *%rdx */
	assert_true(j.anywhere);
	FIND(&j, 0x83, 0xc6, 1, 0xff, 0x60, 8); /* add $1,%esi; jmp *8(%rax) */
	assert_true(j.anywhere);
	FIND(&j, 0xff, 0x25, 0, 0, 0, 0);
	assert_true(j.anywhere);
	FIND(&j, 0x41, 0xff, 0x24, 0x24); /* jmp *(%r12): an index byte without an index */
	assert_true(j.anywhere);
	FIND(&j, 0xff, 0x24, 0xc5, 0, 0, 0, 0); /* by a table */
	assert_false(j.anywhere);
	FIND(&j, 0x3e, 0xff, 0xe0); /* by a table, as the compiler says */
	assert_false(j.anywhere);
	FIND(&j, 0x06); /* is no instruction */
	assert_true(j.anywhere);
	FIND(&j, 0xe9, 0, 0); /* goes on behind the end */
	assert_true(j.anywhere);
	jumps_find(NULL, 0, START, &j);
	assert_true(!j.n && !j.anywhere);
}

/* A jump to another stack is no tail call. */
static void test_stacks(void **state)
{
	struct jumps j;

	(void)state;
	FIND(&j, 0x4c, 0x89, 0xc4, 0xff, 0xe2); /* mov %r8,%rsp */
	assert_false(j.anywhere);
	FIND(&j, 0x48, 0x8b, 0x67, 0x30, 0xff, 0xe2); /* mov 48(%rdi),%rsp */
	assert_false(j.anywhere);
	FIND(&j, 0x48, 0x89, 0xec, 0x5d, 0xff, 0xe2); /* mov %rbp,%rsp; pop %rbp */
	assert_true(j.anywhere);
	FIND(&j, 0x48, 0x8b, 0x65, 0xf0, 0xff, 0xe2); /* mov -16(%rbp),%rsp, as after an array of variable size */
	assert_true(j.anywhere);
	FIND(&j, 0x49, 0x89, 0xe4, 0x4c, 0x8b, 0x27, 0xff, 0xe2); /* of it, and of %r12 */
	assert_true(j.anywhere);
}

/* Bytes of values are no jumps. */
static void test_values(void **state)
{
	struct jumps j;

	(void)state;
	FIND(&j, 0xe8, 0x12, 0xfe, 0xff, 0xff, 0x66, 0x0f, 0xef, 0xc0); /* call back; pxor: ff 66 is in it */
	assert_true(!j.n && !j.anywhere);
	FIND(&j, 0xb8, 0xe9, 0, 0x10, 0xeb, 0x05, 0x74, 0x40, 0xe9, 0xff);
	assert_true(!j.n && !j.anywhere);
}

/* Only code that goes on at its end runs into what follows it. */
static void test_end(void **state)
{
	struct jumps j;

	(void)state;
	FIND(&j, 0x74, 2, 0xc3, 0x90, 0x31, 0xc0); /* xor %eax,%eax */
	assert_true(j.runs_on);
	FIND(&j, 0x31, 0xc0, 0xc3);
	assert_false(j.runs_on);
	FIND(&j, 0xe8, 0, 0x10, 0, 0, 0x75, 0xf9); /* jne to its beginning */
	assert_true(j.runs_on);
	FIND(&j, 0x31, 0xc0, 0xe8, 0, 0x10, 0, 0); /* a call that does not return */
	assert_false(j.runs_on);
	FIND(&j, 0xff, 0x15, 0, 0, 0, 0, 0x66, 0x90, 0x0f, 0x1f, 0x40, 0); /* and what fills up behind it */
	assert_false(j.runs_on);
	FIND(&j, 0x31, 0xc0, 0xc3, 0xcc, 0xcc);
	assert_false(j.runs_on);
	FIND(&j, 0xeb, 0xfe);
	assert_false(j.runs_on);
	FIND(&j, 0x0f, 0x0b); /* ud2 */
	assert_false(j.runs_on);
}

static void test_many(void **state)
{
	u8 code[(JUMPS_OUT + 1) * 2];
	struct jumps j;

	(void)state;
	for (u32 i = 0; i < sizeof(code); i += 2) {
		code[i] = 0x74;
		code[i + 1] = 0x7e - (u8)i / 2; /* each one byte further */
	}
	jumps_find(code, sizeof(code) - 2, START, &j);
	assert_true(j.n == JUMPS_OUT && !j.anywhere);
	jumps_find(code, sizeof(code), START, &j);
	assert_true(j.anywhere);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_direct), cmocka_unit_test(test_anywhere),
					    cmocka_unit_test(test_stacks), cmocka_unit_test(test_values),
					    cmocka_unit_test(test_end),	   cmocka_unit_test(test_many) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
