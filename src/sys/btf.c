/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/btf.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/cursor.h"
#include "sys/smallfile.h"

#define LIMIT (64u << 20)
#define MAGIC 0xeb9f
#define HEAD 12 /* of a type: name, info, size or type */
#define MEMBER 12
#define DEPTH 8

enum { KIND_STRUCT = 4, KIND_UNION = 5, KIND_TYPEDEF = 8, KIND_RESTRICT = 11 };

/* What follows the head, by kind: so much, and so much for each of vlen. */
static const struct {
	u8 once, each;
	bool known;
} bodies[] = {
	[1] = { 4, 0, true },  [2] = { 0, 0, true },  [3] = { 12, 0, true },  [4] = { 0, 12, true },
	[5] = { 0, 12, true }, [6] = { 0, 8, true },  [7] = { 0, 0, true },   [8] = { 0, 0, true },
	[9] = { 0, 0, true },  [10] = { 0, 0, true }, [11] = { 0, 0, true },  [12] = { 0, 0, true },
	[13] = { 0, 8, true }, [14] = { 4, 0, true }, [15] = { 0, 12, true }, [16] = { 0, 0, true },
	[17] = { 4, 0, true }, [18] = { 0, 0, true }, [19] = { 0, 12, true },
};

struct type {
	struct cursor body;
	u32 name, kind, vlen, ref;
	bool bit_fields; /* offsets of members hold sizes of bit fields, too */
};

static bool find_types(struct btf *b)
{
	struct cursor c = cursor_over(b->types, b->types_size, false);

	while (cursor_left(&c)) {
		u32 at = (u32)(c.p - b->types), info, kind;

		cursor_skip(&c, 4);
		info = cursor_u32(&c);
		cursor_skip(&c, 4);
		kind = info >> 24 & 31;
		if (kind >= ARRAY_LEN(bodies) || !bodies[kind].known)
			return false;
		cursor_skip(&c, bodies[kind].once + (u64)bodies[kind].each * (info & 0xffff));
		if (c.bad)
			return false;
		vec_push(&b->at, at);
	}
	return true;
}

int btf_take(struct btf *b, struct bytes *file)
{
	struct cursor c = cursor_over(file->p, file->len, false), body;
	u32 head, types_at, types_size, strings_at, strings_size;

	*b = (struct btf){ .file = *file };
	*file = (struct bytes){ 0 };
	if (cursor_u16(&c) != MAGIC)
		return -EINVAL;
	cursor_skip(&c, 2);
	head = cursor_u32(&c);
	types_at = cursor_u32(&c);
	types_size = cursor_u32(&c);
	strings_at = cursor_u32(&c);
	strings_size = cursor_u32(&c);
	body = cursor_over(b->file.p, b->file.len, false);
	cursor_skip(&body, head);
	c = body;
	cursor_skip(&c, types_at);
	b->types = cursor_bytes(&c, types_size);
	cursor_skip(&body, strings_at);
	b->strings = (const char *)cursor_bytes(&body, strings_size);
	if (c.bad || body.bad || !strings_size || b->strings[strings_size - 1])
		return -EINVAL;
	b->types_size = types_size;
	b->strings_size = strings_size;
	return find_types(b) ? 0 : -EINVAL;
}

int btf_read(struct btf *b)
{
	struct bytes file = { 0 };
	int err = smallfile_read(AT_FDCWD, "/sys/kernel/btf/vmlinux", LIMIT, &file);

	*b = (struct btf){ 0 };
	if (!err)
		err = btf_take(b, &file);
	bytes_free(&file);
	return err;
}

void btf_free(struct btf *b)
{
	bytes_free(&b->file);
	vec_free(&b->at);
}

static const char *name_of(const struct btf *b, u32 name)
{
	return name < b->strings_size ? b->strings + name : "";
}

static bool type_at(const struct btf *b, u32 id, struct type *out)
{
	u32 info;

	if (!id || id > b->at.n)
		return false;
	out->body = cursor_over(b->types + b->at.v[id - 1], b->types_size - b->at.v[id - 1], false);
	out->name = cursor_u32(&out->body);
	info = cursor_u32(&out->body);
	out->ref = cursor_u32(&out->body);
	out->kind = info >> 24 & 31;
	out->vlen = info & 0xffff;
	out->bit_fields = info >> 31;
	return true;
}

static bool is_struct(const struct type *t)
{
	return t->kind == KIND_STRUCT || t->kind == KIND_UNION;
}

/* Through names and qualifiers. */
static bool struct_at(const struct btf *b, u32 id, struct type *out)
{
	for (u32 i = 0; i < DEPTH && type_at(b, id, out); i++) {
		if (is_struct(out))
			return true;
		if (out->kind < KIND_TYPEDEF || out->kind > KIND_RESTRICT)
			return false;
		id = out->ref;
	}
	return false;
}

/* In bits. */
static bool find_member(const struct btf *b, struct type t, const char *path, u32 depth, u32 *offset)
{
	size_t len = strcspn(path, ".");
	struct cursor c = t.body;

	for (u32 i = 0; i < t.vlen && depth; i++) {
		const char *name = name_of(b, cursor_u32(&c));
		u32 type = cursor_u32(&c), at = cursor_u32(&c);
		bool wanted = strlen(name) == len && !memcmp(name, path, len);
		struct type inner;

		if (t.bit_fields && at >> 24)
			continue;
		*offset = at;
		if (wanted && !path[len])
			return true;
		if ((wanted || !*name) && struct_at(b, type, &inner) &&
		    find_member(b, inner, wanted ? path + len + 1 : path, depth - 1, offset)) {
			*offset += at;
			return true;
		}
	}
	return false;
}

bool btf_offset(const struct btf *b, const char *type, const char *path, u32 *offset)
{
	for (u32 id = 1; id <= b->at.n; id++) {
		struct type t;

		if (!type_at(b, id, &t) || t.kind != KIND_STRUCT || strcmp(name_of(b, t.name), type))
			continue;
		if (find_member(b, t, path, DEPTH, offset)) {
			*offset /= 8;
			return true;
		}
	}
	return false;
}
