/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/frame_keys.h"

#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "state/data_types.h"

void frame_keys_free(struct frame_keys *k)
{
	map_free(&k->lines);
	map_free(&k->types);
	map_free(&k->by_dso);
	strtab_free(&k->names);
}

/* DSOs that share a short name are one: the first of them. */
u64 frame_key_dso_by_name(struct frame_keys *k, u64 dso)
{
	u32 name = strtab_intern_z(&k->names, dsos_at(k->p->dsos, (u32)dso)->short_name);

	return *map_at(&k->by_dso, name, (u32)dso);
}

u32 frame_key_dso(struct frame_keys *k, const struct frame *f)
{
	return (u32)frame_key_dso_by_name(k, f->dso);
}

/* Rows have a number that fits a frame's value; what is mapped of one file does. */
u32 frame_key_dso_size(struct frame_keys *k, const struct frame *f)
{
	return (u32)MIN(dsos_at(k->p->dsos, f->dso)->mapped, (u64)UINT32_MAX - 1);
}

/* The frame of the symbol as a whole; of code without one, that of the address. */
u32 frame_key_symbol(struct frame_keys *k, const struct frame *frame)
{
	struct frame f = *frame;

	if (f.sym != ID_NONE)
		f.addr = 0;
	return frames_intern(k->p->frames, &f);
}

u32 frame_key_symbol_size(struct frame_keys *k, const struct frame *f)
{
	const struct symbol *s = f->sym == ID_NONE ? NULL : dsos_symbol(k->p->dsos, f->dso, f->sym);

	return s ? (u32)MIN(s->end - s->start, (u64)UINT32_MAX - 1) : 0;
}

static const char *file_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

u32 frame_key_srcline(struct frame_keys *k, const struct frame *f)
{
	struct source_frame at;
	char text[PROFILE_MADE_UP];
	char *line;
	u32 id;

	if (!f->addr || !dsos_source_at(k->p->dsos, f->dso, f->addr, &at, 1) || !at.file)
		line = mem_printf("%s", profile_frame_name(k->p, frames_intern(k->p->frames, f), text, sizeof(text)));
	else
		line = mem_printf("%s:%u", file_name(at.file), at.line);
	id = strtab_intern_z(k->p->strings, line);
	free(line);
	return id;
}

/* Branches from and to a place are many, and a line is slow to find. */
u64 frame_key_end_line(struct frame_keys *k, u64 frame)
{
	u32 *line = map_at(&k->lines, frame, ID_NONE);

	if (*line == ID_NONE) {
		struct frame f = *frames_get(k->p->frames, (u32)frame);

		*line = frame_key_srcline(k, &f);
	}
	return *line;
}

/* Nothing where no line is known, as in perf. */
u32 frame_key_srcfile(struct frame_keys *k, const struct frame *f)
{
	struct source_frame at;
	bool known = f->addr && dsos_source_at(k->p->dsos, f->dso, f->addr, &at, 1) && at.file;

	return strtab_intern_z(k->p->strings, known ? file_name(at.file) : "");
}

/* --- types --- */

#define TYPE_LINE_BYTES 64 /* of a cache line */

static bool type_of(struct frame_keys *k, u64 value, struct typed_place *out)
{
	u32 datum = (u32)(value >> TYPE_DATUM_SHIFT);
	const struct frame *code = frames_get(k->p->frames, (u32)value), *data;

	if (datum) {
		data = frames_get(k->p->frames, datum - 1);
		if (dsos_type_of_datum(k->p->dsos, data->dso, data->addr, out))
			return true;
	}
	return code->sym != ID_NONE && dsos_type_of_access(k->p->dsos, code->dso, code->addr, out);
}

static char *type_text(u32 key, const struct typed_place *at)
{
	if (key == SORT_TYPE)
		return mem_strdup(at->type);
	if (key == SORT_TYPECLN)
		return mem_printf("%s: cache-line %llu", at->type, (unsigned long long)at->offset / TYPE_LINE_BYTES);
	return mem_printf("%s +%#llx (%s)", at->type, (unsigned long long)at->offset,
			  *at->members ? at->members : "no field");
}

static u64 type_key(struct frame_keys *k, u64 value, u32 key)
{
	u32 *text = map_at(&k->types, hash_pair(value, key), ID_NONE);
	struct typed_place at;
	char *made;

	if (*text == ID_NONE) {
		if (!type_of(k, value, &at))
			at = (struct typed_place){ "(unknown)", "", 0 };
		made = type_text(key, &at);
		*text = strtab_intern_z(k->p->strings, made);
		free(made);
	}
	return *text;
}

u64 frame_key_type(struct frame_keys *k, u64 value)
{
	return type_key(k, value, SORT_TYPE);
}

u64 frame_key_type_offset(struct frame_keys *k, u64 value)
{
	return type_key(k, value, SORT_TYPEOFF);
}

u64 frame_key_type_line(struct frame_keys *k, u64 value)
{
	return type_key(k, value, SORT_TYPECLN);
}
