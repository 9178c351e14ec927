/* SPDX-License-Identifier: Apache-2.0 */
/*
 * To say which calls were inlined at an address, DWARF sections are unpacked whole and units are walked: tenths of a
 * second and tens of megabytes for an answer of a few words. A report asks for the same addresses as the last one, so
 * the answers are what is kept, of each DWARF file those that were ever asked for.
 *
 * The body of an entry: checksum of what follows (u64), number of strings, size of them, number of answers (u32 each),
 * the strings with their NULs, then the answers: address (u64), number of frames (u32), and of each frame function,
 * file and line (u32 each; ID_NONE for no string).
 */
#include "state/dso_answers.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/hash.h"
#include "base/map.h"
#include "base/strtab.h"

#define HEAD (8 + 3 * 4)
#define FRAME_SIZE 12
/* A file of answers is read and written whole: what is more is not kept. */
#define LARGEST_BODY (16u << 20)

struct answer_frame {
	u32 function, file, line;
};

struct answer {
	u64 addr;
	u32 first, n; /* in frames */
};

struct answers {
	struct bytes key;
	struct strtab strings;
	struct map by_addr; /* -> all */
	VEC(struct answer) all;
	VEC(struct answer_frame) frames;
	size_t kept; /* of all, those that the cache has */
	bool keep;
};

static u32 number_of(struct answers *a, const char *s)
{
	return s ? strtab_intern_z(&a->strings, s) : ID_NONE;
}

static const char *string_of(const struct answers *a, u32 id)
{
	return id == ID_NONE ? NULL : strtab_get(&a->strings, id);
}

/* Strings have the numbers that they had when they were written. Each ends within its block. */
static bool read_strings(struct answers *a, struct cursor c, u32 n)
{
	for (u32 i = 0; i < n; i++) {
		const u8 *end = cursor_left(&c) ? memchr(c.p, 0, cursor_left(&c)) : NULL;

		if (!end || strtab_intern(&a->strings, (const char *)c.p, (size_t)(end - c.p)) != i)
			return false;
		c.p = end + 1;
	}
	return !cursor_left(&c);
}

static bool is_string(u32 id, u32 n)
{
	return id < n || id == ID_NONE;
}

static bool read_answer(struct answers *a, struct cursor *c, u32 nr_strings)
{
	struct answer x = { .addr = cursor_u64(c), .first = (u32)a->frames.n };

	x.n = cursor_u32(c);
	if (c->bad || x.n > cursor_left(c) / FRAME_SIZE || *map_at(&a->by_addr, x.addr, (u32)a->all.n) != a->all.n)
		return false;
	for (u32 i = 0; i < x.n; i++) {
		struct answer_frame f = { cursor_u32(c), 0, 0 };

		f.file = cursor_u32(c);
		f.line = cursor_u32(c);
		if (!is_string(f.function, nr_strings) || !is_string(f.file, nr_strings))
			return false;
		vec_push(&a->frames, f);
	}
	vec_push(&a->all, x);
	return true;
}

static bool decode(struct answers *a, const u8 *body, size_t size)
{
	struct cursor c = cursor_over(body, size, false), strings;
	u64 sum = cursor_u64(&c);
	u32 nr_strings, nr_answers, strings_size;

	if (c.bad || hash_stable(c.p, cursor_left(&c)) != sum)
		return false;
	nr_strings = cursor_u32(&c);
	strings_size = cursor_u32(&c);
	nr_answers = cursor_u32(&c);
	strings = cursor_sub(&c, strings_size);
	if (c.bad || !read_strings(a, strings, nr_strings))
		return false;
	for (u32 i = 0; i < nr_answers; i++)
		if (!read_answer(a, &c, nr_strings))
			return false;
	return !c.bad && !cursor_left(&c);
}

static void forget(struct answers *a)
{
	strtab_free(&a->strings);
	map_free(&a->by_addr);
	vec_free(&a->all);
	vec_free(&a->frames);
	a->strings = (struct strtab){ 0 };
	a->by_addr = (struct map){ 0 };
}

struct answers *answers_new(struct cache *c, const struct bytes *key)
{
	struct answers *a = mem_zalloc(sizeof(*a));
	struct cache_entry e;
	u8 *body;

	if (!key)
		return a;
	a->keep = true;
	bytes_put(&a->key, key->p, key->len);
	if (cache_find(c, CACHE_LINES, key, &e))
		return a;
	if (e.size >= HEAD && e.size <= LARGEST_BODY) {
		body = mem_alloc(e.size);
		if (!cache_entry_read(&e, 0, body, e.size) || !decode(a, body, e.size))
			forget(a);
		free(body);
	}
	cache_entry_close(&e);
	a->kept = a->all.n;
	return a;
}

size_t answers_count(const struct answers *a)
{
	return a->all.n;
}

bool answers_has(const struct answers *a, u64 addr)
{
	return map_get(&a->by_addr, addr) != ID_NONE;
}

void answers_do_not_keep(struct answers *a)
{
	a->keep = false;
}

bool answers_find(const struct answers *a, u64 addr, struct source_frame *out, u32 max, u32 *n)
{
	u32 at = map_get(&a->by_addr, addr);
	const struct answer *x;

	if (at == ID_NONE)
		return false;
	x = &a->all.v[at];
	*n = MIN(x->n, max);
	for (u32 i = 0; i < *n; i++) {
		const struct answer_frame *f = &a->frames.v[x->first + i];

		out[i] = (struct source_frame){ string_of(a, f->function), string_of(a, f->file), f->line };
	}
	return true;
}

void answers_add(struct answers *a, u64 addr, const struct source_frame *frames, u32 n)
{
	if (*map_at(&a->by_addr, addr, (u32)a->all.n) != a->all.n)
		return;
	vec_push(&a->all, (struct answer){ addr, (u32)a->frames.n, n });
	for (u32 i = 0; i < n; i++)
		vec_push(&a->frames, (struct answer_frame){ number_of(a, frames[i].function),
							    number_of(a, frames[i].file), frames[i].line });
}

static void encode(const struct answers *a, struct bytes *out)
{
	struct bytes rest = { 0 };
	u64 size = 0;

	for (size_t i = 0; i < a->strings.entries.n; i++)
		size += a->strings.entries.v[i].len + 1;
	bytes_u32(&rest, (u32)a->strings.entries.n);
	bytes_u32(&rest, (u32)size);
	bytes_u32(&rest, (u32)a->all.n);
	for (size_t i = 0; i < a->strings.entries.n; i++)
		bytes_put(&rest, a->strings.entries.v[i].s, a->strings.entries.v[i].len + 1);
	for (size_t i = 0; i < a->all.n; i++) {
		const struct answer *x = &a->all.v[i];

		bytes_u64(&rest, x->addr);
		bytes_u32(&rest, x->n);
		for (u32 k = x->first; k < x->first + x->n; k++) {
			bytes_u32(&rest, a->frames.v[k].function);
			bytes_u32(&rest, a->frames.v[k].file);
			bytes_u32(&rest, a->frames.v[k].line);
		}
	}
	bytes_u64(out, hash_stable(rest.p, rest.len));
	bytes_put(out, rest.p, rest.len);
	bytes_free(&rest);
}

void answers_keep(struct answers *a, struct cache *c)
{
	struct bytes body = { 0 };

	if (!a || !a->keep || a->all.n <= a->kept)
		return;
	encode(a, &body);
	if (body.len <= LARGEST_BODY)
		cache_keep(c, CACHE_LINES, &a->key, &body);
	bytes_free(&body);
	a->kept = a->all.n;
}

void answers_free(struct answers *a, struct cache *c)
{
	if (!a)
		return;
	answers_keep(a, c);
	forget(a);
	bytes_free(&a->key);
	free(a);
}
