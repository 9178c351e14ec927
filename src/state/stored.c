/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an entry: a head, a directory, then the blocks.
 *
 *	head       n symbols, n segments, n blocks of each, flags (u32 each), size of the directory, how much may be
 *	           demangled, marks (u64 each)
 *	directory  of each block: first address, place in the body (u64), size (u32), how many (u32), checksum (u64)
 *	checksum   of head and directory (u64)
 *
 * A block of symbols holds up to 128: start, end (u64), offset of the name in the block, zero (u32) each, then the
 * names. A block of segments: start (u64), symbol, zero (u32) each. Both are read to where they are used.
 *
 * Head and directory are read whole, a block when an address falls into it. Whatever comes out of a file is checked
 * before it is believed: counts against sizes, sizes against the file, order, names that end. Look-ups after that are
 * those of a table in memory.
 */
#include "state/stored.h"

#include <stdatomic.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/search.h"

#define PER_BLOCK 128u
#define HEAD_SIZE (5 * 4 + 2 * 8 + STORED_MARKS * 8)
#define ENTRY_SIZE (8 + 8 + 4 + 4 + 8)
#define SYMBOL_SIZE (8 + 8 + 4 + 4)
#define SEGMENT_SIZE (8 + 4 + 4)
#define LARGEST_NAME (64u << 10)
#define NAMES_FREE (64u << 10)
#define LARGEST_BLOCK (PER_BLOCK * (SYMBOL_SIZE + LARGEST_NAME))

enum { FLAG_KEEP_NAMES = 1, FLAG_STRIPPED = 2 };

_Static_assert(sizeof(struct symbol) == SYMBOL_SIZE && sizeof(struct segment) == SEGMENT_SIZE, "as in the entry");

struct block {
	u64 start, at, hash;
	u32 size, n;
	_Atomic(u8 *) loaded; /* its bytes, with addresses that are moved; NULL: not read yet */
};

struct stored {
	struct cache_entry entry;
	u32 n, nr_segs, nr_blocks, nr_seg_blocks, flags;
	u64 moved, demangled_most;
	struct block *blocks; /* of symbols, then of segments */
};

static u32 blocks_of(u32 n)
{
	return n / PER_BLOCK + (n % PER_BLOCK != 0);
}

/* A block that was put at `from`; places count from `base`. */
static void put_row(struct bytes *directory, const struct bytes *out, size_t base, size_t from, u64 start, u32 n)
{
	bytes_u64(directory, start);
	bytes_u64(directory, from - base);
	bytes_u32(directory, (u32)(out->len - from));
	bytes_u32(directory, n);
	bytes_u64(directory, hash_stable(out->p + from, out->len - from));
}

/* Room for n things of a block; where it begins. */
static size_t leave_room(struct bytes *out, size_t n)
{
	size_t from = out->len;

	bytes_grow(out, n);
	out->len += n;
	return from;
}

/* left: how many bytes names may still take. A file may let its symbols share names, or ends of names; here each has
 * its own. Those of compilers do not share. False: they take more, or one of them is too long. */
static bool put_symbols(const struct table_parts *p, u32 first, u64 *left, struct bytes *out)
{
	u32 n = MIN(PER_BLOCK, p->n - first);
	size_t from = leave_room(out, n * SYMBOL_SIZE), names = out->len;

	for (u32 i = 0; i < n; i++) {
		const struct symbol *s = &p->syms[first + i];
		const char *name = p->names + s->name;
		size_t len = strnlen(name, LARGEST_NAME) + 1;
		const u32 at[2] = { (u32)(out->len - names), 0 };
		u8 *to = out->p + from + (size_t)i * SYMBOL_SIZE;

		if (len > LARGEST_NAME || len > *left)
			return false;
		*left -= len;
		memcpy(to, &s->start, 8);
		memcpy(to + 8, &s->end, 8);
		memcpy(to + 16, at, 8);
		bytes_put(out, name, len);
	}
	return true;
}

static void put_segments(const struct table_parts *p, u32 first, struct bytes *out)
{
	u32 n = MIN(PER_BLOCK, p->nr_segs - first);

	for (u32 i = first; i < first + n; i++) {
		bytes_u64(out, p->segs[i].start);
		bytes_u32(out, p->segs[i].sym);
		bytes_u32(out, 0);
	}
}

static void put_head(const struct table_parts *p, const struct stored_marks *marks, const struct bytes *directory,
		     struct bytes *out)
{
	bytes_u32(out, p->n);
	bytes_u32(out, p->nr_segs);
	bytes_u32(out, blocks_of(p->n));
	bytes_u32(out, blocks_of(p->nr_segs));
	bytes_u32(out, (p->keep_names ? FLAG_KEEP_NAMES : 0) | (marks->stripped ? FLAG_STRIPPED : 0));
	bytes_u64(out, directory->len);
	bytes_u64(out, p->demangled_most);
	for (u32 i = 0; i < STORED_MARKS; i++)
		bytes_u64(out, marks->address[i]);
	bytes_put(out, directory->p, directory->len);
	bytes_u64(out, hash_stable(out->p, out->len));
}

bool stored_encode(const struct table_parts *p, const struct stored_marks *marks, struct bytes *out)
{
	u64 things = (u64)p->n * SYMBOL_SIZE + (u64)p->nr_segs * SEGMENT_SIZE;
	u64 left = 2 * (u64)p->names_size + NAMES_FREE;
	size_t whole = out->len, base, from;
	struct bytes directory = { 0 }, head = { 0 };
	u64 head_size = HEAD_SIZE + ((u64)blocks_of(p->n) + blocks_of(p->nr_segs)) * ENTRY_SIZE + 8;
	bool fine = things + head_size <= CACHE_LARGEST;

	if (!fine)
		return false;
	bytes_grow(out, things + head_size + MIN(p->names_size, CACHE_LARGEST));
	(void)leave_room(out, head_size);
	base = out->len;
	for (u32 i = 0; fine && i < p->n; i += PER_BLOCK) {
		from = out->len;
		fine = put_symbols(p, i, &left, out);
		put_row(&directory, out, base, from, p->syms[i].start, MIN(PER_BLOCK, p->n - i));
	}
	for (u32 i = 0; fine && i < p->nr_segs; i += PER_BLOCK) {
		from = out->len;
		put_segments(p, i, out);
		put_row(&directory, out, base, from, p->segs[i].start, MIN(PER_BLOCK, p->nr_segs - i));
	}
	put_head(p, marks, &directory, &head);
	fine = fine && out->len - whole <= CACHE_LARGEST;
	if (fine)
		memcpy(out->p + whole, head.p, head.len);
	else
		out->len = whole;
	bytes_free(&directory);
	bytes_free(&head);
	return fine;
}

/* One row of the directory. `before`: the start of the block before; 0 for the first. */
static bool read_row(struct stored *t, struct cursor *c, struct block *b, u64 base, u32 each, u64 before)
{
	b->start = cursor_u64(c);
	b->at = cursor_u64(c);
	b->size = cursor_u32(c);
	b->n = cursor_u32(c);
	b->hash = cursor_u64(c);
	if (c->bad || !b->n || b->n > PER_BLOCK || b->size > LARGEST_BLOCK || b->size < b->n * each ||
	    b->start < before || b->at > t->entry.size - base || b->size > t->entry.size - base - b->at)
		return false;
	b->at += base;
	return true;
}

/* All blocks but the last of each kind are full, so that a symbol's number says where it is. */
static bool read_directory(struct stored *t, struct cursor *c, u64 base)
{
	u32 all = t->nr_blocks + t->nr_seg_blocks;
	u64 before = 0;

	t->blocks = mem_zalloc(MAX(all, 1u) * sizeof(*t->blocks));
	for (u32 i = 0; i < all; i++) {
		bool is_seg = i >= t->nr_blocks;
		u32 nth = is_seg ? i - t->nr_blocks : i, n = is_seg ? t->nr_segs : t->n;
		struct block *b = &t->blocks[i];

		if (!nth)
			before = 0;
		if (!read_row(t, c, b, base, is_seg ? SEGMENT_SIZE : SYMBOL_SIZE, before) ||
		    b->n != MIN(PER_BLOCK, n - nth * PER_BLOCK))
			return false;
		before = b->start;
	}
	return !cursor_left(c);
}

/* Sizes are checked against the entry before anything is allocated for them. */
static bool read_head(struct stored *t, struct stored_marks *marks)
{
	u8 head[HEAD_SIZE], *whole;
	struct cursor c;
	u64 size, sum, have;
	bool fine;

	if (!cache_entry_read(&t->entry, 0, head, sizeof(head)))
		return false;
	c = cursor_over(head, sizeof(head), false);
	t->n = cursor_u32(&c);
	t->nr_segs = cursor_u32(&c);
	t->nr_blocks = cursor_u32(&c);
	t->nr_seg_blocks = cursor_u32(&c);
	t->flags = cursor_u32(&c);
	size = cursor_u64(&c);
	t->demangled_most = cursor_u64(&c);
	for (u32 i = 0; i < STORED_MARKS; i++)
		marks->address[i] = cursor_u64(&c);
	marks->stripped = t->flags & FLAG_STRIPPED;
	if (t->n >= STORED_DAMAGED || t->nr_blocks != blocks_of(t->n) || t->nr_seg_blocks != blocks_of(t->nr_segs) ||
	    size != ((u64)t->nr_blocks + t->nr_seg_blocks) * ENTRY_SIZE || size > t->entry.size)
		return false;
	have = sizeof(head) + size;
	whole = mem_alloc(have + sizeof(sum));
	fine = cache_entry_read(&t->entry, 0, whole, have + sizeof(sum));
	memcpy(&sum, whole + have, fine ? sizeof(sum) : 0);
	c = cursor_over(whole + sizeof(head), size, false);
	fine = fine && hash_stable(whole, have) == sum && !memcmp(whole, head, sizeof(head)) &&
	       read_directory(t, &c, have + sizeof(sum));
	free(whole);
	return fine;
}

struct stored *stored_open(const struct cache_entry *e, struct stored_marks *marks)
{
	struct stored *t = mem_zalloc(sizeof(*t));

	t->entry = *e;
	if (read_head(t, marks)) {
		cache_entry_rest(&t->entry);
		return t;
	}
	stored_free(t);
	return NULL;
}

void stored_free(struct stored *t)
{
	if (!t)
		return;
	for (u32 i = 0; t->blocks && i < t->nr_blocks + t->nr_seg_blocks; i++)
		free(t->blocks[i].loaded);
	free(t->blocks);
	cache_entry_close(&t->entry);
	free(t);
}

void stored_move(struct stored *t, u64 by)
{
	t->moved = by;
}

u32 stored_count(const struct stored *t)
{
	return t->n;
}

bool stored_keeps_names(const struct stored *t)
{
	return t->flags & FLAG_KEEP_NAMES;
}

u64 stored_demangled_most(const struct stored *t)
{
	return t->demangled_most;
}

static struct symbol *symbols_of(u8 *raw)
{
	return (struct symbol *)(void *)raw;
}

static struct segment *segments_of(u8 *raw)
{
	return (struct segment *)(void *)raw;
}

/* Moves its symbols. False: it is not what was written. */
static bool take_symbols(const struct stored *t, const struct block *b, u8 *raw)
{
	u32 names = b->size - b->n * SYMBOL_SIZE;
	struct symbol *s = symbols_of(raw), *end = s + b->n;
	u64 before = b->start;
	bool fine = names > 0 && !raw[b->size - 1] && s->start == b->start;

	for (; s < end; s++) {
		fine = fine && s->start < s->end && s->name < names && s->start >= before;
		before = s->start;
		s->start += t->moved;
		s->end += t->moved;
	}
	return fine;
}

static bool take_segments(const struct stored *t, const struct block *b, u8 *raw)
{
	struct segment *s = segments_of(raw), *end = s + b->n;
	u64 before = b->start;
	bool fine = s->start == b->start;

	for (; s < end; s++) {
		fine = fine && (s->sym < t->n || s->sym == ID_NONE) && s->start >= before;
		before = s->start;
		s->start += t->moved;
	}
	return fine;
}

static u8 *read_block(struct stored *t, u32 i)
{
	struct block *b = &t->blocks[i];
	u8 *raw = mem_alloc(b->size);

	if (cache_entry_read(&t->entry, b->at, raw, b->size) && hash_stable(raw, b->size) == b->hash &&
	    (i < t->nr_blocks ? take_symbols(t, b, raw) : take_segments(t, b, raw)))
		return raw;
	free(raw);
	return NULL;
}

/* NULL: damaged. Two threads may read the same block at once; one of them puts it there and the other takes that. A
 * lock would let those wait who want different blocks. */
static u8 *get_block(struct stored *t, u32 i)
{
	u8 *out = atomic_load_explicit(&t->blocks[i].loaded, memory_order_acquire), *was = NULL;

	if (out)
		return out;
	out = read_block(t, i);
	if (out && !atomic_compare_exchange_strong(&t->blocks[i].loaded, &was, out)) {
		free(out);
		out = was;
	}
	return out;
}

/* The last of the n blocks that begin at or before addr; ID_NONE: none does. */
static u32 block_at(const struct block *blocks, u32 n, u64 addr)
{
	u32 upto = (u32)SEARCH_UPTO(blocks, n, start, 0, addr);

	return upto ? upto - 1 : ID_NONE;
}

static u32 find_segment(struct stored *t, u64 addr)
{
	u32 at = block_at(t->blocks + t->nr_blocks, t->nr_seg_blocks, addr - t->moved), i;
	const struct segment *segs;
	u8 *raw;

	if (at == ID_NONE)
		return ID_NONE;
	raw = get_block(t, t->nr_blocks + at);
	if (!raw)
		return STORED_DAMAGED;
	segs = segments_of(raw);
	i = (u32)SEARCH_UPTO(segs, t->blocks[t->nr_blocks + at].n, start, t->moved, addr);
	i = i ? segs[i - 1].sym : ID_NONE;
	/* From here on its name and range are there. */
	return i != ID_NONE && !get_block(t, i / PER_BLOCK) ? STORED_DAMAGED : i;
}

u32 stored_find(struct stored *t, u64 addr)
{
	const struct symbol *syms;
	u32 at, upto;
	u8 *raw;

	if (t->nr_segs)
		return find_segment(t, addr);
	at = block_at(t->blocks, t->nr_blocks, addr - t->moved);
	if (at == ID_NONE)
		return ID_NONE;
	raw = get_block(t, at);
	if (!raw)
		return STORED_DAMAGED;
	syms = symbols_of(raw);
	upto = (u32)SEARCH_UPTO(syms, t->blocks[at].n, start, t->moved, addr);
	if (!upto || addr - t->moved >= syms[upto - 1].end - t->moved)
		return ID_NONE;
	return at * PER_BLOCK + upto - 1;
}

/* That stored_find has read. */
static u8 *block_of(const struct stored *t, u32 sym)
{
	return atomic_load_explicit(&t->blocks[sym / PER_BLOCK].loaded, memory_order_acquire);
}

const struct symbol *stored_symbol(const struct stored *t, u32 sym)
{
	return symbols_of(block_of(t, sym)) + sym % PER_BLOCK;
}

const struct symbol *stored_read(struct stored *t, u32 sym)
{
	u8 *raw = get_block(t, sym / PER_BLOCK);

	return raw ? symbols_of(raw) + sym % PER_BLOCK : NULL;
}

const char *stored_name(const struct stored *t, u32 sym)
{
	u8 *raw = block_of(t, sym);

	return (const char *)raw + (size_t)t->blocks[sym / PER_BLOCK].n * SYMBOL_SIZE +
	       symbols_of(raw)[sym % PER_BLOCK].name;
}
