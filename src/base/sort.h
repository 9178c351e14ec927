/* SPDX-License-Identifier: Apache-2.0 */
/* Stable sorts, by comparing on several threads and by numbers, and what comparisons need. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include "base/types.h"

typedef int (*sort_compare_fn)(const void *a, const void *b, void *ctx);

/* Like qsort_r, but elements that compare equal stay in order. compare runs on any worker. */
void sort_parallel(u32 workers, void *v, size_t n, size_t size, sort_compare_fn compare, void *ctx);

/* Makes ids a list of the n things' numbers, from 0, in the order of the numbers that each begins with: so many words,
 * the first of them counts most; equal ones stay in order. size: of a thing, in bytes. Takes a pass for each byte in
 * which things differ. */
void sort_by_words(u32 *ids, const void *things, size_t n, size_t size, u32 words);

static inline int compare_u64(u64 x, u64 y)
{
	return x < y ? -1 : x > y;
}

#endif
