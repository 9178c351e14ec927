/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Passages are runs of code from the target of a branch to the next branch. Where they begin and end, the count of the
 * code changes (`steps`); DWARF says where the place changes (`spans`). Between two changes of either kind all
 * instructions have one count and one place, so that no code has to be disassembled, but for the branch at the end of
 * a passage: how long it is.
 */
#include "agg/sample_profile.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "state/source_function.h"

#define LONGEST_BRANCH 16

/* The count of the code from that address on is so much higher than before it. */
struct step {
	u64 addr;
	s64 by;
};

/* A function in the code: one of its ranges. */
struct known_range {
	u64 start, end;
	u32 function; /* of known; ID_NONE: DWARF has none */
};

struct maker {
	struct sample_profile *p;
	struct dsos *dsos;
	u32 dso;
	const struct dso_linked *at;
	VEC(struct step) steps;
	VEC(struct source_function) known;
	VEC(struct known_range) ranges; /* by address */
};

/* --- names and places --- */

static u32 function_in(struct sample_profile *p, u32 parent, struct profile_place at, u32 name)
{
	u64 hash = hash_finish(hash_mix(hash_mix(hash_mix(parent, name), at.line), at.discriminator));
	u32 id, slot;

	SET_FIND(id, &p->functions_by, hash, slot,
		 p->functions.v[id].parent == parent && p->functions.v[id].name == name &&
			 p->functions.v[id].at.line == at.line &&
			 p->functions.v[id].at.discriminator == at.discriminator);
	if (id != ID_NONE)
		return id;
	id = (u32)p->functions.n;
	vec_push(&p->functions, (struct profile_function){ .parent = parent, .at = at, .name = name });
	set_add(&p->functions_by, hash, id);
	return id;
}

static u32 body_in(struct sample_profile *p, u32 function, struct profile_place at)
{
	u64 hash = hash_finish(hash_mix(hash_mix(function, at.line), at.discriminator));
	u32 id, slot;

	SET_FIND(id, &p->bodies_by, hash, slot,
		 p->bodies.v[id].function == function && p->bodies.v[id].at.line == at.line &&
			 p->bodies.v[id].at.discriminator == at.discriminator);
	if (id != ID_NONE)
		return id;
	id = (u32)p->bodies.n;
	vec_push(&p->bodies, (struct profile_body){ .function = function, .at = at });
	set_add(&p->bodies_by, hash, id);
	return id;
}

static void add_target(struct sample_profile *p, u32 body, u32 name, u64 count)
{
	u64 hash = hash_finish(hash_mix(body, name));
	u32 id, slot;

	SET_FIND(id, &p->targets_by, hash, slot, p->targets.v[id].body == body && p->targets.v[id].name == name);
	if (id == ID_NONE) {
		id = (u32)p->targets.n;
		vec_push(&p->targets, (struct profile_target){ .body = body, .name = name });
		set_add(&p->targets_by, hash, id);
	}
	p->targets.v[id].count += count;
}

/* Compilers that made a part of a function, or of another module's, look for the function's own name. */
static u32 name_of(struct sample_profile *p, const char *linked)
{
	static const char *const suffixes[] = { ".llvm.", ".part." };
	size_t n = strlen(linked);

	for (u32 i = 0; i < ARRAY_LEN(suffixes); i++) {
		const char *found = NULL, *next = linked, *dot = memrchr(linked, '.', n);

		while ((next = strstr(next, suffixes[i])) && next < linked + n)
			found = next++;
		if (found && dot == found + strlen(suffixes[i]) - 1)
			n = (size_t)(found - linked);
	}
	return strtab_intern(&p->names, linked, n);
}

/*
 * LLVM's discriminators hold up to three numbers in turn, each in 7 bits, or 14, or as a single bit when it is 0: what
 * tells apart code of one line, and by how many iterations of a loop its count was divided when the loop was unrolled.
 */
static u32 number_in(u32 v)
{
	if (v & 1)
		return 0;
	v >>= 1;
	return v & 0x20 ? (v >> 1 & 0xfe0) | (v & 0x1f) : v & 0x1f;
}

static u32 times_in(u32 discriminator)
{
	u32 next = discriminator & 1 ? discriminator >> 1 : discriminator >> (discriminator & 0x40 ? 14 : 7);
	u32 times = number_in(next);

	return times ? times : 1;
}

static struct profile_place place_of(const struct source_row *r)
{
	return (struct profile_place){ (r->line - r->first_line) & 0xffff, number_in(r->discriminator) };
}

/* Where the code of a span is counted; `bytes` were executed. ID_NONE: nobody knows its function. */
static u32 function_of(struct sample_profile *p, const struct source_function *f, const struct source_span *span,
		       u64 bytes)
{
	const struct source_row *rows = span->n ? &f->rows.v[span->first] : NULL;
	u32 function = ID_NONE;

	for (u32 i = span->n; i--;) {
		struct profile_place at = { 0 };

		if (!rows[i].function[0])
			return ID_NONE;
		if (i + 1 < span->n)
			at = place_of(&rows[i + 1]);
		function = function_in(p, function, at, name_of(p, rows[i].function));
		p->functions.v[function].total += bytes;
	}
	return function;
}

/* The span that holds an address; NULL: none. */
static const struct source_span *span_at(const struct source_function *f, u64 addr)
{
	size_t low = 0, high = f->spans.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->spans.v[middle].start <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &f->spans.v[low - 1] : NULL;
}

/* --- functions in the code --- */

/* The first range that ends behind the address. */
static size_t range_behind(const struct maker *m, u64 addr)
{
	size_t low = 0, high = m->ranges.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->ranges.v[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The range that holds the address; NULL: none that was asked for. */
static const struct known_range *range_at(const struct maker *m, u64 addr)
{
	size_t at = range_behind(m, addr);

	return at < m->ranges.n && m->ranges.v[at].start <= addr ? &m->ranges.v[at] : NULL;
}

static const struct source_function *source_at(const struct maker *m, u64 addr)
{
	const struct known_range *r = range_at(m, addr);

	return r && r->function != ID_NONE ? &m->known.v[r->function] : NULL;
}

/* Those of one file do not overlap, unless it lies: then the one that came first stays. */
static void add_range(struct maker *m, u64 start, u64 end, u32 function)
{
	size_t at = range_behind(m, start);

	if (at < m->ranges.n && m->ranges.v[at].start <= start)
		return;
	if (at < m->ranges.n)
		end = MIN(end, m->ranges.v[at].start);
	if (start >= end)
		return;
	vec_reserve(&m->ranges, m->ranges.n + 1);
	memmove(&m->ranges.v[at + 1], &m->ranges.v[at], (m->ranges.n++ - at) * sizeof(*m->ranges.v));
	m->ranges.v[at] = (struct known_range){ start, end, function };
}

static void get_to_know(struct maker *m, u64 addr)
{
	struct source_function f;

	if (!addr || range_at(m, addr))
		return;
	if (!dsos_source_function(m->dsos, m->dso, addr, &f)) {
		add_range(m, addr, addr + 1, ID_NONE);
		return;
	}
	vec_push(&m->known, f);
	for (size_t i = 0; i < f.ranges.n; i++)
		add_range(m, f.ranges.v[i].start, f.ranges.v[i].end, (u32)m->known.n - 1);
}

/* --- passages --- */

/* Bytes of the instruction, which is a branch, at an address that symbol look-ups take. */
static u32 branch_length(const struct maker *m, u64 addr)
{
	u8 code[LONGEST_BRANCH];
	u16 machine = 0;
	u32 n = dsos_code_at(m->dsos, m->dso, addr, code, sizeof(code), &machine), i = 0, mod, rm;

	if (machine != EM_X86_64)
		return 4;
	while (i < n && (memchr("\x26\x2e\x36\x3e\x64\x65\x66\x67\xf2\xf3", code[i], 10) || (code[i] & 0xf0) == 0x40))
		i++;
	if (i + 2 > n)
		return 1;
	switch (code[i]) {
	case 0x70 ... 0x7f:
	case 0xe0 ... 0xe3:
	case 0xeb:
	case 0xcd:
		return i + 2;
	case 0xe8:
	case 0xe9:
		return i + 5;
	case 0xc2:
		return i + 3;
	case 0x0f:
		return i + ((code[i + 1] & 0xf0) == 0x80 ? 6 : 2);
	case 0xff:
		mod = code[i + 1] >> 6;
		rm = code[i + 1] & 7;
		i += 2;
		if (mod != 3 && rm == 4 && i < n) {
			rm = code[i] & 7;
			i++;
		}
		return i + (mod == 1 ? 1 : mod == 2 || (!mod && rm == 5) ? 4 : 0);
	default:
		return i + 1;
	}
}

static int by_addr(const void *a, const void *b)
{
	const struct step *x = a, *y = b;

	return x->addr < y->addr ? -1 : x->addr > y->addr;
}

static void read_passages(struct maker *m, const struct branch_traces *t)
{
	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *b = &t->v.v[i];
		u64 from, to;

		if (b->dso != m->dso || b->kind == TRACE_BRANCH)
			continue;
		from = dso_linked_address(m->at, b->from);
		to = dso_linked_address(m->at, b->to);
		if (!from || !to || to < from)
			continue;
		m->p->passages += b->count;
		get_to_know(m, from);
		if (!source_at(m, from)) {
			m->p->unknown += b->count;
			continue;
		}
		vec_push(&m->steps, (struct step){ from, (s64)b->count });
		vec_push(&m->steps, (struct step){ to + branch_length(m, b->to), -(s64)b->count });
	}
	if (m->steps.n)
		qsort(m->steps.v, m->steps.n, sizeof(*m->steps.v), by_addr);
}

static void count_code(struct sample_profile *p, const struct source_function *f, const struct source_span *span,
		       u64 bytes, u64 count)
{
	u32 function = function_of(p, f, span, bytes * count), body;
	const struct source_row *leaf;

	if (function == ID_NONE)
		return;
	leaf = &f->rows.v[span->first];
	body = body_in(p, function, place_of(leaf));
	p->bodies.v[body].count = MAX(p->bodies.v[body].count, count * times_in(leaf->discriminator));
}

/* The first step behind an address, and what the count is there. */
static size_t step_behind(const struct maker *m, size_t from, u64 addr, u64 *count)
{
	while (from < m->steps.n && m->steps.v[from].addr <= addr)
		*count += (u64)m->steps.v[from++].by;
	return from;
}

/* All code of functions that ran, that which did not run as well: that it did not is worth knowing. */
static void count_bodies(struct maker *m)
{
	u64 count = 0;
	size_t step = 0;

	for (size_t i = 0; i < m->ranges.n; i++) {
		const struct known_range *r = &m->ranges.v[i];
		const struct source_function *f = r->function == ID_NONE ? NULL : &m->known.v[r->function];
		const struct source_span *first = f ? span_at(f, r->start) : NULL;
		size_t span = first ? (size_t)(first - f->spans.v) : 0;
		u64 at = r->start;

		step = step_behind(m, step, at, &count);
		while (f && at < r->end) {
			u64 end = r->end;

			while (span < f->spans.n && f->spans.v[span].start <= at)
				span++;
			end = span < f->spans.n ? MIN(end, f->spans.v[span].start) : end;
			end = step < m->steps.n ? MIN(end, m->steps.v[step].addr) : end;
			if (span)
				count_code(m->p, f, &f->spans.v[span - 1], end - at, count);
			at = end;
			step = step_behind(m, step, at, &count);
		}
	}
}

/* --- calls --- */

static void count_site(struct maker *m, u64 site, u32 callee, u64 count)
{
	const struct source_function *f = source_at(m, site);
	const struct source_span *span = f ? span_at(f, site) : NULL;
	u32 function = span ? function_of(m->p, f, span, 0) : ID_NONE;

	if (function != ID_NONE)
		add_target(m->p, body_in(m->p, function, place_of(&f->rows.v[span->first])), callee, count);
}

static void count_calls(struct maker *m, const struct branch_traces *t)
{
	const struct profile_place nowhere = { 0 };

	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *b = &t->v.v[i];
		u64 from = b->from == TRACE_OUTSIDE ? 0 : dso_linked_address(m->at, b->from);
		u64 to = b->to == TRACE_OUTSIDE ? 0 : dso_linked_address(m->at, b->to);
		const struct source_function *f;
		const struct source_span *span;
		u32 callee;

		if (b->dso != m->dso || b->kind != TRACE_BRANCH || !to)
			continue;
		get_to_know(m, from);
		get_to_know(m, to);
		f = source_at(m, to);
		span = f && f->entry == to ? span_at(f, to) : NULL;
		if (!span || !span->n)
			continue;
		callee = name_of(m->p, f->rows.v[span->first + span->n - 1].function);
		m->p->functions.v[function_in(m->p, ID_NONE, nowhere, callee)].head += b->count;
		if (from)
			count_site(m, from, callee, b->count);
	}
}

/* A place that makes calls ran at least as often as they were made: it may have run in samples' last, unfinished
 * passages. */
static void raise_to_calls(struct sample_profile *p)
{
	u64 *sums = mem_zalloc((p->bodies.n + 1) * sizeof(*sums));

	for (size_t i = 0; i < p->targets.n; i++)
		sums[p->targets.v[i].body] += p->targets.v[i].count;
	for (size_t i = 0; i < p->bodies.n; i++)
		if (p->functions.v[p->bodies.v[i].function].parent == ID_NONE)
			p->bodies.v[i].count = MAX(p->bodies.v[i].count, sums[i]);
	free(sums);
}

void sample_profile_make(struct sample_profile *p, const struct branch_traces *t, u32 dso, const struct dso_linked *at)
{
	struct maker m = { .p = p, .dsos = t->dsos, .dso = dso, .at = at };

	read_passages(&m, t);
	count_bodies(&m);
	count_calls(&m, t);
	raise_to_calls(p);
	for (size_t i = 0; i < m.known.n; i++)
		source_function_free(&m.known.v[i]);
	vec_free(&m.known);
	vec_free(&m.ranges);
	vec_free(&m.steps);
}

void sample_profile_free(struct sample_profile *p)
{
	strtab_free(&p->names);
	set_free(&p->functions_by);
	set_free(&p->bodies_by);
	set_free(&p->targets_by);
	vec_free(&p->functions);
	vec_free(&p->bodies);
	vec_free(&p->targets);
}
