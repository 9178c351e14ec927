/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an address lies among items that are sorted by where they begin. The tables are larger than the caches near
 * the CPU, so a search is mostly waiting: whichever half is taken, the middle of both is asked for beforehand.
 */
#ifndef BASE_SEARCH_H
#define BASE_SEARCH_H

#include <stddef.h>

#include "base/types.h"

/* How many of the n items, each `stride` bytes and starting with its u64 start, begin at or before addr, counted from
 * `origin` on: the items may go round the end of the numbers there. 0: none do. */
static inline u32 search_upto(const void *items, u32 n, size_t stride, u64 origin, u64 addr)
{
	const u8 *base = items;
	u32 left = n;

	if (!n)
		return 0;
	while (left > 1) {
		u32 half = left / 2, next = (left - half) / 2;

		__builtin_prefetch(base + next * stride);
		__builtin_prefetch(base + (half + next) * stride);
		if (*(const u64 *)(const void *)(base + half * stride) - origin <= addr - origin)
			base += half * stride;
		left -= half;
	}
	return (u32)((size_t)(base - (const u8 *)items) / stride) +
	       (*(const u64 *)(const void *)base - origin <= addr - origin);
}

#endif
