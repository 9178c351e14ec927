/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The body of an entry: a head, a directory, then the blocks.
 *
 *	head       n symbols, n segments, n blocks of each, flags (u32 each), size of the directory, how much may be
 *	           demangled, marks (u64 each)
 *	directory  of each block: first address, place in the body (u64), size (u32), how many (u32), checksum (u64)
 *	checksum   of head and directory (u64)
 *
 * A block of symbols holds up to 256: start, end (u64), offset of the name in the block (u32) each, then the names. A
 * block of segments: start (u64), symbol (u32) each.
 *
 * Head and directory are read whole, a block when an address falls into it. Whatever comes out of a file is checked
 * before it is believed: counts against sizes, sizes against the file, order, names that end. Look-ups after that are
 * those of a table in memory.
 */
#include "state/stored.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base/cursor.h"
#include "base/hash.h"

#define PER_BLOCK 256u
#define HEAD_SIZE (5 * 4 + 2 * 8 + STORED_MARKS * 8)
#define ENTRY_SIZE (8 + 8 + 4 + 4 + 8)
#define SYMBOL_SIZE (8 + 8 + 4)
#define SEGMENT_SIZE (8 + 4)
#define LARGEST_NAME (64u << 10)
#define NAMES_FREE (64u << 10)
#define LARGEST_BLOCK (PER_BLOCK * (SYMBOL_SIZE + LARGEST_NAME))

enum { FLAG_KEEP_NAMES = 1, FLAG_STRIPPED = 2 };

struct symbol_block {
	struct symbol syms[PER_BLOCK];
	char *names;
};

struct segment_block {
	struct segment segs[PER_BLOCK];
};

struct block {
	u64 start, at, hash;
	u32 size, n;
	_Atomic(void *) loaded; /* a symbol_block or segment_block; NULL: not read yet */
};

struct stored {
	struct cache_entry entry;
	u32 n, nr_segs, nr_blocks, nr_seg_blocks, flags;
	u64 moved, demangled_most;
	struct block *blocks; /* of symbols, then of segments */
	pthread_mutex_t lock; /* for reading blocks */
};

static u32 blocks_of(u32 n)
{
	return n / PER_BLOCK + (n % PER_BLOCK != 0);
}

static void put_block(struct bytes *directory, struct bytes *blocks, size_t from, u64 start, u32 n)
{
	bytes_u64(directory, start);
	bytes_u64(directory, from);
	bytes_u32(directory, (u32)(blocks->len - from));
	bytes_u32(directory, n);
	bytes_u64(directory, hash_stable(blocks->p + from, blocks->len - from));
}

static void put_symbols(const struct table_parts *p, u32 first, struct bytes *directory, struct bytes *blocks)
{
	u32 n = MIN(PER_BLOCK, p->n - first);
	struct bytes names = { 0 };
	size_t from = blocks->len;

	for (u32 i = first; i < first + n; i++) {
		const char *name = p->names + p->syms[i].name;

		bytes_u64(blocks, p->syms[i].start);
		bytes_u64(blocks, p->syms[i].end);
		bytes_u32(blocks, (u32)names.len);
		bytes_put(&names, name, strlen(name) + 1);
	}
	bytes_put(blocks, names.p, names.len);
	put_block(directory, blocks, from, p->syms[first].start, n);
	bytes_free(&names);
}

static void put_segments(const struct table_parts *p, u32 first, struct bytes *directory, struct bytes *blocks)
{
	u32 n = MIN(PER_BLOCK, p->nr_segs - first);
	size_t from = blocks->len;

	for (u32 i = first; i < first + n; i++) {
		bytes_u64(blocks, p->segs[i].start);
		bytes_u32(blocks, p->segs[i].sym);
	}
	put_block(directory, blocks, from, p->segs[first].start, n);
}

/* A file may let its symbols share names, or ends of names; here each has its own. Those of compilers do not share. */
static bool is_small(const struct table_parts *p)
{
	u64 names = 0, most = 2 * (u64)p->names_size + NAMES_FREE;

	for (u32 i = 0; i < p->n && names <= most; i++) {
		size_t len = strnlen(p->names + p->syms[i].name, LARGEST_NAME) + 1;

		names += len > LARGEST_NAME ? most + 1 : len;
	}
	return names <= most && names + (u64)p->n * SYMBOL_SIZE + (u64)p->nr_segs * SEGMENT_SIZE <= CACHE_LARGEST;
}

bool stored_encode(const struct table_parts *p, const struct stored_marks *marks, struct bytes *out)
{
	struct bytes directory = { 0 }, blocks = { 0 };
	size_t from = out->len;

	if (!is_small(p))
		return false;
	for (u32 i = 0; i < p->n; i += PER_BLOCK)
		put_symbols(p, i, &directory, &blocks);
	for (u32 i = 0; i < p->nr_segs; i += PER_BLOCK)
		put_segments(p, i, &directory, &blocks);
	bytes_u32(out, p->n);
	bytes_u32(out, p->nr_segs);
	bytes_u32(out, blocks_of(p->n));
	bytes_u32(out, blocks_of(p->nr_segs));
	bytes_u32(out, (p->keep_names ? FLAG_KEEP_NAMES : 0) | (marks->stripped ? FLAG_STRIPPED : 0));
	bytes_u64(out, directory.len);
	bytes_u64(out, p->demangled_most);
	for (u32 i = 0; i < STORED_MARKS; i++)
		bytes_u64(out, marks->address[i]);
	bytes_put(out, directory.p, directory.len);
	bytes_u64(out, hash_stable(out->p + from, out->len - from));
	bytes_put(out, blocks.p, blocks.len);
	bytes_free(&directory);
	bytes_free(&blocks);
	return true;
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
	struct cursor c = cursor_over(head, sizeof(head), false);
	u64 size, sum, have;
	bool fine;

	if (!cache_entry_read(&t->entry, 0, head, sizeof(head)))
		return false;
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
	pthread_mutex_init(&t->lock, NULL);
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
	for (u32 i = 0; t->blocks && i < t->nr_blocks + t->nr_seg_blocks; i++) {
		struct symbol_block *b = t->blocks[i].loaded;

		if (b && i < t->nr_blocks)
			free(b->names);
		free(b);
	}
	free(t->blocks);
	pthread_mutex_destroy(&t->lock);
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

/* NULL: it is not what was written. */
static struct symbol_block *decode_symbols(const struct stored *t, const struct block *b, const u8 *raw)
{
	struct cursor c = cursor_over(raw, b->size, false);
	struct symbol_block *out = mem_zalloc(sizeof(*out));
	u32 names = b->size - b->n * SYMBOL_SIZE;
	u64 before = b->start;
	bool fine = names > 0;

	for (u32 i = 0; i < b->n; i++) {
		struct symbol *s = &out->syms[i];

		s->start = cursor_u64(&c);
		s->end = cursor_u64(&c);
		s->name = cursor_u32(&c);
		fine = fine && s->start < s->end && s->name < names && (i ? s->start >= before : s->start == before);
		before = s->start;
		s->start += t->moved;
		s->end += t->moved;
	}
	out->names = mem_alloc((size_t)names + 1);
	memcpy(out->names, raw + b->n * SYMBOL_SIZE, names);
	out->names[names] = 0;
	if (fine && !c.bad && !out->names[names - 1])
		return out;
	free(out->names);
	free(out);
	return NULL;
}

static struct segment_block *decode_segments(const struct stored *t, const struct block *b, const u8 *raw)
{
	struct cursor c = cursor_over(raw, b->size, false);
	struct segment_block *out = mem_zalloc(sizeof(*out));
	u64 before = b->start;
	bool fine = true;

	for (u32 i = 0; i < b->n; i++) {
		struct segment *s = &out->segs[i];

		s->start = cursor_u64(&c);
		s->sym = cursor_u32(&c);
		fine = fine && (s->sym < t->n || s->sym == ID_NONE) && (i ? s->start >= before : s->start == before);
		before = s->start;
		s->start += t->moved;
	}
	if (fine && !c.bad)
		return out;
	free(out);
	return NULL;
}

static void *read_block(struct stored *t, u32 i)
{
	struct block *b = &t->blocks[i];
	u8 *raw = mem_alloc(b->size);
	void *out = NULL;

	if (cache_entry_read(&t->entry, b->at, raw, b->size) && hash_stable(raw, b->size) == b->hash)
		out = i < t->nr_blocks ? (void *)decode_symbols(t, b, raw) : decode_segments(t, b, raw);
	free(raw);
	return out;
}

/* NULL: damaged. */
static void *get_block(struct stored *t, u32 i)
{
	void *out = atomic_load_explicit(&t->blocks[i].loaded, memory_order_acquire);

	if (out)
		return out;
	pthread_mutex_lock(&t->lock);
	out = atomic_load_explicit(&t->blocks[i].loaded, memory_order_relaxed);
	if (!out) {
		out = read_block(t, i);
		atomic_store_explicit(&t->blocks[i].loaded, out, memory_order_release);
	}
	pthread_mutex_unlock(&t->lock);
	return out;
}

/* The last of the n blocks that begin at or before addr; ID_NONE: none does. */
static u32 block_at(const struct block *blocks, u32 n, u64 addr)
{
	u32 lo = 0, hi = n;

	while (lo < hi) {
		u32 mid = lo + (hi - lo) / 2;

		if (blocks[mid].start <= addr)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo ? lo - 1 : ID_NONE;
}

static u32 find_segment(struct stored *t, u64 addr)
{
	u32 at = block_at(t->blocks + t->nr_blocks, t->nr_seg_blocks, addr - t->moved), i;
	const struct segment_block *b;

	if (at == ID_NONE)
		return ID_NONE;
	b = get_block(t, t->nr_blocks + at);
	if (!b)
		return STORED_DAMAGED;
	for (i = t->blocks[t->nr_blocks + at].n; i && b->segs[i - 1].start - t->moved > addr - t->moved;)
		i--;
	i = i ? b->segs[i - 1].sym : ID_NONE;
	/* From here on its name and range are there. */
	return i != ID_NONE && !get_block(t, i / PER_BLOCK) ? STORED_DAMAGED : i;
}

u32 stored_find(struct stored *t, u64 addr)
{
	const struct symbol_block *b;
	u32 at, lo = 0, hi;

	if (t->nr_segs)
		return find_segment(t, addr);
	at = block_at(t->blocks, t->nr_blocks, addr - t->moved);
	if (at == ID_NONE)
		return ID_NONE;
	b = get_block(t, at);
	if (!b)
		return STORED_DAMAGED;
	for (hi = t->blocks[at].n; lo < hi;) {
		u32 mid = lo + (hi - lo) / 2;

		if (b->syms[mid].start - t->moved <= addr - t->moved)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo && addr - t->moved < b->syms[lo - 1].end - t->moved ? at * PER_BLOCK + lo - 1 : ID_NONE;
}

const struct symbol *stored_symbol(const struct stored *t, u32 sym)
{
	const struct symbol_block *b = atomic_load_explicit(&t->blocks[sym / PER_BLOCK].loaded, memory_order_acquire);

	return &b->syms[sym % PER_BLOCK];
}

const char *stored_name(const struct stored *t, u32 sym)
{
	const struct symbol_block *b = atomic_load_explicit(&t->blocks[sym / PER_BLOCK].loaded, memory_order_acquire);

	return b->names + b->syms[sym % PER_BLOCK].name;
}
