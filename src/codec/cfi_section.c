/* SPDX-License-Identifier: Apache-2.0 */
/* The entries of .eh_frame and .debug_frame: functions, and what they have in common. */
#include "base/map.h"
#include "codec/cfi.h"

/* How pointers are written (DW_EH_PE_*): what they look like, and what they are relative to. */
#define ENC_LOOK 0x0f
#define ENC_BASE 0x70
#define ENC_SIGNED 0x08
#define ENC_PCREL 0x10
#define ENC_INDIRECT 0x80
#define ENC_OMIT 0xff

#define MAX_COMMONS (1u << 18) /* of a section; files come from anybody */

/* A value of that look. An unknown one makes the cursor bad. */
static u64 encoded(struct cursor *c, u8 encoding, bool is64)
{
	bool is_signed = encoding & ENC_SIGNED;
	u64 v;

	switch (encoding & ENC_LOOK & ~ENC_SIGNED) {
	case 0: /* as an address */
		return is64 ? cursor_u64(c) : cursor_u32(c);
	case 1:
		return cursor_leb(c, is_signed);
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

static bool can_place(u8 encoding)
{
	return !(encoding & ENC_INDIRECT) && ((encoding & ENC_BASE) == 0 || (encoding & ENC_BASE) == ENC_PCREL);
}

u64 cfi_address(struct cursor *c, const struct cfi_section *s, u8 encoding)
{
	u64 at = s->addr + (u64)(c->p - s->bytes), v = encoded(c, encoding, s->is64);

	if ((encoding & ENC_BASE) == ENC_PCREL)
		v += at;
	return s->is64 ? v : (u32)v;
}

/* The letters of an augmentation, each of which adds something to the CIE. */
static void read_augmentation(struct cfi_common *e, struct cursor *c, struct str letters, bool is64)
{
	for (u32 i = 1; i < letters.len; i++)
		switch (letters.p[i]) {
		case 'R':
			e->encoding = cursor_u8(c);
			break;
		case 'P':
			(void)encoded(c, cursor_u8(c), is64);
			break;
		case 'L':
			cursor_skip(c, 1);
			break;
		case 'S':
			e->signal = true;
			break;
		case 'B': /* aarch64: signed with the other key, which changes nothing for us */
		case 'G': /* and with memory tags on the stack */
			break;
		default:
			e->known = false;
			return;
		}
}

/* The CIE whose body is at c. */
static struct cfi_common read_common(struct cursor c, const struct cfi_section *s)
{
	struct cfi_common e = { .known = true };
	u8 version = cursor_u8(&c);
	struct str letters = cursor_text(&c, cursor_left(&c));
	struct cursor more;

	if (c.bad)
		return (struct cfi_common){ 0 };
	c.p = (const u8 *)letters.p + MIN((size_t)letters.len + 1, (size_t)(c.end - (const u8 *)letters.p));
	if (version == 4)
		cursor_skip(&c, 2); /* sizes of an address and of a segment */
	e.code_align = cursor_leb(&c, false);
	e.data_align = cursor_leb(&c, true);
	e.return_reg = version == 1 ? cursor_u8(&c) : (u32)cursor_leb(&c, false);
	if (letters.len && letters.p[0] == 'z') {
		e.sized = true;
		more = cursor_sub(&c, cursor_leb(&c, false));
		read_augmentation(&e, &more, letters, s->is64);
		c.bad |= more.bad;
	} else if (letters.len) {
		e.known = false;
	}
	e.known = e.known && !c.bad && can_place(e.encoding);
	e.program = c;
	return e;
}

/* An FDE's body, which begins behind the reference to its CIE. False: it is none. */
static bool read_function(struct cfi_function *f, struct cursor c)
{
	const struct cfi_section *s = f->section;
	u8 encoding = f->common->encoding;
	u64 size;

	f->start = cfi_address(&c, s, encoding);
	size = encoded(&c, encoding & ENC_LOOK & ~ENC_SIGNED, s->is64);
	f->end = f->start + size;
	if (f->common->sized)
		cursor_skip(&c, cursor_leb(&c, false));
	f->program = c;
	return !c.bad && size && f->end > f->start;
}

struct commons {
	VEC(struct cfi_common) v;
	struct map at; /* offset -> index */
};

static void read_entry(const struct cfi_section *s, struct commons *commons, u64 begins, bool wide, struct cursor body,
		       cfi_function_fn take, void *ctx)
{
	u64 id_at = (u64)(body.p - s->bytes), id = wide && s->debug ? cursor_u64(&body) : cursor_u32(&body);
	u64 common_id = !s->debug ? 0 : wide ? ~(u64)0 : 0xffffffff;
	struct cfi_function f = { .section = s };
	u32 common;

	if (body.bad)
		return;
	if (id == common_id) {
		if (commons->v.n == MAX_COMMONS)
			return;
		map_set(&commons->at, begins, (u32)commons->v.n);
		vec_push(&commons->v, read_common(body, s));
		return;
	}
	if (!s->debug && id > id_at)
		return;
	common = map_get(&commons->at, s->debug ? id : id_at - id);
	if (common == ID_NONE || !commons->v.v[common].known)
		return;
	f.common = &commons->v.v[common];
	if (read_function(&f, body))
		take(ctx, &f);
}

void cfi_functions(const struct cfi_section *s, cfi_function_fn take, void *ctx)
{
	struct cursor c = cursor_over(s->bytes, s->size, s->swap);
	struct commons commons = { 0 };

	while (cursor_left(&c) >= 8) {
		u64 begins = (u64)(c.p - s->bytes), length = cursor_u32(&c);
		bool wide = length == 0xffffffff;
		struct cursor body;

		if (!length)
			continue; /* between what the linker put together there may be ends */
		if (wide)
			length = cursor_u64(&c);
		body = cursor_sub(&c, length);
		if (body.bad)
			break;
		read_entry(s, &commons, begins, wide, body, take, ctx);
	}
	vec_free(&commons.v);
	map_free(&commons.at);
}
