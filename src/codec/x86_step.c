/* SPDX-License-Identifier: Apache-2.0 */
/* Source: Intel's Software Developer's Manual, volume 2, appendix A, for x86-64. */
#include <string.h>

#include "codec/step.h"
#include "codec/x86_length.h"

/* DWARF's numbers of the registers, by the processor's. */
static const u8 dwarf_of[16] = { 0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15 };
enum { RAX = 0, RDX = 1, RCX = 2, RBX = 3, RSI = 4, RDI = 5, RBP = 6, RSP = 7, R11 = 11 };

#define BIT(reg) (1u << (reg))
#define ALL 0xffffu
#define CALLER_SAVED (BIT(RAX) | BIT(RDX) | BIT(RCX) | BIT(RSI) | BIT(RDI) | BIT(8) | BIT(9) | BIT(10) | BIT(R11))

struct insn {
	const u8 *p; /* the opcode, behind escapes */
	u32 n;	     /* bytes from there on */
	u64 next;    /* address */
	bool wide, small, segment, fs, short_address;
	u8 rex;	  /* bits: 1 base, 2 index, 4 reg */
	u8 third; /* the register that VEX names */
	bool vex, evex;
	bool has_rex, byte; /* without REX, registers 4 to 7 of a byte are ah, ch, dh and bh */
	/* Of the ModRM byte. */
	u8 mod, reg, rm; /* reg and rm: DWARF's numbers */
	u8 digit;
	struct step *out;
};

static s64 value_at(const u8 *p, u32 size)
{
	signed char one;
	s32 four;
	s64 eight;

	if (size == 1) {
		memcpy(&one, p, 1);
		return one;
	}
	if (size == 4) {
		memcpy(&four, p, 4);
		return four;
	}
	memcpy(&eight, p, 8);
	return eight;
}

/* The length was decoded before, so all of it is there. Returns the bytes that ModRM and what belongs to it take. */
static u32 take_operand(struct insn *i, const u8 *p)
{
	struct step_operand *at = &i->out->at;
	u32 size = 1, rm = p[0] & 7, base;

	i->mod = p[0] >> 6;
	i->digit = p[0] >> 3 & 7;
	i->reg = dwarf_of[i->digit | (i->rex & 4 ? 8 : 0)];
	i->rm = dwarf_of[rm | (i->rex & 1 ? 8 : 0)];
	if (i->byte && !i->has_rex) {
		i->reg = dwarf_of[i->digit & 3];
		i->rm = i->mod == 3 ? dwarf_of[rm & 3] : i->rm;
	}
	if (i->mod == 3)
		return size;
	*at = (struct step_operand){ .base = i->rm, .index = STEP_NONE, .scale = 1 };
	if (rm == 4) {
		u32 index = (p[1] >> 3 & 7) | (i->rex & 2 ? 8 : 0);

		base = p[1] & 7;
		at->scale = (u8)(1 << (p[1] >> 6));
		at->index = index == 4 ? STEP_NONE : dwarf_of[index];
		at->base = dwarf_of[base | (i->rex & 1 ? 8 : 0)];
		size = 2;
		if (!i->mod && base == 5)
			at->base = STEP_NONE;
	}
	if (!i->mod && (rm == 5 || at->base == STEP_NONE)) {
		at->disp = value_at(p + size, 4);
		if (rm == 5) {
			at->disp += (s64)i->next;
			at->base = STEP_NONE;
		}
		return size + 4;
	}
	if (i->mod)
		at->disp = value_at(p + size, i->mod == 1 ? 1 : 4);
	return size + (i->mod == 1 ? 1 : i->mod == 2 ? 4 : 0);
}

static void clobber(struct insn *i, u32 reg)
{
	i->out->clobbers |= BIT(reg);
}

/* The operand is loaded or stored, or is a register that changes, if it does. */
static void use_operand(struct insn *i, bool changes)
{
	struct step *s = i->out;

	if (i->mod == 3) {
		if (changes)
			clobber(i, i->rm);
		return;
	}
	s->access = true;
	if (i->segment && i->fs && s->at.base == STEP_NONE && s->at.index == STEP_NONE && s->at.disp == 0x28)
		s->canary = true;
	s->unclear |= i->segment || i->short_address || (i->evex && i->mod == 1);
}

static void set(struct insn *i, enum step_kind kind, u8 dst)
{
	i->out->kind = kind;
	i->out->dst = dst;
	i->out->narrow = !i->wide;
	if (i->small) { /* the rest of the register stays */
		i->out->kind = STEP_OTHER;
		clobber(i, dst);
	}
}

static void sum(struct insn *i, u8 dst, u8 src, s64 imm)
{
	i->out->src = src;
	i->out->index = STEP_NONE;
	i->out->imm = imm;
	set(i, STEP_SUM, dst);
}

static void push(struct insn *i, s64 by)
{
	i->out->stack = !i->out->access;
	i->out->unclear |= i->out->access;
	i->out->moved = RSP;
	i->out->by = by;
}

/* 00 to 3f: op is add, or, adc, sbb, and, sub, xor, cmp. */
static void arithmetic(struct insn *i, u8 opcode)
{
	u32 op = opcode >> 3, form = opcode & 7;
	bool byte = !(form & 1), to_reg = form & 2;

	if (form > 3) {
		if (op != 7)
			clobber(i, RAX);
		return;
	}
	i->byte = byte;
	take_operand(i, i->p + 1);
	use_operand(i, op != 7 && !to_reg);
	if (op == 7)
		return;
	if (to_reg)
		clobber(i, i->reg);
	if (byte || i->mod != 3)
		return;
	if (op == 0) {
		sum(i, to_reg ? i->reg : i->rm, to_reg ? i->reg : i->rm, 0);
		i->out->index = to_reg ? i->rm : i->reg;
		i->out->scale = 1;
	} else if (op == 6 && i->reg == i->rm) {
		i->out->imm = 0;
		i->wide = true;
		set(i, STEP_SET, i->reg);
	}
}

/* 80, 81, 83. */
static void with_value(struct insn *i, u8 opcode)
{
	u32 size;
	s64 value;

	i->byte = opcode == 0x80;
	size = take_operand(i, i->p + 1);
	value = i->small && opcode == 0x81 ? 0 : value_at(i->p + 1 + size, opcode == 0x81 ? 4 : 1);

	use_operand(i, i->digit != 7);
	if (i->mod == 3 && opcode != 0x80 && (i->digit == 0 || i->digit == 5))
		sum(i, i->rm, i->rm, i->digit ? -value : value);
}

static void move(struct insn *i, u8 opcode)
{
	bool to_reg = opcode & 2, byte = !(opcode & 1);
	u8 dst;

	i->byte = byte;
	take_operand(i, i->p + 1);
	use_operand(i, !to_reg);
	dst = to_reg ? i->reg : i->rm;
	if (to_reg)
		clobber(i, dst);
	if (byte || (i->mod != 3 && (!to_reg || !i->wide)))
		return;
	i->out->src = to_reg ? i->rm : i->reg;
	set(i, i->mod == 3 ? STEP_MOVE : STEP_LOAD, dst);
}

static void lea(struct insn *i)
{
	struct step *s = i->out;

	take_operand(i, i->p + 1);
	clobber(i, i->reg);
	if (i->mod == 3 || i->short_address)
		return;
	if (s->at.base == STEP_NONE && s->at.index == STEP_NONE) {
		s->imm = s->at.disp;
		s->address = true;
		set(i, STEP_SET, i->reg);
		return;
	}
	sum(i, i->reg, s->at.base, s->at.disp);
	s->index = s->at.index;
	s->scale = s->at.scale;
}

static void scale(struct insn *i, u8 dst, u8 src, s64 by)
{
	i->out->src = src;
	i->out->imm = by;
	set(i, STEP_SCALE, dst);
}

/* c0, c1, d0 to d3. */
static void shift(struct insn *i, u8 opcode)
{
	u32 size, by;

	i->byte = !(opcode & 1);
	size = take_operand(i, i->p + 1);
	use_operand(i, true);
	if (!(opcode & 1) || i->mod != 3 || i->digit != 4 || opcode == 0xd3)
		return;
	by = opcode == 0xd1 ? 1 : i->p[1 + size] & (i->wide ? 63 : 31);
	if (by < 62)
		scale(i, i->rm, i->rm, (s64)1 << by);
}

static void multiply(struct insn *i, u8 opcode)
{
	u32 size = take_operand(i, i->p + 1);

	use_operand(i, false);
	clobber(i, i->reg);
	if (opcode == 0x69 && i->small)
		return;
	scale(i, i->reg, i->mod == 3 ? i->rm : STEP_NONE, value_at(i->p + 1 + size, opcode == 0x69 ? 4 : 1));
}

static void call(struct insn *i)
{
	i->out->flow = STEP_CALL;
	i->out->clobbers |= CALLER_SAVED;
	i->out->stack = !i->out->access;
	i->out->unclear |= i->out->access;
}

/* fe, ff. */
static void group_five(struct insn *i, u8 opcode)
{
	i->byte = opcode == 0xfe;
	take_operand(i, i->p + 1);
	use_operand(i, i->digit < 2);
	if (i->digit < 2) {
		if (opcode == 0xff && i->mod == 3)
			sum(i, i->rm, i->rm, i->digit ? -1 : 1);
	} else if (i->digit == 2) {
		call(i);
	} else if (i->digit == 4) {
		i->out->flow = STEP_AWAY;
	} else if (i->digit == 6) {
		push(i, -8);
	} else {
		i->out->unclear = true;
		i->out->flow = STEP_AWAY;
		i->out->clobbers = ALL;
	}
}

/* a4 to a7, aa to af: one after the other, so where they are is not told. */
static void strings(struct insn *i)
{
	i->out->access = i->out->unclear = true;
	i->out->clobbers |= BIT(RSI) | BIT(RDI) | BIT(RCX) | BIT(RAX);
}

static void jump(struct insn *i, enum step_flow flow, u32 size)
{
	i->out->flow = (u8)flow;
	i->out->target = i->next + (u64)value_at(i->p + 1, size);
}

/*
 * What opcodes of one byte do: . nothing that matters, - too much, a arithmetic, v the same with a value, p push, o
 * pop, q pop of a register, x moves a smaller number, u multiplies by a value, j may jump, r only reads its operand,
 * w changes it, b changes the register, too, m moves, l takes an address, T trades with rax, n may do nothing, s
 * works on strings, A changes rax, E extends it, D changes rdx, i and I set a register, h shifts, R returns, V stores
 * a value, L leaves a frame, e ends, f works on floating point, c changes rcx and may jump, C calls, J jumps, g and G
 * are groups.
 */
static const char one_byte_does[] = "aaaaaa--aaaaaa--" /* 0 */
				    "aaaaaa--aaaaaa--"
				    "aaaaaa--aaaaaa--"
				    "aaaaaa--aaaaaa--"
				    "----------------" /* 4 */
				    "ppppppppqqqqqqqq"
				    "---x----pupu----"
				    "jjjjjjjjjjjjjjjj"
				    "vv-vrrbbmmmm-l--" /* 8 */
				    "nTTTTTTTED-.po.A"
				    "----ssss..ssssss"
				    "iiiiiiiiIIIIIIII"
				    "hhRR--VV-L--e--e" /* c */
				    "hhhh----ffffffff"
				    "cccc----CJ-J----"
				    "----..gg......GG";
/* Behind 0f: n nothing, y calls the kernel, d reads the time, i asks what the processor is, s turns bytes around, k
 * sets a byte, t works on a bit that may be far away, 1 and 2 compare and exchange; and K moves, if. */
static const char two_bytes_do[] = "-----y-----e-r--" /* 0 */
				   "rrrrrrrrrnnnnnnn"
				   "--------rrrrRRrr"
				   "-d--------------"
				   "KKKKKKKKKKKKKKKK" /* 4 */
				   "Rrrrrrrrrrrrrrrr"
				   "rrrrrrrrrrrrrrrr"
				   "rrrrrrr.RRrrrrwr"
				   "jjjjjjjjjjjjjjjj" /* 8 */
				   "kkkkkkkkkkkkkkkk"
				   "poitww--po-twwwR"
				   "11RtRRRRRRwtRRRR"
				   "bbrrrRr2ssssssss" /* c */
				   "rrrrrrrRrrrrrrrr"
				   "rrrrrrrrrrrrrrrr"
				   "rrrrrrrrrrrrrrrr";

/* Those that have a ModRM byte. changes: the operand does. */
static void with_operand(struct insn *i, bool changes)
{
	take_operand(i, i->p + 1);
	use_operand(i, changes);
}

static u8 low_register(const struct insn *i)
{
	return dwarf_of[(i->p[0] & 7) | (i->rex & 1 ? 8 : 0)];
}

/* A number that is moved into a wider register. */
static void extend(struct insn *i, u8 to, u8 from)
{
	i->out->src = from;
	i->wide = false;
	set(i, STEP_MOVE, to);
}

static void set_register(struct insn *i, bool byte)
{
	u8 op = i->p[0];

	if (byte) {
		clobber(i, i->has_rex ? low_register(i) : dwarf_of[op & 3]);
		return;
	}
	i->out->imm = i->small ? 0 : i->wide ? value_at(i->p + 1, 8) : (s64)(u32)value_at(i->p + 1, 4);
	i->wide = true; /* the upper half becomes zero, and it may be an address */
	set(i, STEP_SET, low_register(i));
}

/* c6, c7. */
static void store_value(struct insn *i)
{
	bool byte = i->p[0] == 0xc6;
	u32 size;

	i->byte = byte;
	size = take_operand(i, i->p + 1);
	use_operand(i, true);
	if (i->mod != 3 || byte)
		return;
	i->out->imm = i->small ? 0 : value_at(i->p + 1 + size, 4);
	if (i->digit) { /* xbegin: a transaction that fails goes on there, and rax says why */
		i->out->flow = STEP_BRANCH;
		i->out->target = i->next + (u64)i->out->imm;
		clobber(i, RAX);
		return;
	}
	if (!i->wide)
		i->out->imm = (s64)(u32)i->out->imm;
	i->wide = true;
	set(i, STEP_SET, i->rm);
}

/* f6, f7. */
static void group_three(struct insn *i)
{
	i->byte = i->p[0] == 0xf6;
	take_operand(i, i->p + 1);
	use_operand(i, i->digit == 2 || i->digit == 3);
	if (i->digit > 3)
		i->out->clobbers |= BIT(RAX) | BIT(RDX);
}

static void leave(struct insn *i)
{
	i->wide = true;
	sum(i, RSP, RBP, 8);
	clobber(i, RBP);
	i->out->stack = true;
}

/* Of one byte: what does not work on an operand. False: it may. */
static bool plain(struct insn *i, char does)
{
	struct step *s = i->out;
	u8 op = i->p[0];

	switch (does) {
	case '.':
		return true;
	case 'p':
	case 'o':
		push(i, does == 'p' ? -8 : 8);
		return true;
	case 'q':
		clobber(i, low_register(i));
		push(i, 8);
		return true;
	case 'c':
		clobber(i, RCX);
		jump(i, STEP_BRANCH, 1);
		return true;
	case 'J':
		jump(i, STEP_JUMP, op == 0xe9 ? 4 : 1);
		return true;
	case 'C':
		call(i);
		jump(i, STEP_CALL, 4);
		return true;
	case 'R':
		push(i, 8);
		s->flow = STEP_END;
		return true;
	case 'e':
		s->flow = STEP_END;
		return true;
	case 'T':
		s->clobbers |= BIT(RAX) | BIT(low_register(i));
		return true;
	case 'A':
	case 'D':
		clobber(i, does == 'A' ? RAX : RDX);
		return true;
	case 'E':
		extend(i, RAX, RAX);
		return true;
	case 's':
		strings(i);
		return true;
	case 'L':
		leave(i);
		return true;
	case 'i':
	case 'I':
		set_register(i, does == 'i');
		return true;
	default:
		return false;
	}
}

static void group(struct insn *i, char does)
{
	if (does == 'V')
		store_value(i);
	else if (does == 'g')
		group_three(i);
	else if (does == 'G')
		group_five(i, i->p[0]);
	else
		i->out->clobbers = ALL;
}

static void one_byte(struct insn *i)
{
	u8 op = i->p[0];
	char does = one_byte_does[op];

	if (plain(i, does))
		return;
	switch (does) {
	case 'a':
		arithmetic(i, op);
		return;
	case 'v':
		with_value(i, op);
		return;
	case 'j':
		jump(i, STEP_BRANCH, 1);
		return;
	case 'x':
		with_operand(i, false);
		clobber(i, i->reg);
		if (i->mod == 3)
			extend(i, i->reg, i->rm);
		return;
	case 'u':
		multiply(i, op);
		return;
	case 'f':
		clobber(i, RAX); /* fnstsw */
				 /* fallthrough */
	case 'r':
		with_operand(i, false);
		return;
	case 'b':
		i->byte = op == 0x86;
		with_operand(i, true);
		clobber(i, i->reg);
		return;
	case 'm':
		move(i, op);
		return;
	case 'l':
		lea(i);
		return;
	case 'n':
		i->out->nothing = !(i->rex & 1);
		i->out->clobbers |= i->rex & 1 ? BIT(RAX) | BIT(8) : 0;
		return;
	case 'h':
		shift(i, op);
		return;
	case 'V':
		store_value(i);
		return;
	default:
		group(i, does);
		return;
	}
}

/* Of two bytes: what has no operand. False: it has one. */
static bool plain_of_two(struct insn *i, char does)
{
	struct step *s = i->out;

	switch (does) {
	case '.':
		return true;
	case 'n':
		s->nothing = i->p[0] == 0x1f;
		if (i->p[0] == 0x1e && (i->p[1] & 0xf8) == 0xc8) /* rdssp */
			clobber(i, dwarf_of[(i->p[1] & 7) | (i->rex & 1 ? 8 : 0)]);
		return true;
	case 'y':
		s->clobbers |= BIT(RAX) | BIT(RCX) | BIT(R11);
		return true;
	case 'e':
		s->flow = STEP_END;
		return true;
	case 'd':
		s->clobbers |= BIT(RAX) | BIT(RDX);
		return true;
	case 'i':
		s->clobbers |= BIT(RAX) | BIT(RBX) | BIT(RCX) | BIT(RDX);
		return true;
	case 'j':
		jump(i, STEP_BRANCH, 4);
		return true;
	case 'p':
	case 'o':
		push(i, does == 'p' ? -8 : 8);
		return true;
	case 's':
		clobber(i, low_register(i));
		return true;
	case '-':
		s->clobbers = ALL;
		return true;
	default:
		return false;
	}
}

static void move_if(struct insn *i)
{
	with_operand(i, false);
	if (i->vex)
		return; /* works on masks */
	if (i->mod != 3 || !i->wide || i->small) {
		clobber(i, i->reg);
		return;
	}
	i->out->src = i->rm;
	set(i, STEP_EITHER, i->reg);
}

/* Behind 0f, of which VEX has the same numbers for what works on vectors. */
static void two_bytes(struct insn *i)
{
	u8 op = i->p[0];
	char does = two_bytes_do[op];

	if (plain_of_two(i, does))
		return;
	i->byte = (does == 'k' && !i->vex) || op == 0xb0 || op == 0xc0;
	switch (does) {
	case 'K':
		move_if(i);
		return;
	case 't': /* the number of the bit says how far away it is */
		with_operand(i, true);
		i->out->unclear |= i->mod != 3;
		return;
	case '1':
		with_operand(i, true);
		clobber(i, RAX);
		return;
	case '2':
		with_operand(i, true);
		i->out->clobbers |= BIT(RAX) | BIT(RDX);
		return;
	case 'k':
		with_operand(i, !i->vex); /* with VEX it works on masks, which 93 moves into a register */
		if (i->vex && op == 0x93)
			clobber(i, i->reg);
		return;
	case 'b':
	case 'R':
		with_operand(i, does == 'b');
		clobber(i, i->reg);
		return;
	default:
		with_operand(i, does == 'w');
		return;
	}
}

/* Behind 0f 38 and 0f 3a, or in the same maps of VEX. */
static void three_bytes(struct insn *i, bool values)
{
	struct step *s = i->out;
	u8 op = i->p[0];

	take_operand(i, i->p + 1);
	use_operand(i, (values && op >= 0x14 && op <= 0x17) || (!values && op >= 0xf0));
	if (op >= 0xf0) {
		clobber(i, i->reg);
		if (i->third != STEP_NONE)
			clobber(i, i->third);
	}
	if (values && op >= 0x60 && op <= 0x63)
		clobber(i, RCX);
	/* Gathers and scatters have vectors of addresses; others from f8 on take theirs from several registers. */
	if (!values && ((op >= 0x90 && op <= 0x93) || (op >= 0xa0 && op <= 0xa3) || op >= 0xf8))
		s->unclear = true;
}

/* VEX and EVEX. Returns the map. */
static u32 take_vex(struct insn *i)
{
	const u8 *p = i->p;
	u32 head = p[0] == 0xc5 ? 2 : p[0] == 0xc4 ? 3 : 4, map = p[0] == 0xc5 ? 1 : p[1] & (p[0] == 0xc4 ? 0x1f : 7);
	u8 more = p[0] == 0xc5 ? p[1] : p[2];

	i->rex = (u8)(~p[1] >> 5 & 4);
	if (head > 2)
		i->rex = (u8)((~p[1] >> 5 & 4) | (~p[1] >> 5 & 2) | (~p[1] >> 5 & 1));
	i->third = dwarf_of[~more >> 3 & 15];
	i->wide = head > 2 && more & 0x80;
	i->vex = true;
	i->evex = head == 4;
	i->p += head;
	i->n -= head;
	return map;
}

static void prefixes(struct insn *i, const u8 *code, u32 n)
{
	for (u32 k = 0; k < n; k++) {
		i->small |= code[k] == 0x66;
		i->short_address |= code[k] == 0x67;
		i->segment |= code[k] == 0x64 || code[k] == 0x65;
		i->fs |= code[k] == 0x64;
	}
	if (n && (code[n - 1] & 0xf0) == 0x40) {
		i->has_rex = true;
		i->rex = code[n - 1] & 7;
		i->wide = code[n - 1] & 8;
	}
	i->small &= !i->wide;
}

void x86_step(const u8 *code, u32 n, u64 pc, struct step *out)
{
	struct x86_insn known;
	struct insn i = { .out = out, .third = STEP_NONE, .mod = 3 };

	*out = (struct step){ .dst = STEP_NONE,
			      .dst2 = STEP_NONE,
			      .src = STEP_NONE,
			      .index = STEP_NONE,
			      .by_index = STEP_NONE,
			      .moved = STEP_NONE };
	out->at.base = out->at.index = STEP_NONE;
	if (!x86_insn_decode(code, n, &known))
		return;
	out->size = (u8)known.size;
	prefixes(&i, code, known.opcode);
	i.p = code + known.opcode;
	i.n = known.size - known.opcode;
	i.next = pc + known.size;
	if (i.p[0] == 0xc4 || i.p[0] == 0xc5 || i.p[0] == 0x62) {
		u32 map = take_vex(&i);

		if (map == 1)
			two_bytes(&i);
		else if (map == 2 || map == 3)
			three_bytes(&i, map == 3);
		else
			out->clobbers = ALL;
	} else if (i.p[0] != 0x0f) {
		one_byte(&i);
	} else if (i.p[1] == 0x38 || i.p[1] == 0x3a) {
		bool values = i.p[1] == 0x3a;

		i.p += 2;
		three_bytes(&i, values);
	} else {
		i.p++;
		two_bytes(&i);
	}
}
