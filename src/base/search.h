/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a number lies among items that are sorted by a number that each begins with: its first address, or when it
 * begins to hold. The tables are larger than the caches near the CPU, so a search is mostly waiting: whichever half is
 * taken, the middle of both is asked for beforehand.
 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

#include "base/types.h"

/* How many of the n items, each `stride` bytes and starting with a u64, have one of at most `key`, counted from
 * `origin` on: the items may go round the end of the numbers there. 0: none has. */
static inline size_t search_upto(const void *items, size_t n, size_t stride, u64 origin, u64 key)
{
	const u8 *base = items;
	size_t left = n;

	if (!n)
		return 0;
	while (left > 1) {
		size_t half = left / 2, next = (left - half) / 2;

		__builtin_prefetch(base + next * stride);
		__builtin_prefetch(base + (half + next) * stride);
		if (*(const u64 *)(const void *)(base + half * stride) - origin <= key - origin)
			base += half * stride;
		left -= half;
	}
	return (size_t)(base - (const u8 *)items) / stride +
	       (*(const u64 *)(const void *)base - origin <= key - origin);
}

/* The same of structs that begin with that field. */
#define SEARCH_UPTO(items, n, field, origin, key)                                                                     \
	({                                                                                                            \
		_Static_assert(!offsetof(__typeof__(*(items)), field) && sizeof((items)->field) == 8,                 \
			       "each item begins with it");                                                           \
		search_upto(items, n, sizeof(*(items)), origin, key);                                                 \
	})

#endif
