/* SPDX-License-Identifier: Apache-2.0 */
#include "base/set.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void put(struct set *s, struct set_slot what)
{
	u32 at = what.hash & s->mask;

	while (s->slots[at].id != ID_NONE)
		at = (at + 1) & s->mask;
	s->slots[at] = what;
}

static void grow(struct set *s)
{
	struct set old = *s;
	u32 size = old.slots ? (old.mask + 1) * 2 : 16;

	s->slots = mem_realloc(NULL, size, sizeof(*s->slots));
	memset(s->slots, 0xff, size * sizeof(*s->slots));
	s->mask = size - 1;
	for (u32 i = 0; old.slots && i <= old.mask; i++)
		if (old.slots[i].id != ID_NONE)
			put(s, old.slots[i]);
	free(old.slots);
}

void set_add(struct set *s, u64 hash, u32 id)
{
	if (!s->slots || s->n >= (s->mask + 1) / 4 * 3)
		grow(s);
	put(s, (struct set_slot){ (u32)hash, id });
	s->n++;
}

void set_free(struct set *s)
{
	free(s->slots);
	*s = (struct set){ 0 };
}
