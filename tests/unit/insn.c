/* SPDX-License-Identifier: Apache-2.0 */
/* How long instructions are, also those that capstone may not know. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "view/script/insn.h"

#define CODE(...)                                                                                                     \
	{                                                                                                             \
		sizeof((const u8[]){ __VA_ARGS__ }),                                                                  \
		{                                                                                                     \
			__VA_ARGS__                                                                                   \
		}                                                                                                     \
	}

static const struct {
	u32 len;
	u8 bytes[INSN_MAX];
} x86[] = {
	CODE(0x48, 0x89, 0xe5),					    /* mov %rsp,%rbp */
	CODE(0xc3),						    /* ret */
	CODE(0xe8, 0xbc, 0x44, 0, 0),				    /* call */
	CODE(0xc5, 0xf8, 0x77),					    /* vzeroupper */
	CODE(0xc5, 0xf5, 0x74, 0xd0),				    /* vpcmpeqb %ymm0,%ymm1,%ymm2 */
	CODE(0xc4, 0xe3, 0x69, 0x02, 0xd9, 3),			    /* vpblendd $3,%xmm1,%xmm2,%xmm3 */
	CODE(0xc5, 0xfe, 0x6f, 0x8c, 0xd8, 0x78, 0x56, 0x34, 0x12), /* vmovdqu 0x12345678(%rax,%rbx,8),%ymm1 */
	CODE(0xc5, 0xfd, 0x70, 0x4d, 0x08, 1),			    /* vpshufd $1,8(%rbp),%ymm1 */
	CODE(0x62, 0xf1, 0x7c, 0x48, 0x10, 0x1d, 0, 0, 0, 0),	    /* vmovups (%rip),%zmm3 */
	CODE(0x62, 0xf3, 0x75, 0x48, 0x25, 0x54, 0x24, 1, 0xff),    /* vpternlogd $0xff,64(%rsp),%zmm1,%zmm2 */
	CODE(0xc5, 0xfb, 0x93, 0xc1),				    /* kmovd %k1,%eax */
	CODE(0x62, 0xb3, 0x75, 0x20, 0x3e, 0xc8, 0),		    /* vpcmpequb %ymm16,%ymm17,%k1 */
	CODE(0x62, 0xd2, 0x75, 0x48, 0xb8, 0x94, 5, 0x10, 0, 0, 0), /* vfmadd231ps 0x10(%r13,%rax,1),%zmm1,%zmm2 */
	CODE(0xc5, 0xed, 0x73, 0xd1, 0x20),			    /* vpsrlq $32,%ymm1,%ymm2 */
	CODE(0xc4, 0xe3, 0xf9, 0x31, 0xd1, 3),			    /* kshiftrq $3,%k1,%k2 */
	CODE(0xc5, 0xf9, 0x7e, 0x0c, 0x85, 0, 0, 0, 0),		    /* vmovd %xmm1,0(,%rax,4) */
};

static void lengths(void **state)
{
	struct insn_decoder *d = *state;

	for (u32 i = 0; i < ARRAY_LEN(x86); i++) {
		u8 code[INSN_MAX];

		memset(code, 0x90, sizeof(code));
		memcpy(code, x86[i].bytes, x86[i].len);
		assert_int_equal(insn_decode(d, EM_X86_64, code, INSN_MAX, 0x1000, NULL), x86[i].len);
		/* Cut short at the end of a segment. */
		for (u32 n = 0; n < x86[i].len; n++)
			assert_int_equal(insn_decode(d, EM_X86_64, code, n, 0x1000, NULL), 0);
	}
}

static void machines(void **state)
{
	static const u8 arm64[] = { 0xfd, 0x7b, 0xbf, 0xa9, 0, 0, 0, 0 }, x86_32[] = { 0x55, 0x89, 0xe5 };
	struct insn_decoder *d = *state;
	struct bytes text = { 0 };

	assert_int_equal(insn_decode(d, EM_AARCH64, arm64, sizeof(arm64), 0, &text), 4);
	bytes_char(&text, 0);
	assert_string_equal((char *)text.p, "stp x29, x30, [sp, #-0x10]!");
	assert_int_equal(insn_decode(d, EM_386, x86_32, sizeof(x86_32), 0, NULL), 1);
	assert_int_equal(insn_decode(d, EM_S390, x86_32, sizeof(x86_32), 0, NULL), 0);
	text.len = 0;
	assert_int_equal(insn_decode(d, EM_X86_64, x86[0].bytes, 3, 0, &text), 3);
	bytes_char(&text, 0);
	assert_string_equal((char *)text.p, "movq %rsp, %rbp");
	bytes_free(&text);
}

int main(void)
{
	struct CMUnitTest tests[] = { cmocka_unit_test(lengths), cmocka_unit_test(machines) };
	const char *why;
	struct insn_decoder *d = insn_decoder_new(&why);
	int failed;

	if (!d)
		return 77;
	for (u32 i = 0; i < ARRAY_LEN(tests); i++)
		tests[i].initial_state = d;
	failed = cmocka_run_group_tests(tests, NULL, NULL);
	insn_decoder_free(d);
	return failed;
}
