/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Set: finds things that stand elsewhere, each under a u32 id, by the hash of what they are. The set knows no more of
 * them than that; whether one is the thing that is looked for says the caller:
 *
 *	u32 id, at;
 *
 *	SET_FIND(id, &set, hash, at, things[id].name == name);
 *	if (id == ID_NONE)
 *		set_add(&set, hash, id = new_thing(name));
 *
 * Where the key is a number of 64 bits, struct map (base/map.h) keeps it as well and needs no comparison. A zeroed
 * struct is an empty set. Hashes are those of base/hash.h: their low bits are the place, and the low half passes by
 *most of what is something else without a look at it.
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

/* The first thing from slot *at on that may be of this hash, or ID_NONE; *at moves behind it. */
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

/* Sets `id` to that of the thing for which `same`, an expression with id in it, is true; to ID_NONE when there is
 * none. `at`: a u32 of the caller's. */
#define SET_FIND(id, set, hash, at, same)                                                                             \
	for ((at) = (u32)(hash); ((id) = set_next(set, hash, &(at))) != ID_NONE && !(same);)                          \
		;

/* Adds a thing that is not in it. Not ID_NONE. */
void set_add(struct set *s, u64 hash, u32 id);
void set_free(struct set *s);

#endif
