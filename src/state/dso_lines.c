/* SPDX-License-Identifier: Apache-2.0 */
/* Source lines of a DSO: finding its DWARF, and turning DSO addresses into linked ones. */
#include <stdlib.h>
#include <unistd.h>

#include "state/debuginfo.h"
#include "state/dso_table.h"
#include "state/dwarf.h"
#include "state/elf_symbols.h"

/* What is needed to ask the DWARF of one DSO. */
struct dso_lines {
	struct dwarf_file *dwarf; /* NULL: there is none */
	struct elf_segment *segments;
	u32 nr_segments;
	bool absolute; /* the DSO's addresses are linked addresses moved by `moved` */
	u64 moved;
};

static struct dwarf_file *open_dwarf(struct found_file *f)
{
	int fd = dup(f->elf.fd);

	return fd >= 0 ? dwarf_file_open(fd) : NULL;
}

static void load_file_lines(struct dsos *d, struct dso_slot *s, struct dso_lines *l)
{
	struct found_file run, separate;
	const char *why;

	if (debuginfo_runtime(d, s, &run, &why) < 0)
		return;
	if (elf_section_named(&run.elf, ".debug_info") || elf_section_named(&run.elf, ".zdebug_info")) {
		l->dwarf = open_dwarf(&run);
	} else if (debuginfo_separate(d, s, &run.elf, WANT_DWARF, &separate) == 0) {
		l->dwarf = open_dwarf(&separate);
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
	if (debuginfo_is_build(s, &f.elf))
		l->dwarf = open_dwarf(&f);
	found_file_close(&f);
}

/* Called with the DSO's lock held. */
static struct dso_lines *get_lines(struct dsos *d, struct dso_slot *s)
{
	if (s->lines)
		return s->lines;
	s->lines = mem_zalloc(sizeof(*s->lines));
	if (s->pub.kind == DSO_FILE)
		load_file_lines(d, s, s->lines);
	else if (s->pub.kind == DSO_KERNEL)
		load_kernel_lines(d, s, s->lines);
	return s->lines;
}

void dso_lines_free(struct dso_lines *l)
{
	if (!l)
		return;
	dwarf_file_close(l->dwarf);
	free(l->segments);
	free(l);
}

bool dsos_has_lines(struct dsos *d, u32 dso)
{
	struct dso_slot *s = d->slots.v[dso];
	bool has;

	dsos_symbol_at(d, dso, 0); /* how far the kernel was moved is found with its symbols */
	pthread_mutex_lock(&s->lock);
	has = get_lines(d, s)->dwarf != NULL;
	pthread_mutex_unlock(&s->lock);
	return has;
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
	if (l->absolute)
		n = dwarf_file_at(l->dwarf, addr - l->moved, out, max);
	else if (elf_vaddr(&(struct elf_file){ .segments = l->segments, .nr_segments = l->nr_segments }, addr, &addr))
		n = dwarf_file_at(l->dwarf, addr, out, max);
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
