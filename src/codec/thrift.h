/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Thrift's compact protocol, as far as Parquet needs it to be written: structs of numbered fields, lists, numbers and
 * texts. Fields of a struct are written in ascending order of their numbers, no two of which differ by more than 15.
 */
#ifndef CODEC_THRIFT_H
#define CODEC_THRIFT_H

#include "base/bytes.h"

enum thrift_type {
	THRIFT_TRUE = 1,
	THRIFT_FALSE = 2,
	THRIFT_I32 = 5,
	THRIFT_I64 = 6,
	THRIFT_BINARY = 8,
	THRIFT_LIST = 9,
	THRIFT_STRUCT = 12,
};

#define THRIFT_DEPTH 8

/* The caller sets out and zeroes the rest; a struct is open from the beginning. */
struct thrift {
	struct bytes *out;
	u32 depth;	       /* structs that are open around this one */
	u8 last[THRIFT_DEPTH]; /* number of the last field of each of them */
};

static inline u64 thrift_zigzag(s64 v)
{
	return (u64)v << 1 ^ (u64)(v >> 63);
}

static inline void thrift_field(struct thrift *t, u32 field, enum thrift_type type)
{
	bytes_u8(t->out, (u8)((field - t->last[t->depth]) << 4 | type));
	t->last[t->depth] = (u8)field;
}

/* type: THRIFT_I32 or THRIFT_I64. */
static inline void thrift_number(struct thrift *t, u32 field, enum thrift_type type, s64 v)
{
	thrift_field(t, field, type);
	bytes_varint(t->out, thrift_zigzag(v));
}

static inline void thrift_bool(struct thrift *t, u32 field, bool v)
{
	thrift_field(t, field, v ? THRIFT_TRUE : THRIFT_FALSE);
}

/* An element of a list of texts. */
static inline void thrift_text(struct thrift *t, const void *p, size_t n)
{
	bytes_varint(t->out, n);
	bytes_put(t->out, p, n);
}

static inline void thrift_binary(struct thrift *t, u32 field, const void *p, size_t n)
{
	thrift_field(t, field, THRIFT_BINARY);
	thrift_text(t, p, n);
}

/* Its elements follow. */
static inline void thrift_list(struct thrift *t, u32 field, enum thrift_type type, u32 n)
{
	thrift_field(t, field, THRIFT_LIST);
	if (n < 15) {
		bytes_u8(t->out, (u8)(n << 4 | type));
	} else {
		bytes_u8(t->out, (u8)(0xf0 | type));
		bytes_varint(t->out, n);
	}
}

/* An element of a list of structs: its fields follow, and thrift_end. */
static inline void thrift_element(struct thrift *t)
{
	t->last[++t->depth] = 0;
}

static inline void thrift_struct(struct thrift *t, u32 field)
{
	thrift_field(t, field, THRIFT_STRUCT);
	thrift_element(t);
}

/* The end of the innermost struct; the outermost one is ended last, by thrift_stop. */
static inline void thrift_end(struct thrift *t)
{
	bytes_u8(t->out, 0);
	t->depth--;
}

static inline void thrift_stop(struct thrift *t)
{
	bytes_u8(t->out, 0);
}

#endif
