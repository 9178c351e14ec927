/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hash functions; not for secrets. Whoever makes a recording chooses most keys, and keys that all have the same hash
 * would turn a table into a list. So hashes differ from one run of the program to the next, depending on the address
 * at which the system loaded it. Nothing that is shown may depend on them; hash_stable is for that.
 */
#ifndef BASE_HASH_H
#define BASE_HASH_H

#include <string.h>

#include "base/mem.h"

/* The number of slots that a table needs for this number of things: a power of two, between least and most, which are
 * powers of two. */
static inline u32 hash_slots(u64 things, u32 least, u32 most)
{
	u32 slots = least;

	while (slots < most && slots < things)
		slots *= 2;
	return slots;
}

/* Memory for the slots, zeroed. With more things than slots all pages will be used and are faulted in now; with fewer,
 * or with UINT64_MAX, which means that the number is unknown, pages are faulted in as they are needed. */
static inline void *hash_room(u64 things, u32 slots, size_t size)
{
	return things > slots && things != UINT64_MAX ? mem_zalloc_used(slots * size) : mem_zalloc(slots * size);
}

static inline u64 hash_seed(void)
{
	return (u64)(uintptr_t)mem_alloc * 0xd6e8feb86659fd93u;
}

static inline u64 hash_finish(u64 x)
{
	x ^= x >> 32;
	x *= 0x9e3779b97f4a7c15u;
	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9u;
	return x ^ (x >> 32);
}

static inline u64 hash_u64(u64 x)
{
	return hash_finish(x ^ hash_seed());
}

/* Both halves of the product of two values, so that each bit of both decides. */
static inline u64 hash_product(u64 a, u64 b)
{
	__uint128_t m = (__uint128_t)a * b;

	return (u64)m ^ (u64)(m >> 64);
}

static inline u64 hash_mix_by(u64 seed, u64 h, u64 x)
{
	return hash_product(h ^ x ^ seed ^ 0x2d358dccaa6c78a5u, 0x9e3779b97f4a7c15u);
}

/* h is a hash already: with two plain values, pairs with the same exclusive-or would have the same hash. */
static inline u64 hash_mix(u64 h, u64 x)
{
	return hash_mix_by(hash_seed(), h, x);
}

/* The hash of two values, good enough to stand for the pair in a map. */
static inline u64 hash_pair(u64 a, u64 b)
{
	return hash_finish(hash_mix(hash_u64(a), b));
}

static inline u64 hash_bytes_by(u64 seed, const void *data, size_t len)
{
	const u8 *p = data;
	u64 h = len * 0x8bb84b93962eacc9u, w = 0;

	for (; len >= 8; p += 8, len -= 8) {
		memcpy(&w, p, 8);
		h = hash_mix_by(seed, h, w);
	}
	if (len) {
		w = 0;
		memcpy(&w, p, len);
		h = hash_mix_by(seed, h, w);
	}
	return hash_finish(h ^ seed);
}

/* Any bytes, any alignment. */
static inline u64 hash_bytes(const void *data, size_t len)
{
	return hash_bytes_by(hash_seed(), data, len);
}

/* The same in every run, so whoever chooses the bytes can choose the hash: not for tables. */
static inline u64 hash_stable(const void *data, size_t len)
{
	return hash_bytes_by(0, data, len);
}

#endif
