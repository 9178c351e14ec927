/* SPDX-License-Identifier: Apache-2.0 */
#include "state/data_vars.h"

#include <dwarf.h>
#include <stdlib.h>

#define DEEPEST 64
#define MOST_PLACES 65536 /* of a function */
#define MOST_RANGES 64	  /* of a block; variables are not seen in others */

/* Where variables of a scope can be seen. */
struct scope {
	u32 n;
	struct {
		u64 from, to;
	} v[MOST_RANGES];
};

struct finder {
	struct data_vars *v;
	u32 frame;	  /* register of the frame base, or VAR_CFA; ID_NONE: not known */
	s64 frame_offset; /* from that */
};

static void add(struct finder *f, var_places *to, const struct scope *s, u64 from, u64 end, s64 offset,
		const struct dtype *type)
{
	for (u32 i = 0; i < s->n && f->v->n < MOST_PLACES; i++) {
		struct var_place p = { MAX(from, s->v[i].from), MIN(end, s->v[i].to), offset, *type };

		if (p.from >= p.to)
			continue;
		vec_push(to, p);
		f->v->n++;
	}
}

static bool is_register(u8 atom, u8 first)
{
	return atom >= first && atom < first + 32;
}

/* A place in memory: the register it is relative to, and how far from it. False: it is none that is told so. */
static bool memory_of(const struct finder *f, const Dwarf_Op *op, u32 *base, s64 *offset)
{
	if (is_register(op->atom, DW_OP_breg0)) {
		*base = op->atom - DW_OP_breg0;
		*offset = (s64)op->number;
	} else if (op->atom == DW_OP_bregx && op->number < VAR_CFA) {
		*base = (u32)op->number;
		*offset = (s64)op->number2;
	} else if (op->atom == DW_OP_call_frame_cfa) {
		*base = VAR_CFA;
		*offset = 0;
	} else if (op->atom == DW_OP_fbreg && f->frame != ID_NONE) {
		*base = f->frame;
		*offset = f->frame_offset + (s64)op->number;
	} else {
		return false;
	}
	return *offset > -(1ll << 40) && *offset < 1ll << 40;
}

static void add_location(struct finder *f, const struct scope *s, const struct dtype *type, u64 from, u64 to,
			 const Dwarf_Op *expr, size_t n)
{
	struct dtype pointee;
	u32 base;
	s64 offset;

	if (n == 1 && is_register(expr->atom, DW_OP_reg0)) {
		if (dtype_pointee(type, &pointee))
			add(f, &f->v->pointers[expr->atom - DW_OP_reg0], s, from, to, 0, &pointee);
	} else if (n == 1 && memory_of(f, expr, &base, &offset)) {
		add(f, &f->v->slots[base], s, from, to, offset, type);
	} else if (n == 2 && expr[1].atom == DW_OP_stack_value && memory_of(f, expr, &base, &offset) &&
		   base != VAR_CFA && dtype_pointee(type, &pointee)) {
		add(f, &f->v->pointers[base], s, from, to, offset, &pointee);
	}
}

static void add_variable(struct finder *f, Dwarf_Die *die, const struct scope *s)
{
	Dwarf_Attribute attr;
	Dwarf_Addr base, from, to;
	struct dtype type;
	Dwarf_Op *expr;
	ptrdiff_t at = 0;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr) || !dtype_of(die, &type))
		return;
	while (f->v->n < MOST_PLACES && (at = dwarf_getlocations(&attr, at, &base, &from, &to, &expr, &n)) > 0)
		add_location(f, s, &type, from, to, expr, n);
}

/* What a call returns, if it is a pointer. */
static void add_call(struct finder *f, Dwarf_Die *die, const struct scope *s)
{
	Dwarf_Attribute attr;
	struct dtype type, pointee;
	Dwarf_Die origin;
	Dwarf_Addr pc;

	if (!dwarf_attr(die, DW_AT_call_return_pc, &attr) && !dwarf_attr(die, DW_AT_low_pc, &attr))
		return;
	if (dwarf_formaddr(&attr, &pc) || pc == UINT64_MAX)
		return;
	if (!dwarf_attr(die, DW_AT_call_origin, &attr) && !dwarf_attr(die, DW_AT_abstract_origin, &attr))
		return;
	if (dwarf_formref_die(&attr, &origin) && dtype_of(&origin, &type) && dtype_pointee(&type, &pointee))
		add(f, &f->v->calls, s, pc, pc + 1, 0, &pointee);
}

static void scope_of(Dwarf_Die *die, const struct scope *around, struct scope *s)
{
	Dwarf_Addr base, from, to;
	ptrdiff_t at = 0;

	s->n = 0;
	while (s->n < MOST_RANGES && (at = dwarf_ranges(die, at, &base, &from, &to)) > 0) {
		s->v[s->n].from = from;
		s->v[s->n++].to = to;
	}
	if (!s->n)
		*s = *around;
}

static void walk(struct finder *f, Dwarf_Die *parent, const struct scope *s, u32 depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST || dwarf_child(parent, &die))
		return;
	do {
		struct scope inner;

		switch (dwarf_tag(&die)) {
		case DW_TAG_formal_parameter:
		case DW_TAG_variable:
			add_variable(f, &die, s);
			break;
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
			add_call(f, &die, s);
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			scope_of(&die, s, &inner);
			walk(f, &die, &inner, depth + 1);
			break;
		default:
			break;
		}
	} while (f->v->n < MOST_PLACES && dwarf_siblingof(&die, &die) == 0);
}

static void find_frame(struct finder *f, Dwarf_Die *function)
{
	Dwarf_Attribute attr;
	Dwarf_Op *expr;
	size_t n;

	f->frame = ID_NONE;
	if (!dwarf_attr_integrate(function, DW_AT_frame_base, &attr) || dwarf_getlocation(&attr, &expr, &n) || n != 1)
		return;
	if (is_register(expr->atom, DW_OP_reg0))
		f->frame = expr->atom - DW_OP_reg0;
	else if (expr->atom == DW_OP_fbreg || !memory_of(f, expr, &f->frame, &f->frame_offset))
		f->frame = ID_NONE;
}

void data_vars_find(struct data_vars *v, Dwarf_Die *function)
{
	const struct scope all = { .n = 1, .v = { { 0, UINT64_MAX } } };
	struct finder f = { .v = v };
	struct scope whole;

	scope_of(function, &all, &whole);
	*v = (struct data_vars){ 0 };
	find_frame(&f, function);
	walk(&f, function, &whole, 0);
}

void data_vars_free(struct data_vars *v)
{
	for (u32 i = 0; i < VAR_CFA; i++)
		vec_free(&v->pointers[i]);
	for (u32 i = 0; i < VAR_PLACES; i++)
		vec_free(&v->slots[i]);
	vec_free(&v->calls);
	*v = (struct data_vars){ 0 };
}
