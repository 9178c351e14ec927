/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Entries of the symbol cache that somebody has made: what a writer of ours would write, edited, and with checksums
 * that fit, as checksums keep accidents out and not malice. An input is the kind of entry (bit 0: answers of DWARF
 * instead of a table; bit 1: a table whose symbols overlap), how much is in it (u16), and edits: a place (three bytes)
 * and what is flipped there (one byte) each. Whatever comes out is an answer or that it is damaged.
 */
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "fuzz.h"
#include "scratch.h"
#include "state/dso_answers.h"
#include "state/symtab.h"

#define MOST 700u
/* As in state/stored.c. */
#define TABLE_HEAD (5 * 4 + 4 * 8)
#define DIRECTORY_ROW 32

static void edit(struct bytes *b, const u8 *edits, size_t size)
{
	for (; size >= 4 && b->len; edits += 4, size -= 4)
		b->p[(edits[0] | edits[1] << 8 | edits[2] << 16) % b->len] ^= edits[3];
}

static void seal(struct bytes *b, size_t at, size_t from, size_t size)
{
	u64 sum = hash_stable(b->p + from, size);

	memcpy(b->p + at, &sum, sizeof(sum));
}

static u64 u64_at(const struct bytes *b, size_t at)
{
	u64 v;

	memcpy(&v, b->p + at, sizeof(v));
	return v;
}

static void seal_table(struct bytes *b)
{
	u64 directory = b->len < TABLE_HEAD ? b->len : u64_at(b, 20), blocks = TABLE_HEAD + directory + 8;

	if (directory > b->len || blocks > b->len)
		return;
	for (u64 row = TABLE_HEAD; row + DIRECTORY_ROW <= TABLE_HEAD + directory; row += DIRECTORY_ROW) {
		u64 at = u64_at(b, row + 8), size = (u32)u64_at(b, row + 16);

		if (at <= b->len - blocks && size <= b->len - blocks - at)
			seal(b, row + 24, blocks + at, size);
	}
	seal(b, TABLE_HEAD + directory, 0, TABLE_HEAD + directory);
}

static void make_table(u32 n, bool overlap, struct bytes *body)
{
	struct stored_marks marks = { .stripped = n & 1 };
	struct symtab_build b;
	struct symtab *t;
	char name[32];

	symtab_build_init(&b);
	for (u32 i = 0; i < n; i++) {
		int len = snprintf(name, sizeof(name), "f%u", i);
		u64 start = 0x1000 + (u64)i * 64;

		vec_push(&b.syms, (struct raw_symbol){ .start = start,
						       .end = start + (overlap && i % 5 == 0 ? 400 : 40),
						       .name = symtab_build_name(&b, name, (size_t)len),
						       .bind = BIND_GLOBAL,
						       .is_func = true });
	}
	t = symtab_finish(&b);
	MUST(symtab_encode(t, &marks, body));
	symtab_free(t);
}

static void look_up(struct symtab *t, u64 addr)
{
	u32 sym = symtab_find(t, addr);

	if (sym == ID_NONE || sym == STORED_DAMAGED)
		return;
	MUST(sym < symtab_count(t));
	MUST(strlen(symtab_raw_name(t, sym)) < 1u << 24 && symtab_shown_name(t, sym));
	MUST(symtab_at(t, sym));
}

static void table(u32 n, bool overlap, const u8 *edits, size_t size)
{
	struct cache_entry e = { .fd = memfd_create("entry", MFD_CLOEXEC) };
	struct stored_marks marks;
	struct bytes body = { 0 };
	struct stored *stored;
	struct symtab *t;

	make_table(n, overlap, &body);
	edit(&body, edits, size);
	seal_table(&body);
	MUST(e.fd >= 0 && write(e.fd, body.p, body.len) == (ssize_t)body.len);
	e.size = body.len;
	stored = stored_open(&e, &marks);
	if (stored) {
		t = symtab_over(stored, NULL);
		for (u64 addr = 0xff0; addr < 0x1000 + (u64)n * 64 + 500; addr += 31)
			look_up(t, addr);
		for (size_t at = 0; at + 8 <= body.len && at < 4096; at += 4)
			look_up(t, u64_at(&body, at));
		symtab_free(t);
	}
	bytes_free(&body);
}

static void make_answers(struct cache *c, const struct bytes *key, u32 n)
{
	struct answers *a = answers_new(c, key);
	char function[32], file[32];

	for (u32 i = 0; i < n; i++) {
		struct source_frame frames[2] = { { function, i % 3 ? file : NULL, i },
						  { i % 2 ? "outer" : NULL, "a.c", 7 } };

		snprintf(function, sizeof(function), "f%u", i % 50);
		snprintf(file, sizeof(file), "%u.c", i % 7);
		answers_add(a, 0x1000 + 16 * i, frames, i % 4 ? 2 : 0);
	}
	answers_free(a, c);
}

static void answers(u32 n, const u8 *edits, size_t size)
{
	struct bytes key = { 0 }, body = { 0 };
	struct source_frame frames[4];
	struct cache_entry e;
	struct answers *a;
	struct cache *c;
	u32 found = 0;

	setenv("XDG_CACHE_HOME", scratch(), 1);
	c = cache_new(NULL);
	MUST(c);
	bytes_u32(&key, n);
	cache_keep(c, CACHE_LINES, &key, &body); /* nothing of the input before */
	make_answers(c, &key, n);
	MUST(!cache_find(c, CACHE_LINES, &key, &e));
	bytes_grow(&body, e.size + 1);
	body.len = e.size;
	MUST(cache_entry_read(&e, 0, body.p, e.size));
	cache_entry_close(&e);
	edit(&body, edits, size);
	if (body.len >= 8)
		seal(&body, 0, 8, body.len - 8);
	cache_keep(c, CACHE_LINES, &key, &body);
	a = answers_new(c, &key);
	for (u64 addr = 0x1000; addr < 0x1000 + 16ull * n; addr += 16)
		if (answers_find(a, addr, frames, 4, &found)) {
			MUST(found <= 4);
			for (u32 i = 0; i < found; i++)
				MUST((!frames[i].function || strlen(frames[i].function) < body.len) &&
				     (!frames[i].file || strlen(frames[i].file) < body.len));
		}
	answers_free(a, c);
	cache_free(c);
	bytes_free(&key);
	bytes_free(&body);
}

int LLVMFuzzerTestOneInput(const u8 *data, size_t size)
{
	u32 n;

	if (size < 3)
		return 0;
	n = (u32)(data[1] | data[2] << 8) % MOST;
	if (data[0] & 1)
		answers(MAX(n, 1u), data + 3, size - 3);
	else
		table(n, data[0] & 2, data + 3, size - 3);
	return 0;
}

void fuzz_seeds(const struct recipe *r, const struct seed_sink *sink)
{
	(void)r;
	(void)sink;
}
