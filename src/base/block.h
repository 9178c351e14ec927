/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of 64 bytes, at any address: compared and masked in vectors of 16 bytes, which x86-64 and 64-bit Arm have.
 * Compilers make steps of 8 bytes of a loop over words, because they cannot know that its arrays do not overlap.
 */
#ifndef BASE_BLOCK_H
#define BASE_BLOCK_H

#include <string.h>

#include "base/types.h"

#define BLOCK_WORDS 8u

typedef u64 block_part __attribute__((vector_size(16)));

/* The nth part of a block. */
static inline block_part block_part_of(const void *block, u32 nth)
{
	block_part v;

	memcpy(&v, (const u8 *)block + nth * sizeof(v), sizeof(v));
	return v;
}

static inline bool block_part_any(block_part v)
{
	return v[0] | v[1];
}

static inline bool block_is(const void *a, const void *b)
{
	return !block_part_any(
		(block_part_of(a, 0) ^ block_part_of(b, 0)) | (block_part_of(a, 1) ^ block_part_of(b, 1)) |
		(block_part_of(a, 2) ^ block_part_of(b, 2)) | (block_part_of(a, 3) ^ block_part_of(b, 3)));
}

/* Which of the bits that the mask selects differ from those of `wanted`, in the nth part. */
static inline block_part block_other_bits(const void *block, const void *mask, const void *wanted, u32 nth)
{
	return (block_part_of(block, nth) & block_part_of(mask, nth)) ^ block_part_of(wanted, nth);
}

/* Do the bits that the mask selects equal those of `wanted`, whose other bits are 0? */
static inline bool block_fits(const void *block, const void *mask, const void *wanted)
{
	return !block_part_any(block_other_bits(block, mask, wanted, 0) | block_other_bits(block, mask, wanted, 1) |
			       block_other_bits(block, mask, wanted, 2) | block_other_bits(block, mask, wanted, 3));
}

static inline void block_mask_part(void *out, const void *block, const void *mask, u32 nth)
{
	block_part v = block_part_of(block, nth) & block_part_of(mask, nth);

	memcpy((u8 *)out + nth * sizeof(v), &v, sizeof(v));
}

/* Writes the bits that the mask selects to out; the others become 0. */
static inline void block_mask(void *out, const void *block, const void *mask)
{
	block_mask_part(out, block, mask, 0);
	block_mask_part(out, block, mask, 1);
	block_mask_part(out, block, mask, 2);
	block_mask_part(out, block, mask, 3);
}

#endif
