/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A passage ran through basic blocks, each of which ends where another one begins: at the target of a jump, behind a
 * jump, or where a symbol is. For that a function's instructions are read once, when the first passage in it is met.
 * Targets of indirect jumps are those that were seen. A passage that goes on behind an unconditional jump has not
 * happened as it was recorded, and is left out.
 */
#include "view/export/fdata.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/search.h"
#include "base/strtab.h"
#include "codec/x86_branch.h"
#include "state/linked_functions.h"
#include "view/script/insn.h"

/*
 * Whoever made the file may have made functions of holes, or of nothing but jumps, so reading code, and steps from
 * block to block, are limited by the number of branches: real functions and passages have far less for each.
 */
#define LARGEST_FUNCTION (4u << 20)
#define CODE_FREE (512u << 10)
#define CODE_PER_TRACE (1u << 10)
#define STEPS_FREE (256u << 10)
#define STEPS_PER_TRACE 64u

struct block {
	u64 start;
	u64 last;	    /* its last instruction */
	enum x86_flow flow; /* of its last one */
};

struct code {
	const struct linked_function *function;
	VEC(struct block) blocks; /* by address; none: it cannot be read */
	u64 end;		  /* of what was read */
};

struct edge {
	u64 from, to, count, mispredicted;
};

struct writer {
	const struct branch_traces *t;
	const struct dso_linked *at;
	u32 dso;
	struct linked_functions functions;
	bool *odd_seen; /* of them: no line can name it, and it is counted */
	struct insn_decoder *decoder;
	u64 code_left, steps_left; /* bytes that may be read, and edges of passages */
	u16 machine;		   /* EM_*, of the function that was asked about last */
	struct code code;	   /* of the function that was asked about last */
	struct set index;
	VEC(struct edge) edges;
	struct fdata_counts *counts;
};

/* A profile is lines of words. */
static bool has_control(const char *s)
{
	for (; *s; s++)
		if ((u8)*s < ' ' || *s == 0x7f)
			return true;
	return false;
}

/* The function that holds an address; NULL: none, or one that no line can name. *odd: such a one. */
static const struct linked_function *function_at(struct writer *w, u64 addr, bool *odd)
{
	const struct linked_function *f = linked_functions_at(&w->functions, addr);

	*odd = f && has_control(strtab_get(&w->functions.names, f->name));
	if (*odd) {
		bool *seen = &w->odd_seen[f - w->functions.v.v];

		w->counts->odd += !*seen;
		*seen = true;
	}
	return *odd ? NULL : f;
}

static void add_edge(struct writer *w, u64 from, u64 to, u64 count, u64 mispredicted)
{
	u64 hash = hash_finish(hash_mix(hash_u64(from), to));
	u32 id, at;

	SET_FIND(id, &w->index, hash, at, w->edges.v[id].from == from && w->edges.v[id].to == to);
	if (id == ID_NONE) {
		id = (u32)w->edges.n;
		vec_push(&w->edges, (struct edge){ from, to, 0, 0 });
		set_add(&w->index, hash, id);
	}
	w->edges.v[id].count += count;
	w->edges.v[id].mispredicted += mispredicted;
}

/* --- instructions --- */

static int by_number(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

struct numbers {
	u64 *v;
	size_t n, cap;
};

static bool holds(const struct numbers *s, u64 v)
{
	return s->n && bsearch(&v, s->v, s->n, sizeof(v), by_number);
}

static void sort(struct numbers *s)
{
	if (s->n)
		qsort(s->v, s->n, sizeof(*s->v), by_number);
}

/* The address that symbol look-ups take of a linked one. */
static u64 offset_of(const struct dso_linked *l, u64 addr)
{
	for (u32 i = 0; i < l->n; i++)
		if (addr >= l->v[i].addr && addr - l->v[i].addr < l->v[i].size)
			return addr - l->v[i].addr + l->v[i].offset;
	return 0;
}

/* The first branch from an address that symbol look-ups take, or from behind it. */
static size_t first_branch(const struct writer *w, u64 from)
{
	size_t low = 0, high = w->t->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct branch_trace *b = &w->t->v.v[middle];

		if (b->dso < w->dso || (b->dso == w->dso && b->kind == TRACE_BRANCH && b->from < from))
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* The first symbol within a function that is behind an address. */
static size_t first_entry(const struct writer *w, u64 addr)
{
	const u64 *entries = w->functions.entries.v;

	return search_upto(entries, w->functions.entries.n, sizeof(*entries), 0, addr);
}

/* Where other code comes in: by symbols, and by branches that were seen. */
static void find_entries(const struct writer *w, const struct linked_function *f, struct numbers *out)
{
	for (size_t i = first_entry(w, f->start); i < w->functions.entries.n && w->functions.entries.v[i] < f->end;
	     i++)
		vec_push(out, w->functions.entries.v[i]);
	for (size_t i = first_branch(w, offset_of(w->at, f->start)); i < w->t->v.n; i++) {
		const struct branch_trace *b = &w->t->v.v[i];
		u64 to = b->to == TRACE_OUTSIDE ? 0 : dso_linked_address(w->at, b->to);

		if (b->dso != w->dso || b->kind != TRACE_BRANCH || b->from == TRACE_OUTSIDE ||
		    dso_linked_address(w->at, b->from) >= f->end)
			break;
		if (to > f->start && to < f->end)
			vec_push(out, to);
	}
}

/* One instruction; n: bytes of it. False: it cannot be read. */
static bool next_insn(struct writer *w, const u8 *code, u64 left, u64 pc, u32 *n)
{
	*n = insn_decode(w->decoder, w->machine, code, (u32)MIN(left, (u64)INSN_MAX), pc, NULL);
	return *n && *n <= left;
}

static void make_blocks(struct writer *w, const u8 *code, u32 size, const struct numbers *entries)
{
	const struct linked_function *f = w->code.function;
	bool begins = true;
	struct x86_branch b;
	u32 n;

	for (u32 i = 0; i < size && next_insn(w, code + i, size - i, f->start + i, &n); i += n) {
		struct block *last = w->code.blocks.n ? &w->code.blocks.v[w->code.blocks.n - 1] : NULL;
		bool entered = holds(entries, f->start + i);

		x86_branch_decode(code + i, n, true, &b);
		/* A jump right behind one that may not be taken belongs to its block. */
		if (begins && !entered && last && last->flow == X86_MAYBE && b.flow == X86_AWAY &&
		    b.target != INT64_MAX) {
			last->last = f->start + i;
			last->flow = X86_AWAY;
			continue;
		}
		if (begins || entered) {
			vec_push(&w->code.blocks, (struct block){ f->start + i, f->start + i, b.flow });
			last = &w->code.blocks.v[w->code.blocks.n - 1];
		}
		last->last = f->start + i;
		last->flow = b.flow;
		begins = b.flow == X86_MAYBE || b.flow == X86_AWAY;
	}
}

/* Targets of the function's own jumps. */
static void find_targets(struct writer *w, const u8 *code, u32 size, struct numbers *out)
{
	const struct linked_function *f = w->code.function;
	struct x86_branch b;
	u32 n;

	for (u32 i = 0; i < size && next_insn(w, code + i, size - i, f->start + i, &n); i += n) {
		u64 to;

		x86_branch_decode(code + i, n, true, &b);
		to = f->start + i + n + (u64)b.target;
		if (b.flow != X86_CALL && b.target != INT64_MAX && to >= f->start && to < f->end)
			vec_push(out, to);
	}
}

static void read_function(struct writer *w, const struct linked_function *f)
{
	u64 size = MIN(f->end - f->start, MIN(w->code_left, (u64)LARGEST_FUNCTION));
	struct numbers entries = { 0 };
	u8 *code;
	u32 n;

	if (w->code.function == f)
		return;
	w->code.function = f;
	w->code.blocks.n = 0;
	w->code_left -= size;
	w->counts->cut |= size < f->end - f->start;
	if (!size)
		return;
	code = mem_alloc(size);
	n = dsos_code_at(w->t->dsos, w->dso, offset_of(w->at, f->start), code, (u32)size, &w->machine);
	w->code.end = f->start + n;
	if (w->machine == EM_X86_64) {
		find_entries(w, f, &entries);
		find_targets(w, code, n, &entries);
		sort(&entries);
		make_blocks(w, code, n, &entries);
	}
	vec_free(&entries);
	free(code);
}

/* --- passages --- */

/* Which block holds the address; they are those of its function. */
static size_t block_at(const struct code *c, u64 addr)
{
	size_t upto = SEARCH_UPTO(c->blocks.v, c->blocks.n, start, 0, addr);

	return upto ? upto - 1 : 0;
}

static bool goes_on(const struct block *b)
{
	return b->flow != X86_AWAY;
}

/* False: it cannot have been as it was recorded. f: the function that it begins in; NULL: none. */
static bool add_passage(struct writer *w, const struct linked_function *f, u64 from, u64 to, bool from_outside,
			u64 count)
{
	const struct block *v;
	size_t first, last;

	if (!f || f->plt || to >= f->end)
		return false;
	read_function(w, f);
	if (!w->code.blocks.n || w->code.end <= to)
		return false;
	v = w->code.blocks.v;
	first = block_at(&w->code, from);
	last = block_at(&w->code, to);
	/* It returned from a call behind which a block begins. */
	if (from_outside && first && v[first].start == from && v[first - 1].flow == X86_CALL)
		first--;
	if (last > first && last - first > w->steps_left) {
		w->counts->cut = true;
		return false;
	}
	w->steps_left -= last > first ? last - first : 0;
	for (size_t i = first; i < last; i++)
		if (!goes_on(&v[i]))
			return false;
	for (size_t i = first; i < last; i++)
		add_edge(w, v[i].last, v[i + 1].start, count, 0);
	return true;
}

static void read_traces(struct writer *w)
{
	for (size_t i = 0; i < w->t->v.n; i++) {
		const struct branch_trace *b = &w->t->v.v[i];
		const struct linked_function *f;
		bool odd_from, odd_to;
		u64 from, to;

		if (b->dso != w->dso)
			continue;
		from = b->from == TRACE_OUTSIDE ? 0 : dso_linked_address(w->at, b->from);
		to = b->to == TRACE_OUTSIDE ? 0 : dso_linked_address(w->at, b->to);
		f = function_at(w, from, &odd_from);
		if (b->kind == TRACE_BRANCH) {
			from = f ? from : 0;
			to = function_at(w, to, &odd_to) ? to : 0;
			if (!odd_from && !odd_to && (from || to))
				add_edge(w, from, to, b->count, b->mispredicted);
			continue;
		}
		if (odd_from)
			continue;
		w->counts->passages += b->count;
		if (!add_passage(w, f, from, to, b->kind == TRACE_THROUGH_ENTRY, b->count))
			w->counts->refused += b->count;
	}
}

/* --- text --- */

static int by_edge(const void *a, const void *b)
{
	const struct edge *x = a, *y = b;

	if (x->from != y->from)
		return x->from < y->from ? -1 : 1;
	return x->to < y->to ? -1 : x->to > y->to;
}

/* Of an entry of the PLT nobody needs to know the instruction. */
static void put_end(const struct writer *w, u64 addr, struct bytes *out)
{
	const struct linked_function *f = addr ? linked_functions_at(&w->functions, addr) : NULL;

	if (!f) {
		bytes_str(out, "0 [unknown] 0 ");
		return;
	}
	bytes_str(out, "1 ");
	for (const char *p = strtab_get(&w->functions.names, f->name); *p; p++) {
		if (*p == ' ' || *p == '\\')
			bytes_char(out, '\\');
		bytes_char(out, *p);
	}
	bytes_char(out, ' ');
	bytes_hex(out, addr - f->start);
	bytes_char(out, ' ');
}

static void put_edges(struct writer *w, struct bytes *out)
{
	if (w->edges.n)
		qsort(w->edges.v, w->edges.n, sizeof(*w->edges.v), by_edge);
	for (size_t i = 0; i < w->edges.n; i++) {
		const struct edge *e = &w->edges.v[i];

		put_end(w, e->from, out);
		put_end(w, e->to, out);
		bytes_dec(out, e->mispredicted);
		bytes_char(out, ' ');
		bytes_dec(out, e->count);
		bytes_char(out, '\n');
	}
	w->counts->lines = w->edges.n;
}

int view_fdata(const struct branch_traces *t, const struct dso_linked *at, u32 dso, struct bytes *out,
	       struct fdata_counts *counts, const struct notify *to)
{
	struct writer w = { .t = t,
			    .at = at,
			    .dso = dso,
			    .code_left = CODE_FREE + t->v.n * CODE_PER_TRACE,
			    .steps_left = STEPS_FREE + t->v.n * STEPS_PER_TRACE,
			    .counts = counts };
	const char *why;
	int err = 0;

	*counts = (struct fdata_counts){ 0 };
	w.decoder = insn_decoder_new(&why);
	if (!w.decoder)
		err = notify_error(to, ERR_UNSUPPORTED, "the code is not read: %s; --to bolt does not read code", why);
	else if (!dsos_linked_functions(t->dsos, dso, &w.functions))
		err = notify_at(to, NOTE_ERROR, ERR_NOTFOUND, dsos_at(t->dsos, dso)->path, NO_OFFSET,
				"it has no symbol table, by whose names a profile goes");
	if (!err) {
		w.odd_seen = mem_zalloc(w.functions.v.n + 1);
		read_traces(&w);
	}
	if (!err && w.machine && w.machine != EM_X86_64)
		err = notify_at(to, NOTE_ERROR, ERR_UNSUPPORTED, dsos_at(t->dsos, dso)->path, NO_OFFSET,
				"its code is not read: it is not x86-64's; --to bolt does not read code");
	if (!err)
		put_edges(&w, out);
	insn_decoder_free(w.decoder);
	linked_functions_free(&w.functions);
	free(w.odd_seen);
	set_free(&w.index);
	vec_free(&w.edges);
	vec_free(&w.code.blocks);
	return err;
}
