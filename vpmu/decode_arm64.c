/* SPDX-License-Identifier: Apache-2.0 */
/* Source: Arm ARM, C4, A64 instruction set encoding. */
#include <capstone/arm64.h>
#include <string.h>

#include "vpmu/decode_impl.h"

static u32 word_of(const u8 *code, u32 size)
{
	u32 w = 0;

	if (size == 4)
		memcpy(&w, code, 4);
	return w;
}

/* `bits` bits of w from `at` on, a signed number of instructions. */
static u64 offset(u32 w, u32 at, u32 bits)
{
	return (u64)((s64)((u64)(w >> at) << (64 - bits)) >> (64 - bits)) * 4;
}

static void direct(struct decoded *out, u8 kind, u64 target)
{
	out->kind = kind;
	out->target = target;
}

void arm64_kind(const u8 *code, u32 size, u64 pc, struct decoded *out)
{
	u32 w = word_of(code, size);

	if ((w & 0xff000000) == 0x54000000) /* B.cond, BC.cond */
		direct(out, OP_COND, pc + offset(w, 5, 19));
	else if ((w & 0x7e000000) == 0x34000000) /* CBZ, CBNZ */
		direct(out, OP_COND, pc + offset(w, 5, 19));
	else if ((w & 0x7e000000) == 0x36000000) /* TBZ, TBNZ */
		direct(out, OP_COND, pc + offset(w, 5, 14));
	else if ((w & 0xfc000000) == 0x14000000)
		direct(out, OP_JUMP, pc + offset(w, 0, 26));
	else if ((w & 0xfc000000) == 0x94000000)
		direct(out, OP_CALL, pc + offset(w, 0, 26));
	else if ((w & 0xfe1f0000) == 0xd61f0000) /* registers; bits 24 and 11: with pointer authentication */
		switch (w >> 21 & 7) {
		case 0:
			out->kind = OP_JUMP_INDIRECT;
			break;
		case 1:
			out->kind = OP_CALL_INDIRECT;
			break;
		case 2:
			out->kind = OP_RETURN;
			break;
		}
	else if ((w & 0xffe0001f) == 0xd4000001)
		out->kind = OP_SYSCALL;
}

enum { FP = 29, SP = 31 };

/* Number 31 is the stack pointer in some places and zero in others. */
static bool from(const struct leap_registers *f, u32 reg, bool sp)
{
	return (reg != SP || sp) && leap_derived(f, reg);
}

static bool to(const struct leap_registers *f, u32 reg, bool sp, bool derived)
{
	return (reg != SP || sp) && leap_set(f, reg, derived);
}

/* Data processing with a number. */
static bool arm64_immediate(const struct leap_registers *f, u32 w)
{
	u32 rd = w & 31, rn = w >> 5 & 31;

	switch (w >> 23 & 7) {
	case 2: /* add, sub; bit 29: sets flags */
		return to(f, rd, !(w >> 29 & 1), from(f, rn, true));
	case 4: /* and, orr, eor, ands */
		return to(f, rd, w >> 29 != 7 && w >> 29 != 3, from(f, rn, false));
	case 5: /* movn, movz, movk */
		return w >> 29 != 7 && w >> 29 != 3 && to(f, rd, false, false);
	case 6: /* bit fields, extract */
	case 7:
		return to(f, rd, false, from(f, rn, false));
	}
	return to(f, rd, false, false);
}

bool arm64_leap(const u8 *p, u32 size, u32 *derived)
{
	struct leap_registers f = leap_begin(derived, SP, FP);
	u32 w, rd, rn;

	if (size != 4)
		return false;
	memcpy(&w, p, 4);
	rd = w & 31;
	rn = w >> 5 & 31;
	if ((w >> 26 & 7) == 4)
		return arm64_immediate(&f, w);
	if ((w >> 25 & 7) == 5) { /* of registers; extended ones: add, sub */
		bool extended = (w & 0x1fe00000) == 0x0b200000;

		return to(&f, rd, extended && !(w >> 29 & 1), from(&f, rn, extended) || from(&f, w >> 16 & 31, false));
	}
	if ((w >> 25 & 5) == 4 && w >> 22 & 1 && !(w >> 26 & 1)) { /* loads */
		to(&f, rd, false, false);
		if ((w >> 27 & 7) == 5)
			to(&f, w >> 10 & 31, false, false);
	}
	return false;
}

/*
 * Load/store exclusive, compare and swap; atomic memory operations. Of the same classes, but loads and stores: LDAR,
 * STLR, LDLAR, STLLR; LDAPR.
 */
static bool is_atomic(u32 w)
{
	if ((w & 0x3fa00000) == 0x08800000 || (w & 0x3ffffc00) == 0x38bfc000)
		return false;
	return (w & 0x3f000000) == 0x08000000 || (w & 0x3b200c00) == 0x38200000;
}

/* Data processing with three sources of general registers; vectors' integer multiplications have the same names. */
static bool is_mul(u32 w)
{
	return (w & 0x1f000000) == 0x1b000000;
}

static const u8 costs[ARM64_INS_ENDING] = {
	[ARM64_INS_CRC32B] = COST_MUL,	  [ARM64_INS_CRC32H] = COST_MUL,    [ARM64_INS_CRC32W] = COST_MUL,
	[ARM64_INS_CRC32X] = COST_MUL,	  [ARM64_INS_CRC32CB] = COST_MUL,   [ARM64_INS_CRC32CH] = COST_MUL,
	[ARM64_INS_CRC32CW] = COST_MUL,	  [ARM64_INS_CRC32CX] = COST_MUL,   [ARM64_INS_SDIV] = COST_DIV,
	[ARM64_INS_UDIV] = COST_DIV,	  [ARM64_INS_FADD] = COST_FP,	    [ARM64_INS_FADDP] = COST_FP,
	[ARM64_INS_FSUB] = COST_FP,	  [ARM64_INS_FABD] = COST_FP,	    [ARM64_INS_FMUL] = COST_FP,
	[ARM64_INS_FMULX] = COST_FP,	  [ARM64_INS_FNMUL] = COST_FP,	    [ARM64_INS_FMADD] = COST_FP,
	[ARM64_INS_FMSUB] = COST_FP,	  [ARM64_INS_FNMADD] = COST_FP,	    [ARM64_INS_FNMSUB] = COST_FP,
	[ARM64_INS_FMLA] = COST_FP,	  [ARM64_INS_FMLS] = COST_FP,	    [ARM64_INS_FMAX] = COST_FP,
	[ARM64_INS_FMAXNM] = COST_FP,	  [ARM64_INS_FMAXNMP] = COST_FP,    [ARM64_INS_FMAXNMV] = COST_FP,
	[ARM64_INS_FMAXP] = COST_FP,	  [ARM64_INS_FMAXV] = COST_FP,	    [ARM64_INS_FMIN] = COST_FP,
	[ARM64_INS_FMINNM] = COST_FP,	  [ARM64_INS_FMINNMP] = COST_FP,    [ARM64_INS_FMINNMV] = COST_FP,
	[ARM64_INS_FMINP] = COST_FP,	  [ARM64_INS_FMINV] = COST_FP,	    [ARM64_INS_FCMP] = COST_FP,
	[ARM64_INS_FCMPE] = COST_FP,	  [ARM64_INS_FCCMP] = COST_FP,	    [ARM64_INS_FCCMPE] = COST_FP,
	[ARM64_INS_FCMEQ] = COST_FP,	  [ARM64_INS_FCMGE] = COST_FP,	    [ARM64_INS_FCMGT] = COST_FP,
	[ARM64_INS_FCMLE] = COST_FP,	  [ARM64_INS_FCMLT] = COST_FP,	    [ARM64_INS_FACGE] = COST_FP,
	[ARM64_INS_FACGT] = COST_FP,	  [ARM64_INS_FRINTA] = COST_FP,	    [ARM64_INS_FRINTI] = COST_FP,
	[ARM64_INS_FRINTM] = COST_FP,	  [ARM64_INS_FRINTN] = COST_FP,	    [ARM64_INS_FRINTP] = COST_FP,
	[ARM64_INS_FRINTX] = COST_FP,	  [ARM64_INS_FRINTZ] = COST_FP,	    [ARM64_INS_FRECPE] = COST_FP,
	[ARM64_INS_FRECPS] = COST_FP,	  [ARM64_INS_FRECPX] = COST_FP,	    [ARM64_INS_FRSQRTE] = COST_FP,
	[ARM64_INS_FRSQRTS] = COST_FP,	  [ARM64_INS_SCVTF] = COST_FP,	    [ARM64_INS_UCVTF] = COST_FP,
	[ARM64_INS_FCVT] = COST_FP,	  [ARM64_INS_FCVTAS] = COST_FP,	    [ARM64_INS_FCVTAU] = COST_FP,
	[ARM64_INS_FCVTL] = COST_FP,	  [ARM64_INS_FCVTL2] = COST_FP,	    [ARM64_INS_FCVTMS] = COST_FP,
	[ARM64_INS_FCVTMU] = COST_FP,	  [ARM64_INS_FCVTN] = COST_FP,	    [ARM64_INS_FCVTN2] = COST_FP,
	[ARM64_INS_FCVTNS] = COST_FP,	  [ARM64_INS_FCVTNU] = COST_FP,	    [ARM64_INS_FCVTPS] = COST_FP,
	[ARM64_INS_FCVTPU] = COST_FP,	  [ARM64_INS_FCVTXN] = COST_FP,	    [ARM64_INS_FCVTXN2] = COST_FP,
	[ARM64_INS_FCVTZS] = COST_FP,	  [ARM64_INS_FCVTZU] = COST_FP,	    [ARM64_INS_FDIV] = COST_FP_DIV,
	[ARM64_INS_FSQRT] = COST_SQRT,	  [ARM64_INS_ISB] = COST_SERIALISE, [ARM64_INS_DSB] = COST_SERIALISE,
	[ARM64_INS_DMB] = COST_SERIALISE,
};

u8 arm64_cost(u32 id, const u8 *code, u32 size)
{
	u32 w = word_of(code, size);

	if (w == 0xd503203f) /* YIELD */
		return COST_PAUSE;
	if (is_atomic(w))
		return COST_ATOMIC;
	if (is_mul(w))
		return COST_MUL;
	return id < ARM64_INS_ENDING ? costs[id] : (u8)COST_NONE;
}
