/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Protocol buffers, as far as they are needed: a message is a run of fields, each with its number and its type. When
 * one is written, a message within a message follows its length, which is filled in when it ends, so `out` must not
 * empty itself into a file (base/bytes.h) meanwhile.
 */
#ifndef CODEC_PROTO_H
#define CODEC_PROTO_H

#include "base/bytes.h"
#include "base/cursor.h"

enum proto_type {
	PROTO_VARINT = 0,
	PROTO_FIXED64 = 1,
	PROTO_BYTES = 2, /* texts, messages, and numbers in a row */
	PROTO_FIXED32 = 5,
};

struct proto_value {
	u32 field;
	u64 number;	     /* of a varint; 0 for others */
	struct cursor bytes; /* of fields that have a length; empty for others */
};

/* The next field of a message that is input. False at its end, and where it is broken. */
static inline bool proto_next(struct cursor *c, struct proto_value *out)
{
	u64 tag;

	if (c->bad || !cursor_left(c))
		return false;
	tag = cursor_leb(c, false);
	*out = (struct proto_value){ .field = (u32)MIN(tag >> 3, (u64)UINT32_MAX),
				     .bytes = cursor_over(NULL, 0, false) };
	switch (tag & 7) {
	case PROTO_VARINT:
		out->number = cursor_leb(c, false);
		break;
	case PROTO_FIXED64:
		cursor_skip(c, 8);
		break;
	case PROTO_BYTES:
		out->bytes = cursor_sub(c, cursor_leb(c, false));
		break;
	case PROTO_FIXED32:
		cursor_skip(c, 4);
		break;
	default:
		c->bad = true;
	}
	return !c->bad && !out->bytes.bad;
}

static inline void proto_field(struct bytes *out, u32 field, enum proto_type type)
{
	bytes_varint(out, (u64)field << 3 | type);
}

/* Of any type that is a varint but the zigzag ones; negative numbers are those of 64 bits. */
static inline void proto_number(struct bytes *out, u32 field, u64 v)
{
	proto_field(out, field, PROTO_VARINT);
	bytes_varint(out, v);
}

/* Nothing where the number is 0, as a reader takes it for that. */
static inline void proto_nonzero(struct bytes *out, u32 field, u64 v)
{
	if (v)
		proto_number(out, field, v);
}

static inline void proto_fixed64(struct bytes *out, u32 field, u64 v)
{
	proto_field(out, field, PROTO_FIXED64);
	for (u32 i = 0; i < 8; i++)
		bytes_u8(out, (u8)(v >> 8 * i));
}

static inline void proto_bytes(struct bytes *out, u32 field, const void *p, size_t n)
{
	proto_field(out, field, PROTO_BYTES);
	bytes_varint(out, n);
	bytes_put(out, p, n);
}

static inline void proto_text(struct bytes *out, u32 field, const char *s)
{
	proto_bytes(out, field, s, strlen(s));
}

/* Begins a message, or numbers in a row, which follow; proto_end takes what it returns. */
static inline size_t proto_begin(struct bytes *out, u32 field)
{
	proto_field(out, field, PROTO_BYTES);
	bytes_u8(out, 0);
	return out->len;
}

static inline void proto_end(struct bytes *out, size_t begun)
{
	size_t n = out->len - begun;
	u32 more = 0;

	for (size_t left = n >> 7; left; left >>= 7)
		more++;
	if (more) {
		bytes_zero(out, more);
		memmove(out->p + begun + more, out->p + begun, n);
	}
	for (u32 i = 0; i <= more; i++)
		out->p[begun - 1 + i] = (u8)(n >> 7 * i & 0x7f) | (i < more ? 0x80 : 0);
}

#endif
