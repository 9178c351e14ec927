/* SPDX-License-Identifier: Apache-2.0 */
/* What instructions do to registers, and where they load and store, in words: each form once. */
#include "codec/step.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/bytes.h"

#define PC 0x1000u

/* "3 sum 7=7+-8 on rm 1 clobbers 80": size, what becomes of a register, operand, and so on; registers by number. */
static void describe(const struct step *s, struct bytes *out)
{
	static const char *const kinds[] = { "", "move", "either", "set", "sum", "scale", "load" };
	static const char *const flows[] = { "", "call", "branch", "jump", "away", "end" };

	bytes_printf(out, "%u", s->size);
	if (s->kind) {
		bytes_printf(out, " %s%s r%d", s->narrow ? "narrow " : "", kinds[s->kind], s->dst);
		if (s->dst2 != STEP_NONE)
			bytes_printf(out, ",r%d", s->dst2);
		if (s->src != STEP_NONE)
			bytes_printf(out, " r%d", s->src);
		if (s->index != STEP_NONE)
			bytes_printf(out, " r%d*%d", s->index, s->scale);
		if (s->by_index != STEP_NONE)
			bytes_printf(out, "*r%d", s->by_index);
		if (s->imm || s->kind == STEP_SET)
			bytes_printf(out, " %lld", (long long)s->imm);
		bytes_str(out, s->address ? " address" : "");
	}
	if (s->access) {
		bytes_str(out, " [");
		if (s->at.base != STEP_NONE)
			bytes_printf(out, "r%d", s->at.base);
		if (s->at.index != STEP_NONE)
			bytes_printf(out, "+r%d*%d", s->at.index, s->at.scale);
		bytes_printf(out, "%+lld]", (long long)s->at.disp);
	}
	bytes_str(out, s->unclear ? " unclear" : "");
	bytes_str(out, s->stack ? " stack" : "");
	bytes_str(out, s->canary ? " canary" : "");
	bytes_str(out, s->nothing ? " nothing" : "");
	if (s->flow)
		bytes_printf(out, " %s", flows[s->flow]);
	if (s->target)
		bytes_printf(out, " %llx", (unsigned long long)s->target);
	if (s->moved != STEP_NONE)
		bytes_printf(out, " r%d%+lld", s->moved, (long long)s->by);
	if (s->clobbers)
		bytes_printf(out, " clobbers %x", s->clobbers);
	bytes_char(out, 0);
}

struct example {
	const char *code; /* hexadecimal */
	const char *text;
};

static void check_all(const struct example *examples, u32 n, void (*step)(const u8 *, u32, u64, struct step *))
{
	u32 wrong = 0;

	for (u32 i = 0; i < n; i++) {
		struct bytes text = { 0 };
		struct step s;
		u8 code[16] = { 0 };
		u32 size = 0;

		for (const char *p = examples[i].code; *p; p += 2) {
			unsigned one;

			assert_int_equal(sscanf(p, "%2x", &one), 1);
			code[size++] = (u8)one;
		}
		step(code, size, PC, &s);
		describe(&s, &text);
		if (strcmp((const char *)text.p, examples[i].text)) {
			wrong++;
			print_message("\t{ \"%s\", \"%s\" },\n", examples[i].code, (const char *)text.p);
		}
		if (size > 1) { /* none of it is read that is not there */
			step(code, size - 1, PC, &s);
			assert_true(s.size < size);
		}
		bytes_free(&text);
	}
	assert_int_equal(wrong, 0);
}

static const struct example x86[] = {
	{ "4156", "2 stack r7-8" },
	{ "58", "1 stack r7+8 clobbers 1" },
	{ "415c", "2 stack r7+8 clobbers 1000" },
	{ "6a08", "2 stack r7-8" },
	{ "9c", "1 stack r7-8" },
	{ "01d8", "2 narrow sum r0 r0 r3*1 clobbers 1" },
	{ "4801d8", "3 sum r0 r0 r3*1 clobbers 1" },
	{ "480303", "3 [r3+0] clobbers 1" },
	{ "4829d8", "3 clobbers 1" },
	{ "31c0", "2 set r0 0 clobbers 1" },
	{ "4831c9", "3 set r2 0 clobbers 4" },
	{ "4883ec28", "4 sum r7 r7 -40 clobbers 80" },
	{ "4881c400010000", "7 sum r7 r7 256 clobbers 80" },
	{ "83c001", "3 narrow sum r0 r0 1 clobbers 1" },
	{ "4883c001", "4 sum r0 r0 1 clobbers 1" },
	{ "4038c8", "3" },
	{ "483b4708", "4 [r5+8]" },
	{ "66", "0" },
	{ "488b07", "3 load r0 r5 [r5+0] clobbers 1" },
	{ "8b07", "2 [r5+0] clobbers 1" },
	{ "8807", "2 [r5+0]" },
	{ "88c4", "2 clobbers 1" },
	{ "4088c4", "3 clobbers 80" },
	{ "4889e5", "3 move r6 r7 clobbers 40" },
	{ "8904c8", "3 [r0+r2*8+0]" },
	{ "4863c8", "3 narrow move r2 r0 clobbers 4" },
	{ "48634708", "4 [r5+8] clobbers 1" },
	{ "4898", "2 narrow move r0 r0" },
	{ "4899", "2 clobbers 2" },
	{ "486bc018", "4 scale r0 r0 24 clobbers 1" },
	{ "48690718000000", "7 scale r0 24 [r5+0] clobbers 1" },
	{ "48c1e004", "4 scale r0 r0 16 clobbers 1" },
	{ "c1e004", "3 narrow scale r0 r0 16 clobbers 1" },
	{ "48d1e0", "3 scale r0 r0 2 clobbers 1" },
	{ "48d3e0", "3 clobbers 1" },
	{ "488d4424d8", "5 sum r0 r7 -40 clobbers 1" },
	{ "488d04c8", "4 sum r0 r0 r2*8 clobbers 1" },
	{ "488d04c500000000", "8 sum r0 r0*8 clobbers 1" },
	{ "488d0510000000", "7 set r0 4119 address clobbers 1" },
	{ "67488d4708", "5 clobbers 1" },
	{ "b801000000", "5 set r0 1" },
	{ "48b80807060504030201", "10 set r0 72623859790382856" },
	{ "b401", "2 clobbers 1" },
	{ "40b401", "3 clobbers 80" },
	{ "41b001", "3 clobbers 100" },
	{ "48c7c0ffffffff", "7 set r0 -1 clobbers 1" },
	{ "c70701000000", "6 [r5+0]" },
	{ "c7f810000000", "6 branch 1016 clobbers 1" },
	{ "f30f1efa", "4" },
	{ "f3480f1ecd", "5 clobbers 40" },
	{ "c5f893f1", "4 clobbers 10" },
	{ "c5fb92ce", "4" },
	{ "c3", "1 stack end r7+8" },
	{ "c9", "1 sum r7 r6 8 stack clobbers 40" },
	{ "cc", "1 end" },
	{ "f4", "1" },
	{ "eb02", "2 jump 1004" },
	{ "e9fbffffff", "5 jump 1000" },
	{ "7402", "2 branch 1004" },
	{ "0f8400000000", "6 branch 1006" },
	{ "e2fe", "2 branch 1000 clobbers 4" },
	{ "e8fb000000", "5 stack call 1100 clobbers f37" },
	{ "ffd0", "2 stack call clobbers f37" },
	{ "ff5008", "3 [r0+8] unclear call clobbers f37" },
	{ "ff6008", "3 [r0+8] away" },
	{ "ff24c500400000", "7 [+r0*8+16384] away" },
	{ "ff37", "2 [r5+0] unclear r7-8" },
	{ "ffc0", "2 narrow sum r0 r0 1 clobbers 1" },
	{ "48ffc8", "3 sum r0 r0 -1 clobbers 1" },
	{ "fe07", "2 [r5+0]" },
	{ "f7d8", "2 clobbers 1" },
	{ "48f7f1", "3 clobbers 3" },
	{ "f707", "0" },
	{ "87c1", "2 clobbers 5" },
	{ "4887", "0" },
	{ "90", "1 nothing" },
	{ "4190", "2 clobbers 101" },
	{ "0f1f00", "3 nothing" },
	{ "0f1f440000", "5 nothing" },
	{ "6690", "2 nothing" },
	{ "a4", "1 [+0] unclear clobbers 35" },
	{ "f348ab", "3 [+0] unclear clobbers 35" },
	{ "a801", "2" },
	{ "d907", "2 [r5+0] clobbers 1" },
	{ "0f05", "2 clobbers 805" },
	{ "0f0b", "2 end" },
	{ "0fa2", "2 clobbers f" },
	{ "0f31", "2 clobbers 3" },
	{ "480f44c1", "4 either r0 r2" },
	{ "0f44c1", "3 clobbers 1" },
	{ "0f94c4", "3 clobbers 1" },
	{ "0fb607", "3 [r5+0] clobbers 1" },
	{ "480fbe07", "4 [r5+0] clobbers 1" },
	{ "0fa307", "3 [r5+0] unclear" },
	{ "0fba2f03", "4 [r5+0]" },
	{ "480fb10f", "4 [r5+0] clobbers 1" },
	{ "f0480fc10f", "5 [r5+0] clobbers 4" },
	{ "0fc707", "3 [r5+0] clobbers 3" },
	{ "480fc8", "3 clobbers 1" },
	{ "0f1007", "3 [r5+0]" },
	{ "66480f7ec0", "5 clobbers 1" },
	{ "f2480f2dc0", "5 clobbers 1" },
	{ "660fd7c0", "4 clobbers 1" },
	{ "0f18", "0" },
	{ "0fae07", "3 [r5+0]" },
	{ "660f3a14c001", "6 clobbers 1" },
	{ "f2480f38f1c1", "6 clobbers 5" },
	{ "0f38f00f", "4 [r5+0] clobbers 4" },
	{ "660f3a63c101", "6 clobbers 4" },
	{ "0f01f9", "3 clobbers ffff" },
	{ "c5f81007", "4 [r5+0]" },
	{ "c4e2f8f3d1", "5 clobbers 7" },
	{ "c4e2f9900400", "6 [r0+r0*1+0] unclear" },
	{ "62f17c48104701", "7 [r5+1] unclear" },
	{ "62f17c481007", "6 [r5+0]" },
	{ "64488b042528000000", "9 load r0 r7 [+40] unclear canary clobbers 1" },
	{ "65488b07", "4 load r0 r5 [r5+0] unclear clobbers 1" },
	{ "67488b07", "4 load r0 r5 [r5+0] unclear clobbers 1" },
	{ "488b05", "0" },
	{ "488b051a300000", "7 load r0 r6 [+16417] clobbers 1" },
	{ "8b0c2500400000", "7 [+16384] clobbers 4" },
	{ "488b4c370806", "5 load r2 r7 [r5+r4*1+8] clobbers 4" },
	{ "488b4c3708", "5 load r2 r7 [r5+r4*1+8] clobbers 4" },
	{ "06", "0" },
	{ "c8080000", "4 clobbers ffff" },
	{ "48a10807060504030201", "10 clobbers ffff" },
};

static const struct example arm[] = {
	{ "e0030091", "4 sum r0 r31" },
	{ "ff8300d1", "4 sum r31 r31 -32" },
	{ "208c0091", "4 sum r0 r1 35" },
	{ "200080d2", "4 set r0 1 clobbers 1" },
	{ "200080f2", "4 clobbers 1" },
	{ "0000a0d2", "4 set r0 0 clobbers 1" },
	{ "20008092", "4 set r0 -2 clobbers 1" },
	{ "20000010", "4 set r0 4100 address clobbers 1" },
	{ "20000090", "4 set r0 20480 address clobbers 1" },
	{ "e00301aa", "4 move r0 r1" },
	{ "e003012a", "4 narrow move r0 r1" },
	{ "e0031faa", "4 set r0 0" },
	{ "2000028b", "4 sum r0 r1 r2*1 clobbers 1" },
	{ "200c028b", "4 sum r0 r1 r2*8 clobbers 1" },
	{ "2040228b", "4 sum r0 r1 r2*1" },
	{ "204c228b", "4 sum r0 r1 r2*8" },
	{ "20d8629b", "4 clobbers 1" },
	{ "2004039b", "4 sum r0 r1 r1*1*r3 clobbers 1" },
	{ "20fca29b", "4 clobbers 1" },
	{ "20fc029b", "4 clobbers 1" },
	{ "20f47dd3", "4 clobbers 1" },
	{ "00787d93", "4 scale r0 r0 8 clobbers 1" },
	{ "007c4093", "4 narrow move r0 r0 1 clobbers 1" },
	{ "20100012", "4 clobbers 1" },
	{ "00008012", "4 set r0 4294967295 clobbers 1" },
	{ "a10840b9", "4 [r5+8] clobbers 2" },
	{ "a10840f9", "4 load r1 [r5+16] clobbers 2" },
	{ "a10040b9", "4 [r5+0] clobbers 2" },
	{ "a1845ff8", "4 load r1 [r5+0] r5-8 clobbers 2" },
	{ "a18c00f8", "4 [r5+8] r5+8" },
	{ "2268a338", "4 [r1+r3*1+0] clobbers 4" },
	{ "2278a3f8", "4 [r1+r3*8+0]" },
	{ "227863f8", "4 load r2 [r1+r3*8+0] clobbers 4" },
	{ "e17bc1a8", "4 load r1,r30 [r31+0] r31+16 clobbers 40000002" },
	{ "e103bfa9", "4 [r31-16] r31-16" },
	{ "fd7bbda9", "4 [r31-48] r31-48" },
	{ "41080ad8", "4 [+86280] clobbers 2" },
	{ "2100c03d", "4 [r1+0]" },
	{ "20004028", "4 [r1+0] clobbers 1" },
	{ "207c5f08", "4 [r1+0] clobbers 3" },
	{ "20fcdf88", "4 [r1+0] clobbers 3" },
	{ "20008188", "4 [r1+0] clobbers 3" },
	{ "2000e0b8", "4 [r1+0] clobbers 1" },
	{ "2000c0f8", "4 [r1+0] clobbers 1" },
	{ "2004009f", "4" },
	{ "00000058", "4 [+4096] clobbers 1" },
	{ "4000009c", "4 [+4104]" },
	{ "0000004c", "4 [r0+0]" },
	{ "00009f4c", "4 [r0+0] clobbers 1" },
	{ "01000094", "4 call 1004 clobbers 4007ffff" },
	{ "02000014", "4 jump 1008" },
	{ "40000054", "4 branch 1008" },
	{ "400000b4", "4 branch 1008" },
	{ "40000037", "4 branch 1008" },
	{ "20003fd6", "4 call clobbers 4007ffff" },
	{ "00001fd6", "4 away" },
	{ "c0035fd6", "4 end" },
	{ "010000d4", "4 clobbers 1" },
	{ "200020d4", "4 end clobbers 1" },
	{ "00423bd5", "4 clobbers 1" },
	{ "1f2003d5", "4 nothing" },
	{ "0000271e", "4 clobbers 1" },
	{ "00002e1e", "4 clobbers 1" },
	{ "003c080e", "4 clobbers 1" },
	{ "0000c0d9", "4 [r0+0] clobbers 1" },
	{ "20d06bf8", "4 [r1+0] clobbers 1" },
	{ "00000000", "4 end" },
	{ "00000025", "4 [+0] unclear clobbers ffffffff" },
	{ "20088019", "4 [+0] unclear clobbers ffffffff" },
	{ "0000201e", "4 clobbers 1" },
	{ "2010819a", "4 clobbers 1" },
	{ "0010809a", "4 either r0 r0" },
	{ "20008a1a", "4 clobbers 1" },
};

static void test_x86(void **state)
{
	(void)state;
	check_all(x86, ARRAY_LEN(x86), x86_step);
}

static void test_arm(void **state)
{
	(void)state;
	check_all(arm, ARRAY_LEN(arm), arm_step);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_x86), cmocka_unit_test(test_arm) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
