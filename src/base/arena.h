/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Arena: many small allocations, freed together. A zeroed struct is an empty arena. Not thread-safe; pointers stay
 * valid until arena_free.
 */
#ifndef BASE_ARENA_H
#define BASE_ARENA_H

#include "base/types.h"

struct arena {
	struct arena_block *block; /* the current one, which links to the older ones */
	size_t bytes;		   /* total taken from the heap */
};

void *arena_alloc(struct arena *a, size_t size, size_t align); /* not zeroed; align is a power of two, at most 64 */
void *arena_copy(struct arena *a, const void *p, size_t size); /* 8-aligned copy */
char *arena_strndup(struct arena *a, const char *s, size_t n); /* NUL-terminated copy; stops at n, not at NUL */
void arena_free(struct arena *a);			       /* leaves it empty and usable */

#define arena_new(a, type) ((type *)arena_alloc(a, sizeof(type), _Alignof(type)))
#define arena_array(a, type, n) ((type *)arena_alloc(a, sizeof(type) * (size_t)(n), _Alignof(type)))

#endif
