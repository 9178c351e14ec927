/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cursor: the only way in which raw input is read.
 *
 * A cursor goes through the bytes [p, end). A read that would pass the end returns zero, moves nothing and sets `bad`,
 * which stays set: so a decoder reads all its fields and checks once at the end. `swap` is set if the input's byte
 * order is not this machine's. Reads need no alignment.
 */
#ifndef BASE_CURSOR_H
#define BASE_CURSOR_H

#include <string.h>

#include "base/types.h"

struct cursor {
	const u8 *p, *end;
	bool swap;
	bool bad;
};

static inline struct cursor cursor_over(const void *data, size_t len, bool swap)
{
	const u8 *p = data ? data : (const u8 *)""; /* an empty input may have no address */

	return (struct cursor){ p, p + len, swap, false };
}

static inline size_t cursor_left(const struct cursor *c)
{
	return (size_t)(c->end - c->p);
}

/* The next n bytes, or NULL (and bad). n == 0 gives a valid pointer. */
static inline const u8 *cursor_bytes(struct cursor *c, u64 n)
{
	const u8 *at = c->p;

	if (UNLIKELY(c->bad || n > cursor_left(c))) {
		c->bad = true;
		return NULL;
	}
	c->p += n;
	return at;
}

static inline void cursor_skip(struct cursor *c, u64 n)
{
	(void)cursor_bytes(c, n);
}

static inline u8 cursor_u8(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 1);

	return p ? *p : 0;
}

static inline u16 cursor_u16(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 2);
	u16 v = 0;

	if (p)
		memcpy(&v, p, 2);
	return c->swap ? __builtin_bswap16(v) : v;
}

static inline u32 cursor_u32(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 4);
	u32 v = 0;

	if (p)
		memcpy(&v, p, 4);
	return c->swap ? __builtin_bswap32(v) : v;
}

static inline u64 cursor_u64(struct cursor *c)
{
	const u8 *p = cursor_bytes(c, 8);
	u64 v = 0;

	if (p)
		memcpy(&v, p, 8);
	return c->swap ? __builtin_bswap64(v) : v;
}

/* A number in LEB128 (DWARF 5, 7.6). Bits beyond the 64th are lost. */
static inline u64 cursor_leb(struct cursor *c, bool is_signed)
{
	u64 value = 0;
	u32 shift = 0;
	u8 byte;

	do {
		byte = cursor_u8(c);
		if (shift < 64)
			value |= (u64)(byte & 0x7f) << shift;
		shift += 7;
	} while (byte & 0x80 && !c->bad);
	if (is_signed && byte & 0x40 && shift < 64)
		value |= ~(u64)0 << shift;
	return value;
}

/* The text in a field of n bytes: up to its first NUL, or all of it. */
static inline struct str cursor_text(struct cursor *c, u64 n)
{
	const u8 *p = cursor_bytes(c, n);

	return p ? (struct str){ (const char *)p, (u32)strnlen((const char *)p, n) } : (struct str){ "", 0 };
}

/* A window of n bytes as a cursor of its own; an empty, bad one when they are not there. */
static inline struct cursor cursor_sub(struct cursor *c, u64 n)
{
	const u8 *p = cursor_bytes(c, n);

	return (struct cursor){ p ? p : c->end, p ? p + n : c->end, c->swap, !p };
}

/* An array of n u64 left in the input; read it with u64s_at. */
struct u64s {
	const u8 *p;
	u32 n;
	bool swap;
};

static inline u64 u64s_at(const struct u64s *a, u32 i)
{
	u64 v;

	memcpy(&v, a->p + (size_t)i * 8, 8);
	return a->swap ? __builtin_bswap64(v) : v;
}

/* n that is larger than what is left marks the cursor bad and gives an empty array. */
static inline struct u64s cursor_u64s(struct cursor *c, u64 n)
{
	const u8 *p = n <= cursor_left(c) / 8 ? cursor_bytes(c, n * 8) : NULL;

	if (!p)
		c->bad = true;
	return p ? (struct u64s){ p, (u32)n, c->swap } : (struct u64s){ NULL, 0, false };
}

#endif
