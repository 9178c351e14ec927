/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"

#include <stdlib.h>

#include "base/hash.h"
#include "base/mem.h"

static struct map_slot *find(const struct map *m, u64 key)
{
	u32 i = (u32)hash_u64(key) & m->mask;

	while (m->slots[i].value != ID_NONE && m->slots[i].key != key)
		i = (i + 1) & m->mask;
	return &m->slots[i];
}

static void grow(struct map *m)
{
	struct map old = *m;
	u32 size = old.slots ? (old.mask + 1) * 2 : 16;

	m->slots = mem_realloc(NULL, size, sizeof(*m->slots));
	m->mask = size - 1;
	for (u32 i = 0; i < size; i++)
		m->slots[i] = (struct map_slot){ 0, ID_NONE };
	for (u32 i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].value != ID_NONE)
			*find(m, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

u32 map_get(const struct map *m, u64 key)
{
	return m->slots ? find(m, key)->value : ID_NONE;
}

u32 *map_at(struct map *m, u64 key, u32 initial)
{
	struct map_slot *s;

	if (!m->slots || m->n >= (m->mask + 1) / 4 * 3)
		grow(m);
	s = find(m, key);
	if (s->value == ID_NONE) {
		*s = (struct map_slot){ key, initial };
		m->n++;
	}
	return &s->value;
}

void map_set(struct map *m, u64 key, u32 value)
{
	*map_at(m, key, value) = value;
}

void map_free(struct map *m)
{
	free(m->slots);
	*m = (struct map){ 0 };
}
