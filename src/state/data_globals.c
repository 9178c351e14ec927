/* SPDX-License-Identifier: Apache-2.0 */
#include "state/data_globals.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/vec.h"

#define DEEPEST 64
#define MOST_OVERLAPS 16 /* of variables that begin before an address that are looked at */

struct data_globals {
	VEC(struct data_global) v; /* by their start; of equal ones the largest first */
};

/* Where a variable lies, when that is one address. */
static bool address_of(Dwarf_Die *die, u64 *out)
{
	Dwarf_Attribute attr, indexed;
	Dwarf_Op *expr;
	Dwarf_Addr addr;
	size_t n;

	if (!dwarf_attr(die, DW_AT_location, &attr) || dwarf_getlocation(&attr, &expr, &n) || n < 1 || n > 2)
		return false;
	if (expr[0].atom == DW_OP_addr)
		addr = expr[0].number;
	else if ((expr[0].atom != DW_OP_addrx && expr[0].atom != DW_OP_GNU_addr_index) ||
		 dwarf_getlocation_attr(&attr, &expr[0], &indexed) || dwarf_formaddr(&indexed, &addr))
		return false;
	if (n == 2 && expr[1].atom != DW_OP_plus_uconst)
		return false;
	*out = addr + (n == 2 ? expr[1].number : 0);
	return *out != 0; /* else the linker has dropped it */
}

static void add_variable(struct data_globals *g, Dwarf_Die *die)
{
	struct data_global v = { .die = *die };
	struct dtype t;

	if (address_of(die, &v.start) && dtype_of(die, &t) && t.size && t.size <= UINT64_MAX - v.start) {
		v.end = v.start + t.size;
		vec_push(&g->v, v);
	}
}

static void walk(struct data_globals *g, Dwarf_Die *parent, u32 depth)
{
	Dwarf_Die die;

	if (depth > DEEPEST || dwarf_child(parent, &die))
		return;
	do {
		switch (dwarf_tag(&die)) {
		case DW_TAG_variable:
			add_variable(g, &die);
			break;
		case DW_TAG_subprogram:
		case DW_TAG_lexical_block:
		case DW_TAG_inlined_subroutine:
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
			walk(g, &die, depth + 1);
			break;
		default:
			break;
		}
	} while (dwarf_siblingof(&die, &die) == 0);
}

static int by_start(const void *a, const void *b)
{
	const struct data_global *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->end > y->end ? -1 : x->end < y->end;
}

struct data_globals *data_globals_new(struct dwarf_file *f)
{
	struct data_globals *g = mem_zalloc(sizeof(*g));

	for (u32 i = 0; i < dwarf_file_units(f); i++)
		walk(g, dwarf_file_unit(f, i), 0);
	if (g->v.n)
		qsort(g->v.v, g->v.n, sizeof(*g->v.v), by_start);
	return g;
}

void data_globals_free(struct data_globals *g)
{
	if (g)
		vec_free(&g->v);
	free(g);
}

const struct data_global *data_globals_at(const struct data_globals *g, u64 vaddr, struct dtype *type)
{
	size_t low = 0, high = g->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (g->v.v[middle].start <= vaddr)
			low = middle + 1;
		else
			high = middle;
	}
	for (u32 i = 0; i < MOST_OVERLAPS && low; i++) {
		const struct data_global *v = &g->v.v[--low];
		Dwarf_Die die = v->die;

		if (vaddr < v->end)
			return dtype_of(&die, type) ? v : NULL;
	}
	return NULL;
}
