/* SPDX-License-Identifier: Apache-2.0 */
/* Functions that are compiled when they are asked for. */
#include <stdlib.h>

#include "codec/cfi.h"

/* What a file may ask for. */
#define MAX_FUNCTIONS (1u << 21)
#define MAX_COMPILED (64u << 20) /* bytes, of programs and of rows; few functions are ever compiled */

struct indexing {
	struct cfi_index *x;
	cfi_place_fn place;
	void *ctx;
};

/* Those that functions bring are the same one, mostly, and gone afterwards. */
static u32 keep_common(struct cfi_index *x, const struct cfi_common *common)
{
	u32 *at = map_at(&x->known_commons, (u64)(uintptr_t)common->program.p, (u32)x->commons.n);

	if (*at == x->commons.n)
		vec_push(&x->commons, *common);
	return *at;
}

static void index_function(void *ctx, const struct cfi_function *fn)
{
	struct indexing *i = ctx;
	struct cfi_indexed f = { .start = fn->start, .section = (u32)i->x->sections.n - 1 };

	if (i->x->functions.n == MAX_FUNCTIONS || !cfi_span_of(fn, i->place, i->ctx, &f.span) ||
	    cursor_left(&fn->program) > UINT32_MAX) {
		i->x->cfi.left_out++;
		return;
	}
	f.common = keep_common(i->x, fn->common);
	f.program = (u64)(fn->program.p - fn->section->bytes);
	f.program_size = (u32)cursor_left(&fn->program);
	f.span.row = (u32)i->x->functions.n; /* until it is sorted: their order */
	vec_push(&i->x->functions, f);
}

void cfi_index_add(struct cfi_index *x, const struct cfi_section *s, cfi_place_fn place, void *ctx)
{
	struct indexing i = { x, place, ctx };

	x->cfi.swap = s->swap;
	x->cfi.is64 = s->is64;
	vec_push(&x->sections, *s);
	cfi_functions(s, index_function, &i);
}

static int by_start(const void *va, const void *vb)
{
	const struct cfi_span *a = &((const struct cfi_indexed *)va)->span,
			      *b = &((const struct cfi_indexed *)vb)->span;

	if (a->start != b->start)
		return a->start < b->start ? -1 : 1;
	return a->row < b->row ? -1 : a->row > b->row;
}

void cfi_index_finish(struct cfi_index *x)
{
	if (x->functions.n > 1)
		qsort(x->functions.v, x->functions.n, sizeof(*x->functions.v), by_start);
	if (x->functions.n)
		x->functions.v = mem_realloc(x->functions.v, x->functions.n, sizeof(*x->functions.v));
	x->functions.cap = x->functions.n;
}

void cfi_index_free(struct cfi_index *x)
{
	for (size_t i = 0; i < x->sections.n; i++)
		free((u8 *)x->sections.v[i].bytes);
	vec_free(&x->sections);
	vec_free(&x->functions);
	vec_free(&x->commons);
	map_free(&x->known_commons);
	cfi_free(&x->cfi);
}

static u64 compiled_bytes(const struct cfi *c)
{
	return c->rows.cap * sizeof(*c->rows.v) + c->rules.cap * sizeof(*c->rules.v) +
	       c->exprs.cap * sizeof(*c->exprs.v) + c->code.cap;
}

u64 cfi_index_bytes(const struct cfi_index *x)
{
	u64 bytes = x->functions.cap * sizeof(*x->functions.v) + x->commons.cap * sizeof(*x->commons.v) +
		    compiled_bytes(&x->cfi);

	for (size_t i = 0; i < x->sections.n; i++)
		bytes += x->sections.v[i].size;
	return bytes;
}

static void compile(struct cfi_index *x, struct cfi_indexed *f)
{
	const struct cfi_section *s = &x->sections.v[f->section];
	struct cfi_function fn = { .start = f->start,
				   .end = f->start + (f->span.end - f->span.start),
				   .section = s,
				   .common = &x->commons.v[f->common],
				   .program = cursor_over(s->bytes + f->program, f->program_size, s->swap) };

	x->ran += f->program_size + cursor_left(&fn.common->program);
	cfi_compile(&x->cfi, &fn, &f->span);
}

/* The last one that begins at addr or before; NULL: none does. */
static struct cfi_indexed *function_at(const struct cfi_index *x, u64 addr)
{
	size_t low = 0, high = x->functions.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (x->functions.v[middle].span.start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &x->functions.v[low - 1] : NULL;
}

u32 cfi_index_find(struct cfi_index *x, u64 addr, bool may_compile)
{
	struct cfi_indexed *f = function_at(x, addr);
	const struct cfi_row *rows;
	u32 low = 0, high;

	if (!f || addr >= f->span.end)
		return ID_NONE;
	if (!f->span.n && (!may_compile || x->ran > MAX_COMPILED || compiled_bytes(&x->cfi) > MAX_COMPILED))
		return ID_NONE;
	if (!f->span.n)
		compile(x, f);
	rows = x->cfi.rows.v + f->span.row;
	for (high = f->span.n; low < high;) {
		u32 middle = low + (high - low) / 2;

		if (rows[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? rows[low - 1].rules : ID_NONE;
}
