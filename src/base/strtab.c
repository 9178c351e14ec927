/* SPDX-License-Identifier: Apache-2.0 */
#include "base/strtab.h"

#include <string.h>

#include "base/hash.h"

static u32 lookup(const struct strtab *t, u64 hash, const char *s, size_t len)
{
	u32 id, at;

	SET_FIND(id, &t->ids, hash, at, t->entries.v[id].len == len && !memcmp(t->entries.v[id].s, s, len));
	return id;
}

static u32 add(struct strtab *t, u64 hash, const char *s, size_t len)
{
	u32 id = (u32)t->entries.n;

	set_add(&t->ids, hash, id);
	vec_push(&t->entries, (struct strtab_entry){ arena_strndup(&t->arena, s, len), (u32)len });
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
	set_free(&t->ids);
	vec_free(&t->entries);
}
