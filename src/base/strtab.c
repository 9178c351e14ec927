/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include <string.h>

#include "base/hash.h"

static u32 lookup(const struct strtab *t, u64 hash, const char *s, size_t len)
{
	u32 id = map_get(&t->by_hash, hash);

	while (id != ID_NONE) {
		const struct strtab_entry *e = &t->entries.v[id];

		if (e->len == len && !memcmp(e->s, s, len))
			return id;
		id = e->next;
	}
	return ID_NONE;
}

static u32 add(struct strtab *t, u64 hash, const char *s, size_t len)
{
	u32 id = (u32)t->entries.n;
	u32 *head = map_at(&t->by_hash, hash, id);
	u32 next = *head == id ? ID_NONE : *head;

	*head = id;
	vec_push(&t->entries, (struct strtab_entry){ arena_strndup(&t->arena, s, len), (u32)len, next });
	return id;
}

u32 strtab_intern(struct strtab *t, const char *s, size_t len)
{
	u64 hash;
	u32 id;

	if (!t->entries.n)
		add(t, hash_bytes("", 0), "", 0);
	if (!len)
		return 0;
	hash = hash_bytes(s, len);
	id = lookup(t, hash, s, len);
	return id != ID_NONE ? id : add(t, hash, s, len);
}

u32 strtab_find(const struct strtab *t, const char *s, size_t len)
{
	if (!len)
		return t->entries.n ? 0 : ID_NONE;
	return lookup(t, hash_bytes(s, len), s, len);
}

u32 strtab_intern_z(struct strtab *t, const char *s)
{
	return strtab_intern(t, s, strlen(s));
}

const char *strtab_get(const struct strtab *t, u32 id)
{
	return id < t->entries.n ? t->entries.v[id].s : "";
}

void strtab_free(struct strtab *t)
{
	arena_free(&t->arena);
	map_free(&t->by_hash);
	vec_free(&t->entries);
}
