/* SPDX-License-Identifier: Apache-2.0 */
#include "state/data_scopes.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

#define DEEPEST 16
#define LONGEST 1024 /* of what stands before a name */

struct data_scopes {
	struct arena arena;
	struct map units;  /* by the place of their DIE: those that were walked */
	struct map by_die; /* the place of a type's DIE -> scopes */
	VEC(const char *) scopes;
};

struct data_scopes *data_scopes_new(void)
{
	return mem_zalloc(sizeof(struct data_scopes));
}

void data_scopes_free(struct data_scopes *s)
{
	if (!s)
		return;
	arena_free(&s->arena);
	map_free(&s->units);
	map_free(&s->by_die);
	vec_free(&s->scopes);
	free(s);
}

/* scope: of what stands in parent, as a number; ID_NONE: none. */
static void walk(struct data_scopes *s, Dwarf_Die *parent, u32 scope, u32 depth)
{
	const char *before = scope == ID_NONE ? "" : s->scopes.v[scope], *name;
	Dwarf_Die die;

	if (depth > DEEPEST || dwarf_child(parent, &die))
		return;
	do {
		int tag = dwarf_tag(&die);
		u32 inner = scope;

		if (tag != DW_TAG_namespace && tag != DW_TAG_module && tag != DW_TAG_structure_type &&
		    tag != DW_TAG_class_type && tag != DW_TAG_union_type && tag != DW_TAG_enumeration_type)
			continue;
		if (scope != ID_NONE)
			map_set(&s->by_die, (uintptr_t)die.addr, scope);
		name = dwarf_diename(&die);
		if (!name && tag == DW_TAG_namespace)
			name = "(anonymous namespace)";
		if (name && dwarf_haschildren(&die) == 1 && strlen(before) + strlen(name) < LONGEST) {
			char *text = mem_printf("%s%s::", before, name);

			inner = (u32)s->scopes.n;
			vec_push(&s->scopes, arena_strndup(&s->arena, text, strlen(text)));
			free(text);
		}
		if (tag != DW_TAG_enumeration_type)
			walk(s, &die, inner, depth + 1);
	} while (dwarf_siblingof(&die, &die) == 0);
}

/* C has no scopes: a type that stands within another one there is known by its name alone. */
static bool has_scopes(Dwarf_Die *unit)
{
	switch (dwarf_srclang(unit)) {
	case DW_LANG_C:
	case DW_LANG_C89:
	case DW_LANG_C99:
	case DW_LANG_C11:
		return false;
	default:
		return true;
	}
}

const char *data_scope_of(struct data_scopes *s, Dwarf_Die *type)
{
	Dwarf_Die unit;
	u32 scope, before = s->units.n;

	if (!dwarf_diecu(type, &unit, NULL, NULL))
		return "";
	map_set(&s->units, (uintptr_t)unit.addr, 0);
	if (s->units.n != before && has_scopes(&unit))
		walk(s, &unit, ID_NONE, 0);
	scope = map_get(&s->by_die, (uintptr_t)type->addr);
	return scope == ID_NONE ? "" : s->scopes.v[scope];
}
