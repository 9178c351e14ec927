/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Growing arrays: VEC(type) declares { type *v; size_t n, cap; }. A zeroed one is empty. Growth may move v, so keep
 * indices, not pointers, across a push.
 */
#ifndef BASE_VEC_H
#define BASE_VEC_H

#include <stdlib.h>

#include "base/mem.h"
#include "base/types.h"

#define VEC(type)                                                                                                     \
	struct {                                                                                                      \
		type *v;                                                                                              \
		size_t n, cap;                                                                                        \
	}

#define vec_reserve(vec, want)                                                                                        \
	do {                                                                                                          \
		size_t want_ = (want);                                                                                \
		if (want_ > (vec)->cap) {                                                                             \
			(vec)->cap = MAX(want_, (vec)->cap ? (vec)->cap * 2 : 8);                                     \
			(vec)->v = mem_realloc((vec)->v, (vec)->cap, sizeof(*(vec)->v));                              \
		}                                                                                                     \
	} while (0)

/* The value may read the vector, which is as it was before the push. It must not push to it. */
#define vec_push(vec, ...)                                                                                            \
	do {                                                                                                          \
		vec_reserve(vec, (vec)->n + 1);                                                                       \
		(vec)->v[(vec)->n] = (__VA_ARGS__);                                                                   \
		(vec)->n++;                                                                                           \
	} while (0)

#define vec_free(vec)                                                                                                 \
	do {                                                                                                          \
		free((vec)->v);                                                                                       \
		(vec)->v = NULL;                                                                                      \
		(vec)->n = (vec)->cap = 0;                                                                            \
	} while (0)

#endif
