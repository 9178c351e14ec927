/* SPDX-License-Identifier: Apache-2.0 */
/* A stable sort on several threads, and what comparisons need. */
#ifndef BASE_SORT_H
#define BASE_SORT_H

#include "base/types.h"

typedef int (*sort_compare_fn)(const void *a, const void *b, void *ctx);

/* Like qsort_r, but elements that compare equal stay in order. compare runs on any worker. */
void sort_parallel(u32 workers, void *v, size_t n, size_t size, sort_compare_fn compare, void *ctx);

static inline int compare_u64(u64 x, u64 y)
{
	return x < y ? -1 : x > y;
}

#endif
