/* SPDX-License-Identifier: Apache-2.0 */
/* Source: Intel SDM volume 2, opcode map. 64-bit mode only. */
#include <capstone/x86.h>
#include <string.h>

#include "vpmu/decode_impl.h"

/* Where the opcode begins, and which prefixes stand before it. */
struct prefixes {
	u32 length;
	bool repeat, lock;
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
		case 0x66:
		case 0x67:
			break;
		default:
			if ((p[x.length] & 0xf0) == 0x40) /* REX: the opcode follows */
				x.length++;
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
		out->kind = OP_REP;
}

#define FP_SUFFIXES(name, cost)                                                                                        \
	[X86_INS_##name##SS] = (cost), [X86_INS_##name##SD] = (cost), [X86_INS_##name##PS] = (cost),                   \
	[X86_INS_##name##PD] = (cost), [X86_INS_V##name##SS] = (cost), [X86_INS_V##name##SD] = (cost),                 \
	[X86_INS_V##name##PS] = (cost), [X86_INS_V##name##PD] = (cost)
#define FMA_SUFFIXES(name)                                                                                             \
	[X86_INS_V##name##SS] = COST_FP, [X86_INS_V##name##SD] = COST_FP, [X86_INS_V##name##PS] = COST_FP,             \
	[X86_INS_V##name##PD] = COST_FP
#define FMA_ORDERS(name) FMA_SUFFIXES(name##132), FMA_SUFFIXES(name##213), FMA_SUFFIXES(name##231)

static const u8 costs[X86_INS_ENDING] = {
	[X86_INS_MUL] = COST_MUL,
	[X86_INS_IMUL] = COST_MUL,
	[X86_INS_MULX] = COST_MUL,
	[X86_INS_PMULLD] = COST_MUL,
	[X86_INS_PMULUDQ] = COST_MUL,
	[X86_INS_PCLMULQDQ] = COST_MUL,
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
	[X86_INS_CVTSI2SD] = COST_FP,
	[X86_INS_CVTSI2SS] = COST_FP,
	[X86_INS_CVTTSD2SI] = COST_FP,
	[X86_INS_CVTTSS2SI] = COST_FP,
	[X86_INS_CVTSD2SS] = COST_FP,
	[X86_INS_CVTSS2SD] = COST_FP,
	[X86_INS_CVTDQ2PS] = COST_FP,
	[X86_INS_CVTDQ2PD] = COST_FP,
	[X86_INS_CVTTPS2DQ] = COST_FP,
	[X86_INS_CVTTPD2DQ] = COST_FP,
	/* x87 */
	[X86_INS_FADD] = COST_FP,
	[X86_INS_FIADD] = COST_FP,
	[X86_INS_FSUB] = COST_FP,
	[X86_INS_FSUBR] = COST_FP,
	[X86_INS_FSUBP] = COST_FP,
	[X86_INS_FSUBRP] = COST_FP,
	[X86_INS_FISUB] = COST_FP,
	[X86_INS_FMUL] = COST_FP,
	[X86_INS_FMULP] = COST_FP,
	[X86_INS_FIMUL] = COST_FP,
	[X86_INS_FDIV] = COST_FP_DIV,
	[X86_INS_FDIVP] = COST_FP_DIV,
	[X86_INS_FDIVR] = COST_FP_DIV,
	[X86_INS_FDIVRP] = COST_FP_DIV,
	[X86_INS_FIDIV] = COST_FP_DIV,
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
	[X86_INS_FXSAVE] = COST_SLOW,
	[X86_INS_FXRSTOR] = COST_SLOW,
	[X86_INS_XSAVE] = COST_SLOW,
	[X86_INS_XSAVEC] = COST_SLOW,
	[X86_INS_XRSTOR] = COST_SLOW,
	[X86_INS_RDRAND] = COST_SLOW,
	[X86_INS_RDSEED] = COST_SLOW,
	[X86_INS_CPUID] = COST_SERIALISE,
	[X86_INS_MFENCE] = COST_SERIALISE,
	[X86_INS_LFENCE] = COST_SERIALISE,
	[X86_INS_RDTSC] = COST_SERIALISE,
	[X86_INS_RDTSCP] = COST_SERIALISE,
	[X86_INS_XGETBV] = COST_SERIALISE,
	[X86_INS_PAUSE] = COST_PAUSE,
};

u8 x86_cost(u32 id, const u8 *code, u32 size)
{
	if (prefixes_of(code, size).lock)
		return COST_ATOMIC;
	return id < X86_INS_ENDING ? costs[id] : (u8)COST_NONE;
}
