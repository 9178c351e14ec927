/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash map from u64 to u32, open addressing. A zeroed struct is an empty map. ID_NONE cannot be stored as a value. For
 * keys that are wider than 64 bits there is base/set.h.
 */
#ifndef BASE_MAP_H
#define BASE_MAP_H

#include "base/types.h"

struct map {
	struct map_slot *slots; /* a power of two of them, at most 3/4 full */
	u32 n, mask;
};

struct map_slot {
	u64 key;
	u32 value; /* ID_NONE: empty slot */
};

u32 map_get(const struct map *m, u64 key);	  /* ID_NONE when absent */
void map_set(struct map *m, u64 key, u32 value);  /* adds or replaces */
u32 *map_at(struct map *m, u64 key, u32 initial); /* adds with initial when absent; valid until the next change */
void map_free(struct map *m);

#endif
