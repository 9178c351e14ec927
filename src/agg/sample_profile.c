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
#include "base/map.h"
#include "base/search.h"
#include "codec/x86_branch.h"
#include "state/source_function.h"

#define LONGEST_BRANCH 16
#define MOST_MEMORY (1ull << 30) /* of all functions */

/* The count of the code from that address on is so much higher than before it. */
struct step {
	u64 addr;
	s64 by;
};

/* One of those that hold an address, innermost first. */
struct frame {
	u32 name; /* ID_NONE: nobody knows it */
	u32 line; /* from where the function begins */
	u32 discriminator;
};

struct span {
	u64 start;
	const struct frame *frames;
	u32 n;
};

struct known_function {
	u64 entry;
	struct span *spans; /* by address; NULL: nothing is left of it */
	struct frame *frames;
	u32 n; /* spans */
	bool ran;
};

/* A function in the code: one of its ranges. */
struct known_range {
	u64 start, end;
	u32 function; /* of known */
};

struct maker {
	struct sample_profile *p;
	struct dsos *dsos;
	u32 dso;
	const struct dso_linked *at;
	VEC(struct step) steps;
	VEC(struct known_function) known;
	VEC(struct known_range) ranges; /* by address, and apart from each other */
	struct map firsts; /* where functions begin and end that came already: one in several parts may come often */
	struct map odd;	   /* names that no line can have, by hash */
	u64 memory;	   /* of what is known */
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
		if (found && found > linked && dot == found + strlen(suffixes[i]) - 1)
			n = (size_t)(found - linked);
	}
	return strtab_intern(&p->names, linked, n);
}

/*
 * Would a line of a profile be read as it was meant? Not all names are linkers': functions that have no linkers' name
 * come with spaces and colons, which LLVM reads as parts of names, unless a number follows the colon.
 */
static bool fits_into_lines(const char *name)
{
	if (strchr(" ![0123456789", *name))
		return false;
	for (const char *s = name; *s; s++)
		if ((u8)*s < ' ' || *s == 0x7f || (*s == ':' && s[1] >= '0' && s[1] <= '9'))
			return false;
	return true;
}

/* ID_NONE: nobody knows the name, or no line can have it. */
static u32 writable_name(struct maker *m, const char *linked)
{
	u64 hash;

	if (!*linked)
		return ID_NONE;
	if (fits_into_lines(linked))
		return name_of(m->p, linked);
	hash = hash_bytes(linked, strlen(linked));
	m->p->odd += map_get(&m->odd, hash) == ID_NONE;
	map_set(&m->odd, hash, 0);
	return ID_NONE;
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

static struct profile_place place_of(const struct frame *f)
{
	return (struct profile_place){ f->line, number_in(f->discriminator) };
}

/* Where the code of a span is counted; `bytes` were executed. ID_NONE: nobody knows its function. */
static u32 function_of(struct sample_profile *p, const struct span *span, u64 bytes)
{
	u32 function = ID_NONE;

	for (u32 i = span->n; i--;) {
		struct profile_place at = { 0 };

		if (span->frames[i].name == ID_NONE)
			return ID_NONE;
		if (i + 1 < span->n)
			at = place_of(&span->frames[i + 1]);
		function = function_in(p, function, at, span->frames[i].name);
		p->functions.v[function].total += bytes;
	}
	return function;
}

/* The span that holds an address; NULL: none. */
static const struct span *span_at(const struct known_function *f, u64 addr)
{
	size_t upto = SEARCH_UPTO(f->spans, f->n, start, 0, addr);

	return upto ? &f->spans[upto - 1] : NULL;
}

/* --- functions in the code --- */

static void forget(struct known_function *f)
{
	free(f->spans);
	free(f->frames);
	*f = (struct known_function){ 0 };
}

/* False: there is no more room. */
static bool get_to_know(void *ctx, const struct source_function *f)
{
	struct maker *m = ctx;
	struct known_function k = { .entry = f->entry, .n = (u32)f->spans.n };
	u64 first = hash_pair(f->ranges.v[0].start, f->ranges.v[0].end);
	u32 id = (u32)m->known.n;

	if (*map_at(&m->firsts, first, id) != id)
		return true;
	m->memory += f->spans.n * sizeof(*k.spans) + f->rows.n * sizeof(*k.frames) +
		     f->ranges.n * sizeof(struct known_range) + sizeof(k);
	if (m->memory > MOST_MEMORY) {
		m->p->full = true;
		return false;
	}
	k.spans = mem_alloc(f->spans.n * sizeof(*k.spans));
	k.frames = mem_alloc((f->rows.n + 1) * sizeof(*k.frames));
	for (size_t i = 0; i < f->rows.n; i++) {
		const struct source_row *r = &f->rows.v[i];
		size_t names = m->p->names.entries.n;

		k.frames[i] = (struct frame){ writable_name(m, r->function), (r->line - r->first_line) & 0xffff,
					      r->discriminator };
		if (m->p->names.entries.n > names)
			m->memory += sizeof(struct strtab_entry) + strlen(r->function);
	}
	for (size_t i = 0; i < f->spans.n; i++)
		k.spans[i] = (struct span){ f->spans.v[i].start, k.frames + f->spans.v[i].first, f->spans.v[i].n };
	vec_push(&m->known, k);
	for (size_t i = 0; i < f->ranges.n; i++)
		vec_push(&m->ranges, (struct known_range){ f->ranges.v[i].start, f->ranges.v[i].end, id });
	return true;
}

static int by_start(const void *a, const void *b)
{
	const struct known_range *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->function < y->function ? -1 : x->function > y->function;
}

/* Those of one file do not overlap, unless it lies: then what is in two of them belongs to the first one. */
static void settle_ranges(struct maker *m)
{
	bool *has = mem_zalloc((m->known.n + 1) * sizeof(*has));
	u64 end = 0;
	size_t n = 0;

	if (m->ranges.n)
		qsort(m->ranges.v, m->ranges.n, sizeof(*m->ranges.v), by_start);
	for (size_t i = 0; i < m->ranges.n; i++) {
		struct known_range r = m->ranges.v[i];

		r.start = MAX(r.start, end);
		if (r.start >= r.end)
			continue;
		end = r.end;
		has[r.function] = true;
		m->ranges.v[n++] = r;
	}
	m->ranges.n = n;
	for (size_t i = 0; i < m->known.n; i++)
		if (!has[i])
			forget(&m->known.v[i]);
	free(has);
}

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* Asks once for everything that was executed: one question for each place would take longer than all the rest. */
static void find_functions(struct maker *m, const struct branch_traces *t)
{
	VEC(u64) addrs = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *b = &t->v.v[i];
		u64 from = b->from == TRACE_OUTSIDE ? 0 : dso_linked_address(m->at, b->from);
		u64 to = b->to == TRACE_OUTSIDE ? 0 : dso_linked_address(m->at, b->to);

		if (b->dso != m->dso)
			continue;
		if (from)
			vec_push(&addrs, from);
		if (to && b->kind == TRACE_BRANCH)
			vec_push(&addrs, to);
	}
	if (addrs.n)
		qsort(addrs.v, addrs.n, sizeof(*addrs.v), by_number);
	for (size_t i = 0; i < addrs.n; i++)
		if (!n || addrs.v[n - 1] != addrs.v[i])
			addrs.v[n++] = addrs.v[i];
	dsos_source_functions(m->dsos, m->dso, addrs.v, n, get_to_know, m);
	vec_free(&addrs);
	settle_ranges(m);
}

/* The function that holds the address; NULL: DWARF has none. */
static struct known_function *source_at(const struct maker *m, u64 addr)
{
	size_t low = 0, high = m->ranges.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (m->ranges.v[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < m->ranges.n && m->ranges.v[low].start <= addr ? &m->known.v[m->ranges.v[low].function] : NULL;
}

/* --- passages --- */

/* Bytes of the instruction, which is a branch, at an address that symbol look-ups take. What else may have been taken
 * for one has a byte at least. */
static u32 branch_length(const struct maker *m, u64 addr)
{
	u8 code[LONGEST_BRANCH];
	u16 machine = 0;
	u32 n = dsos_code_at(m->dsos, m->dso, addr, code, sizeof(code), &machine);
	struct x86_branch b;

	if (machine != EM_X86_64 && machine != EM_386)
		return 4;
	x86_branch_decode(code, n, machine == EM_X86_64, &b);
	return MAX(b.size, 1);
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
		struct known_function *f;
		u64 from, to;

		if (b->dso != m->dso || b->kind == TRACE_BRANCH)
			continue;
		from = dso_linked_address(m->at, b->from);
		to = dso_linked_address(m->at, b->to);
		if (!from || !to || to < from)
			continue;
		m->p->passages += b->count;
		f = source_at(m, from);
		if (!f) {
			m->p->unknown += b->count;
			continue;
		}
		f->ran = true;
		vec_push(&m->steps, (struct step){ from, (s64)b->count });
		vec_push(&m->steps, (struct step){ to + branch_length(m, b->to), -(s64)b->count });
	}
	if (m->steps.n)
		qsort(m->steps.v, m->steps.n, sizeof(*m->steps.v), by_addr);
}

static void count_code(struct sample_profile *p, const struct span *span, u64 bytes, u64 count)
{
	u32 function = function_of(p, span, bytes * count), body;

	if (function == ID_NONE)
		return;
	body = body_in(p, function, place_of(span->frames));
	p->bodies.v[body].count = MAX(p->bodies.v[body].count, count * times_in(span->frames->discriminator));
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
		const struct known_function *f = &m->known.v[r->function];
		const struct span *first = span_at(f, r->start);
		size_t span = first ? (size_t)(first - f->spans) : 0;
		u64 at = r->start;

		step = step_behind(m, step, at, &count);
		while (f->ran && at < r->end) {
			u64 end = r->end;

			while (span < f->n && f->spans[span].start <= at)
				span++;
			end = span < f->n ? MIN(end, f->spans[span].start) : end;
			end = step < m->steps.n ? MIN(end, m->steps.v[step].addr) : end;
			if (span)
				count_code(m->p, &f->spans[span - 1], end - at, count);
			at = end;
			step = step_behind(m, step, at, &count);
		}
	}
}

/* --- calls --- */

static void count_site(struct maker *m, u64 site, u32 callee, u64 count)
{
	const struct known_function *f = source_at(m, site);
	const struct span *span = f ? span_at(f, site) : NULL;
	u32 function = span ? function_of(m->p, span, 0) : ID_NONE;

	if (function != ID_NONE)
		add_target(m->p, body_in(m->p, function, place_of(span->frames)), callee, count);
}

static void count_calls(struct maker *m, const struct branch_traces *t)
{
	const struct profile_place nowhere = { 0 };

	for (size_t i = 0; i < t->v.n; i++) {
		const struct branch_trace *b = &t->v.v[i];
		u64 from = b->from == TRACE_OUTSIDE ? 0 : dso_linked_address(m->at, b->from);
		u64 to = b->to == TRACE_OUTSIDE ? 0 : dso_linked_address(m->at, b->to);
		const struct known_function *f;
		const struct span *span;
		u32 callee;

		if (b->dso != m->dso || b->kind != TRACE_BRANCH || !to)
			continue;
		f = source_at(m, to);
		span = f && f->entry == to ? span_at(f, to) : NULL;
		if (!span || !span->n)
			continue;
		callee = span->frames[span->n - 1].name;
		if (callee == ID_NONE)
			continue;
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

	find_functions(&m, t);
	read_passages(&m, t);
	count_bodies(&m);
	count_calls(&m, t);
	raise_to_calls(p);
	for (size_t i = 0; i < m.known.n; i++)
		forget(&m.known.v[i]);
	map_free(&m.firsts);
	map_free(&m.odd);
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
