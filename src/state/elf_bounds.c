/* SPDX-License-Identifier: Apache-2.0 */
#include "state/elf_bounds.h"

#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "state/elf_symbols.h"

/* How pointers are written (DW_EH_PE_*): what they look like, and what they are relative to. */
#define ENC_LOOK 0x0f
#define ENC_BASE 0x70
#define ENC_SIGNED 0x08
#define ENC_PCREL 0x10
#define ENC_INDIRECT 0x80
#define ENC_OMIT 0xff

static u64 leb(struct cursor *c, bool is_signed)
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

/* A value of that look. An unknown one makes the cursor bad. */
static u64 encoded(struct cursor *c, u8 encoding, bool is64)
{
	bool is_signed = encoding & ENC_SIGNED;
	u64 v;

	switch (encoding & ENC_LOOK & ~ENC_SIGNED) {
	case 0: /* as an address */
		return is64 ? cursor_u64(c) : cursor_u32(c);
	case 1:
		return leb(c, is_signed);
	case 2:
		v = cursor_u16(c);
		return is_signed ? (u64)(s64)(int16_t)v : v;
	case 3:
		v = cursor_u32(c);
		return is_signed ? (u64)(s64)(int32_t)v : v;
	case 4:
		return cursor_u64(c);
	default:
		c->bad = true;
		return 0;
	}
}

/* The section while it is read. */
struct frames_section {
	const struct elf_file *f;
	const u8 *bytes;
	u64 addr, size;
	struct map encodings; /* offset of a CIE -> how its FDEs write addresses */
};

/* How the FDEs of the CIE whose body is at c write their addresses; ENC_OMIT: not known. */
static u8 encoding_of(struct cursor c, bool is64)
{
	u8 version = cursor_u8(&c);
	struct str augmentation = cursor_text(&c, cursor_left(&c));
	u8 encoding = 0;

	if (c.bad)
		return ENC_OMIT;
	c.p = (const u8 *)augmentation.p +
	      MIN((size_t)augmentation.len + 1, (size_t)(c.end - (const u8 *)augmentation.p));
	if (version == 4)
		cursor_skip(&c, 2); /* sizes of an address and of a segment */
	(void)leb(&c, false);
	(void)leb(&c, true);
	if (version == 1)
		cursor_skip(&c, 1);
	else
		(void)leb(&c, false);
	if (!augmentation.len)
		return c.bad ? ENC_OMIT : 0;
	if (augmentation.p[0] != 'z')
		return ENC_OMIT;
	(void)leb(&c, false);
	for (u32 i = 1; i < augmentation.len; i++) {
		u8 other;

		if (augmentation.p[i] == 'R') {
			encoding = cursor_u8(&c);
		} else if (augmentation.p[i] == 'P') {
			other = cursor_u8(&c);
			(void)encoded(&c, other, is64);
		} else if (augmentation.p[i] == 'L') {
			cursor_skip(&c, 1);
		}
	}
	return c.bad ? ENC_OMIT : encoding;
}

/* An FDE's body, which begins behind the reference to its CIE. */
static void add_function(struct elf_bounds *b, const struct frames_section *s, struct cursor c, u8 encoding)
{
	u64 at = s->addr + (u64)(c.p - s->bytes), start, size;
	struct code_bounds out;

	if (encoding & ENC_INDIRECT || ((encoding & ENC_BASE) != 0 && (encoding & ENC_BASE) != ENC_PCREL))
		return;
	start = encoded(&c, encoding, s->f->is64);
	size = encoded(&c, encoding & ENC_LOOK & ~ENC_SIGNED, s->f->is64);
	if ((encoding & ENC_BASE) == ENC_PCREL)
		start += at;
	if (!s->f->is64)
		start = (u32)start;
	if (c.bad || !size || !elf_file_offset(s->f, start, &out.start) || out.start + size < out.start)
		return;
	out.end = out.start + size;
	vec_push(&b->v, out);
}

static void read_entries(struct elf_bounds *b, struct frames_section *s)
{
	struct cursor c = cursor_over(s->bytes, s->size, s->f->swap);

	while (cursor_left(&c) >= 8) {
		u64 begins = (u64)(c.p - s->bytes), length = cursor_u32(&c), id_at, id, cie;
		struct cursor body;
		u32 encoding;

		if (!length)
			continue; /* between what the linker put together there may be ends */
		if (length == 0xffffffff)
			length = cursor_u64(&c);
		id_at = (u64)(c.p - s->bytes);
		body = cursor_sub(&c, length);
		id = cursor_u32(&body);
		if (body.bad)
			return;
		if (!id) {
			map_set(&s->encodings, begins, encoding_of(body, s->f->is64));
			continue;
		}
		cie = id_at - id;
		encoding = id > id_at ? ID_NONE : map_get(&s->encodings, cie);
		if (encoding != ID_NONE && encoding != ENC_OMIT)
			add_function(b, s, body, (u8)encoding);
	}
}

static int by_start(const void *va, const void *vb)
{
	const struct code_bounds *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

void elf_bounds_read(struct elf_bounds *b, const struct elf_file *f)
{
	const struct elf_section *sec = elf_section_named(f, ".eh_frame");
	struct frames_section s = { .f = f };
	u8 *bytes;

	if (!sec || elf_section_read(f, sec, &bytes) < 0)
		return;
	s.bytes = bytes;
	s.addr = sec->addr;
	s.size = sec->size;
	read_entries(b, &s);
	map_free(&s.encodings);
	free(bytes);
	if (b->v.n > 1)
		qsort(b->v.v, b->v.n, sizeof(*b->v.v), by_start);
}

const struct code_bounds *elf_bounds_find(const struct elf_bounds *b, u64 offset)
{
	size_t low = 0, high = b->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (b->v.v[middle].start <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low && offset < b->v.v[low - 1].end ? &b->v.v[low - 1] : NULL;
}

void elf_bounds_free(struct elf_bounds *b)
{
	vec_free(&b->v);
}
