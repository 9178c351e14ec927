/* SPDX-License-Identifier: Apache-2.0 */
/* Hash functions. Not for secrets: tables bound their probe lengths by their load factor, not by trust in the keys. */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <string.h>

#include "base/types.h"

static inline u64 hash_u64(u64 x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 32);
}

static inline u64 hash_mix(u64 h, u64 x)
{
	__uint128_t m = (__uint128_t)(h ^ x ^ 0x2d358dccaa6c78a5u) * 0x9e3779b97f4a7c15u;

	return (u64)m ^ (u64)(m >> 64);
}

/* Any bytes, any alignment. */
static inline u64 hash_bytes(const void *data, size_t len)
{
	const u8 *p = data;
	u64 h = len * 0x8bb84b93962eacc9u, w = 0;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = hash_mix(h, w);
	}
	if (len) {
		w = 0;
		memcpy(&w, p, len);
		h = hash_mix(h, w);
	}
	return hash_u64(h);
}

#endif
