/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Features of Android's simpleperf (system/extras/simpleperf, record_file_format.h and record_file.proto). A phone's
 * files are not available where its recordings are read, so the recorder writes the symbols that samples fell into
 * into the recording: at first in its own layout (FILE), later as protobuf messages (FILE2). The data stay in the
 * input; symbols are decoded each time they are needed, because a decoded symbol is many times larger than an encoded
 * one, which may have two bytes.
 */
#include <inttypes.h>

#include "codec/features_impl.h"
#include "codec/proto.h"

/* Text that ends with a NUL. */
static struct str get_z(struct cursor *c)
{
	const u8 *nul = c->bad ? NULL : memchr(c->p, 0, cursor_left(c));

	if (!nul) {
		c->bad = true;
		return (struct str){ "", 0 };
	}
	return cursor_text(c, (u64)(nul - c->p) + 1);
}

static struct str text_of(struct proto_value *field)
{
	return cursor_text(&field->bytes, cursor_left(&field->bytes));
}

enum { FILE_PATH = 1, FILE_TYPE, FILE_START, FILE_SYMBOL, FILE_DEX_PART, FILE_ELF_PART, FILE_MODULE_PART };
enum { SYMBOL_START = 1, SYMBOL_LEN, SYMBOL_NAME };
enum { PART_OFFSET = 1 };
enum { UNWIND_FILE = 1 };
enum { UNWIND_PATH = 1, UNWIND_SIZE };

static bool message_symbol(struct cursor *at, struct feat_file_symbol *out)
{
	struct proto_value field, part;

	while (proto_next(at, &field)) {
		if (field.field != FILE_SYMBOL)
			continue;
		*out = (struct feat_file_symbol){ .name = { "", 0 } };
		while (proto_next(&field.bytes, &part)) {
			if (part.field == SYMBOL_START)
				out->start = part.number;
			else if (part.field == SYMBOL_LEN)
				out->len = (u32)part.number;
			else if (part.field == SYMBOL_NAME)
				out->name = text_of(&part);
		}
		at->bad |= field.bytes.bad;
		return !at->bad;
	}
	return false;
}

static bool plain_symbol(struct cursor *at, struct feat_file_symbol *out)
{
	if (at->bad || !cursor_left(at))
		return false;
	out->start = cursor_u64(at);
	out->len = cursor_u32(at);
	out->name = get_z(at);
	return !at->bad;
}

bool feat_file_symbol(const struct feat_file *f, struct cursor *at, struct feat_file_symbol *out)
{
	return f->is_message ? message_symbol(at, out) : plain_symbol(at, out);
}

static void get_file(struct cursor *c, struct feat_file *file)
{
	struct feat_file_symbol symbol;
	const u8 *begin;

	file->path = get_z(c);
	file->type = cursor_u32(c);
	file->start = cursor_u64(c);
	file->nr_symbols = cursor_u32(c);
	begin = c->p;
	for (u32 i = 0; i < file->nr_symbols && !c->bad; i++)
		c->bad |= !plain_symbol(c, &symbol);
	file->symbols = cursor_over(begin, (size_t)(c->p - begin), c->swap);
	if (file->type == FILE_DEX)
		cursor_skip(c, 8ull * cursor_u32(c));
	file->has_offset = (file->type == FILE_ELF || file->type == FILE_MODULE) && cursor_left(c);
	if (file->has_offset)
		file->start_offset = cursor_u64(c);
}

/* A feature that comes again stands for the one before. Returns how many files are left. */
static size_t forget_files(struct features *f, bool messages)
{
	size_t n = 0;

	for (size_t i = 0; i < f->files.n; i++)
		if (f->files.v[i].is_message != messages)
			f->files.v[n++] = f->files.v[i];
	f->files.n = n;
	return n;
}

void simpleperf_files(struct features *f, struct cursor *c, struct arena *arena)
{
	size_t before = forget_files(f, false);

	(void)arena;
	while (cursor_left(c) && !c->bad) {
		struct cursor entry = cursor_sub(c, cursor_u32(c));
		struct feat_file file = { 0 };

		get_file(&entry, &file);
		c->bad |= entry.bad || f->files.n >= DESCRIBED_MAX;
		vec_push(&f->files, file);
	}
	if (c->bad)
		f->files.n = before;
}

static void get_file_message(struct cursor *c, struct feat_file *file)
{
	struct feat_file_symbol symbol;
	struct proto_value field, part;

	*file = (struct feat_file){ .path = { "", 0 }, .is_message = true, .symbols = *c };
	while (proto_next(c, &field)) {
		if (field.field == FILE_PATH)
			file->path = text_of(&field);
		else if (field.field == FILE_TYPE)
			file->type = (u32)field.number;
		else if (field.field == FILE_START)
			file->start = field.number;
		if (field.field != FILE_ELF_PART && field.field != FILE_MODULE_PART)
			continue;
		file->has_offset = true;
		while (proto_next(&field.bytes, &part))
			file->start_offset = part.field == PART_OFFSET ? part.number : file->start_offset;
		c->bad |= field.bytes.bad;
	}
	for (struct cursor at = file->symbols; !c->bad; file->nr_symbols++)
		if (!message_symbol(&at, &symbol)) {
			c->bad |= at.bad;
			break;
		}
}

void simpleperf_file_messages(struct features *f, struct cursor *c, struct arena *arena)
{
	size_t before = forget_files(f, true);

	(void)arena;
	while (cursor_left(c) && !c->bad) {
		struct cursor entry = cursor_sub(c, cursor_u32(c));
		struct feat_file file;

		get_file_message(&entry, &file);
		c->bad |= entry.bad || f->files.n >= DESCRIBED_MAX;
		vec_push(&f->files, file);
	}
	if (c->bad)
		f->files.n = before;
}

void simpleperf_meta(struct features *f, struct cursor *c, struct arena *arena)
{
	(void)arena;
	f->meta.n = 0;
	while (cursor_left(c) && !c->bad) {
		struct feat_meta m = { .key = get_z(c) };

		m.value = get_z(c);
		c->bad |= f->meta.n >= DESCRIBED_MAX;
		vec_push(&f->meta, m);
	}
	if (c->bad)
		f->meta.n = 0;
}

void simpleperf_unwind_files(struct features *f, struct cursor *c, struct arena *arena)
{
	struct proto_value field, part;

	(void)arena;
	f->unwind_files.n = 0;
	while (proto_next(c, &field)) {
		struct feat_unwind_file file = { .path = { "", 0 } };

		if (field.field != UNWIND_FILE)
			continue;
		while (proto_next(&field.bytes, &part)) {
			if (part.field == UNWIND_PATH)
				file.path = text_of(&part);
			else if (part.field == UNWIND_SIZE)
				file.size = part.number;
		}
		c->bad |= field.bytes.bad || f->unwind_files.n >= DESCRIBED_MAX;
		vec_push(&f->unwind_files, file);
	}
	if (c->bad)
		f->unwind_files.n = 0;
}

/* And back. */

static void put_z(struct bytes *out, struct str s)
{
	bytes_put(out, s.p, s.len);
	bytes_u8(out, 0);
}

static void put_file(const struct feat_file *file, struct bytes *out)
{
	struct cursor at = file->symbols;
	struct feat_file_symbol symbol;

	put_z(out, file->path);
	bytes_u32(out, file->type);
	bytes_u64(out, file->start);
	bytes_u32(out, file->nr_symbols);
	while (feat_file_symbol(file, &at, &symbol)) {
		bytes_u64(out, symbol.start);
		bytes_u32(out, symbol.len);
		put_z(out, symbol.name);
	}
	if (file->type == FILE_DEX)
		bytes_u32(out, 0);
	if (file->has_offset)
		bytes_u64(out, file->start_offset);
}

static void put_file_message(const struct feat_file *file, struct bytes *out)
{
	struct cursor at = file->symbols;
	struct feat_file_symbol symbol;
	struct bytes part = { 0 };

	proto_bytes(out, FILE_PATH, file->path.p, file->path.len);
	proto_number(out, FILE_TYPE, file->type);
	proto_number(out, FILE_START, file->start);
	while (feat_file_symbol(file, &at, &symbol)) {
		part.len = 0;
		proto_number(&part, SYMBOL_START, symbol.start);
		proto_number(&part, SYMBOL_LEN, symbol.len);
		proto_bytes(&part, SYMBOL_NAME, symbol.name.p, symbol.name.len);
		proto_bytes(out, FILE_SYMBOL, part.p, part.len);
	}
	part.len = 0;
	proto_number(&part, PART_OFFSET, file->start_offset);
	if (file->has_offset)
		proto_bytes(out, file->type == FILE_MODULE ? FILE_MODULE_PART : FILE_ELF_PART, part.p, part.len);
	bytes_free(&part);
}

static void put_files(const struct features *f, bool messages, struct bytes *out)
{
	struct bytes one = { 0 };

	for (size_t i = 0; i < f->files.n; i++) {
		const struct feat_file *file = &f->files.v[i];

		if (file->is_message != messages)
			continue;
		one.len = 0;
		(messages ? put_file_message : put_file)(file, &one);
		bytes_u32(out, (u32)one.len);
		bytes_put(out, one.p, one.len);
	}
	bytes_free(&one);
}

static void put_unwind_files(const struct features *f, struct bytes *out)
{
	struct bytes one = { 0 };

	for (size_t i = 0; i < f->unwind_files.n; i++) {
		const struct feat_unwind_file *file = &f->unwind_files.v[i];

		one.len = 0;
		proto_bytes(&one, UNWIND_PATH, file->path.p, file->path.len);
		proto_number(&one, UNWIND_SIZE, file->size);
		proto_bytes(out, UNWIND_FILE, one.p, one.len);
	}
	bytes_free(&one);
}

int simpleperf_encode(const struct features *f, enum feature id, struct bytes *out)
{
	switch (id) {
	case FEAT_SIMPLEPERF_FILE:
	case FEAT_SIMPLEPERF_FILE2:
		put_files(f, id == FEAT_SIMPLEPERF_FILE2, out);
		return 0;
	case FEAT_SIMPLEPERF_META_INFO:
		for (size_t i = 0; i < f->meta.n; i++) {
			put_z(out, f->meta.v[i].key);
			put_z(out, f->meta.v[i].value);
		}
		return 0;
	case FEAT_SIMPLEPERF_DEBUG_UNWIND:
		put_unwind_files(f, out);
		return 0;
	default:
		return ERR_UNSUPPORTED;
	}
}

static bool has(const struct features *f, u32 id)
{
	return f->present[id / 64] >> id % 64 & 1;
}

/* A value may have lines. */
static void print_value(struct str value, struct bytes *out)
{
	const char *p = value.p, *end = p + value.len, *line;

	for (; (line = memchr(p, '\n', (size_t)(end - p))) != NULL; p = line + 1) {
		bytes_plain(out, p, (size_t)(line - p));
		bytes_str(out, line + 1 < end ? "; " : "");
	}
	bytes_plain(out, p, (size_t)(end - p));
}

void simpleperf_print(const struct features *f, struct bytes *out)
{
	u64 symbols = 0, bytes = 0;

	for (size_t i = 0; i < f->files.n; i++)
		symbols += f->files.v[i].nr_symbols;
	for (size_t i = 0; i < f->unwind_files.n; i++)
		bytes += f->unwind_files.v[i].size;
	if (has(f, FEAT_SIMPLEPERF_FILE) || has(f, FEAT_SIMPLEPERF_FILE2))
		bytes_printf(out, "# simpleperf symbols : %" PRIu64 " of %zu files\n", symbols, f->files.n);
	for (size_t i = 0; has(f, FEAT_SIMPLEPERF_META_INFO) && i < f->meta.n; i++) {
		bytes_str(out, "# simpleperf ");
		bytes_plain(out, f->meta.v[i].key.p, f->meta.v[i].key.len);
		bytes_str(out, " : ");
		print_value(f->meta.v[i].value, out);
		bytes_char(out, '\n');
	}
	if (has(f, FEAT_SIMPLEPERF_DEBUG_UNWIND))
		bytes_printf(out, "# simpleperf files for debugging its unwinder : %zu, %" PRIu64 " bytes\n",
			     f->unwind_files.n, bytes);
	if (has(f, FEAT_SIMPLEPERF_ETM_BRANCH_LIST))
		bytes_str(out, "# contains a list of branches from CoreSight ETM, which is not read\n");
	if (has(f, FEAT_SIMPLEPERF_INIT_MAP))
		bytes_str(out, "# contains initial mappings (SIMPLEPERF_INIT_MAP), which are not read\n");
}
