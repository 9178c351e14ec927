/* SPDX-License-Identifier: Apache-2.0 */
/* Source: Intel SDM volume 2, opcode map. 64-bit mode only. */
#include <capstone/x86.h>
#include <string.h>

#include "vpmu/decode_impl.h"

/* Where the opcode begins, and which prefixes stand before it. */
struct prefixes {
	u32 length;
	bool repeat, lock, narrow, wide; /* narrow: 16 bits; wide: REX.W */
};

static struct prefixes prefixes_of(const u8 *p, u32 size)
{
	struct prefixes x = { 0 };

	for (; x.length < size; x.length++)
		switch (p[x.length]) {
		case 0xf2:
		case 0xf3:
			x.repeat = true;
			break;
		case 0xf0:
			x.lock = true;
			break;
		case 0x26:
		case 0x2e:
		case 0x36:
		case 0x3e:
		case 0x64:
		case 0x65:
		case 0x67:
			break;
		case 0x66:
			x.narrow = true;
			break;
		default:
			if ((p[x.length] & 0xf0) == 0x40) { /* REX: the opcode follows */
				x.wide = p[x.length] & 8;
				x.length++;
			}
			return x;
		}
	return x;
}

static void relative(struct decoded *out, u8 kind, const u8 *p, u32 size, u32 bytes, u64 pc)
{
	s32 rel = 0;

	if (size < bytes)
		return;
	if (bytes == 1)
		rel = (int8_t)p[size - 1];
	else
		memcpy(&rel, p + size - 4, 4);
	out->kind = kind;
	out->target = pc + size + (u64)(s64)rel;
}

static void two_byte_kind(const u8 *p, u32 size, u32 at, u64 pc, struct decoded *out)
{
	u8 op = p[at];

	if ((op & 0xf0) == 0x80)
		relative(out, OP_COND, p, size, 4, pc);
	else if (op == 0x05 || op == 0x34)
		out->kind = OP_SYSCALL;
}

/* movs and stos move whole blocks of bytes at a time; the others work element by element. */
static void repeated(struct decoded *out, u8 op, struct prefixes x)
{
	u8 bytes = !(op & 1) ? 1 : x.wide ? 8 : x.narrow ? 2 : 4;

	out->kind = OP_REP;
	out->moves = (op & 0xfe) == 0xa4 || (op & 0xfe) == 0xaa ? bytes : 0;
}

void x86_kind(const u8 *p, u32 size, u64 pc, struct decoded *out)
{
	struct prefixes x = prefixes_of(p, size);
	u8 op, reg;

	if (x.length >= size)
		return;
	op = p[x.length];
	reg = x.length + 1 < size ? p[x.length + 1] >> 3 & 7 : 0;
	if (op == 0x0f && x.length + 1 < size)
		two_byte_kind(p, size, x.length + 1, pc, out);
	else if ((op & 0xf0) == 0x70 || (op >= 0xe0 && op <= 0xe3))
		relative(out, OP_COND, p, size, 1, pc);
	else if (op == 0xe8)
		relative(out, OP_CALL, p, size, 4, pc);
	else if (op == 0xe9)
		relative(out, OP_JUMP, p, size, 4, pc);
	else if (op == 0xeb)
		relative(out, OP_JUMP, p, size, 1, pc);
	else if (op == 0xff && (reg == 2 || reg == 3))
		out->kind = OP_CALL_INDIRECT;
	else if (op == 0xff && (reg == 4 || reg == 5))
		out->kind = OP_JUMP_INDIRECT;
	else if (op == 0xc2 || op == 0xc3 || op == 0xca || op == 0xcb || op == 0xcf)
		out->kind = OP_RETURN;
	else if (op == 0xcd)
		out->kind = OP_SYSCALL;
	else if (x.repeat && ((op >= 0xa4 && op <= 0xa7) || (op >= 0xaa && op <= 0xaf) || (op >= 0x6c && op <= 0x6f)))
		repeated(out, op, x);
}

enum { AX = 0, SP = 4, FP = 5 };
/* Bits of a REX prefix. */
enum { REX_B = 1, REX_X = 2, REX_R = 4, REX_W = 8 };

/* Is the address derived that the ModRM byte at p tells? */
static bool address_derived(const struct leap_registers *f, const u8 *p, u32 left, u32 rex)
{
	u32 mod = p[0] >> 6, base = p[0] & 7, index = 4;

	if (base == 4 && left > 1) {
		base = p[1] & 7;
		index = (p[1] >> 3 & 7) | (rex & REX_X) << 2;
	}
	if (index != 4 && leap_derived(f, index))
		return true;
	return !(mod == 0 && base == 5) && leap_derived(f, base | (rex & REX_B) << 3);
}

static bool exchange(const struct leap_registers *f, u32 a, u32 b)
{
	bool from_a = leap_derived(f, a), leaps = leap_set(f, a, leap_derived(f, b));

	return leap_set(f, b, from_a) || leaps;
}

/* p: the opcode and what follows. */
static bool x86_moves(const struct leap_registers *f, const u8 *p, u32 left, u32 rex)
{
	bool direct = p[1] >= 0xc0;
	u32 reg = (p[1] >> 3 & 7) | (rex & REX_R) << 1, rm = (p[1] & 7) | (rex & REX_B) << 3;
	bool from_reg = leap_derived(f, reg), from_rm = direct && leap_derived(f, rm);

	switch (p[0]) {
	case 0x8b: /* mov */
		return leap_set(f, reg, from_rm);
	case 0x89:
		return direct && leap_set(f, rm, from_reg);
	case 0x8d: /* lea */
		return leap_set(f, reg, address_derived(f, p + 1, left - 1, rex));
	case 0x01: /* add, or, and, sub */
	case 0x09:
	case 0x21:
	case 0x29:
		return direct && leap_set(f, rm, from_rm || from_reg);
	case 0x03:
	case 0x0b:
	case 0x23:
	case 0x2b:
		return leap_set(f, reg, from_rm || from_reg);
	case 0x87: /* xchg */
		return direct ? exchange(f, reg, rm) : leap_set(f, reg, false);
	}
	return false;
}

bool x86_leap(const u8 *p, u32 size, u32 *derived)
{
	struct leap_registers f = leap_begin(derived, SP, FP);
	u32 at = prefixes_of(p, size).length, rex = at && (p[at - 1] & 0xf0) == 0x40 ? p[at - 1] : 0;
	u8 op;

	if (at >= size)
		return false;
	op = p[at];
	if ((op & 0xf8) == 0x58 || (op & 0xf8) == 0xb8) /* pop, mov of a number */
		return leap_set(&f, (op & 7) | (rex & REX_B) << 3, false);
	if (rex & REX_W && (op & 0xf8) == 0x90) /* xchg with the accumulator; with itself: nop */
		return exchange(&f, AX, (op & 7) | (rex & REX_B) << 3);
	return rex & REX_W && at + 1 < size && x86_moves(&f, p + at, size - at, rex);
}

#define FP_SUFFIXES(name, cost)                                                                                       \
	[X86_INS_##name##SS] = (cost), [X86_INS_##name##SD] = (cost), [X86_INS_##name##PS] = (cost),                  \
	[X86_INS_##name##PD] = (cost), [X86_INS_V##name##SS] = (cost), [X86_INS_V##name##SD] = (cost),                \
	[X86_INS_V##name##PS] = (cost), [X86_INS_V##name##PD] = (cost)
#define BOTH(name) [X86_INS_##name] = COST_FP, [X86_INS_V##name] = COST_FP /* SSE and AVX */
#define FMA_SUFFIXES(name)                                                                                            \
	[X86_INS_V##name##SS] = COST_FP, [X86_INS_V##name##SD] = COST_FP, [X86_INS_V##name##PS] = COST_FP,            \
	[X86_INS_V##name##PD] = COST_FP
#define FMA_ORDERS(name) FMA_SUFFIXES(name##132), FMA_SUFFIXES(name##213), FMA_SUFFIXES(name##231)
#define FMA_PACKED(name)                                                                                              \
	[X86_INS_V##name##132PS] = COST_FP, [X86_INS_V##name##132PD] = COST_FP, [X86_INS_V##name##213PS] = COST_FP,   \
	[X86_INS_V##name##213PD] = COST_FP, [X86_INS_V##name##231PS] = COST_FP, [X86_INS_V##name##231PD] = COST_FP

/* AVX-512, which QEMU's CPU does not have, is left out; so is integer SIMD, which costs nothing more. */
static const u8 costs[X86_INS_ENDING] = {
	[X86_INS_MUL] = COST_MUL,
	[X86_INS_IMUL] = COST_MUL,
	[X86_INS_MULX] = COST_MUL,
	[X86_INS_CRC32] = COST_MUL,
	[X86_INS_DIV] = COST_DIV,
	[X86_INS_IDIV] = COST_DIV,
	FP_SUFFIXES(ADD, COST_FP),
	FP_SUFFIXES(SUB, COST_FP),
	FP_SUFFIXES(MUL, COST_FP),
	FMA_ORDERS(FMADD),
	FMA_ORDERS(FMSUB),
	FMA_ORDERS(FNMADD),
	FMA_ORDERS(FNMSUB),
	FP_SUFFIXES(DIV, COST_FP_DIV),
	FP_SUFFIXES(SQRT, COST_SQRT),
	FP_SUFFIXES(MIN, COST_FP),
	FP_SUFFIXES(MAX, COST_FP),
	FP_SUFFIXES(ROUND, COST_FP),
	FMA_PACKED(FMADDSUB),
	FMA_PACKED(FMSUBADD),
	BOTH(ADDSUBPS),
	BOTH(ADDSUBPD),
	BOTH(HADDPS),
	BOTH(HADDPD),
	BOTH(HSUBPS),
	BOTH(HSUBPD),
	BOTH(DPPS),
	BOTH(DPPD),
	BOTH(RCPPS),
	BOTH(RCPSS),
	BOTH(RSQRTPS),
	BOTH(RSQRTSS),
	BOTH(COMISS),
	BOTH(COMISD),
	BOTH(UCOMISS),
	BOTH(UCOMISD),
	BOTH(CVTSI2SD),
	BOTH(CVTSI2SS),
	BOTH(CVTSD2SI),
	BOTH(CVTSS2SI),
	BOTH(CVTTSD2SI),
	BOTH(CVTTSS2SI),
	BOTH(CVTSD2SS),
	BOTH(CVTSS2SD),
	BOTH(CVTDQ2PS),
	BOTH(CVTDQ2PD),
	BOTH(CVTPS2DQ),
	BOTH(CVTPD2DQ),
	BOTH(CVTTPS2DQ),
	BOTH(CVTTPD2DQ),
	BOTH(CVTPS2PD),
	BOTH(CVTPD2PS),
	[X86_INS_VCVTPD2DQX] = COST_FP,
	[X86_INS_VCVTPD2PSX] = COST_FP,
	[X86_INS_VCVTTPD2DQX] = COST_FP,
	[X86_INS_VCVTPH2PS] = COST_FP,
	[X86_INS_VCVTPS2PH] = COST_FP,
	[X86_INS_CVTPD2PI] = COST_FP,
	[X86_INS_CVTPI2PD] = COST_FP,
	[X86_INS_CVTPI2PS] = COST_FP,
	[X86_INS_CVTPS2PI] = COST_FP,
	[X86_INS_CVTTPD2PI] = COST_FP,
	[X86_INS_CVTTPS2PI] = COST_FP,
	/* x87 */
	[X86_INS_FADD] = COST_FP,
	[X86_INS_FADDP] = COST_FP,
	[X86_INS_FIADD] = COST_FP,
	[X86_INS_FSUB] = COST_FP,
	[X86_INS_FSUBR] = COST_FP,
	[X86_INS_FSUBP] = COST_FP,
	[X86_INS_FSUBRP] = COST_FP,
	[X86_INS_FISUB] = COST_FP,
	[X86_INS_FISUBR] = COST_FP,
	[X86_INS_FMUL] = COST_FP,
	[X86_INS_FMULP] = COST_FP,
	[X86_INS_FIMUL] = COST_FP,
	[X86_INS_FCOM] = COST_FP,
	[X86_INS_FCOMP] = COST_FP,
	[X86_INS_FCOMPP] = COST_FP,
	[X86_INS_FCOMI] = COST_FP,
	[X86_INS_FCOMIP] = COST_FP,
	[X86_INS_FUCOM] = COST_FP,
	[X86_INS_FUCOMP] = COST_FP,
	[X86_INS_FUCOMPP] = COST_FP,
	[X86_INS_FUCOMI] = COST_FP,
	[X86_INS_FUCOMIP] = COST_FP,
	[X86_INS_FICOM] = COST_FP,
	[X86_INS_FICOMP] = COST_FP,
	[X86_INS_FTST] = COST_FP,
	[X86_INS_FRNDINT] = COST_FP,
	[X86_INS_FILD] = COST_FP,
	[X86_INS_FIST] = COST_FP,
	[X86_INS_FISTP] = COST_FP,
	[X86_INS_FISTTP] = COST_FP,
	[X86_INS_FDIV] = COST_FP_DIV,
	[X86_INS_FDIVP] = COST_FP_DIV,
	[X86_INS_FDIVR] = COST_FP_DIV,
	[X86_INS_FDIVRP] = COST_FP_DIV,
	[X86_INS_FIDIV] = COST_FP_DIV,
	[X86_INS_FIDIVR] = COST_FP_DIV,
	[X86_INS_FSQRT] = COST_SQRT,
	[X86_INS_FSIN] = COST_SLOW,
	[X86_INS_FCOS] = COST_SLOW,
	[X86_INS_FSINCOS] = COST_SLOW,
	[X86_INS_FPTAN] = COST_SLOW,
	[X86_INS_FPATAN] = COST_SLOW,
	[X86_INS_F2XM1] = COST_SLOW,
	[X86_INS_FYL2X] = COST_SLOW,
	[X86_INS_FYL2XP1] = COST_SLOW,
	[X86_INS_FPREM] = COST_SLOW,
	[X86_INS_FPREM1] = COST_SLOW,
	[X86_INS_FSCALE] = COST_SLOW,
	[X86_INS_FXTRACT] = COST_SLOW,
	[X86_INS_FBLD] = COST_SLOW,
	[X86_INS_FBSTP] = COST_SLOW,
	[X86_INS_FNSAVE] = COST_SLOW,
	[X86_INS_FRSTOR] = COST_SLOW,
	[X86_INS_FNSTENV] = COST_SLOW,
	[X86_INS_FLDENV] = COST_SLOW,
	[X86_INS_FXSAVE] = COST_SLOW,
	[X86_INS_FXSAVE64] = COST_SLOW,
	[X86_INS_FXRSTOR] = COST_SLOW,
	[X86_INS_FXRSTOR64] = COST_SLOW,
	[X86_INS_XSAVE] = COST_SLOW,
	[X86_INS_XSAVE64] = COST_SLOW,
	[X86_INS_XSAVEC] = COST_SLOW,
	[X86_INS_XSAVEC64] = COST_SLOW,
	[X86_INS_XSAVEOPT] = COST_SLOW,
	[X86_INS_XSAVEOPT64] = COST_SLOW,
	[X86_INS_XRSTOR] = COST_SLOW,
	[X86_INS_XRSTOR64] = COST_SLOW,
	[X86_INS_RDRAND] = COST_SLOW,
	[X86_INS_RDSEED] = COST_SLOW,
	[X86_INS_CPUID] = COST_SERIALISE,
	[X86_INS_MFENCE] = COST_SERIALISE,
	[X86_INS_LFENCE] = COST_SERIALISE,
	[X86_INS_SFENCE] = COST_SERIALISE,
	[X86_INS_RDTSC] = COST_SERIALISE,
	[X86_INS_RDTSCP] = COST_SERIALISE,
	[X86_INS_XGETBV] = COST_SERIALISE,
	[X86_INS_PAUSE] = COST_PAUSE,
};

/* Locked: by its prefix, or because it exchanges with memory. */
static bool is_atomic(const u8 *code, u32 size, struct prefixes x)
{
	bool exchange = x.length + 1 < size && (code[x.length] & 0xfe) == 0x86;

	return x.lock || (exchange && code[x.length + 1] >> 6 != 3);
}

/* The SSE and AVX compares: each condition has an id of its own. `cmpsd` is a string instruction's name, too. */
static bool is_fp_compare(u32 id, const u8 *code, u32 size, struct prefixes x)
{
	if (id == X86_INS_CMPSD && x.length < size && code[x.length] == 0xa7)
		return false;
	return id >= X86_INS_CMPSS && id <= X86_INS_VCMPTRUE_USPD;
}

u8 x86_cost(u32 id, const u8 *code, u32 size)
{
	struct prefixes x = prefixes_of(code, size);

	if (is_atomic(code, size, x))
		return COST_ATOMIC;
	if (is_fp_compare(id, code, size, x))
		return COST_FP;
	return id < X86_INS_ENDING ? costs[id] : (u8)COST_NONE;
}
