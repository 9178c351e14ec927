/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which threads and processes samples speak of: a Bloom filter of fixed size. It may hold one too many, which costs a
 * little memory, but never one too few. A zeroed struct is empty. Several threads may add at once.
 */
#ifndef STATE_THREADSET_H
#define STATE_THREADSET_H

#include "base/hash.h"

#define THREADSET_BITS (1u << 20)

struct threadset {
	u64 words[THREADSET_BITS / 64];
};

enum threadset_kind { THREADSET_PID, THREADSET_TID };

static inline void threadset_add(struct threadset *s, enum threadset_kind kind, u32 id)
{
	u32 bit = (u32)(hash_u64((u64)kind << 32 | id) % THREADSET_BITS);
	u64 *word = &s->words[bit / 64], one = 1ull << bit % 64;

	if (!(__atomic_load_n(word, __ATOMIC_RELAXED) & one))
		__atomic_fetch_or(word, one, __ATOMIC_RELAXED);
}

static inline bool threadset_has(const struct threadset *s, enum threadset_kind kind, u32 id)
{
	u32 bit = (u32)(hash_u64((u64)kind << 32 | id) % THREADSET_BITS);

	return s->words[bit / 64] >> bit % 64 & 1;
}

#endif
