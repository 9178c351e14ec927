/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Set: finds things that are stored elsewhere, each with a u32 id, by the hash of their contents. The set knows only
 * hashes and ids; the caller decides whether a candidate is the thing that it is looking for:
 *
 *	u32 id, at;
 *
 *	SET_FIND(id, &set, hash, at, things[id].name == name);
 *	if (id == ID_NONE)
 *		set_add(&set, hash, id = new_thing(name));
 *
 * If the key is a number of 64 bits, struct map (base/map.h) stores the key itself and needs no comparison. A zeroed
 * struct is an empty set. Hashes come from base/hash.h: their low bits are the place, and comparing the low half rules
 * out most other things without looking at them.
 */
#ifndef BASE_SET_H
#define BASE_SET_H

#include "base/types.h"

struct set_slot {
	u32 hash;
	u32 id; /* ID_NONE: empty slot */
};

struct set {
	struct set_slot *slots; /* a power of two of them, at most 3/4 full */
	u32 n, mask;
};

/* The first thing, from slot *at on, that may have this hash, or ID_NONE; *at moves to the next slot. */
static inline u32 set_next(const struct set *s, u64 hash, u32 *at)
{
	const struct set_slot *slot;

	if (!s->slots)
		return ID_NONE;
	do {
		slot = &s->slots[*at & s->mask];
		++*at;
	} while (slot->id != ID_NONE && slot->hash != (u32)hash);
	return slot->id;
}

/* Sets `id` to the id of the thing for which `same`, an expression that uses id, is true; to ID_NONE if there is none.
 * `at` is a u32 variable of the caller. */
#define SET_FIND(id, set, hash, at, same)                                                                             \
	for ((at) = (u32)(hash); ((id) = set_next(set, hash, &(at))) != ID_NONE && !(same);)                          \
		;

/* Adds a thing that is not in the set. The id must not be ID_NONE. */
void set_add(struct set *s, u64 hash, u32 id);
void set_free(struct set *s);

#endif
