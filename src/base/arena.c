/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define FIRST_BLOCK (4u << 10)
#define LARGEST_BLOCK (1u << 20)

struct arena_block {
	struct arena_block *older;
	size_t used, size; /* bytes of data[] */
	_Alignas(64) u8 data[];
};

static struct arena_block *add_block(struct arena *a, size_t least)
{
	size_t size = a->block ? MIN(a->block->size * 2, (size_t)LARGEST_BLOCK) : FIRST_BLOCK;
	struct arena_block *b;

	size = MAX(size, least);
	b = mem_alloc(sizeof(*b) + size);
	b->older = a->block;
	b->used = 0;
	b->size = size;
	a->block = b;
	a->bytes += sizeof(*b) + size;
	return b;
}

void *arena_alloc(struct arena *a, size_t size, size_t align)
{
	struct arena_block *b = a->block;
	uintptr_t base, at;

	if (b) {
		base = (uintptr_t)b->data;
		at = (base + b->used + align - 1) & ~(uintptr_t)(align - 1);
		if (at - base <= b->size && size <= b->size - (at - base)) {
			b->used = at - base + size;
			return (void *)at;
		}
	}
	b = add_block(a, size + align);
	base = (uintptr_t)b->data;
	at = (base + align - 1) & ~(uintptr_t)(align - 1);
	b->used = at - base + size;
	return (void *)at;
}

void *arena_copy(struct arena *a, const void *p, size_t size)
{
	void *copy = arena_alloc(a, size, 8);

	if (size)
		memcpy(copy, p, size);
	return copy;
}

char *arena_strndup(struct arena *a, const char *s, size_t n)
{
	char *copy = arena_alloc(a, n + 1, 1);

	if (n)
		memcpy(copy, s, n);
	copy[n] = 0;
	return copy;
}

void arena_free(struct arena *a)
{
	struct arena_block *b = a->block;

	while (b) {
		struct arena_block *older = b->older;

		free(b);
		b = older;
	}
	*a = (struct arena){ 0 };
}
