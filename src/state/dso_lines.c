/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of a DSO: finding its DWARF, and turning DSO addresses into linked ones. */
#include <stdlib.h>
#include <unistd.h>

#include "base/cursor.h"
#include "base/strtab.h"
#include "state/apart.h"
#include "state/debuginfo.h"
#include "state/dso_table.h"
#include "state/elf_symbols.h"

/*
 * What is needed to ask the DWARF of one DSO. Whether there is any is asked for each DSO, while samples come in and
 * others wait for the answer; opening it, which may unpack megabytes, waits until an address is asked for.
 */
struct dso_lines {
	int fd; /* of the file that has it; -1: none, or handed on to apart */
	struct apart_file *apart;
	struct map known;		 /* linked address -> where its frames begin, in frames */
	VEC(struct source_frame) frames; /* of an address, behind one that has their number as its line */
	struct strtab texts;
	struct elf_segment *segments;
	u32 nr_segments;
	bool absolute; /* the DSO's addresses are linked addresses moved by `moved` */
	u64 moved;
};

static bool has_dwarf(const struct elf_file *f)
{
	return elf_section_named(f, ".debug_info") || elf_section_named(f, ".zdebug_info");
}

static void load_file_lines(struct dsos *d, struct dso_slot *s, struct dso_lines *l)
{
	struct found_file run, separate;
	const char *why;

	if (debuginfo_runtime(d, s, &run, &why) < 0)
		return;
	if (has_dwarf(&run.elf)) {
		l->fd = dup(run.elf.fd);
	} else if (debuginfo_separate(d, s, &run.elf, WANT_DWARF, &separate) == 0) {
		l->fd = dup(separate.elf.fd);
		found_file_close(&separate);
	}
	l->segments = run.elf.segments;
	l->nr_segments = run.elf.nr_segments;
	run.elf.segments = NULL;
	found_file_close(&run);
}

static void load_kernel_lines(struct dsos *d, struct dso_slot *s, struct dso_lines *l)
{
	struct found_file f = { .path = d->opts.vmlinux ? mem_strdup(d->opts.vmlinux) : NULL };

	if (!f.path || elf_file_open(&f.elf, f.path) < 0) {
		free(f.path);
		return;
	}
	l->absolute = true;
	l->moved = s->moved;
	if (debuginfo_is_build(s, &f.elf) && has_dwarf(&f.elf))
		l->fd = dup(f.elf.fd);
	found_file_close(&f);
}

void dsos_start_parser(struct dsos *d)
{
	pthread_mutex_lock(&d->files_lock);
	if (!d->apart_asked)
		d->apart = d->opts.no_lines ? NULL : apart_new();
	d->apart_asked = true;
	pthread_mutex_unlock(&d->files_lock);
}

/* Called with the DSO's lock held. */
static struct dso_lines *get_lines(struct dsos *d, struct dso_slot *s)
{
	if (s->lines)
		return s->lines;
	s->lines = mem_zalloc(sizeof(*s->lines));
	s->lines->fd = -1;
	if (s->pub.kind == DSO_FILE)
		load_file_lines(d, s, s->lines);
	else if (s->pub.kind == DSO_KERNEL)
		load_kernel_lines(d, s, s->lines);
	if (s->lines->fd >= 0)
		dsos_start_parser(d);
	return s->lines;
}

void dso_lines_free(struct dso_lines *l)
{
	if (!l)
		return;
	apart_file_free(l->apart);
	map_free(&l->known);
	vec_free(&l->frames);
	strtab_free(&l->texts);
	if (l->fd >= 0)
		close(l->fd);
	free(l->segments);
	free(l);
}

bool dsos_has_lines(struct dsos *d, u32 dso)
{
	struct dso_slot *s = d->slots.v[dso];
	u32 has = atomic_load_explicit(&s->has_lines, memory_order_relaxed);
	struct dso_lines *l;

	if (has != LINES_UNKNOWN)
		return has == LINES_THERE;
	dsos_symbol_at(d, dso, 0); /* how far the kernel was moved is found with its symbols */
	pthread_mutex_lock(&s->lock);
	l = get_lines(d, s);
	has = l->apart || l->fd >= 0 ? LINES_THERE : LINES_NONE;
	atomic_store_explicit(&s->has_lines, has, memory_order_relaxed);
	pthread_mutex_unlock(&s->lock);
	return has == LINES_THERE;
}

/* The address that DWARF knows it by; false: none. */
static bool linked_address(const struct dso_lines *l, u64 addr, u64 *linked)
{
	const struct elf_file f = { .segments = l->segments, .nr_segments = l->nr_segments };

	*linked = addr - l->moved;
	return l->absolute || elf_vaddr(&f, addr, linked);
}

static const char *take_text(struct dso_lines *l, struct cursor *c, bool there)
{
	const u8 *end = there && cursor_left(c) ? memchr(c->p, 0, cursor_left(c)) : NULL;
	const u8 *p = end ? cursor_bytes(c, (u64)(end - c->p) + 1) : NULL;

	c->bad |= there && !p;
	return p ? strtab_get(&l->texts, strtab_intern(&l->texts, (const char *)p, (size_t)(end - p))) : NULL;
}

/* The frames of one address, as apart_lines has them. Nothing of them when they are damaged. */
static void take_frames(struct dso_lines *l, struct cursor *c, u64 linked)
{
	u32 n = cursor_u32(c);
	size_t head = l->frames.n;

	map_set(&l->known, linked, (u32)head);
	vec_push(&l->frames, (struct source_frame){ 0 });
	for (u32 i = 0; i < n && !c->bad; i++) {
		struct source_frame f = { .line = cursor_u32(c) };
		u8 has = cursor_u8(c);

		f.function = take_text(l, c, has & APART_HAS_FUNCTION);
		f.file = take_text(l, c, has & APART_HAS_FILE);
		if (!c->bad)
			vec_push(&l->frames, f);
	}
	l->frames.v[head].line = (u32)(l->frames.n - head - 1);
}

/* Of at most APART_BATCH addresses, none of which is known. */
static void ask_batch(struct dsos *d, struct dso_slot *s, struct dso_lines *l, const u64 *linked, u32 n)
{
	struct bytes reply = { 0 };
	struct cursor c;
	const char *why;

	(void)apart_lines(l->apart, linked, n, &reply, &why);
	if (why)
		(void)notify_at(d->notify, NOTE_WARNING, ERR_LIMIT, s->pub.path, NO_OFFSET,
				"no source lines and inlined calls of it: %s", why);
	c = cursor_over(reply.p, reply.len, false);
	for (u32 i = 0; i < n; i++)
		take_frames(l, &c, linked[i]);
	bytes_free(&reply);
}

/* Called with the DSO's lock held, as is the next one. */
static void ask_for(struct dsos *d, struct dso_slot *s, const u64 *addrs, u32 n)
{
	struct dso_lines *l = get_lines(d, s);
	u64 batch[APART_BATCH];
	u32 nr = 0;

	if (l->fd >= 0 && d->apart)
		l->apart = apart_file_new(d->apart, l->fd, d->opts.symfs || d->opts.offline);
	else if (l->fd >= 0)
		close(l->fd);
	l->fd = -1;
	for (u32 i = 0; i < n && l->apart; i++) {
		u64 linked;

		if (!linked_address(l, addrs[i], &linked) || map_get(&l->known, linked) != ID_NONE)
			continue;
		map_set(&l->known, linked, 0); /* not twice in a batch */
		batch[nr++] = linked;
		if (nr == APART_BATCH) {
			ask_batch(d, s, l, batch, nr);
			nr = 0;
		}
	}
	if (nr)
		ask_batch(d, s, l, batch, nr);
}

static u32 known_at(const struct dso_lines *l, u64 addr, struct source_frame *out, u32 max)
{
	u64 linked;
	u32 at = linked_address(l, addr, &linked) ? map_get(&l->known, linked) : ID_NONE, n;

	if (at == ID_NONE)
		return 0;
	n = MIN(l->frames.v[at].line, max);
	for (u32 i = 0; i < n; i++)
		out[i] = l->frames.v[at + 1 + i];
	return n;
}

void dsos_source_ahead(struct dsos *d, u32 dso, const u64 *addrs, u32 n)
{
	struct dso_slot *s = d->slots.v[dso];

	if (!dsos_has_lines(d, dso))
		return;
	pthread_mutex_lock(&s->lock);
	ask_for(d, s, addrs, n);
	pthread_mutex_unlock(&s->lock);
}

u32 dsos_source_at(struct dsos *d, u32 dso, u64 addr, struct source_frame *out, u32 max)
{
	struct dso_slot *s = d->slots.v[dso];
	u32 n, sym = dsos_symbol_at(d, dso, addr);

	if (!dsos_has_lines(d, dso))
		return 0;
	pthread_mutex_lock(&s->lock);
	ask_for(d, s, &addr, 1);
	n = known_at(s->lines, addr, out, max);
	pthread_mutex_unlock(&s->lock);
	/* A line without a function: the padding behind one, or assembler code. */
	if (n && !out[n - 1].function)
		out[n - 1].function = sym != ID_NONE ? dsos_symbol_name(d, dso, sym) : "";
	return n;
}

void dsos_drop_lines(struct dsos *d)
{
	for (size_t i = 0; i < d->slots.n; i++) {
		struct dso_slot *s = d->slots.v[i];

		pthread_mutex_lock(&s->lock);
		dso_lines_free(s->lines);
		s->lines = NULL;
		pthread_mutex_unlock(&s->lock);
	}
}
