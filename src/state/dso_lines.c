/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of a DSO: finding its DWARF, and turning DSO addresses into linked ones. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "state/debuginfo.h"
#include "state/dso_answers.h"
#include "state/dso_cache.h"
#include "state/dso_table.h"
#include "state/dwarf.h"
#include "state/elf_symbols.h"

/*
 * What is needed to ask the DWARF of one DSO. Whether there is any is asked for each DSO, while samples come in and
 * others wait for the answer; opening it, which may unpack megabytes, waits until an address is asked for.
 */
struct dso_lines {
	int fd; /* of the file that has it; -1: none, or handed on to dwarf */
	struct dwarf_file *dwarf;
	struct answers *answers; /* NULL: there is no cache, or not for this file */
	struct elf_segment *segments;
	u32 nr_segments;
	bool absolute; /* the DSO's addresses are linked addresses moved by `moved` */
	u64 moved;
};

static bool has_dwarf(const struct elf_file *f)
{
	return elf_section_named(f, ".debug_info") || elf_section_named(f, ".zdebug_info");
}

#define MOST_FRAMES 256

/* Of a file that needs no other one: which others there are, and that they stay as they are, is not known. */
static struct answers *open_answers(const struct dsos *d, const struct dso_slot *s, const struct elf_file *run,
				    const struct elf_file *dwarf)
{
	struct bytes key = { 0 };
	struct answers *a;

	if (!d->cache || elf_section_named(dwarf, ".gnu_debugaltlink"))
		return NULL;
	dso_cache_key(d, s, run, dwarf, &key);
	bytes_u8(&key, d->opts.symfs || d->opts.offline);
	a = answers_new(d->cache, &key);
	bytes_free(&key);
	return a;
}

static void load_file_lines(struct dsos *d, struct dso_slot *s, struct dso_lines *l)
{
	struct found_file run, separate;
	const char *why;

	if (debuginfo_runtime(d, s, &run, &why) < 0)
		return;
	if (has_dwarf(&run.elf)) {
		l->fd = dup(run.elf.fd);
		l->answers = open_answers(d, s, &run.elf, &run.elf);
	} else if (debuginfo_separate(d, s, &run.elf, WANT_DWARF, &separate) == 0) {
		l->fd = dup(separate.elf.fd);
		l->answers = open_answers(d, s, &run.elf, &separate.elf);
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
	return s->lines;
}

void dso_lines_free(struct dsos *d, struct dso_slot *s)
{
	struct dso_lines *l = s->lines;

	s->lines = NULL;
	if (!l)
		return;
	answers_free(l->answers, d->cache);
	dwarf_file_close(l->dwarf);
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
	has = l->dwarf || l->fd >= 0 ? LINES_THERE : LINES_NONE;
	atomic_store_explicit(&s->has_lines, has, memory_order_relaxed);
	pthread_mutex_unlock(&s->lock);
	return has == LINES_THERE;
}

static u32 ask_dwarf(const struct dsos *d, struct dso_lines *l, u64 addr, struct source_frame *out, u32 max)
{
	if (l->fd >= 0)
		l->dwarf = dwarf_file_open(l->fd, d->opts.symfs || d->opts.offline);
	l->fd = -1;
	if (!l->dwarf)
		return 0;
	if (dwarf_file_is_split(l->dwarf)) {
		answers_free(l->answers, NULL);
		l->answers = NULL;
	}
	if (l->absolute)
		return dwarf_file_at(l->dwarf, addr - l->moved, out, max);
	if (elf_vaddr(&(struct elf_file){ .segments = l->segments, .nr_segments = l->nr_segments }, addr, &addr))
		return dwarf_file_at(l->dwarf, addr, out, max);
	return 0;
}

/* All of the answer is asked for, as that is what is kept; whoever wants less of it takes its beginning. */
static u32 ask(const struct dsos *d, struct dso_lines *l, u64 addr, struct source_frame *out, u32 max)
{
	struct source_frame all[MOST_FRAMES];
	u32 n;

	if (!l->answers)
		return ask_dwarf(d, l, addr, out, max);
	if (answers_find(l->answers, addr, out, max, &n))
		return n;
	n = ask_dwarf(d, l, addr, all, MOST_FRAMES);
	if (l->answers)
		answers_add(l->answers, addr, all, n);
	n = MIN(n, max);
	memcpy(out, all, n * sizeof(*out));
	return n;
}

u32 dsos_source_at(struct dsos *d, u32 dso, u64 addr, struct source_frame *out, u32 max)
{
	struct dso_slot *s = d->slots.v[dso];
	u32 n = 0, sym = dsos_symbol_at(d, dso, addr);
	struct dso_lines *l;

	if (!dsos_has_lines(d, dso))
		return 0;
	pthread_mutex_lock(&s->lock);
	l = get_lines(d, s);
	n = ask(d, l, addr, out, max);
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
		dso_lines_free(d, s);
		pthread_mutex_unlock(&s->lock);
	}
}
