/* SPDX-License-Identifier: Apache-2.0 */
/* The programs of call frame information, run once to rows. */
#include "codec/cfi.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"

/* What a file may ask for. Large programs have some thousands of different rules. */
#define MAX_RULES (1u << 17)
#define MAX_PROGRAM (64u << 10) /* bytes of a program: that of a CIE runs again for each of its functions */
#define ENTRY_CODE 32 /* bytes of the code with which a program begins: it calls a function that does not return */
#define MAX_SAVED 32  /* rules that a program remembers, one behind the other */

/* Instructions: the upper two bits, or the whole byte where those are zero (DW_CFA_*). */
enum {
	OP_ADVANCE = 0x40,
	OP_OFFSET = 0x80,
	OP_RESTORE = 0xc0,
	OP_NOP = 0x00,
	OP_SET_LOC = 0x01,
	OP_ADVANCE1 = 0x02,
	OP_ADVANCE2 = 0x03,
	OP_ADVANCE4 = 0x04,
	OP_OFFSET_EXTENDED = 0x05,
	OP_RESTORE_EXTENDED = 0x06,
	OP_UNDEFINED = 0x07,
	OP_SAME_VALUE = 0x08,
	OP_REGISTER = 0x09,
	OP_REMEMBER_STATE = 0x0a,
	OP_RESTORE_STATE = 0x0b,
	OP_DEF_CFA = 0x0c,
	OP_DEF_CFA_REGISTER = 0x0d,
	OP_DEF_CFA_OFFSET = 0x0e,
	OP_DEF_CFA_EXPRESSION = 0x0f,
	OP_EXPRESSION = 0x10,
	OP_OFFSET_EXTENDED_SF = 0x11,
	OP_DEF_CFA_SF = 0x12,
	OP_DEF_CFA_OFFSET_SF = 0x13,
	OP_VAL_OFFSET = 0x14,
	OP_VAL_OFFSET_SF = 0x15,
	OP_VAL_EXPRESSION = 0x16,
	OP_NEGATE_RA_STATE = 0x2d, /* aarch64; on SPARC it is another one */
	OP_ARGS_SIZE = 0x2e,	   /* GNU: nothing for us */
	OP_NEGATIVE_OFFSET = 0x2f, /* GNU, obsolete */
};

/* A program that runs. */
struct run {
	struct cfi *out;
	const struct cfi_function *fn;
	struct cfi_span span;
	struct cfi_rules now, initial, saved[MAX_SAVED];
	u32 nr_saved;
	u64 addr;	/* how far it has come */
	u64 shift;	/* from addresses as linked to places */
	bool in_common; /* it is the CIE's, which has no addresses */
	bool bad;
};

static u32 expression(struct run *r, struct cursor *c)
{
	struct cfi *out = r->out;
	u64 len = cursor_leb(c, false), hash;
	const u8 *p = cursor_bytes(c, len);
	u32 id, at;

	if (!p) {
		r->bad = true;
		return 0;
	}
	hash = hash_bytes(p, len);
	SET_FIND(id, &out->known_exprs, hash, at,
		 out->exprs.v[id].len == len && (!len || !memcmp(out->code.p + out->exprs.v[id].at, p, len)));
	if (id != ID_NONE)
		return id;
	id = (u32)out->exprs.n;
	vec_push(&out->exprs, (struct cfi_expr){ (u32)out->code.len, (u32)len });
	bytes_put(&out->code, p, len);
	set_add(&out->known_exprs, hash, id);
	return id;
}

/* Rules of registers that we do not follow (vectors) are read and forgotten. */
static void rule(struct run *r, u64 reg, enum cfi_how how, s64 value)
{
	if (reg >= CFI_REGS)
		return;
	if (value != (s32)value)
		r->bad = true;
	r->now.how[reg] = (u8)how;
	r->now.value[reg] = (s32)value;
}

static void restore(struct run *r, u64 reg)
{
	if (reg < CFI_REGS)
		rule(r, reg, r->initial.how[reg], r->initial.value[reg]);
}

static void frame_at(struct run *r, u64 reg, s64 offset)
{
	if (reg >= CFI_REGS || offset != (s32)offset)
		r->bad = true;
	r->now.cfa_how = CFI_OFFSET;
	r->now.cfa_reg = (u8)reg;
	r->now.cfa = (s32)offset;
}

static u32 intern_rules(struct cfi *c, const struct cfi_rules *rules)
{
	u64 hash = hash_bytes(rules, sizeof(*rules));
	u32 id, at;

	SET_FIND(id, &c->known_rules, hash, at, !memcmp(&c->rules.v[id], rules, sizeof(*rules)));
	if (id != ID_NONE || c->rules.n == MAX_RULES)
		return id;
	id = (u32)c->rules.n;
	vec_push(&c->rules, *rules);
	set_add(&c->known_rules, hash, id);
	return id;
}

/* Those rules hold from where the program has come to. */
static void put_row(struct run *r, u32 rules)
{
	u32 start = (u32)(r->addr + r->shift);
	struct cfi_span *span = &r->span;
	struct cfi_row *last = span->n ? &r->out->rows.v[r->out->rows.n - 1] : NULL;

	if (last && last->start == start) {
		last->rules = rules;
	} else if (!last || last->rules != rules) {
		vec_push(&r->out->rows, (struct cfi_row){ start, rules });
		span->n++;
	}
}

static void advance(struct run *r, u64 by)
{
	r->bad |= r->in_common || by > r->fn->end - r->addr;
	if (r->bad)
		return;
	put_row(r, intern_rules(r->out, &r->now));
	r->addr += by;
}

static void remember(struct run *r)
{
	if (r->nr_saved == MAX_SAVED)
		r->bad = true;
	else
		r->saved[r->nr_saved++] = r->now;
}

static void bring_back(struct run *r)
{
	if (r->nr_saved)
		r->now = r->saved[--r->nr_saved];
	else
		r->bad = true;
}

/* Instructions about where the frame is. False: it is another one. */
static bool frame_instruction(struct run *r, u8 op, struct cursor *c)
{
	s64 align = (s64)r->fn->common->data_align;
	u64 reg;

	switch (op) {
	case OP_DEF_CFA:
		reg = cursor_leb(c, false);
		frame_at(r, reg, (s64)cursor_leb(c, false));
		return true;
	case OP_DEF_CFA_SF:
		reg = cursor_leb(c, false);
		frame_at(r, reg, (s64)((u64)cursor_leb(c, true) * (u64)align));
		return true;
	case OP_DEF_CFA_REGISTER:
		frame_at(r, cursor_leb(c, false), r->now.cfa);
		return true;
	case OP_DEF_CFA_OFFSET:
		frame_at(r, r->now.cfa_reg, (s64)cursor_leb(c, false));
		return true;
	case OP_DEF_CFA_OFFSET_SF:
		frame_at(r, r->now.cfa_reg, (s64)((u64)cursor_leb(c, true) * (u64)align));
		return true;
	case OP_DEF_CFA_EXPRESSION:
		r->now.cfa_how = CFI_EXPR;
		r->now.cfa_reg = 0;
		r->now.cfa = (s32)expression(r, c);
		return true;
	default:
		return false;
	}
}

/* Instructions about a register, which comes first. False: it is none of them. */
static bool register_instruction(struct run *r, u8 op, struct cursor *c)
{
	u64 align = r->fn->common->data_align, reg;

	if (op < OP_OFFSET_EXTENDED || op > OP_NEGATIVE_OFFSET)
		return false;
	reg = cursor_leb(c, false);
	switch (op) {
	case OP_OFFSET_EXTENDED:
		rule(r, reg, CFI_SAVED, (s64)(cursor_leb(c, false) * align));
		return true;
	case OP_OFFSET_EXTENDED_SF:
		rule(r, reg, CFI_SAVED, (s64)(cursor_leb(c, true) * align));
		return true;
	case OP_NEGATIVE_OFFSET:
		rule(r, reg, CFI_SAVED, -(s64)(cursor_leb(c, false) * align));
		return true;
	case OP_VAL_OFFSET:
		rule(r, reg, CFI_OFFSET, (s64)(cursor_leb(c, false) * align));
		return true;
	case OP_VAL_OFFSET_SF:
		rule(r, reg, CFI_OFFSET, (s64)(cursor_leb(c, true) * align));
		return true;
	case OP_RESTORE_EXTENDED:
		restore(r, reg);
		return true;
	case OP_UNDEFINED:
		rule(r, reg, CFI_UNDEFINED, 0);
		return true;
	case OP_SAME_VALUE:
		rule(r, reg, CFI_SAME, 0);
		return true;
	case OP_REGISTER:
		rule(r, reg, CFI_REGISTER, (s64)cursor_leb(c, false));
		return true;
	case OP_EXPRESSION:
		rule(r, reg, CFI_SAVED_EXPR, expression(r, c));
		return true;
	case OP_VAL_EXPRESSION:
		rule(r, reg, CFI_EXPR, expression(r, c));
		return true;
	default:
		return false;
	}
}

static void instruction(struct run *r, struct cursor *c)
{
	u8 op = cursor_u8(c), low = op & 0x3f;
	u64 code = r->fn->common->code_align, data = r->fn->common->data_align;

	switch (op & 0xc0) {
	case OP_ADVANCE:
		advance(r, low * code);
		return;
	case OP_OFFSET:
		rule(r, low, CFI_SAVED, (s64)(cursor_leb(c, false) * data));
		return;
	case OP_RESTORE:
		restore(r, low);
		return;
	}
	switch (op) {
	case OP_NOP:
		return;
	case OP_SET_LOC:
		advance(r, cfi_address(c, r->fn->section, r->fn->common->encoding) - r->addr);
		return;
	case OP_ADVANCE1:
		advance(r, cursor_u8(c) * code);
		return;
	case OP_ADVANCE2:
		advance(r, cursor_u16(c) * code);
		return;
	case OP_ADVANCE4:
		advance(r, cursor_u32(c) * code);
		return;
	case OP_REMEMBER_STATE:
		remember(r);
		return;
	case OP_RESTORE_STATE:
		bring_back(r);
		return;
	case OP_NEGATE_RA_STATE:
		r->now.signed_return ^= 1;
		return;
	case OP_ARGS_SIZE:
		(void)cursor_leb(c, false);
		return;
	}
	if (!frame_instruction(r, op, c) && !register_instruction(r, op, c))
		r->bad = true;
}

static void run_program(struct run *r, struct cursor c)
{
	while (cursor_left(&c) && !r->bad) {
		instruction(r, &c);
		r->bad |= c.bad;
	}
}

struct adding {
	struct cfi *out;
	cfi_place_fn place;
	void *ctx;
};

bool cfi_span_of(const struct cfi_function *fn, cfi_place_fn place, void *ctx, struct cfi_span *out)
{
	u64 start, size = fn->end - fn->start;

	if (fn->common->return_reg >= CFI_REGS || !place(ctx, fn->start, &start) || start > UINT32_MAX ||
	    size > UINT32_MAX - start)
		return false;
	*out = (struct cfi_span){ .start = (u32)start, .end = (u32)(start + size) };
	return true;
}

void cfi_compile(struct cfi *c, const struct cfi_function *fn, struct cfi_span *span)
{
	struct run r = { .out = c, .fn = fn, .addr = fn->start, .span = *span };
	u64 start = span->start;

	r.bad = cursor_left(&fn->common->program) > MAX_PROGRAM || cursor_left(&fn->program) > MAX_PROGRAM;
	r.shift = start - fn->start;
	r.now.return_reg = (u8)fn->common->return_reg;
	r.now.signal = fn->common->signal;
	r.now.cfa_how = CFI_UNDEFINED;
	r.in_common = true;
	run_program(&r, fn->common->program);
	r.initial = r.now;
	r.in_common = false;
	r.span.row = (u32)c->rows.n;
	r.span.n = 0;
	run_program(&r, fn->program);
	c->left_out += r.bad;
	put_row(&r, r.bad ? ID_NONE : intern_rules(c, &r.now));
	*span = r.span;
}

static void add_function(void *ctx, const struct cfi_function *fn)
{
	struct adding *a = ctx;
	struct cfi_span span;

	if (!cfi_span_of(fn, a->place, a->ctx, &span)) {
		a->out->left_out++;
		return;
	}
	cfi_compile(a->out, fn, &span);
	vec_push(&a->out->spans, span);
}

void cfi_add(struct cfi *c, const struct cfi_section *s, cfi_place_fn place, void *ctx)
{
	struct adding a = { c, place, ctx };

	c->swap = s->swap;
	c->is64 = s->is64;
	cfi_functions(s, add_function, &a);
}

static int by_start(const void *va, const void *vb)
{
	const struct cfi_span *a = va, *b = vb;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void cfi_finish(struct cfi *c)
{
	struct cfi done = { 0 };

	if (c->spans.n > 1)
		qsort(c->spans.v, c->spans.n, sizeof(*c->spans.v), by_start);
	vec_reserve(&done.rows, c->rows.n + c->spans.n);
	for (size_t i = 0; i < c->spans.n; i++) {
		const struct cfi_span *s = &c->spans.v[i];
		u32 end = i + 1 < c->spans.n ? MIN(s->end, s[1].start) : s->end;

		for (u32 k = 0; k < s->n && c->rows.v[s->row + k].start < end; k++)
			vec_push(&done.rows, c->rows.v[s->row + k]);
		if (i + 1 == c->spans.n || s[1].start > end || !s[1].n)
			vec_push(&done.rows, (struct cfi_row){ end, ID_NONE });
	}
	vec_free(&c->rows);
	vec_free(&c->spans);
	set_free(&c->known_rules);
	set_free(&c->known_exprs);
	c->rows.v = done.rows.v;
	c->rows.n = done.rows.n;
	c->rows.cap = done.rows.cap;
}

void cfi_free(struct cfi *c)
{
	vec_free(&c->rows);
	vec_free(&c->rules);
	vec_free(&c->exprs);
	vec_free(&c->spans);
	bytes_free(&c->code);
	set_free(&c->known_rules);
	set_free(&c->known_exprs);
}

const struct cfi_rules *cfi_find(const struct cfi *c, u64 addr)
{
	size_t low = 0, high = c->rows.n;
	u32 rules;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (c->rows.v[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	rules = low ? c->rows.v[low - 1].rules : ID_NONE;
	return rules == ID_NONE ? NULL : &c->rules.v[rules];
}

bool cfi_is_entry(const struct cfi *c, u64 addr)
{
	return c->entry && addr - c->entry < ENTRY_CODE;
}
