/* SPDX-License-Identifier: Apache-2.0 */
/* The code of a DSO: bytes out of the file that was mapped, and where its functions begin and end. */
#include <stdlib.h>
#include <string.h>

#include "state/debuginfo.h"
#include "state/dso_table.h"
#include "state/elf_bounds.h"

/* Files that stay open: a recording can name more of them than there are descriptors. */
#define KEPT_OPEN 64

struct dso_code {
	struct found_file file;
	enum { CODE_NONE, CODE_OPEN, CODE_AGAIN } state; /* AGAIN: open for the time of a look-up */
};

bool dso_open_code(struct dsos *d, struct dso_slot *s, struct found_file *out)
{
	const char *why;

	*out = (struct found_file){ .elf.fd = -1 };
	if (s->pub.kind == DSO_VDSO)
		return dso_own_vdso(d, s, &out->elf) == 0;
	return s->pub.kind == DSO_FILE && debuginfo_runtime(d, s, out, &why) == 0;
}

bool dsos_linked(struct dsos *d, u32 dso, struct dso_linked *out)
{
	struct found_file file;

	*out = (struct dso_linked){ 0 };
	if (!dso_open_code(d, d->slots.v[dso], &file))
		return false;
	for (u32 i = 0; i < file.elf.nr_segments && out->n < DSO_SEGMENTS; i++) {
		const struct elf_segment *s = &file.elf.segments[i];

		if (s->type != PT_LOAD || !(s->flags & PF_X))
			continue;
		out->v[out->n].offset = s->offset;
		out->v[out->n].size = s->filesz;
		out->v[out->n++].addr = s->vaddr;
	}
	found_file_close(&file);
	return true;
}

u64 dso_linked_address(const struct dso_linked *l, u64 offset)
{
	for (u32 i = 0; i < l->n; i++)
		if (offset >= l->v[i].offset && offset - l->v[i].offset < l->v[i].size)
			return offset - l->v[i].offset + l->v[i].addr;
	return 0;
}

static struct dso_code *first_look(struct dsos *d, struct dso_slot *s)
{
	struct dso_code *c = mem_zalloc(sizeof(*c));

	if (!dso_open_code(d, s, &c->file))
		return c;
	c->state = atomic_fetch_add(&d->open_codes, 1) < KEPT_OPEN ? CODE_OPEN : CODE_AGAIN;
	if (c->state == CODE_AGAIN)
		found_file_close(&c->file);
	return c;
}

/* What is not executable is no code, whatever a recording says. */
static u32 read_code(const struct elf_file *f, u64 offset, u8 *out, u32 max)
{
	for (u32 i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];
		u8 *bytes;
		u64 n;

		if (s->type != PT_LOAD || !(s->flags & PF_X) || offset < s->offset || offset - s->offset >= s->filesz)
			continue;
		n = MIN(s->filesz - (offset - s->offset), (u64)max);
		if (elf_file_read(f, offset, n, &bytes) < 0)
			return 0;
		memcpy(out, bytes, n);
		free(bytes);
		return (u32)n;
	}
	return 0;
}

u32 dsos_code_at(struct dsos *d, u32 dso, u64 addr, u8 *out, u32 max, u16 *machine)
{
	struct dso_slot *s = d->slots.v[dso];
	struct dso_code *c;
	u32 n = 0;

	pthread_mutex_lock(&s->lock);
	if (!s->code)
		s->code = first_look(d, s);
	c = s->code;
	if (c->state == CODE_OPEN || (c->state == CODE_AGAIN && dso_open_code(d, s, &c->file))) {
		*machine = c->file.elf.machine;
		n = read_code(&c->file.elf, addr, out, max);
	}
	if (c->state == CODE_AGAIN)
		found_file_close(&c->file);
	pthread_mutex_unlock(&s->lock);
	return n;
}

void dso_code_free(struct dso_code *c)
{
	if (c)
		found_file_close(&c->file);
	free(c);
}

static struct elf_bounds *read_bounds(struct dsos *d, struct dso_slot *s)
{
	struct elf_bounds *b = mem_zalloc(sizeof(*b));
	struct found_file file;

	if (dso_open_code(d, s, &file)) {
		elf_bounds_read(b, &file.elf);
		found_file_close(&file);
	}
	return b;
}

bool dsos_unnamed_function(struct dsos *d, u32 dso, u64 addr, u64 *start)
{
	struct dso_slot *s = dso_slot_of_file(d, dso);
	const struct code_bounds *function;
	struct elf_bounds *b;

	DSO_MADE_ONCE(b, s, bounds, read_bounds(d, s));
	function = elf_bounds_find(b, addr);
	if (function)
		*start = function->start;
	return function != NULL;
}

void dso_bounds_free(struct elf_bounds *b)
{
	if (b)
		elf_bounds_free(b);
	free(b);
}
