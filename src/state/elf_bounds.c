/* SPDX-License-Identifier: Apache-2.0 */
#include "state/elf_bounds.h"

#include <stdlib.h>

#include "base/search.h"
#include "codec/cfi.h"
#include "state/elf_symbols.h"

struct reading {
	struct elf_bounds *b;
	const struct elf_file *f;
};

static void add_function(void *ctx, const struct cfi_function *fn)
{
	struct reading *r = ctx;
	struct code_bounds out;
	u64 size = fn->end - fn->start;

	if (!elf_file_offset(r->f, fn->start, &out.start) || out.start + size < out.start)
		return;
	out.end = out.start + size;
	vec_push(&r->b->v, out);
}

static int by_start(const void *va, const void *vb)
{
	const struct code_bounds *a = va, *b = vb;

	return a->start < b->start ? -1 : a->start > b->start;
}

void elf_bounds_read(struct elf_bounds *b, const struct elf_file *f)
{
	const struct elf_section *sec = elf_section_named(f, ".eh_frame");
	struct reading r = { b, f };
	struct cfi_section s;
	u8 *bytes;

	if (!sec || elf_section_read(f, sec, &bytes) < 0)
		return;
	s = (struct cfi_section){
		.bytes = bytes, .size = sec->size, .addr = sec->addr, .swap = f->swap, .is64 = f->is64
	};
	cfi_functions(&s, add_function, &r);
	free(bytes);
	if (b->v.n > 1)
		qsort(b->v.v, b->v.n, sizeof(*b->v.v), by_start);
}

const struct code_bounds *elf_bounds_find(const struct elf_bounds *b, u64 offset)
{
	size_t upto = SEARCH_UPTO(b->v.v, b->v.n, start, 0, offset);

	return upto && offset < b->v.v[upto - 1].end ? &b->v.v[upto - 1] : NULL;
}

void elf_bounds_free(struct elf_bounds *b)
{
	vec_free(&b->v);
}
