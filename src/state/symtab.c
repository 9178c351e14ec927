/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a symbol table has to settle before it can answer "which function holds this address".
 *
 * Symbol tables are untidy: sizes are missing (assembler labels), several names stand for one address (aliases, weak
 * names, constructors of different kinds), and ranges overlap (labels inside functions, PLT entries inside a label
 * that had no size). The rules below give the answers perf gives, so that rows of both tools agree:
 *
 *  1. A symbol without a size ends where the next one starts (in address order, ties in source order); the last one
 *     a page after the end of its page.
 *  2. Of names with the same start one is kept: a sized one, then a strong one, then a global one, then the one with
 *     fewer leading underscores, then the longer name, then the earlier one. Names are compared as shown (demangled).
 *  3. Symbols that were made up for PLT entries come in after that, and end the symbol without a size before them.
 *  4. Where ranges still overlap, the symbol that starts last (the innermost) holds the address. Here perf's answer
 *     depends on the shape of its search tree, and may be none: a few addresses differ (a label inside an
 *     assembler function is named, not the function).
 *
 * After rule 4 look-ups are one binary search. Without overlaps the symbols themselves are searched; with overlaps a
 * list of segments, each naming its symbol, so that an offset into a symbol is still counted from the symbol's start.
 */
#include "state/symtab.h"

#include <stdlib.h>
#include <string.h>

#include "base/search.h"
#include "base/sort.h"
#include "state/readable.h"

#define PAGE 4096u
struct symtab {
	struct symbol *syms;
	u32 n;
	struct segment *segs; /* NULL when symbols do not overlap */
	u32 nr_segs;
	char *names;
	size_t names_size;
	bool keep_names;
	struct stored *stored; /* NULL: all of the above is in memory; else none of it but n */
	struct readable readable;
};

void symtab_build_init(struct symtab_build *b)
{
	*b = (struct symtab_build){ 0 };
	bytes_char(&b->names, 0);
}

u32 symtab_build_name(struct symtab_build *b, const char *s, size_t n)
{
	size_t at = b->names.len;

	if (at + n + 1 >= UINT32_MAX)
		return 0;
	bytes_put(&b->names, s, n);
	bytes_char(&b->names, 0);
	return (u32)at;
}

void symtab_build_free(struct symtab_build *b)
{
	vec_free(&b->syms);
	bytes_free(&b->names);
}

/* The symbols in [from, to) by address; those with the same start stay in the order of their source. */
static u32 *sorted_ids(const struct raw_symbol *syms, size_t first, size_t n)
{
	u32 *ids = mem_realloc(NULL, n, sizeof(*ids));
	bool sorted = true;

	for (size_t i = 1; i < n && sorted; i++)
		sorted = syms[first + i - 1].start <= syms[first + i].start;
	for (size_t i = 0; i < n && sorted; i++)
		ids[i] = (u32)i;
	if (!sorted)
		sort_by_words(ids, &syms[first], n, sizeof(*syms), 1); /* the start */
	for (size_t i = 0; i < n; i++)
		ids[i] += (u32)first;
	return ids;
}

static u64 page_after(u64 addr)
{
	u64 end = ((addr + PAGE - 1) & ~(u64)(PAGE - 1)) + PAGE;

	return end > addr ? end : UINT64_MAX;
}

/* Rule 1. */
static void settle_ends(struct symtab_build *b, const u32 *ids, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct raw_symbol *s = &b->syms.v[ids[i]], *next = i + 1 < n ? &b->syms.v[ids[i + 1]] : NULL;

		if (s->end != s->start)
			continue;
		s->guessed = true;
		s->end = next ? next->start : page_after(s->start);
	}
}

static size_t underscores(const char *name)
{
	return strspn(name, "_");
}

/* Rule 2 from the point where names decide, as they are shown. True: b is the better one. */
static bool better_name(const char *a, const char *b)
{
	size_t ua = underscores(a), ub = underscores(b), la = strlen(a), lb = strlen(b);

	if (ua == ub && la == lb)
		ua = !strncmp(a, "SyS", 3) || !strncmp(a, "compat_SyS", 10);
	return ua != ub ? ub < ua : lb > la;
}

static const char *raw_name(const struct symtab_build *b, u32 id)
{
	return (const char *)b->names.p + b->syms.v[id].name;
}

/* Rule 2: is b to be kept rather than a, which comes first? */
static bool better(const struct symtab_build *build, const struct aliases *names, u32 ia, u32 ib)
{
	const struct raw_symbol *a = &build->syms.v[ia], *b = &build->syms.v[ib];

	if ((a->end == a->start) != (b->end == b->start))
		return a->end == a->start;
	if ((a->bind == BIND_WEAK) != (b->bind == BIND_WEAK))
		return a->bind == BIND_WEAK;
	if ((a->bind == BIND_GLOBAL) != (b->bind == BIND_GLOBAL))
		return b->bind == BIND_GLOBAL;
	if (!strcmp(raw_name(build, ia), raw_name(build, ib)))
		return false;
	return better_name(aliases_name(names, ia, raw_name(build, ia)), aliases_name(names, ib, raw_name(build, ib)));
}

/* Drops all but the best of the symbols with the same start; returns how many stay. */
static size_t settle_aliases(struct symtab_build *b, u32 *ids, size_t n)
{
	struct aliases names = { 0 };
	size_t kept = 0;

	if (b->readable)
		aliases_read(&names, b, ids, n);
	for (size_t i = 0; i < n; i++) {
		if (kept && b->syms.v[ids[kept - 1]].start == b->syms.v[ids[i]].start) {
			if (better(b, &names, ids[kept - 1], ids[i]))
				ids[kept - 1] = ids[i];
		} else {
			ids[kept++] = ids[i];
		}
	}
	aliases_free(&names);
	return kept;
}

/* Rule 3: both lists are sorted; of equal starts the made-up symbol comes last. */
static u32 *merge_late(struct symtab_build *b, u32 *ids, size_t n, const u32 *late, size_t nr_late)
{
	u32 *all = mem_realloc(NULL, n + nr_late, sizeof(*all));
	size_t i = 0, j = 0, k = 0;

	while (i < n || j < nr_late) {
		struct raw_symbol *before = i ? &b->syms.v[ids[i - 1]] : NULL;

		if (j == nr_late || (i < n && b->syms.v[ids[i]].start <= b->syms.v[late[j]].start)) {
			all[k++] = ids[i++];
			continue;
		}
		if (before && before->guessed)
			before->end = MIN(before->end, b->syms.v[late[j]].start);
		all[k++] = late[j++];
	}
	free(ids);
	return all;
}

/* Rule 4: a sweep over the addresses where the answer may change. On the stack: the symbols that are open there, the
 * one that started last on top; those that ended below it are dropped when they come up. */
static void make_segments(struct symtab *t)
{
	VEC(struct segment) segs = { 0 };
	VEC(u32) open = { 0 };
	u32 i = 0, now = ID_NONE, last = ID_NONE;
	u64 at = t->syms[0].start;

	while (i < t->n || now != ID_NONE) {
		for (; i < t->n && t->syms[i].start == at; i++)
			vec_push(&open, i);
		while (open.n && t->syms[open.v[open.n - 1]].end <= at)
			open.n--;
		now = open.n ? open.v[open.n - 1] : ID_NONE;
		if (now != last)
			vec_push(&segs, (struct segment){ at, now });
		last = now;
		at = now != ID_NONE ? t->syms[now].end : UINT64_MAX;
		if (i < t->n)
			at = MIN(at, t->syms[i].start);
	}
	vec_free(&open);
	t->segs = mem_realloc(segs.v, segs.n, sizeof(*segs.v));
	t->nr_segs = (u32)segs.n;
}

static void take_symbols(struct symtab *t, const struct symtab_build *b, const u32 *ids, size_t n)
{
	bool overlap = false;
	u64 reach = 0;

	t->syms = mem_realloc(NULL, n, sizeof(*t->syms));
	for (size_t i = 0; i < n; i++) {
		const struct raw_symbol *s = &b->syms.v[ids[i]];

		if (s->end <= s->start)
			continue;
		overlap |= s->start < reach;
		reach = MAX(reach, s->end);
		t->syms[t->n++] = (struct symbol){ s->start, s->end, s->name };
	}
	if (t->n < n)
		t->syms = mem_realloc(t->syms, t->n, sizeof(*t->syms));
	if (overlap)
		make_segments(t);
}

struct symtab *symtab_finish(struct symtab_build *b)
{
	struct symtab *t = mem_zalloc(sizeof(*t));
	size_t early = b->syms.n, n;
	u32 *ids;

	while (early && b->syms.v[early - 1].late)
		early--;
	ids = sorted_ids(b->syms.v, 0, early);
	settle_ends(b, ids, early);
	n = settle_aliases(b, ids, early);
	if (early < b->syms.n) {
		u32 *late = sorted_ids(b->syms.v, early, b->syms.n - early);

		ids = merge_late(b, ids, n, late, b->syms.n - early);
		n += b->syms.n - early;
		free(late);
	}
	take_symbols(t, b, ids, n);
	free(ids);
	t->keep_names = b->keep_names;
	readable_init(&t->readable, b->readable, symtab_raw_name, t->n, readable_most(b->names.len));
	t->names_size = b->names.len;
	t->names = mem_realloc(b->names.p, b->names.len, 1);
	b->names = (struct bytes){ 0 };
	vec_free(&b->syms);
	return t;
}

u64 symtab_bytes(const struct symtab *t)
{
	return t->stored ? 0 : t->n * sizeof(*t->syms) + t->nr_segs * sizeof(*t->segs) + t->names_size;
}

bool symtab_encode(const struct symtab *t, const struct stored_marks *marks, struct bytes *out)
{
	const struct table_parts parts = { .syms = t->syms,
					   .n = t->n,
					   .segs = t->segs,
					   .nr_segs = t->nr_segs,
					   .names = t->names,
					   .names_size = t->names_size,
					   .keep_names = t->keep_names,
					   .demangled_most = readable_most(t->names_size) };

	return stored_encode(&parts, marks, out);
}

struct symtab *symtab_over(struct stored *stored, struct name_maker *readable)
{
	struct symtab *t = mem_zalloc(sizeof(*t));

	t->stored = stored;
	t->n = stored_count(stored);
	t->keep_names = stored_keeps_names(stored);
	readable_init(&t->readable, readable, symtab_raw_name, t->n, stored_demangled_most(stored));
	return t;
}

void symtab_free(struct symtab *t)
{
	if (!t)
		return;
	readable_free(&t->readable);
	stored_free(t->stored);
	free(t->names);
	free(t->segs);
	free(t->syms);
	free(t);
}

void symtab_keep_names(const struct symtab *t)
{
	readable_keep(&t->readable);
}

u32 symtab_count(const struct symtab *t)
{
	return t->n;
}

u32 symtab_holding(const struct symtab *t, u64 addr)
{
	u32 at;

	if (t->stored)
		return stored_find(t->stored, addr);
	if (t->segs) {
		at = (u32)SEARCH_UPTO(t->segs, t->nr_segs, start, 0, addr);
		return at ? t->segs[at - 1].sym : ID_NONE;
	}
	at = (u32)SEARCH_UPTO(t->syms, t->n, start, 0, addr);
	return at && addr < t->syms[at - 1].end ? at - 1 : ID_NONE;
}

u32 symtab_find(const struct symtab *t, u64 addr)
{
	u32 sym = symtab_holding(t, addr);

	if (sym < t->n)
		readable_found(&t->readable, sym);
	return sym;
}

u64 *symtab_starts(const struct symtab *t)
{
	u64 *starts = mem_alloc(MAX(1u, t->n) * sizeof(*starts));

	for (u32 i = 0; i < t->n; i++) {
		const struct symbol *sym = t->stored ? stored_read(t->stored, i) : &t->syms[i];

		if (!sym) {
			free(starts);
			return NULL;
		}
		starts[i] = sym->start;
	}
	return starts;
}

void symtab_span(const struct symtab *t, u64 addr, u64 *from, u64 *to)
{
	u32 at = t->segs ? (u32)SEARCH_UPTO(t->segs, t->nr_segs, start, 0, addr) :
			   (u32)SEARCH_UPTO(t->syms, t->n, start, 0, addr);

	*from = 0;
	*to = UINT64_MAX;
	if (t->segs) {
		if (at)
			*from = t->segs[at - 1].start;
		if (at < t->nr_segs)
			*to = t->segs[at].start;
		return;
	}
	if (at < t->n)
		*to = t->syms[at].start;
	if (!at)
		return;
	*from = t->syms[at - 1].start;
	if (addr < t->syms[at - 1].end)
		*to = t->syms[at - 1].end;
	else
		*from = t->syms[at - 1].end;
}

const struct symbol *symtab_at(const struct symtab *t, u32 sym)
{
	return t->stored ? stored_symbol(t->stored, sym) : &t->syms[sym];
}

const char *symtab_raw_name(const struct symtab *t, u32 sym)
{
	return t->stored ? stored_name(t->stored, sym) : t->names + t->syms[sym].name;
}

const char *symtab_shown_name(struct symtab *t, u32 sym)
{
	const char *name = t->keep_names ? NULL : readable_name(&t->readable, t, sym);

	return name ? name : symtab_raw_name(t, sym);
}
