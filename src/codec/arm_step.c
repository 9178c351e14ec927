/* SPDX-License-Identifier: Apache-2.0 */
/* Source: Arm Architecture Reference Manual (DDI 0487), C4, "A64 instruction set encoding". */
#include <string.h>

#include "codec/step.h"

#define SP 31u
#define BIT(reg) (1u << (reg))
#define ALL UINT32_MAX
#define CALLER_SAVED (0x7ffffu | BIT(30))

struct insn {
	u32 w;
	u64 pc;
	struct step *out;
};

static u32 bits(const struct insn *i, u32 low, u32 n)
{
	return i->w >> low & ((1u << n) - 1);
}

static s64 signed_bits(const struct insn *i, u32 low, u32 n)
{
	u32 v = bits(i, low, n);

	return (s64)v - (v >> (n - 1) & 1 ? (s64)1 << n : 0);
}

/* Register 31 is no register there, but zero. */
static void clobber(struct insn *i, u32 reg)
{
	if (reg != 31)
		i->out->clobbers |= BIT(reg);
}

static void set(struct insn *i, enum step_kind kind, u32 dst, bool wide)
{
	i->out->kind = (u8)kind;
	i->out->dst = (u8)dst;
	i->out->narrow = !wide;
}

static void branch_to(struct insn *i, enum step_flow flow, s64 words)
{
	i->out->flow = (u8)flow;
	i->out->target = i->pc + (u64)words * 4;
}

static void call(struct insn *i)
{
	i->out->flow = STEP_CALL;
	i->out->clobbers |= CALLER_SAVED;
}

/* Branches, exceptions, system instructions. */
static void control(struct insn *i)
{
	u32 w = i->w;

	i->out->nothing = w == 0xd503201f;
	if ((w & 0x7c000000) == 0x14000000) {
		if (w >> 31)
			call(i);
		branch_to(i, w >> 31 ? STEP_CALL : STEP_JUMP, signed_bits(i, 0, 26));
	} else if ((w & 0xff000000) == 0x54000000 || (w & 0x7e000000) == 0x34000000) {
		branch_to(i, STEP_BRANCH, signed_bits(i, 5, 19));
	} else if ((w & 0x7e000000) == 0x36000000) {
		branch_to(i, STEP_BRANCH, signed_bits(i, 5, 14));
	} else if ((w & 0xfe000000) == 0xd6000000) {
		u32 what = bits(i, 21, 3);

		if (what == 1)
			call(i);
		else
			i->out->flow = what == 0 ? STEP_AWAY : STEP_END;
	} else if ((w & 0xff000000) == 0xd4000000) {
		clobber(i, 0);
		if (bits(i, 21, 3) == 1 || bits(i, 21, 3) == 2)
			i->out->flow = STEP_END; /* brk, hlt */
	} else {
		clobber(i, bits(i, 0, 5));
	}
}

static void immediate(struct insn *i)
{
	u32 w = i->w, rd = bits(i, 0, 5), rn = bits(i, 5, 5);
	bool wide = w >> 31;
	struct step *s = i->out;

	if ((w & 0x1f000000) == 0x10000000) { /* adr, adrp */
		s64 distance = signed_bits(i, 5, 19) * 4 + bits(i, 29, 2);

		clobber(i, rd);
		if (rd == 31)
			return;
		s->imm = wide ? (s64)((i->pc & ~(u64)0xfff) + ((u64)distance << 12)) : (s64)(i->pc + (u64)distance);
		s->address = true;
		set(i, STEP_SET, rd, true);
	} else if ((w & 0x1f800000) == 0x11000000) { /* add, sub; 31 is the stack pointer, but where flags are set */
		s64 value = (s64)bits(i, 10, 12) << (bits(i, 22, 1) ? 12 : 0);

		if (bits(i, 29, 1) && rd == 31)
			return;
		s->src = (u8)rn;
		s->imm = bits(i, 30, 1) ? -value : value;
		set(i, STEP_SUM, rd, wide);
	} else if ((w & 0x1f800000) == 0x12000000) { /* and, orr, eor; 31 is the stack pointer */
		if (rd != 31 || bits(i, 29, 2) != 3)
			s->clobbers |= BIT(rd);
	} else if ((w & 0x1f800000) == 0x12800000) { /* movn, movz, movk */
		s64 value = (s64)((u64)bits(i, 5, 16) << bits(i, 21, 2) * 16);

		clobber(i, rd);
		if (bits(i, 29, 2) == 3 || rd == 31)
			return;
		s->imm = bits(i, 29, 2) == 2 ? value : wide ? ~value : (s64)(u32)~value;
		set(i, STEP_SET, rd, true);
	} else if ((w & 0x1f800000) == 0x13000000) { /* moves of bits: to the left they are products */
		u32 from = bits(i, 10, 6), shift = (0u - bits(i, 16, 6)) & (wide ? 63 : 31);

		clobber(i, rd);
		if (bits(i, 29, 2) == 1 || rd == 31)
			return;
		s->src = (u8)rn;
		s->imm = (s64)1 << MIN(shift, 61u);
		if (bits(i, 16, 6) > from)
			set(i, STEP_SCALE, rd, wide);
		else if (!bits(i, 16, 6) && from == 31)
			set(i, STEP_MOVE, rd, false); /* sxtw and the like */
	} else {
		clobber(i, rd);
	}
}

static void registers(struct insn *i)
{
	u32 w = i->w, rd = bits(i, 0, 5), rn = bits(i, 5, 5), rm = bits(i, 16, 5);
	bool wide = w >> 31;
	struct step *s = i->out;

	if ((w & 0x7fe0ffe0) == 0x2a0003e0 && rd != 31) { /* mov */
		if (rm == 31) {
			set(i, STEP_SET, rd, true);
			return;
		}
		s->src = (u8)rm;
		set(i, STEP_MOVE, rd, wide);
	} else if ((w & 0x7fe00000) == 0x0b000000 && rd != 31 && rn != 31 && rm != 31) { /* add, shifted to the left */
		s->src = (u8)rn;
		s->index = (u8)rm;
		s->scale = (u8)(1u << (bits(i, 10, 6) & 7));
		clobber(i, rd);
		if (bits(i, 10, 6) < 8)
			set(i, STEP_SUM, rd, wide);
	} else if ((w & 0x7fe00000) == 0x0b200000 && rm != 31) { /* add, extended; 31 is the stack pointer */
		s->src = (u8)rn;
		s->index = (u8)rm;
		s->scale = (u8)(1u << MIN(bits(i, 10, 3), 4u));
		set(i, STEP_SUM, rd, wide);
	} else if ((w & 0x7fe00000) == 0x4b200000) { /* sub, extended, of the stack pointer, too */
		s->clobbers |= BIT(rd);
	} else if (((w & 0xffe08000) == 0x9b000000 || (w & 0xff608000) == 0x9b200000) && rd != 31) { /* madd, smaddl */
		clobber(i, rd);
		s->src = bits(i, 10, 5) == 31 ? STEP_NONE : (u8)bits(i, 10, 5);
		s->index = (u8)rn;
		s->by_index = (u8)rm;
		s->scale = 1;
		if (rn != 31 && rm != 31)
			set(i, STEP_SUM, rd, true);
	} else if ((w & 0xffe00c00) == 0x9a800000 && rd != 31 && rn != 31 && rm != 31 && rd == rm) {
		s->src = (u8)rn; /* csel, of itself and another one */
		set(i, STEP_EITHER, rd, true);
	} else {
		clobber(i, rd);
	}
}

/* Of vectors, and of floating point. What becomes of general registers is told coarsely. */
static void vectors(struct insn *i)
{
	u32 w = i->w;

	if ((w & 0x5f20fc00) == 0x1e200000 || (w & 0x5f200000) == 0x1e000000 || (w & 0x9fe08400) == 0x0e000400)
		clobber(i, bits(i, 0, 5));
}

static void operand(struct insn *i, s64 disp)
{
	i->out->access = true;
	i->out->at.base = (u8)bits(i, 5, 5);
	i->out->at.disp = disp;
}

static void write_back(struct insn *i, s64 by)
{
	i->out->moved = (u8)bits(i, 5, 5);
	i->out->by = by;
}

static void pair(struct insn *i)
{
	u32 opc = bits(i, 30, 2), mode = bits(i, 23, 2);
	bool vector = bits(i, 26, 1), load = bits(i, 22, 1);
	s64 by = signed_bits(i, 15, 7) * (vector ? 4ll << opc : opc == 2 ? 8 : 4);

	operand(i, mode == 1 ? 0 : by);
	if (mode & 1)
		write_back(i, by);
	if (vector || !load)
		return;
	clobber(i, bits(i, 0, 5));
	clobber(i, bits(i, 10, 5));
	if (opc != 2 || bits(i, 0, 5) == 31)
		return;
	set(i, STEP_LOAD, bits(i, 0, 5), true);
	i->out->dst2 = bits(i, 10, 5) == 31 ? STEP_NONE : (u8)bits(i, 10, 5);
}

/* Of one register: log2 of its bytes. */
static u32 size_of(const struct insn *i)
{
	u32 size = bits(i, 30, 2);

	return bits(i, 26, 1) && bits(i, 23, 1) ? 4 : size;
}

/* What a load of one register sets; a store sets nothing. */
static void loaded(struct insn *i)
{
	u32 size = bits(i, 30, 2), opc = bits(i, 22, 2), rt = bits(i, 0, 5);

	if (bits(i, 26, 1) || !opc || rt == 31)
		return;
	if (size == 3 && opc == 2)
		return; /* a prefetch */
	clobber(i, rt);
	if (size == 3 && opc == 1)
		set(i, STEP_LOAD, rt, true);
}

static void by_register(struct insn *i)
{
	u32 option = bits(i, 13, 3), size = size_of(i);

	operand(i, 0);
	if (bits(i, 16, 5) != 31) {
		i->out->at.index = (u8)bits(i, 16, 5);
		i->out->at.scale = (u8)(bits(i, 12, 1) ? 1u << size : 1);
	}
	i->out->unclear = !(option & 2);
	loaded(i);
}

static void single(struct insn *i)
{
	u32 w = i->w, mode = bits(i, 10, 2);

	if (w & 1u << 24) {
		operand(i, (s64)bits(i, 10, 12) << size_of(i));
		loaded(i);
	} else if (!(w & 1u << 21)) {
		operand(i, mode == 1 ? 0 : signed_bits(i, 12, 9));
		loaded(i);
		if (mode & 1)
			write_back(i, signed_bits(i, 12, 9));
	} else if (mode == 2) {
		by_register(i);
	} else if (mode == 0) { /* atomic; ldapr */
		operand(i, 0);
		clobber(i, bits(i, 0, 5));
	} else { /* with authentication */
		operand(i, 0);
		i->out->unclear = true;
		clobber(i, bits(i, 0, 5));
		clobber(i, bits(i, 5, 5));
	}
}

static void memory(struct insn *i)
{
	u32 w = i->w;

	if ((w & 0x3a000000) == 0x28000000) {
		pair(i);
	} else if ((w & 0x3a000000) == 0x38000000) {
		single(i);
	} else if ((w & 0x3b000000) == 0x18000000) { /* beside the code */
		i->out->access = true;
		i->out->at.disp = (s64)(i->pc + (u64)(signed_bits(i, 5, 19) * 4));
		if (!bits(i, 26, 1))
			clobber(i, bits(i, 0, 5));
	} else if ((w & 0x3f000000) == 0x08000000) { /* exclusive, or in order */
		operand(i, 0);
		clobber(i, bits(i, 0, 5));
		clobber(i, bits(i, 10, 5));
		clobber(i, bits(i, 16, 5));
		clobber(i, bits(i, 16, 5) | 1); /* of a pair */
		clobber(i, bits(i, 0, 5) | 1);
	} else if ((w & 0x3f200c00) == 0x19000000) { /* in order, with an offset */
		operand(i, signed_bits(i, 12, 9));
		clobber(i, bits(i, 0, 5));
	} else if ((w & 0xbe000000) == 0x0c000000) { /* several vectors */
		operand(i, 0);
		if (bits(i, 23, 1))
			i->out->clobbers |= BIT(bits(i, 5, 5));
	} else { /* tags, copies, and what is not known */
		i->out->access = i->out->unclear = true;
		i->out->clobbers = ALL;
	}
}

void arm_step(const u8 *code, u32 n, u64 pc, struct step *out)
{
	struct insn i = { .pc = pc, .out = out };
	u32 class;

	*out = (struct step){ .dst = STEP_NONE,
			      .dst2 = STEP_NONE,
			      .src = STEP_NONE,
			      .index = STEP_NONE,
			      .by_index = STEP_NONE,
			      .moved = STEP_NONE };
	out->at = (struct step_operand){ .base = STEP_NONE, .index = STEP_NONE, .scale = 1 };
	if (n < 4)
		return;
	memcpy(&i.w, code, 4);
	out->size = 4;
	class = i.w >> 25 & 15;
	if ((class & 5) == 4)
		memory(&i);
	else if ((class & 14) == 8)
		immediate(&i);
	else if ((class & 14) == 10)
		control(&i);
	else if ((class & 7) == 5)
		registers(&i);
	else if ((class & 7) == 7)
		vectors(&i);
	else if (!(i.w >> 16))
		out->flow = STEP_END;
	else
		out->clobbers = ALL, out->access = out->unclear = true; /* SVE, SME, and what is not known */
}
