/* SPDX-License-Identifier: Apache-2.0 */
/* From a frame to its caller's frame, by rules; and the expressions in some rules (DWARF 5, 2.5). */
#include "codec/cfi.h"

#define MAX_OPS 1000 /* steps of an expression */
#define MAX_DEPTH 64 /* of its stack */

/* Operations (DW_OP_*). */
enum {
	OP_ADDR = 0x03,
	OP_DEREF = 0x06,
	OP_CONST1U = 0x08,
	OP_CONST1S = 0x09,
	OP_CONST2U = 0x0a,
	OP_CONST2S = 0x0b,
	OP_CONST4U = 0x0c,
	OP_CONST4S = 0x0d,
	OP_CONST8U = 0x0e,
	OP_CONST8S = 0x0f,
	OP_CONSTU = 0x10,
	OP_CONSTS = 0x11,
	OP_DUP = 0x12,
	OP_DROP = 0x13,
	OP_OVER = 0x14,
	OP_PICK = 0x15,
	OP_SWAP = 0x16,
	OP_ROT = 0x17,
	OP_ABS = 0x19,
	OP_AND = 0x1a,
	OP_DIV = 0x1b,
	OP_MINUS = 0x1c,
	OP_MOD = 0x1d,
	OP_MUL = 0x1e,
	OP_NEG = 0x1f,
	OP_NOT = 0x20,
	OP_OR = 0x21,
	OP_PLUS = 0x22,
	OP_PLUS_UCONST = 0x23,
	OP_SHL = 0x24,
	OP_SHR = 0x25,
	OP_SHRA = 0x26,
	OP_XOR = 0x27,
	OP_BRA = 0x28,
	OP_EQ = 0x29,
	OP_GE = 0x2a,
	OP_GT = 0x2b,
	OP_LE = 0x2c,
	OP_LT = 0x2d,
	OP_NE = 0x2e,
	OP_SKIP = 0x2f,
	OP_LIT0 = 0x30,
	OP_BREG0 = 0x70,
	OP_BREGX = 0x92,
	OP_DEREF_SIZE = 0x94,
	OP_NOP = 0x96,
};

/* An expression that is evaluated. */
struct eval {
	const struct cfi *c;
	const struct cfi_machine *m;
	const struct cfi_frame *f;
	struct cursor code;
	u64 stack[MAX_DEPTH];
	u32 n;
	enum cfi_step end; /* CFI_STEPPED: goes on */
};

static void fail(struct eval *e, enum cfi_step why)
{
	if (e->end == CFI_STEPPED)
		e->end = why;
}

static void push(struct eval *e, u64 v)
{
	if (e->n == MAX_DEPTH)
		fail(e, CFI_NO_SENSE);
	else
		e->stack[e->n++] = v;
}

static u64 pop(struct eval *e)
{
	if (!e->n) {
		fail(e, CFI_NO_SENSE);
		return 0;
	}
	return e->stack[--e->n];
}

/* The one that lies so deep. */
static u64 peek(struct eval *e, u32 depth)
{
	if (depth >= e->n) {
		fail(e, CFI_NO_SENSE);
		return 0;
	}
	return e->stack[e->n - 1 - depth];
}

static void push_register(struct eval *e, u64 reg, u64 offset)
{
	if (reg >= CFI_REGS || !(e->f->known >> reg & 1))
		fail(e, CFI_NO_SENSE);
	else
		push(e, e->f->reg[reg] + offset);
}

static void push_memory(struct eval *e, u32 size)
{
	u64 at = pop(e), v = 0;

	if (!size || size > 8)
		fail(e, CFI_NO_SENSE);
	else if (!e->m->memory(e->m->ctx, at, size, &v))
		fail(e, CFI_NO_MEMORY);
	push(e, v);
}

static void jump(struct eval *e, const struct cfi_expr *expr, bool taken)
{
	s64 by = (int16_t)cursor_u16(&e->code);
	const u8 *begin = e->c->code.p + expr->at;
	s64 to = e->code.p - begin + by;

	if (!taken)
		return;
	if (to < 0 || to > (s64)expr->len)
		fail(e, CFI_NO_SENSE);
	else
		e->code.p = begin + to;
}

/* Operations of two values. False: it is none of them. */
static bool binary(u8 op, u64 a, u64 b, u64 *out)
{
	s64 sa = (s64)a, sb = (s64)b;

	switch (op) {
	case OP_AND:
		*out = a & b;
		return true;
	case OP_DIV:
		*out = sb == -1 ? -a : sb ? (u64)(sa / sb) : 0;
		return true;
	case OP_MINUS:
		*out = a - b;
		return true;
	case OP_MOD:
		*out = b ? a % b : 0;
		return true;
	case OP_MUL:
		*out = a * b;
		return true;
	case OP_OR:
		*out = a | b;
		return true;
	case OP_PLUS:
		*out = a + b;
		return true;
	case OP_SHL:
		*out = b < 64 ? a << b : 0;
		return true;
	case OP_SHR:
		*out = b < 64 ? a >> b : 0;
		return true;
	case OP_SHRA:
		*out = (u64)(sa >> MIN(b, (u64)63));
		return true;
	case OP_XOR:
		*out = a ^ b;
		return true;
	case OP_EQ:
		*out = sa == sb;
		return true;
	case OP_GE:
		*out = sa >= sb;
		return true;
	case OP_GT:
		*out = sa > sb;
		return true;
	case OP_LE:
		*out = sa <= sb;
		return true;
	case OP_LT:
		*out = sa < sb;
		return true;
	case OP_NE:
		*out = sa != sb;
		return true;
	default:
		return false;
	}
}

/* Constants and registers. */
static bool push_operation(struct eval *e, u8 op)
{
	struct cursor *c = &e->code;
	u64 reg;

	if (op >= OP_LIT0 && op < OP_LIT0 + 32) {
		push(e, op - OP_LIT0);
		return true;
	}
	if (op >= OP_BREG0 && op < OP_BREG0 + 32) {
		push_register(e, op - OP_BREG0, cursor_leb(c, true));
		return true;
	}
	switch (op) {
	case OP_CONST1U:
		push(e, cursor_u8(c));
		return true;
	case OP_CONST1S:
		push(e, (u64)(s64)(signed char)cursor_u8(c));
		return true;
	case OP_CONST2U:
		push(e, cursor_u16(c));
		return true;
	case OP_CONST2S:
		push(e, (u64)(s64)(int16_t)cursor_u16(c));
		return true;
	case OP_CONST4U:
		push(e, cursor_u32(c));
		return true;
	case OP_CONST4S:
		push(e, (u64)(s64)(s32)cursor_u32(c));
		return true;
	case OP_CONST8U:
	case OP_CONST8S:
		push(e, cursor_u64(c));
		return true;
	case OP_CONSTU:
		push(e, cursor_leb(c, false));
		return true;
	case OP_CONSTS:
		push(e, cursor_leb(c, true));
		return true;
	case OP_BREGX:
		reg = cursor_leb(c, false);
		push_register(e, reg, cursor_leb(c, true));
		return true;
	default:
		return false;
	}
}

/* What moves values on the stack, and operations of one value. */
static bool stack_operation(struct eval *e, u8 op)
{
	u64 a, b, d;

	switch (op) {
	case OP_DUP:
		push(e, peek(e, 0));
		return true;
	case OP_DROP:
		(void)pop(e);
		return true;
	case OP_OVER:
		push(e, peek(e, 1));
		return true;
	case OP_PICK:
		push(e, peek(e, cursor_u8(&e->code)));
		return true;
	case OP_SWAP:
		a = pop(e), b = pop(e);
		push(e, a), push(e, b);
		return true;
	case OP_ROT:
		a = pop(e), b = pop(e), d = pop(e);
		push(e, a), push(e, d), push(e, b);
		return true;
	case OP_ABS:
		a = pop(e);
		push(e, (s64)a < 0 ? -a : a);
		return true;
	case OP_NEG:
		push(e, -pop(e));
		return true;
	case OP_NOT:
		push(e, ~pop(e));
		return true;
	case OP_PLUS_UCONST:
		a = pop(e);
		push(e, a + cursor_leb(&e->code, false));
		return true;
	case OP_DEREF:
		push_memory(e, e->c->is64 ? 8 : 4);
		return true;
	case OP_DEREF_SIZE:
		push_memory(e, cursor_u8(&e->code));
		return true;
	case OP_NOP:
		return true;
	default:
		return false;
	}
}

static void operation(struct eval *e, const struct cfi_expr *expr)
{
	u8 op = cursor_u8(&e->code);
	u64 a, b, v;

	if (push_operation(e, op) || stack_operation(e, op))
		return;
	if (op == OP_SKIP || op == OP_BRA) {
		jump(e, expr, op == OP_SKIP || pop(e));
		return;
	}
	b = pop(e), a = pop(e);
	if (binary(op, a, b, &v))
		push(e, v);
	else
		fail(e, CFI_NO_SENSE);
}

/* on_stack: begins with the frame's address. */
static enum cfi_step evaluate(const struct cfi *c, u32 id, const struct cfi_machine *m, const struct cfi_frame *f,
			      const u64 *on_stack, u64 *out)
{
	const struct cfi_expr *expr = &c->exprs.v[id];
	struct eval e = { .c = c, .m = m, .f = f };

	if (expr->len) /* there may be no code at all */
		e.code = cursor_over(c->code.p + expr->at, expr->len, c->swap);
	if (on_stack)
		push(&e, *on_stack);
	for (u32 i = 0; cursor_left(&e.code) && e.end == CFI_STEPPED; i++) {
		operation(&e, expr);
		if (e.code.bad || i == MAX_OPS)
			fail(&e, CFI_NO_SENSE);
	}
	*out = pop(&e);
	return e.end;
}

static enum cfi_step frame_address(const struct cfi *c, const struct cfi_rules *r, const struct cfi_machine *m,
				   const struct cfi_frame *f, u64 *out)
{
	if (r->cfa_how == CFI_EXPR)
		return evaluate(c, (u32)r->cfa, m, f, NULL, out);
	if (r->cfa_how != CFI_OFFSET || !(f->known >> r->cfa_reg & 1))
		return CFI_NO_SENSE;
	*out = f->reg[r->cfa_reg] + (u64)(s64)r->cfa;
	return CFI_STEPPED;
}

/* The value that a register had in the caller. A value that cannot be had is a reason to stop only where it is the
 * return address; others become unknown. */
static enum cfi_step caller_value(const struct cfi *c, const struct cfi_rules *r, u32 reg, u64 cfa,
				  const struct cfi_machine *m, const struct cfi_frame *f, u64 *out)
{
	u32 word = c->is64 ? 8 : 4;
	s32 value = r->value[reg];
	enum cfi_step step;
	u64 at = cfa + (u64)(s64)value;

	switch (r->how[reg]) {
	case CFI_SAVED:
		return m->memory(m->ctx, at, word, out) ? CFI_STEPPED : CFI_NO_MEMORY;
	case CFI_OFFSET:
		*out = at;
		return CFI_STEPPED;
	case CFI_REGISTER:
		if ((u32)value >= CFI_REGS || !(f->known >> value & 1))
			return CFI_NO_SENSE;
		*out = f->reg[value];
		return CFI_STEPPED;
	case CFI_EXPR:
		return evaluate(c, (u32)value, m, f, &cfa, out);
	case CFI_SAVED_EXPR:
		step = evaluate(c, (u32)value, m, f, &cfa, &at);
		if (step != CFI_STEPPED)
			return step;
		return m->memory(m->ctx, at, word, out) ? CFI_STEPPED : CFI_NO_MEMORY;
	case CFI_UNDEFINED:
		return CFI_NO_SENSE;
	default:
		*out = f->reg[reg];
		return f->known >> reg & 1 ? CFI_STEPPED : CFI_NO_SENSE;
	}
}

enum cfi_step cfi_step(const struct cfi *c, const struct cfi_rules *r, const struct cfi_machine *m,
		       struct cfi_frame *f)
{
	struct cfi_frame next = { 0 };
	enum cfi_step step;
	u64 cfa, back;

	if (r->how[r->return_reg] == CFI_UNDEFINED)
		return CFI_OUTERMOST;
	step = frame_address(c, r, m, f, &cfa);
	if (step != CFI_STEPPED)
		return step;
	step = caller_value(c, r, r->return_reg, cfa, m, f, &back);
	if (step != CFI_STEPPED)
		return step;
	for (u32 i = 0; i < CFI_REGS; i++)
		if (i != m->pc && (r->how[i] != CFI_SAME || f->known >> i & 1) &&
		    caller_value(c, r, i, cfa, m, f, &next.reg[i]) == CFI_STEPPED)
			next.known |= 1ull << i;
	if (r->how[m->sp] == CFI_SAME) {
		next.reg[m->sp] = cfa;
		next.known |= 1ull << m->sp;
	}
	next.reg[m->pc] = back;
	next.known |= 1ull << m->pc;
	*f = next;
	return CFI_STEPPED;
}

struct cfi_short cfi_shorten(const struct cfi *c, const struct cfi_rules *r, const struct cfi_machine *m)
{
	const struct cfi_short no = { .n = CFI_NOT_SHORT };
	struct cfi_short out = { .cfa = r->cfa, .cfa_reg = r->cfa_reg };
	s32 back = r->value[r->return_reg];

	if (!c->is64 || c->swap || r->signal || r->cfa_how != CFI_OFFSET || r->how[m->sp] != CFI_SAME ||
	    r->how[r->return_reg] != CFI_SAVED || back != (int16_t)back)
		return no;
	out.back = (int16_t)back;
	for (u32 i = 0; i < CFI_REGS; i++) {
		if (i == m->pc || r->how[i] == CFI_SAME)
			continue;
		if (r->how[i] != CFI_SAVED || r->value[i] != (int16_t)r->value[i] || out.n == CFI_SHORT_SAVED)
			return no;
		out.at[out.n] = (int16_t)r->value[i];
		out.reg[out.n++] = (u8)i;
	}
	return out;
}

enum cfi_step cfi_short_step(const struct cfi_short *r, const struct cfi_machine *m, struct cfi_frame *f)
{
	u64 cfa = f->reg[r->cfa_reg] + (u64)(s64)r->cfa, back;

	if (!(f->known >> r->cfa_reg & 1))
		return CFI_NO_SENSE;
	if (!m->memory(m->ctx, cfa + (u64)(s64)r->back, 8, &back))
		return CFI_NO_MEMORY;
	for (u32 i = 0; i < r->n; i++) {
		u64 bit = 1ull << r->reg[i];

		f->known &= ~bit;
		if (m->memory(m->ctx, cfa + (u64)(s64)r->at[i], 8, &f->reg[r->reg[i]]))
			f->known |= bit;
	}
	f->reg[m->sp] = cfa;
	f->reg[m->pc] = back;
	f->known |= 1ull << m->sp | 1ull << m->pc;
	return CFI_STEPPED;
}
