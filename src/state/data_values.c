/* SPDX-License-Identifier: Apache-2.0 */
#include "state/data_values.h"

#include <dwarf.h>

#define FARTHEST (1ll << 40) /* of offsets */

static const struct value any = { .kind = ANY };

static u32 type_id(struct data_world *w, const struct dtype *t)
{
	return data_kind_of(w->kinds, t);
}

static struct value pointer_to(struct data_world *w, const struct dtype *t, s64 n)
{
	struct dtype element = *t;
	u64 offset = 0;

	if (!dtype_element(&element, &offset) || !element.size || element.size > (u64)FARTHEST || n > FARTHEST ||
	    n < -FARTHEST)
		return any;
	return (struct value){ POINTER, type_id(w, &element), n };
}

static bool is_pointer(const struct value *v)
{
	return v->kind == POINTER || v->kind == ELEMENT;
}

static const struct dtype *type_at(const struct data_world *w, const struct value *v)
{
	return data_kind(w->kinds, v->type);
}

static s64 modulo(s64 n, u64 size)
{
	s64 rest = n % (s64)size;

	return rest < 0 ? rest + (s64)size : rest;
}

static u64 divisor(u64 a, u64 b)
{
	while (b) {
		u64 rest = a % b;

		a = b;
		b = rest;
	}
	return a;
}

/* What divides a value; 1: nothing is known, 0: it is 0. */
static u64 factor_of(const struct value *v)
{
	if (v->kind == MULTIPLE)
		return (u64)v->n;
	return v->kind == NUMBER ? (v->n < 0 ? 0 - (u64)v->n : (u64)v->n) : 1;
}

static struct value multiple_of(u64 n)
{
	if (!n)
		return (struct value){ .kind = NUMBER };
	return n > 1 && n < (u64)FARTHEST ? (struct value){ .kind = MULTIPLE, .n = (s64)n } : any;
}

/* --- arrays --- */

/* A place in the first element of an array: that element. */
static struct value element_of(struct data_world *w, const struct dtype *type, u64 offset)
{
	struct dtype element;
	u64 in;

	return dtype_array_at(type, offset, &element, &in) ? pointer_to(w, &element, (s64)in) : any;
}

/* A place in the frame, as a variable: *type and *offset in it. What several variables claim is not known. */
static bool slot_at(struct data_world *w, const struct state *s, u64 pc, u32 base, s64 n, struct dtype *type,
		    u64 *offset)
{
	const var_places *all = &w->vars.slots[base];
	s64 moved = 0;
	bool found = false;

	if (s && base != VAR_CFA) { /* n is from the frame's address */
		if (s->r[base].kind != FRAME)
			return false;
		moved = s->r[base].n;
	}
	w->work += all->n;
	for (size_t i = 0; i < all->n; i++) {
		const struct var_place *p = &all->v[i];
		s64 in = n - p->offset - moved;

		if (pc < p->from || pc >= p->to || in < 0 || (u64)in >= p->type.size)
			continue;
		if (found && (!dtype_equal(type, &p->type) || *offset != (u64)in)) {
			*offset = UINT64_MAX; /* they differ */
			return true;
		}
		found = true;
		*type = p->type;
		*offset = (u64)in;
	}
	return found;
}

/* Likewise of n bytes from the frame's address, whatever the slots are told from. */
static bool frame_at(struct data_world *w, const struct state *s, u64 pc, s64 n, struct dtype *type, u64 *offset)
{
	for (u32 base = 0; base < VAR_PLACES; base++)
		if (w->vars.slots[base].n && slot_at(w, s, pc, base, n, type, offset))
			return true;
	return false;
}

static struct value element_at(struct data_world *w, const struct state *s, u64 pc, const struct value *v)
{
	const struct data_global *g;
	struct dtype type;
	u64 offset;

	if (v->kind == POINTER && v->n >= 0)
		return element_of(w, type_at(w, v), (u64)v->n);
	if (v->kind == FRAME && frame_at(w, s, pc, v->n, &type, &offset) && offset != UINT64_MAX)
		return element_of(w, &type, offset);
	if (v->kind != ADDRESS && v->kind != NUMBER)
		return any;
	g = data_globals_at(w->globals, (u64)v->n, &type);
	return g ? element_of(w, &type, (u64)v->n - g->start) : any;
}

/* --- where values come together --- */

/* Of one type: an element of an array, if they are whole elements apart. */
static struct value meet_pointers(const struct data_world *w, const struct value *a, const struct value *b)
{
	const struct dtype *t = type_at(w, a);

	if (!dtype_equal(t, type_at(w, b)) || modulo(a->n - b->n, t->size))
		return any;
	return (struct value){ ELEMENT, a->type, modulo(a->n, t->size) };
}

/* b is whole elements away from a, which is in the first element of an array. */
static struct value meet_elements(struct data_world *w, const struct state *s, u64 pc, const struct value *a,
				  const struct value *b)
{
	struct value e = any;

	if (a->kind == b->kind && (a->kind != POINTER || dtype_equal(type_at(w, a), type_at(w, b))))
		e = element_at(w, s, pc, a);
	if (e.kind == ANY || modulo((s64)((u64)b->n - (u64)a->n), type_at(w, &e)->size))
		return any;
	e.kind = ELEMENT;
	return e;
}

static struct value meet_places(struct data_world *w, const struct state *s, u64 pc, const struct value *a,
				const struct value *b)
{
	struct value x = is_pointer(a) ? *a : element_at(w, s, pc, a),
		     y = is_pointer(b) ? *b : element_at(w, s, pc, b), v = any;

	if (is_pointer(&x) && is_pointer(&y))
		v = meet_pointers(w, &x, &y);
	if (v.kind == ANY)
		v = meet_elements(w, s, pc, a, b);
	return v.kind == ANY ? meet_elements(w, s, pc, b, a) : v;
}

struct value value_meet(struct data_world *w, u32 reg, const struct state *s, u64 pc, struct value a, struct value b)
{
	if (a.kind == UNREACHED || b.kind == UNREACHED)
		return a.kind == UNREACHED ? b : a;
	if (a.kind == b.kind && a.n == b.n && a.type == b.type && a.factor == b.factor)
		return a;
	if (a.kind == ANY || b.kind == ANY || reg == w->sp)
		return any;
	if ((a.kind == NUMBER || a.kind == MULTIPLE) && (b.kind == NUMBER || b.kind == MULTIPLE))
		return multiple_of(divisor(factor_of(&a), factor_of(&b)));
	return meet_places(w, s, pc, &a, &b);
}

/* --- what DWARF says of a register --- */

static bool is_bytes(const struct dtype *t)
{
	return t->size == 1 && dwarf_tag((Dwarf_Die *)&t->die) == DW_TAG_base_type;
}

/* Two pointers are in one register: the type that holds the other one, or neither. */
static struct value choose(const struct data_world *w, const struct value *a, const struct value *b)
{
	const struct dtype *x = type_at(w, a), *y = type_at(w, b);

	if (is_bytes(y) || (a->n >= b->n && dtype_holds(x, (u64)(a->n - b->n), y)))
		return *a;
	if (is_bytes(x) || (b->n >= a->n && dtype_holds(y, (u64)(b->n - a->n), x)))
		return *b;
	return any;
}

/* UNREACHED: nothing. ANY: what variables say does not agree. */
static struct value claim(struct data_world *w, u32 reg, u64 pc)
{
	const var_places *all = &w->vars.pointers[reg];
	struct value v = { .kind = UNREACHED };

	w->work += all->n;
	for (size_t i = 0; i < all->n && v.kind != ANY; i++) {
		const struct var_place *p = &all->v[i];
		struct value one;

		if (pc < p->from || pc >= p->to)
			continue;
		one = pointer_to(w, &p->type, -p->offset);
		if (one.kind == POINTER)
			v = v.kind == UNREACHED ? one : choose(w, &v, &one);
	}
	return v;
}

/* What a register holds before the instruction at pc. */
static struct value value_of(struct data_world *w, const struct state *s, u32 reg, u64 pc)
{
	struct value v = s->r[reg], says;

	if (v.kind == FRAME || v.kind == ADDRESS || !w->vars.pointers[reg].n)
		return v;
	says = claim(w, reg, pc);
	return says.kind == UNREACHED ? v : says;
}

/* --- what an operand is --- */

/* The index of an operand: 0: none, or it is 0. */
struct index {
	bool is;
	u64 factor;
};

static bool typed(struct place *out, const struct dtype *t, u64 offset)
{
	*out = (struct place){ ACCESS_TYPED, *t, offset };
	return true;
}

/* In a variable; with an index only in the first element of one of its arrays. */
static bool in_variable(const struct dtype *t, u64 offset, const struct index *x, struct place *out)
{
	struct dtype element;
	u64 in;

	if (offset >= t->size || (x->is && (!dtype_array_at(t, offset, &element, &in) || x->factor % element.size)))
		return false;
	return typed(out, t, offset);
}

static bool behind_pointer(const struct data_world *w, const struct value *v, s64 disp, const struct index *x,
			   struct place *out)
{
	const struct dtype *t = type_at(w, v);
	s64 offset = v->n + disp;

	if (x->is && x->factor % t->size == 0)
		return typed(out, t, (u64)modulo(offset, t->size));
	if (v->kind == ELEMENT && !x->is)
		offset = modulo(offset, t->size);
	return offset >= 0 && in_variable(t, (u64)offset, x, out);
}

static bool at_address(const struct data_world *w, u64 addr, const struct index *x, struct place *out)
{
	struct dtype type;
	const struct data_global *g = data_globals_at(w->globals, addr, &type);

	return g && in_variable(&type, addr - g->start, x, out);
}

static bool in_frame(struct data_world *w, const struct state *s, u64 pc, u32 base, s64 n, const struct index *x,
		     struct place *out)
{
	struct dtype type;
	u64 offset = 0;
	bool found = base == VAR_CFA ? frame_at(w, s, pc, n, &type, &offset) :
				       slot_at(w, NULL, pc, base, n, &type, &offset);

	if (!found) {
		*out = (struct place){ .access = x->is ? ACCESS_UNKNOWN : ACCESS_STACK };
		return false;
	}
	*out = (struct place){ .access = ACCESS_UNKNOWN };
	return in_variable(&type, offset, x, out);
}

static struct index index_of(struct data_world *w, const struct state *s, u64 pc, u32 reg, u32 scale, s64 *disp)
{
	struct index x = { .factor = 0 };
	struct value v;

	if (reg == STEP_NONE)
		return x;
	v = value_of(w, s, reg, pc);
	if (v.kind == NUMBER && v.n < FARTHEST && v.n > -FARTHEST) {
		*disp = (s64)((u64)*disp + (u64)v.n * scale);
		return x;
	}
	return (struct index){ true, scale * factor_of(&v) };
}

static bool find_base(struct data_world *w, const struct state *s, u64 pc, u32 base, s64 disp, const struct index *x,
		      struct place *out)
{
	struct value v = value_of(w, s, base, pc);

	*out = (struct place){ .access = ACCESS_UNKNOWN };
	if (v.kind == FRAME)
		return in_frame(w, s, pc, VAR_CFA, v.n + disp, x, out);
	if (v.kind == ADDRESS || v.kind == NUMBER)
		return at_address(w, (u64)v.n + (u64)disp, x, out);
	if (v.kind == MULTIPLE) { /* an index of what lies at disp, in files that are not moved */
		const struct index of_base = { true, divisor((u64)v.n, x->factor) };

		return at_address(w, (u64)disp, &of_base, out);
	}
	if (in_frame(w, s, pc, base, disp, x, out))
		return true;
	if (base != w->sp)
		out->access = ACCESS_UNKNOWN;
	if (v.kind == INDEXED) {
		const struct index all = { true, divisor(v.factor, x->factor) };

		return behind_pointer(w, &v, disp, &all, out);
	}
	return is_pointer(&v) && behind_pointer(w, &v, disp, x, out);
}

void state_find_place(struct data_world *w, const struct state *s, u64 pc, const struct step_operand *at,
		      struct place *out)
{
	s64 disp = at->disp;
	struct index x = index_of(w, s, pc, at->index, at->scale, &disp);

	*out = (struct place){ .access = ACCESS_UNKNOWN };
	if (at->base == STEP_NONE) {
		at_address(w, (u64)disp, &x, out);
		return;
	}
	if (find_base(w, s, pc, at->base, disp, &x, out) || !x.is || at->scale != 1)
		return;
	/* Which of two is the base the processor does not tell. */
	disp = at->disp;
	x = index_of(w, s, pc, at->base, 1, &disp);
	find_base(w, s, pc, at->index, disp, &x, out);
}

/* --- what instructions do --- */

static struct value moved_by(struct value v, s64 by)
{
	if (v.kind == MULTIPLE)
		return multiple_of(divisor((u64)v.n, by < 0 ? 0 - (u64)by : (u64)by));
	if (v.kind == ANY || v.kind == UNREACHED)
		return any;
	if (by > FARTHEST || by < -FARTHEST || v.n > FARTHEST || v.n < -FARTHEST) {
		if (v.kind != ADDRESS && v.kind != NUMBER)
			return any;
	}
	v.n = (s64)((u64)v.n + (u64)by);
	return v;
}

static struct value with_index(struct data_world *w, const struct state *s, u64 pc, struct value v, u64 factor, s64 by)
{
	struct value e = moved_by(v, by);

	v = e;
	if (!is_pointer(&e) || factor % type_at(w, &e)->size)
		e = element_at(w, s, pc, &e);
	if (!is_pointer(&e) || factor % type_at(w, &e)->size) {
		v.kind = v.kind == POINTER ? INDEXED : ANY;
		v.factor = factor;
		return v.kind == ANY ? any : v;
	}
	e.kind = ELEMENT;
	e.n = modulo(e.n, type_at(w, &e)->size);
	return e;
}

static bool is_number(const struct value *v)
{
	return v->kind == NUMBER || v->kind == MULTIPLE;
}

static struct value sum(struct data_world *w, const struct state *s, u64 pc, const struct step *i)
{
	const struct value zero = { .kind = NUMBER };
	struct value a = i->src == STEP_NONE ? zero : value_of(w, s, i->src, pc), b = zero;
	u64 factor;

	if (i->index != STEP_NONE)
		b = value_of(w, s, i->index, pc);
	if (i->by_index != STEP_NONE) {
		struct value c = value_of(w, s, i->by_index, pc);

		factor = factor_of(&b) * factor_of(&c);
		b = multiple_of(factor);
	}
	if (i->index == STEP_NONE)
		return moved_by(a, i->imm);
	if (b.kind == NUMBER && b.n < FARTHEST && b.n > -FARTHEST)
		return moved_by(a, i->imm + b.n * i->scale);
	if (i->scale == 1 && (a.kind == ANY || is_number(&a)) && b.kind != ANY && !is_number(&b)) {
		struct value other = a;

		a = b;
		b = other;
	}
	factor = i->scale * factor_of(&b);
	if (a.kind == ANY || is_number(&a))
		return moved_by(multiple_of(divisor(factor, factor_of(&a))), i->imm);
	return with_index(w, s, pc, a, factor, i->imm);
}

static struct value loaded(struct data_world *w, const struct place *p, u64 behind)
{
	const struct dtype *to;

	if (p->access != ACCESS_TYPED)
		return any;
	to = data_kind_pointer(w->kinds, type_id(w, &p->type), p->offset + behind);
	return to ? pointer_to(w, to, 0) : any;
}

static struct value returned(struct data_world *w, u64 pc)
{
	w->work += w->vars.calls.n;
	for (size_t i = 0; i < w->vars.calls.n; i++)
		if (w->vars.calls.v[i].from == pc)
			return pointer_to(w, &w->vars.calls.v[i].type, 0);
	return any;
}

static struct value result(struct data_world *w, const struct state *s, u64 pc, const struct step *i,
			   struct value *two)
{
	struct place p;
	struct value v;

	switch (i->kind) {
	case STEP_MOVE:
		return value_of(w, s, i->src, pc);
	case STEP_EITHER:
		return value_meet(w, i->dst, s, pc, value_of(w, s, i->src, pc), value_of(w, s, i->dst, pc));
	case STEP_SET:
		return (struct value){ .kind = i->address ? ADDRESS : NUMBER, .n = i->imm };
	case STEP_SUM:
		return sum(w, s, pc, i);
	case STEP_SCALE:
		v = i->src == STEP_NONE ? any : value_of(w, s, i->src, pc);
		if (v.kind == NUMBER && v.n < 1 << 20 && v.n > -(1 << 20) && i->imm < FARTHEST)
			return (struct value){ .kind = NUMBER, .n = v.n * i->imm };
		return factor_of(&v) < 1u << 20 && i->imm > 0 && i->imm < FARTHEST ?
			       multiple_of(factor_of(&v) * (u64)i->imm) :
			       any;
	case STEP_LOAD:
		state_find_place(w, s, pc, &i->at, &p);
		if (!i->access || i->unclear)
			return any;
		*two = i->dst2 == STEP_NONE ? any : loaded(w, &p, sizeof(u64));
		return loaded(w, &p, 0);
	default:
		return any;
	}
}

/* From before the instruction to behind it. */
void state_step(struct data_world *w, struct state *s, u64 pc, const struct step *i)
{
	struct value two = any, v = i->dst == STEP_NONE ? any : result(w, s, pc, i, &two);

	if (i->moved != STEP_NONE)
		s->r[i->moved] = moved_by(s->r[i->moved], i->by);
	for (u32 r = 0; r < STEP_REGS; r++)
		if (i->clobbers >> r & 1)
			s->r[r] = any;
	if (i->flow == STEP_CALL)
		s->r[0] = returned(w, pc + i->size);
	if (i->dst2 != STEP_NONE)
		s->r[i->dst2] = two;
	if (i->dst != STEP_NONE)
		s->r[i->dst] = i->narrow && !is_number(&v) ? any : v;
}

void state_take_claims(struct data_world *w, struct state *s, u64 pc, u32 regs)
{
	for (u32 r = 0; r < STEP_REGS && regs >> r; r++) {
		struct value v;

		if (!(regs >> r & 1) || s->r[r].kind != ANY)
			continue;
		v = claim(w, r, pc);
		if (v.kind == POINTER)
			s->r[r] = v;
	}
}

void state_forget(struct state *s)
{
	for (u32 r = 0; r < STEP_REGS; r++)
		s->r[r] = any;
}
