/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions access and write, from their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "vpmu/operands.h"

#define PC 0x400000

struct sample {
	const char *text;
	u8 bytes[12];
	u32 size;
	struct operands want;
};

/* known, access, store, log2 of bytes, where, at, moves */
static const struct sample samples[] = {
	{ "nop", { 0x90 }, 1, { true } },
	{ "nopw 0(%rax,%rax)", { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, 6, { true } },
	{ "push %rbp", { 0x55 }, 1, { true, true, true, 3, AT_STACK, -8, -8 } },
	{ "push %r12", { 0x41, 0x54 }, 2, { true, true, true, 3, AT_STACK, -8, -8 } },
	{ "pop %r13", { 0x41, 0x5d }, 2, { true, true, false, 3, AT_STACK, 0, 8 } },
	{ "call", { 0xe8, 0, 0, 0, 0 }, 5, { true, true, true, 3, AT_STACK, -8, -8 } },
	{ "ret", { 0xc3 }, 1, { true, true, false, 3, AT_STACK, 0, 8 } },
	{ "sub $0x18,%rsp", { 0x48, 0x83, 0xec, 0x18 }, 4, { .known = true, .moves = -24 } },
	{ "add $0x100,%rsp", { 0x48, 0x81, 0xc4, 0, 1, 0, 0 }, 7, { .known = true, .moves = 256 } },
	{ "mov 8(%rsp),%rcx", { 0x48, 0x8b, 0x4c, 0x24, 8 }, 5, { true, true, false, 3, AT_STACK, 8 } },
	{ "mov (%rsp,%rax,8),%rcx", { 0x48, 0x8b, 0x0c, 0xc4 }, 4, { true, true, false, 3, AT_ANY } },
	{ "mov (%rsp,%r12),%rcx", { 0x4a, 0x8b, 0x0c, 0x24 }, 4, { true, true, false, 3, AT_ANY } },
	{ "mov 0x40,%eax", { 0x8b, 0x04, 0x25, 0x40, 0, 0, 0 }, 7, { true, true, false, 2, AT_FIXED, 64 } },
	{ "mov 0x40(%r13),%eax", { 0x41, 0x8b, 0x45, 0x40 }, 4, { true, true, false, 2, AT_ANY } },
	{ "mov $1,%r12d", { 0x41, 0xbc, 1, 0, 0, 0 }, 6, { true } },
	{ "mov %rsp,%rbp", { 0x48, 0x89, 0xe5 }, 3, { true } },
	{ "mov (%rax),%rax", { 0x48, 0x8b, 0 }, 3, { true, true, false, 3, AT_ANY } },
	{ "mov 8(%rdi),%ecx", { 0x8b, 0x4f, 8 }, 3, { true, true, false, 2, AT_ANY } },
	{ "mov %ax,-0x80(%r13)", { 0x66, 0x41, 0x89, 0x45, 0x80 }, 5, { true, true, true, 1, AT_ANY } },
	{ "mov %cl,0x200(%rsi,%r8,4)", { 0x42, 0x88, 0x8c, 0x86, 0, 2, 0, 0 }, 8, { true, true, true, 0, AT_ANY } },
	{ "mov (%r12),%r8", { 0x4d, 0x8b, 0x04, 0x24 }, 4, { true, true, false, 3, AT_ANY } },
	{ "mov 0x10(%rip),%rdx",
	  { 0x48, 0x8b, 0x15, 0x10, 0, 0, 0 },
	  7,
	  { true, true, false, 3, AT_FIXED, PC + 7 + 16 } },
	{ "mov 0x40(,%rcx,8),%rdx", { 0x48, 0x8b, 0x14, 0xcd, 0x40, 0, 0, 0 }, 8, { true, true, false, 3, AT_ANY } },
	{ "movb $1,(%rbx)", { 0xc6, 0x03, 1 }, 3, { true, true, true, 0, AT_ANY } },
	{ "movq $1,(%rbx)", { 0x48, 0xc7, 0x03, 1, 0, 0, 0 }, 7, { true, true, true, 3, AT_ANY } },
	{ "movzbl (%rsi),%eax", { 0x0f, 0xb6, 0x06 }, 3, { true, true, false, 0, AT_ANY } },
	{ "movswl (%rsi),%eax", { 0x0f, 0xbf, 0x06 }, 3, { true, true, false, 1, AT_ANY } },
	{ "movslq (%rsi),%rax", { 0x48, 0x63, 0x06 }, 3, { true, true, false, 2, AT_ANY } },
	{ "cmpb $0,4(%rdx)", { 0x80, 0x7a, 4, 0 }, 4, { true, true, false, 0, AT_ANY } },
	{ "cmp %rax,(%rdx)", { 0x48, 0x39, 0x02 }, 3, { true, true, false, 3, AT_ANY } },
	{ "test %eax,(%rdx)", { 0x85, 0x02 }, 2, { true, true, false, 2, AT_ANY } },
	{ "testb $1,(%rdx)", { 0xf6, 0x02, 1 }, 3, { true, true, false, 0, AT_ANY } },
	{ "add (%rdx),%rsi", { 0x48, 0x03, 0x32 }, 3, { true, true, false, 3, AT_ANY } },
	{ "cmove (%rdx),%rsi", { 0x48, 0x0f, 0x44, 0x32 }, 4, { true, true, false, 3, AT_ANY } },
	{ "sete (%rdx)", { 0x0f, 0x94, 0x02 }, 3, { true, true, true, 0, AT_ANY } },
	{ "imul $3,(%rdx),%ecx", { 0x6b, 0x0a, 3 }, 3, { true, true, false, 2, AT_ANY } },
	{ "lea 8(%rsp),%rdi", { 0x48, 0x8d, 0x7c, 0x24, 8 }, 5, { true } },
	{ "add %rax,%rdx", { 0x48, 0x01, 0xc2 }, 3, { true } },
	{ "sub $1,%eax", { 0x2d, 1, 0, 0, 0 }, 5, { true } },
	{ "cmp $1,%eax", { 0x3d, 1, 0, 0, 0 }, 5, { true } },
	{ "neg %rbx", { 0x48, 0xf7, 0xdb }, 3, { true } },
	{ "shl %rbx", { 0x48, 0xd1, 0xe3 }, 3, { true } },
	{ "cqo", { 0x48, 0x99 }, 2, { true } },
	{ "inc %ecx", { 0xff, 0xc1 }, 2, { true } },
	{ "pxor %xmm0,%xmm0", { 0x66, 0x0f, 0xef, 0xc0 }, 4, { true } },
	{ "jne", { 0x75, 0xfe }, 2, { true } },
	/* Two accesses, or more, or what is not certain. */
	{ "add %rax,(%rdx)", { 0x48, 0x01, 0x02 }, 3, { 0 } },
	{ "addl $1,(%rdx)", { 0x83, 0x02, 1 }, 3, { 0 } },
	{ "incl (%rdx)", { 0xff, 0x02 }, 2, { 0 } },
	{ "notl (%rdx)", { 0xf7, 0x12 }, 2, { 0 } },
	{ "push (%rdx)", { 0xff, 0x32 }, 2, { 0 } },
	{ "xchg %r8,%rax", { 0x49, 0x90 }, 2, { 0 } },
	{ "and $-16,%rsp", { 0x48, 0x83, 0xe4, 0xf0 }, 4, { 0 } },
	{ "mov %rax,%rsp", { 0x48, 0x89, 0xc4 }, 3, { 0 } },
	{ "mov (%rax),%rsp", { 0x48, 0x8b, 0x20 }, 3, { 0 } },
	{ "lea 8(%rdi),%rsp", { 0x48, 0x8d, 0x67, 8 }, 4, { 0 } },
	{ "mov $1,%esp", { 0xbc, 1, 0, 0, 0 }, 5, { 0 } },
	{ "neg %rsp", { 0x48, 0xf7, 0xdc }, 3, { 0 } },
	{ "pop %rsp", { 0x5c }, 1, { 0 } },
	{ "leave", { 0xc9 }, 1, { 0 } },
	{ "mov %fs:0x28,%rax", { 0x64, 0x48, 0x8b, 0x04, 0x25, 0x28, 0, 0, 0 }, 9, { 0 } },
	{ "mov (%eax),%eax", { 0x67, 0x8b, 0 }, 3, { 0 } },
	{ "lock add %eax,(%rdx)", { 0xf0, 0x01, 0x02 }, 3, { 0 } },
	{ "rep movsb", { 0xf3, 0xa4 }, 2, { 0 } },
	{ "movups (%rdx),%xmm0", { 0x0f, 0x10, 0x02 }, 3, { 0 } },
	{ "pxor (%rdx),%xmm0", { 0x66, 0x0f, 0xef, 0x02 }, 4, { 0 } },
	{ "xabort", { 0xc6, 0xf8, 1 }, 3, { 0 } },
	{ "mov, at a page's end", { 0x48, 0x8b }, 2, { 0 } },
	{ "mov with its displacement cut off", { 0x48, 0x8b, 0x80, 0, 0 }, 5, { 0 } },
	{ "prefixes only", { 0x66, 0x48 }, 2, { 0 } },
	{ "nothing", { 0 }, 0, { 0 } },
};

static bool is_as_wanted(const struct operands *got, const struct operands *want)
{
	if (!want->known)
		return !got->known;
	if (got->access && (got->store != want->store || got->shift != want->shift || got->where != want->where ||
			    (got->where != AT_ANY && got->at != want->at)))
		return false;
	return got->known && got->access == want->access && got->moves == want->moves;
}

static void test_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		const struct sample *s = &samples[i];
		struct operands got = x86_operands(s->bytes, s->size, PC);

		if (!is_as_wanted(&got, &s->want))
			fail_msg("%s: known %d, access %d, store %d, %u, where %d, at %lld, moves %d", s->text,
				 got.known, got.access, got.store, got.shift, got.where, (long long)got.at, got.moves);
	}
}

/* QEMU hands over what it has; nothing behind it may be read. */
static void test_no_byte_behind(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++)
		for (u32 size = 0; size <= samples[i].size; size++) {
			u8 *exact = test_malloc(size ? size : 1);

			memcpy(exact, samples[i].bytes, size);
			x86_operands(exact, size, PC);
			test_free(exact);
		}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_samples),
		cmocka_unit_test(test_no_byte_behind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
