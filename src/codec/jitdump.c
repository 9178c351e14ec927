/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/jitdump.h"

#define RECORD_HEADER 16u

int jitdump_header_decode(const u8 *p, size_t size, struct jitdump_header *out)
{
	struct cursor c = cursor_over(p, size, false);
	u32 magic = cursor_u32(&c);

	*out = (struct jitdump_header){ .swap = magic == __builtin_bswap32(JITDUMP_MAGIC) };
	if (c.bad)
		return ERR_TRUNCATED;
	if (magic != JITDUMP_MAGIC && !out->swap)
		return ERR_FORMAT;
	c.swap = out->swap;
	out->version = cursor_u32(&c);
	out->size = cursor_u32(&c);
	out->machine = cursor_u32(&c);
	cursor_skip(&c, 4);
	out->pid = cursor_u32(&c);
	out->time = cursor_u64(&c);
	out->flags = cursor_u64(&c);
	if (c.bad)
		return ERR_TRUNCATED;
	if (out->version != 1)
		return ERR_UNSUPPORTED;
	return out->size < JITDUMP_HEADER_SIZE ? ERR_FORMAT : 0;
}

void jitdump_header_encode(struct bytes *b, const struct jitdump_header *h)
{
	bytes_u32(b, JITDUMP_MAGIC);
	bytes_u32(b, h->version);
	bytes_u32(b, JITDUMP_HEADER_SIZE);
	bytes_u32(b, h->machine);
	bytes_u32(b, 0);
	bytes_u32(b, h->pid);
	bytes_u64(b, h->time);
	bytes_u64(b, h->flags);
}

/* A NUL-terminated text; bad when its end is not there. */
static struct str read_text(struct cursor *c)
{
	const u8 *end = c->bad ? NULL : memchr(c->p, 0, cursor_left(c));
	struct str s = { (const char *)c->p, 0 };

	if (!end) {
		c->bad = true;
		return s;
	}
	s.len = (u32)(end - c->p);
	cursor_skip(c, (u64)s.len + 1);
	return s;
}

/* The n bytes that end the record, if they were given; false when the record itself has no room for them. */
static bool read_tail(struct cursor *c, u64 n, u64 record_left, const u8 **out)
{
	*out = n <= cursor_left(c) ? cursor_bytes(c, n) : NULL;
	return n <= record_left;
}

static bool decode_load(struct cursor *c, const u8 *start, u32 size, struct jitdump_load *l)
{
	l->pid = cursor_u32(c);
	l->tid = cursor_u32(c);
	l->vma = cursor_u64(c);
	l->addr = cursor_u64(c);
	l->code_size = cursor_u64(c);
	l->index = cursor_u64(c);
	l->name = read_text(c);
	return c->bad || read_tail(c, l->code_size, size - (u64)(c->p - start), &l->code);
}

static void decode_move(struct cursor *c, struct jitdump_move *m)
{
	m->pid = cursor_u32(c);
	m->tid = cursor_u32(c);
	m->vma = cursor_u64(c);
	m->old_addr = cursor_u64(c);
	m->new_addr = cursor_u64(c);
	m->code_size = cursor_u64(c);
	m->index = cursor_u64(c);
}

static bool decode_unwind(struct cursor *c, const u8 *start, u32 size, struct jitdump_unwind *u)
{
	u->size = cursor_u64(c);
	u->eh_frame_hdr_size = cursor_u64(c);
	u->mapped_size = cursor_u64(c);
	return c->bad || read_tail(c, u->size, size - (u64)(c->p - start), &u->data);
}

int jitdump_decode(const u8 *p, size_t size, bool swap, struct jitdump_record *out)
{
	struct cursor c = cursor_over(p, size, swap);
	bool fits = true;

	*out = (struct jitdump_record){ .id = cursor_u32(&c) };
	out->size = cursor_u32(&c);
	out->time = cursor_u64(&c);
	if (c.bad || out->size < RECORD_HEADER) {
		out->size = 0;
		return c.bad ? ERR_TRUNCATED : ERR_FORMAT;
	}
	if (size > out->size)
		c.end = p + out->size;
	switch (out->id) {
	case JITDUMP_CODE_LOAD:
		fits = decode_load(&c, p, out->size, &out->load);
		break;
	case JITDUMP_CODE_MOVE:
		decode_move(&c, &out->move);
		break;
	case JITDUMP_DEBUG_INFO:
		out->debug.addr = cursor_u64(&c);
		out->debug.n = cursor_u64(&c);
		out->debug.entries = c;
		break;
	case JITDUMP_UNWINDING_INFO:
		fits = decode_unwind(&c, p, out->size, &out->unwind);
		break;
	default:
		break;
	}
	if (c.bad)
		return size < out->size ? ERR_TRUNCATED : ERR_FORMAT;
	return fits ? 0 : ERR_FORMAT;
}

static void put_text(struct bytes *b, struct str s)
{
	bytes_put(b, s.p, s.len);
	bytes_u8(b, 0);
}

static void encode_load(struct bytes *b, const struct jitdump_load *l)
{
	bytes_u32(b, l->pid);
	bytes_u32(b, l->tid);
	bytes_u64(b, l->vma);
	bytes_u64(b, l->addr);
	bytes_u64(b, l->code_size);
	bytes_u64(b, l->index);
	put_text(b, l->name);
	bytes_put(b, l->code, l->code_size);
}

static void encode_move(struct bytes *b, const struct jitdump_move *m)
{
	bytes_u32(b, m->pid);
	bytes_u32(b, m->tid);
	bytes_u64(b, m->vma);
	bytes_u64(b, m->old_addr);
	bytes_u64(b, m->new_addr);
	bytes_u64(b, m->code_size);
	bytes_u64(b, m->index);
}

void jitdump_encode(struct bytes *b, const struct jitdump_record *r)
{
	size_t at = b->len;
	u32 size;

	bytes_u32(b, r->id);
	bytes_u32(b, 0);
	bytes_u64(b, r->time);
	switch (r->id) {
	case JITDUMP_CODE_LOAD:
		encode_load(b, &r->load);
		break;
	case JITDUMP_CODE_MOVE:
		encode_move(b, &r->move);
		break;
	case JITDUMP_DEBUG_INFO:
		bytes_u64(b, r->debug.addr);
		bytes_u64(b, r->debug.n);
		bytes_put(b, r->debug.entries.p, cursor_left(&r->debug.entries));
		break;
	case JITDUMP_UNWINDING_INFO:
		bytes_u64(b, r->unwind.size);
		bytes_u64(b, r->unwind.eh_frame_hdr_size);
		bytes_u64(b, r->unwind.mapped_size);
		bytes_put(b, r->unwind.data, r->unwind.size);
		break;
	default:
		break;
	}
	size = (u32)(b->len - at);
	memcpy(b->p + at + 4, &size, sizeof(size));
}

bool jitdump_line(struct jitdump_debug *d, struct jitdump_line *out)
{
	if (!d->n)
		return false;
	out->addr = cursor_u64(&d->entries);
	out->line = cursor_u32(&d->entries);
	out->discriminator = cursor_u32(&d->entries);
	out->file = read_text(&d->entries);
	if (d->entries.bad)
		return false;
	d->n--;
	return true;
}

void jitdump_line_encode(struct bytes *b, const struct jitdump_line *l)
{
	bytes_u64(b, l->addr);
	bytes_u32(b, l->line);
	bytes_u32(b, l->discriminator);
	put_text(b, l->file);
}
