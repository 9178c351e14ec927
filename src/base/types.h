/* SPDX-License-Identifier: Apache-2.0 */
/* Short names of the fixed-width types, and the few helpers that everything uses. */
#ifndef BASE_TYPES_H
#define BASE_TYPES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint8_t u8;
typedef uint16_t u16;
typedef uint32_t u32;
typedef uint64_t u64;
typedef int32_t s32;
typedef int64_t s64;

#define ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define MIN(a, b) ((a) < (b) ? (a) : (b))
#define MAX(a, b) ((a) > (b) ? (a) : (b))

#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))

/* A piece of text or bytes that lives elsewhere. Not NUL-terminated; p may be NULL when len is 0. */
struct str {
	const char *p;
	u32 len;
};

/* "none" in every table that is indexed by u32. */
#define ID_NONE UINT32_MAX

#endif
