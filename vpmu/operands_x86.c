/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Source: Intel SDM volume 2, opcode map and 2.1.5. 64-bit mode only. Instructions that read memory and write it back
 * are two accesses to QEMU, so they are not known; nor are those that may use segments, or vector registers in memory.
 */
#include <string.h>

#include "vpmu/operands.h"

#define RSP 4

/* What an opcode does with its ModRM byte's two operands. */
enum form {
	FORM_UNKNOWN,
	FORM_NOTHING, /* no ModRM, and the stack pointer is not written */
	FORM_REG,     /* writes the register in the opcode */
	FORM_PUSH,
	FORM_POP,
	FORM_CALL,
	FORM_RETURN,
	FORM_LOAD,    /* reg = f(reg, rm) */
	FORM_COMPARE, /* f(reg, rm) */
	FORM_STORE,   /* rm = reg or immediate */
	FORM_CHANGE,  /* rm = f(rm, ...) */
	FORM_ADDRESS, /* lea */
	FORM_ADD,     /* FORM_CHANGE, or with /7 FORM_COMPARE; an immediate is added or subtracted */
	FORM_GROUP3,  /* f6, f7 */
	FORM_GROUP5,  /* fe, ff */
	FORM_VECTOR,  /* two vector registers */
	FORM_HINT,    /* an operand that is not used */
};

struct insn {
	const u8 *p; /* behind the opcode */
	u32 left;
	u8 op, rex;
	bool wide16; /* 66 */
	bool two;    /* 0f */
	u64 end;     /* address behind the instruction */
};

/* add, or, adc, sbb, and, sub, xor */
#define ARITHMETIC(op)                                                                                                \
	[(op)...(op) + 1] = FORM_CHANGE, [(op) + 2 ...(op) + 3] = FORM_LOAD, [(op) + 4 ...(op) + 5] = FORM_NOTHING

static const u8 one_byte[256] = {
	ARITHMETIC(0x00),
	ARITHMETIC(0x08),
	ARITHMETIC(0x10),
	ARITHMETIC(0x18),
	ARITHMETIC(0x20),
	ARITHMETIC(0x28),
	ARITHMETIC(0x30),
	[0x38 ... 0x3b] = FORM_COMPARE,
	[0x3c ... 0x3d] = FORM_NOTHING,
	[0x50 ... 0x57] = FORM_PUSH,
	[0x58 ... 0x5f] = FORM_POP,
	[0x63] = FORM_LOAD,
	[0x69] = FORM_LOAD,
	[0x6b] = FORM_LOAD,
	[0x70 ... 0x7f] = FORM_NOTHING,
	[0x80 ... 0x81] = FORM_ADD,
	[0x83] = FORM_ADD,
	[0x84 ... 0x85] = FORM_COMPARE,
	[0x88 ... 0x89] = FORM_STORE,
	[0x8a ... 0x8b] = FORM_LOAD,
	[0x8d] = FORM_ADDRESS,
	[0x90] = FORM_NOTHING,
	[0x98 ... 0x99] = FORM_NOTHING,
	[0xa8 ... 0xa9] = FORM_NOTHING,
	[0xb0 ... 0xbf] = FORM_REG,
	[0xc0 ... 0xc1] = FORM_CHANGE,
	[0xc3] = FORM_RETURN,
	[0xc6 ... 0xc7] = FORM_STORE,
	[0xd0 ... 0xd3] = FORM_CHANGE,
	[0xe8] = FORM_CALL,
	[0xe9] = FORM_NOTHING,
	[0xeb] = FORM_NOTHING,
	[0xf6 ... 0xf7] = FORM_GROUP3,
	[0xfe ... 0xff] = FORM_GROUP5,
};

static const u8 two_bytes[256] = {
	[0x1f] = FORM_HINT,	     [0x40 ... 0x4f] = FORM_LOAD, /* cmov reads always */
	[0x57] = FORM_VECTOR,	     [0x80 ... 0x8f] = FORM_NOTHING, [0x90 ... 0x9f] = FORM_STORE, [0xaf] = FORM_LOAD,
	[0xb6 ... 0xb7] = FORM_LOAD, [0xbe ... 0xbf] = FORM_LOAD,    [0xef] = FORM_VECTOR,
};

/* log2 of what an access has bytes. */
static u8 shift_of(const struct insn *x)
{
	if (x->two)
		switch (x->op) {
		case 0x90 ... 0x9f:
		case 0xb6:
		case 0xbe:
			return 0;
		case 0xb7:
		case 0xbf:
			return 1;
		}
	else if (x->op == 0x63)
		return 2;
	else if (!(x->op & 1))
		return 0;
	return x->rex & 8 ? 3 : x->wide16 ? 1 : 2;
}

static s64 number(const u8 *p, u32 bytes)
{
	s32 n;

	if (bytes == 1)
		return (int8_t)*p;
	memcpy(&n, p, sizeof(n));
	return n;
}

/* The address that ModRM (at x->p) means. */
static bool take_place(const struct insn *x, struct operands *o)
{
	u8 mod = x->p[0] >> 6, rm = x->p[0] & 7, base = rm, index = RSP;
	u32 at = 1, bytes = mod == 1 ? 1 : mod == 2 ? 4 : 0;
	bool far = x->rex & 1;

	if (rm == 4) {
		if (x->left < 2)
			return false;
		base = x->p[at] & 7;
		index = (u8)((x->p[at] >> 3 & 7) | (x->rex & 2) << 2);
		at++;
	}
	if (!mod && base == 5)
		bytes = 4;
	if (at + bytes > x->left)
		return false;
	o->at = bytes ? number(x->p + at, bytes) : 0;
	if (!mod && rm == 5)
		o->at += (s64)x->end;
	if (index == RSP)
		o->where = !mod && base == 5 ? AT_FIXED : base == RSP && !far ? AT_STACK : AT_ANY;
	return true;
}

/* An access to, or a change of, what ModRM's rm means. */
static bool take_rm(const struct insn *x, struct operands *o, bool reads, bool writes)
{
	if (x->p[0] >> 6 == 3)
		return !writes || (x->p[0] & 7) != RSP || x->rex & 1;
	if (reads == writes)
		return false;
	o->access = true;
	o->store = writes;
	o->shift = shift_of(x);
	return take_place(x, o);
}

/* An immediate added to the stack pointer, or taken away. */
static bool moves_stack(const struct insn *x, struct operands *o)
{
	u8 reg = x->p[0] >> 3 & 7;
	u32 bytes = x->op == 0x83 ? 1 : 4;
	s64 n;

	if (x->p[0] >> 6 != 3 || (x->p[0] & 7) != RSP || x->rex != 0x48 || x->op == 0x80 || (reg != 0 && reg != 5) ||
	    x->left < 1 + bytes)
		return false;
	n = number(x->p + 1, bytes);
	o->moves = (s32)(reg ? -n : n);
	return o->moves == (reg ? -n : n);
}

static void take_stack(struct operands *o, bool store)
{
	o->access = true;
	o->store = store;
	o->shift = 3;
	o->where = AT_STACK;
	o->at = store ? -8 : 0;
	o->moves = store ? -8 : 8;
}

static bool with_modrm(const struct insn *x, enum form form, struct operands *o)
{
	u8 reg = (u8)((x->p[0] >> 3 & 7) | (x->rex & 4) << 1), digit = reg & 7;
	bool memory = x->p[0] >> 6 != 3;

	switch (form) {
	case FORM_LOAD:
		return reg != RSP && take_rm(x, o, true, false);
	case FORM_COMPARE:
		return take_rm(x, o, true, false);
	case FORM_STORE: /* c6, c7: /0 alone */
		return (x->two || x->op < 0xc6 || !digit) && take_rm(x, o, false, true);
	case FORM_CHANGE:
		return take_rm(x, o, true, true);
	case FORM_ADDRESS:
		return reg != RSP && memory;
	case FORM_ADD:
		return moves_stack(x, o) || take_rm(x, o, true, digit != 7);
	case FORM_GROUP3:
		return digit < 4 ? take_rm(x, o, true, digit >= 2) : !memory;
	case FORM_GROUP5:
		return digit < 2 && take_rm(x, o, true, true);
	case FORM_VECTOR:
		return !memory;
	default:
		return form == FORM_HINT;
	}
}

static bool take(const struct insn *x, enum form form, struct operands *o)
{
	u32 reg = (x->op & 7) | (x->rex & 1) << 3;

	switch (form) {
	case FORM_UNKNOWN:
		return false;
	case FORM_NOTHING: /* nop with REX.B is an exchange */
		return x->two || x->op != 0x90 || !x->rex;
	case FORM_REG:
		return reg != RSP;
	case FORM_POP:
		take_stack(o, false);
		return !x->wide16 && reg != RSP;
	case FORM_PUSH:
	case FORM_CALL:
	case FORM_RETURN:
		take_stack(o, form != FORM_RETURN);
		return !x->wide16;
	default:
		return x->left && !(x->wide16 && x->op == 0x63) && with_modrm(x, form, o);
	}
}

struct operands x86_operands(const u8 *code, u32 size, u64 pc)
{
	struct insn x = { .p = code, .left = size, .end = pc + size };
	struct operands o = { 0 };

	if (x.left && *x.p == 0x66) {
		x.wide16 = true;
		x.p++;
		x.left--;
	}
	if (x.left && (*x.p & 0xf0) == 0x40) {
		x.rex = *x.p++;
		x.left--;
	}
	if (x.left > 1 && *x.p == 0x0f) {
		x.two = true;
		x.p++;
		x.left--;
	}
	if (!x.left)
		return o;
	x.op = *x.p++;
	x.left--;
	o.known = take(&x, (x.two ? two_bytes : one_byte)[x.op], &o);
	return o;
}
