/* SPDX-License-Identifier: Apache-2.0 */
/* What a test makes of good input. */
#ifndef TESTS_UNIT_SPOIL_H
#define TESTS_UNIT_SPOIL_H

#include <string.h>

#include "base/mem.h"
#include "base/random.h"

/* The nth round's bytes: some of `from` changed, and its end cut off, in memory of that size. */
static inline u8 *spoil(const u8 *from, size_t len, u64 *seed, size_t *left)
{
	u8 *copy;

	*left = random_next(seed) % 4 ? len : random_next(seed) % (len + 1);
	copy = mem_alloc(MAX(*left, (size_t)1));
	memcpy(copy, from, *left);
	for (u64 n = random_next(seed) % 8; n && *left; n--)
		copy[random_next(seed) % *left] = (u8)random_next(seed);
	return copy;
}

#endif
