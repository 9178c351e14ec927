/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions access and write, from their bytes. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "vpmu/operands.h"

#define PC 0x400000

enum { AX, CX, DX, BX, SP, BP, SI, DI, R8, R12 = 12, R13 = 13 };
#define BIT(r) (1u << (r))

struct sample {
	const char *text;
	u8 bytes[12];
	u32 size;
	struct operands want;
};

/* known, access, store, log2, { base, index, scale }, at, writes, moves */
static const struct sample samples[] = {
	{ "nop", { 0x90 }, 1, { true } },
	{ "nopw 0(%rax,%rax)", { 0x66, 0x0f, 0x1f, 0x44, 0, 0 }, 6, { true } },
	{ "push %rbp", { 0x55 }, 1, { true, true, true, 3, { SP, PLACE_NONE, 0 }, -8, 0, -8 } },
	{ "push %r12", { 0x41, 0x54 }, 2, { true, true, true, 3, { SP, PLACE_NONE, 0 }, -8, 0, -8 } },
	{ "pop %r13", { 0x41, 0x5d }, 2, { true, true, false, 3, { SP, PLACE_NONE, 0 }, 0, BIT(R13), 8 } },
	{ "call", { 0xe8, 0, 0, 0, 0 }, 5, { true, true, true, 3, { SP, PLACE_NONE, 0 }, -8, 0, -8 } },
	{ "ret", { 0xc3 }, 1, { true, true, false, 3, { SP, PLACE_NONE, 0 }, 0, 0, 8 } },
	{ "sub $0x18,%rsp", { 0x48, 0x83, 0xec, 0x18 }, 4, { .known = true, .moves = -24 } },
	{ "add $0x100,%rsp", { 0x48, 0x81, 0xc4, 0, 1, 0, 0 }, 7, { .known = true, .moves = 256 } },
	{ "and $-16,%rsp", { 0x48, 0x83, 0xe4, 0xf0 }, 4, { .known = true, .writes = BIT(SP) } },
	{ "mov %rsp,%rbp", { 0x48, 0x89, 0xe5 }, 3, { .known = true, .writes = BIT(BP) } },
	{ "mov (%rax),%rax", { 0x48, 0x8b, 0 }, 3, { true, true, false, 3, { AX, PLACE_NONE, 0 }, 0, BIT(AX) } },
	{ "mov 8(%rdi),%ecx", { 0x8b, 0x4f, 8 }, 3, { true, true, false, 2, { DI, PLACE_NONE, 0 }, 8, BIT(CX) } },
	{ "mov %ax,-0x80(%r13)",
	  { 0x66, 0x41, 0x89, 0x45, 0x80 },
	  5,
	  { true, true, true, 1, { R13, PLACE_NONE, 0 }, -128 } },
	{ "mov %cl,0x200(%rsi,%r8,4)",
	  { 0x42, 0x88, 0x8c, 0x86, 0, 2, 0, 0 },
	  8,
	  { true, true, true, 0, { SI, R8, 2 }, 512 } },
	{ "mov (%r12),%r8",
	  { 0x4d, 0x8b, 0x04, 0x24 },
	  4,
	  { true, true, false, 3, { R12, PLACE_NONE, 0 }, 0, BIT(R8) } },
	{ "mov 0x10(%rip),%rdx",
	  { 0x48, 0x8b, 0x15, 0x10, 0, 0, 0 },
	  7,
	  { true, true, false, 3, { PLACE_FIXED, PLACE_NONE, 0 }, PC + 7 + 16, BIT(DX) } },
	{ "mov 0x40(,%rcx,8),%rdx",
	  { 0x48, 0x8b, 0x14, 0xcd, 0x40, 0, 0, 0 },
	  8,
	  { true, true, false, 3, { PLACE_FIXED, CX, 3 }, 64, BIT(DX) } },
	{ "movb $1,(%rbx)", { 0xc6, 0x03, 1 }, 3, { true, true, true, 0, { BX, PLACE_NONE, 0 } } },
	{ "movq $1,(%rbx)", { 0x48, 0xc7, 0x03, 1, 0, 0, 0 }, 7, { true, true, true, 3, { BX, PLACE_NONE, 0 } } },
	{ "movzbl (%rsi),%eax", { 0x0f, 0xb6, 0x06 }, 3, { true, true, false, 0, { SI, PLACE_NONE, 0 }, 0, BIT(AX) } },
	{ "movswl (%rsi),%eax", { 0x0f, 0xbf, 0x06 }, 3, { true, true, false, 1, { SI, PLACE_NONE, 0 }, 0, BIT(AX) } },
	{ "movslq (%rsi),%rax", { 0x48, 0x63, 0x06 }, 3, { true, true, false, 2, { SI, PLACE_NONE, 0 }, 0, BIT(AX) } },
	{ "cmpb $0,4(%rdx)", { 0x80, 0x7a, 4, 0 }, 4, { true, true, false, 0, { DX, PLACE_NONE, 0 }, 4 } },
	{ "cmp %rax,(%rdx)", { 0x48, 0x39, 0x02 }, 3, { true, true, false, 3, { DX, PLACE_NONE, 0 } } },
	{ "test %eax,(%rdx)", { 0x85, 0x02 }, 2, { true, true, false, 2, { DX, PLACE_NONE, 0 } } },
	{ "testb $1,(%rdx)", { 0xf6, 0x02, 1 }, 3, { true, true, false, 0, { DX, PLACE_NONE, 0 } } },
	{ "add (%rdx),%rsi", { 0x48, 0x03, 0x32 }, 3, { true, true, false, 3, { DX, PLACE_NONE, 0 }, 0, BIT(SI) } },
	{ "cmove (%rdx),%rsi",
	  { 0x48, 0x0f, 0x44, 0x32 },
	  4,
	  { true, true, false, 3, { DX, PLACE_NONE, 0 }, 0, BIT(SI) } },
	{ "sete (%rdx)", { 0x0f, 0x94, 0x02 }, 3, { true, true, true, 0, { DX, PLACE_NONE, 0 } } },
	{ "imul $3,(%rdx),%ecx", { 0x6b, 0x0a, 3 }, 3, { true, true, false, 2, { DX, PLACE_NONE, 0 }, 0, BIT(CX) } },
	{ "lea 8(%rsp),%rdi", { 0x48, 0x8d, 0x7c, 0x24, 8 }, 5, { .known = true, .writes = BIT(DI) } },
	{ "add %rax,%rdx", { 0x48, 0x01, 0xc2 }, 3, { .known = true, .writes = BIT(DX) } },
	{ "mov $1,%ah", { 0xb4, 1 }, 2, { .known = true, .writes = BIT(AX) | BIT(SP) } },
	{ "mov $1,%spl", { 0x40, 0xb4, 1 }, 3, { .known = true, .writes = BIT(SP) } },
	{ "sub $1,%eax", { 0x2d, 1, 0, 0, 0 }, 5, { .known = true, .writes = BIT(AX) } },
	{ "cmp $1,%eax", { 0x3d, 1, 0, 0, 0 }, 5, { .known = true } },
	{ "neg %rbx", { 0x48, 0xf7, 0xdb }, 3, { .known = true, .writes = BIT(BX) } },
	{ "shl %rbx", { 0x48, 0xd1, 0xe3 }, 3, { .known = true, .writes = BIT(BX) } },
	{ "cqo", { 0x48, 0x99 }, 2, { .known = true, .writes = BIT(DX) } },
	{ "inc %ecx", { 0xff, 0xc1 }, 2, { .known = true, .writes = BIT(CX) } },
	{ "pxor %xmm0,%xmm0", { 0x66, 0x0f, 0xef, 0xc0 }, 4, { .known = true } },
	{ "jne", { 0x75, 0xfe }, 2, { .known = true } },
	/* Two accesses, or more, or what is not certain. */
	{ "add %rax,(%rdx)", { 0x48, 0x01, 0x02 }, 3, { 0 } },
	{ "addl $1,(%rdx)", { 0x83, 0x02, 1 }, 3, { 0 } },
	{ "incl (%rdx)", { 0xff, 0x02 }, 2, { 0 } },
	{ "notl (%rdx)", { 0xf7, 0x12 }, 2, { 0 } },
	{ "push (%rdx)", { 0xff, 0x32 }, 2, { 0 } },
	{ "xchg %r8,%rax", { 0x49, 0x90 }, 2, { 0 } },
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
	if (got->access && (got->store != want->store || got->shift != want->shift || got->at != want->at ||
			    got->place.base != want->place.base || got->place.index != want->place.index ||
			    got->place.scale != want->place.scale))
		return false;
	return got->known && got->access == want->access && got->writes == want->writes && got->moves == want->moves;
}

static void test_samples(void **state)
{
	(void)state;
	for (size_t i = 0; i < ARRAY_LEN(samples); i++) {
		const struct sample *s = &samples[i];
		struct operands got = x86_operands(s->bytes, s->size, PC);

		if (!is_as_wanted(&got, &s->want))
			fail_msg("%s: known %d, access %d, store %d, %u: %u+%u<<%u%+lld, writes %x, moves %d", s->text,
				 got.known, got.access, got.store, got.shift, got.place.base, got.place.index,
				 got.place.scale, (long long)got.at, got.writes, got.moves);
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
