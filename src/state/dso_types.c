/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Types of data of a DSO: where its DWARF is, and what that has answered. A question is asked once for each address,
 * and the cache has the answers of earlier runs, as of source lines (dso_answers.h).
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cursor.h"
#include "state/apart.h"
#include "state/debuginfo.h"
#include "state/dso_answers.h"
#include "state/dso_cache.h"
#include "state/dso_table.h"
#include "state/elf_symbols.h"

/* Part of the cache's keys: to be changed when answers become other ones. */
#define ANSWERS "types of data, 2nd way, of "

struct dso_types {
	struct apart_file *apart; /* NULL: there is no DWARF, or nobody who reads it */
	/* By linked address: a frame of each with the type as its function, the members as its file and the offset as
	 * its line. Data have the complement of their address, code has its own. */
	struct answers *answers;
	struct elf_segment *segments;
	u32 nr_segments;
};

static struct answers *new_answers(const struct dsos *d, const struct dso_slot *s, const struct elf_file *run,
				   const struct elf_file *dwarf)
{
	struct answers *a = NULL;
	struct bytes key = { 0 }, of = { 0 };

	if (d->cache && !elf_section_named(dwarf, ".gnu_debugaltlink") && dso_cache_key(d, s, run, dwarf, &of)) {
		bytes_str(&key, ANSWERS);
		bytes_put(&key, of.p, of.len);
		bytes_u8(&key, d->opts.symfs != NULL);
		a = answers_new(d->cache, &key);
	}
	bytes_free(&key);
	bytes_free(&of);
	return a;
}

static void open_dwarf(struct dsos *d, struct dso_slot *s, struct dso_types *t, const struct elf_file *run,
		       const struct elf_file *dwarf)
{
	struct apart *a = dsos_get_parser(d);
	int fd = a ? dup(dwarf->fd) : -1;

	if (fd < 0)
		return;
	t->apart = apart_file_new(a, fd, d->opts.symfs || d->opts.offline, DWARF_TYPES);
	t->answers = new_answers(d, s, run, dwarf);
}

/* Called with the DSO's lock held, as are those that follow. */
static struct dso_types *get_types(struct dsos *d, struct dso_slot *s)
{
	struct found_file run, separate;
	struct dso_types *t = s->types;
	const char *why;

	if (t)
		return t;
	t = s->types = mem_zalloc(sizeof(*t));
	if (s->pub.kind == DSO_FILE && !d->opts.no_lines && debuginfo_runtime(d, s, &run, &why) == 0) {
		if (debuginfo_has_dwarf(&run.elf)) {
			open_dwarf(d, s, t, &run.elf, &run.elf);
		} else if (debuginfo_separate(d, s, &run.elf, WANT_DWARF, &separate) == 0) {
			open_dwarf(d, s, t, &run.elf, &separate.elf);
			found_file_close(&separate);
		}
		t->segments = run.elf.segments;
		t->nr_segments = run.elf.nr_segments;
		run.elf.segments = NULL;
		found_file_close(&run);
	}
	if (!t->answers)
		t->answers = answers_new(NULL, NULL);
	return t;
}

void dso_types_free(struct dsos *d, struct dso_slot *s)
{
	struct dso_types *t = s->types;

	s->types = NULL;
	if (!t)
		return;
	answers_free(t->answers, d->cache);
	apart_file_free(t->apart);
	free(t->segments);
	free(t);
}

/* Data behind those that the file has (.bss) have addresses as if it had them, as their symbols do. */
static bool linked_datum(const struct dso_types *t, u64 addr, u64 *linked)
{
	const struct elf_file f = { .segments = t->segments, .nr_segments = t->nr_segments };

	if (elf_vaddr(&f, addr, linked))
		return true;
	for (u32 i = 0; i < t->nr_segments; i++) {
		const struct elf_segment *s = &t->segments[i];

		if (s->type == PT_LOAD && s->flags & PF_W && addr >= s->offset && addr - s->offset < s->memsz) {
			*linked = addr - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

static bool linked_code(const struct dso_types *t, u64 addr, u64 *linked)
{
	const struct elf_file f = { .segments = t->segments, .nr_segments = t->nr_segments };

	return elf_vaddr(&f, addr, linked);
}

static bool find(const struct dso_types *t, u64 key, struct typed_place *out, bool *known)
{
	struct source_frame f;
	u32 n = 0;

	if (!answers_find(t->answers, key, &f, 1, &n))
		return false;
	*known = n && f.function && f.file;
	if (*known)
		*out = (struct typed_place){ f.function, f.file, f.line };
	return true;
}

static const char *take_text(struct cursor *c)
{
	const u8 *end = cursor_left(c) ? memchr(c->p, 0, cursor_left(c)) : NULL;

	c->bad |= !end;
	return end ? (const char *)cursor_bytes(c, (u64)(end - c->p) + 1) : NULL;
}

/* An answer that is damaged counts as none. */
static void take(struct dso_types *t, const struct bytes *reply, u64 key)
{
	struct cursor c = cursor_over(reply->p, reply->len, false);
	struct source_frame f = { 0 };
	bool known = cursor_u32(&c) == 1;
	u64 offset = known ? cursor_u64(&c) : 0;

	f.function = known ? take_text(&c) : NULL;
	f.file = known ? take_text(&c) : NULL;
	f.line = (u32)offset;
	answers_add(t->answers, key, &f, known && !c.bad && offset <= UINT32_MAX);
}

static void ask(struct dsos *d, struct dso_slot *s, struct dso_types *t, const struct data_code *code, u64 linked,
		u64 key)
{
	struct bytes reply = { 0 };
	const char *why = NULL;

	if (apart_types(t->apart, code, &linked, 1, &reply, &why) || apart_file_needs_others(t->apart))
		answers_do_not_keep(t->answers);
	if (why)
		(void)notify_at(d->notify, NOTE_WARNING, ERR_LIMIT, s->pub.path, NO_OFFSET, "no types of its data: %s",
				why);
	take(t, &reply, key);
	bytes_free(&reply);
}

bool dsos_type_of_datum(struct dsos *d, u32 dso, u64 addr, struct typed_place *out)
{
	struct dso_slot *s = dso_slot_of_file(d, dso);
	struct dso_types *t;
	bool known = false;
	u64 linked;

	pthread_mutex_lock(&s->lock);
	t = get_types(d, s);
	if (t->apart && linked_datum(t, addr, &linked) && !find(t, ~linked, out, &known)) {
		ask(d, s, t, NULL, linked, ~linked);
		find(t, ~linked, out, &known);
	}
	pthread_mutex_unlock(&s->lock);
	return known;
}

/* The code of the function that holds addr, as its symbol tells. Without the lock. */
static bool read_code(struct dsos *d, u32 dso, u64 addr, u8 **bytes, struct data_code *out)
{
	u32 sym = dsos_symbol_at(d, dso, addr), room;
	const struct symbol *s = sym == ID_NONE ? NULL : dsos_symbol(d, dso, sym);

	if (!s || s->end <= s->start)
		return false;
	room = (u32)MIN(s->end - s->start, (u64)APART_CODE);
	*bytes = mem_alloc(room);
	out->n = dsos_code_at(d, dso, s->start, *bytes, room, &out->machine);
	out->p = *bytes;
	out->start = s->start;
	return addr - s->start < out->n;
}

bool dsos_type_of_access(struct dsos *d, u32 dso, u64 addr, struct typed_place *out)
{
	struct dso_slot *s = dso_slot_of_file(d, dso);
	struct data_code code = { 0 };
	u8 *bytes = NULL;
	bool known = false, asked, there;
	u64 linked = 0;

	pthread_mutex_lock(&s->lock);
	there = get_types(d, s)->apart && linked_code(s->types, addr, &linked);
	asked = there && find(s->types, linked, out, &known);
	pthread_mutex_unlock(&s->lock);
	if (!there || asked)
		return known;
	if (!read_code(d, dso, addr, &bytes, &code)) {
		free(bytes);
		return false;
	}
	code.start = linked - (addr - code.start);
	pthread_mutex_lock(&s->lock);
	ask(d, s, get_types(d, s), &code, linked, linked);
	find(s->types, linked, out, &known);
	pthread_mutex_unlock(&s->lock);
	free(bytes);
	return known;
}
