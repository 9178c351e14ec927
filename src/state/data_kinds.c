/* SPDX-License-Identifier: Apache-2.0 */
#include "state/data_kinds.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/map.h"
#include "base/mem.h"
#include "base/vec.h"

struct data_kinds {
	VEC(struct dtype) types;
	struct map of_die;   /* place of a type's DIE -> types */
	struct map pointers; /* hash of type and offset -> pointees; NO_POINTER */
	VEC(struct dtype) pointees;
};

#define NO_POINTER (ID_NONE - 1)

struct data_kinds *data_kinds_new(void)
{
	return mem_zalloc(sizeof(struct data_kinds));
}

void data_kinds_free(struct data_kinds *k)
{
	if (!k)
		return;
	vec_free(&k->types);
	map_free(&k->of_die);
	map_free(&k->pointers);
	vec_free(&k->pointees);
	free(k);
}

u32 data_kind_of(struct data_kinds *k, const struct dtype *t)
{
	u32 id = *map_at(&k->of_die, (uintptr_t)t->die.addr, (u32)k->types.n);

	if (id == k->types.n)
		vec_push(&k->types, *t);
	return id;
}

const struct dtype *data_kind(const struct data_kinds *k, u32 kind)
{
	return &k->types.v[kind];
}

const struct dtype *data_kind_pointer(struct data_kinds *k, u32 kind, u64 offset)
{
	u32 *at = map_at(&k->pointers, hash_pair(kind, offset), ID_NONE);

	if (*at == ID_NONE) {
		struct dtype to;

		*at = NO_POINTER;
		if (dtype_pointer_at(&k->types.v[kind], offset, &to)) {
			*at = (u32)k->pointees.n;
			vec_push(&k->pointees, to);
		}
	}
	return *at == NO_POINTER ? NULL : &k->pointees.v[*at];
}
