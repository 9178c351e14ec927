/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All instructions are gone through once, in the order of their addresses. At the beginning of each symbol one begins,
 * also inside another symbol, so that data put at most the code behind them, up to the next symbol, into disorder.
 * What is hidden by that is looked for at each byte.
 */
#include "state/entered.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "codec/x86_branch.h"
#include "codec/x86_length.h"
#include "state/debuginfo.h"
#include "state/dso_table.h"

#define LARGEST (64u << 20)	 /* bytes of segments that are looked through */
#define LARGEST_ALL (512u << 20) /* of all files */
#define CALL_SIZE 5u
#define ALIGNED 16u /* where compilers let functions begin */
#define WORD 8u
#define WORD_STEP 4u /* packed structures have words that are aligned to 4 bytes */

struct dso_entered {
	u32 n; /* symbols; 0: nobody can tell */
	struct entered *v;
};

/* A segment's bytes. */
struct part {
	u64 offset, addr;
	u32 n;
	u8 *p;
};

struct scan {
	struct symtab *symbols;
	u64 *starts; /* of them all */
	struct dso_entered *out;
	u32 nr_code;
	struct part code[DSO_SEGMENTS]; /* without their bytes */
	bool fixed;			/* the file is not moved when it is mapped */
	bool damaged;			/* its symbols are */
	bool has_stacks;		/* its code switches between stacks of its own */
};

static u32 symbol_at(struct scan *s, u64 offset)
{
	u32 sym = symtab_holding(s->symbols, offset);

	s->damaged |= sym == STORED_DAMAGED;
	return sym < s->out->n ? sym : ID_NONE;
}

/* The offset of code at that address; UINT64_MAX: there is none. */
static u64 code_offset(const struct scan *s, u64 addr)
{
	for (u32 i = 0; i < s->nr_code; i++)
		if (addr >= s->code[i].addr && addr - s->code[i].addr < s->code[i].n)
			return s->code[i].offset + (addr - s->code[i].addr);
	return UINT64_MAX;
}

/* Does one of these functions have that name, or does an entry of the PLT lead to it? */
static bool is_named(const char *name, const char *const *names, size_t nr)
{
	name += strspn(name, "_");
	for (size_t i = 0; i < nr; i++) {
		size_t n = strlen(names[i]);

		if (!strncmp(name, names[i], n) && (!name[n] || name[n] == '@'))
			return true;
	}
	return false;
}

/* Where code comes back without returns: to who called what returns more than once, and on other stacks to any
 * function of the file. */
static void note_return(struct scan *s, const char *called, u32 from)
{
	static const char *const twice[] = { "setjmp", "sigsetjmp", "getcontext" };
	static const char *const stacks[] = { "swapcontext", "makecontext", "setcontext" };

	s->has_stacks |= is_named(called, stacks, ARRAY_LEN(stacks));
	if (from != ID_NONE && is_named(called, twice, ARRAY_LEN(twice)))
		s->out->v[from].comes_back = true;
}

static void add_call(struct scan *s, u64 to, u64 site, u32 from)
{
	u32 sym = symbol_at(s, to);

	if (sym == ID_NONE)
		return;
	note_return(s, symtab_raw_name(s->symbols, sym), from);
	s->out->v[sym].several |= s->out->v[sym].site && s->out->v[sym].site != site;
	s->out->v[sym].by_itself |= sym == from;
	s->out->v[sym].site = site;
}

/* A jump, or the end of a function that goes on in the next one. from: ID_NONE: code of which nobody knows the
 * function. */
static void add_jump(struct scan *s, u32 to, u32 from)
{
	struct entered *e = &s->out->v[to];

	if (to == from)
		return;
	if (from == ID_NONE || (e->jumped_from != ID_NONE && e->jumped_from != from))
		e->anywhere = true;
	e->jumped_from = from;
}

/* Code of the function `from` has an address. */
static void add_address(struct scan *s, u64 addr, u32 from)
{
	u64 offset = code_offset(s, addr);
	u32 sym = offset == UINT64_MAX ? ID_NONE : symbol_at(s, offset);

	if (sym == ID_NONE || (sym == from && symtab_at(s->symbols, sym)->start != offset))
		return;
	s->out->v[sym].anywhere = true;
}

static u64 word_at(const u8 *p, u32 size)
{
	u64 w = 0;

	memcpy(&w, p, size);
	return w;
}

/* Words of a segment that are addresses of functions. */
static void scan_words(struct scan *s, const struct part *g)
{
	u64 low = UINT64_MAX, high = 0;

	for (u32 i = 0; i < s->nr_code; i++) {
		low = MIN(low, s->code[i].addr);
		high = MAX(high, s->code[i].addr + s->code[i].n);
	}
	for (u32 i = (u32)(-g->addr % WORD_STEP); g->n >= WORD && i <= g->n - WORD; i += WORD_STEP) {
		u64 word = word_at(g->p + i, WORD), offset;
		u32 sym;

		if (word < low || word >= high)
			continue;
		offset = code_offset(s, word);
		sym = offset == UINT64_MAX ? ID_NONE : symbol_at(s, offset);
		if (sym != ID_NONE && symtab_at(s->symbols, sym)->start == offset)
			s->out->v[sym].anywhere = true;
	}
}

/* Addresses that an instruction has: by its distance from it, or as such where files are not moved. p: its opcode. */
static void note_addresses(struct scan *s, const u8 *p, u32 n, u64 next, u32 in)
{
	if (p[0] == 0x8d && n >= 6 && (p[1] & 0xc7) == 0x05)
		add_address(s, next + (u64)(s64)(s32)word_at(p + 2, 4), in);
	if (!s->fixed)
		return;
	if (n >= 5)
		add_address(s, word_at(p + n - 4, 4), in);
	if (n >= 9)
		add_address(s, word_at(p + n - 8, 8), in);
}

/* What fills up between functions. */
static bool is_fill(const u8 *p, u32 n)
{
	return p[0] == 0x90 || p[0] == 0xcc || (n > 1 && ((p[0] == 0x0f && p[1] == 0x1f) || (!p[0] && !p[1])));
}

/* What the instruction before does: it never leads to the next one, it does, or it is a call that may not return. */
enum before { ENDS, RUNS_ON, CALLS };

/* Where code is gone through: its symbol, or ID_NONE, which is the same for all offsets from start up to end. */
struct at {
	u32 sym;
	u64 start, end;
	u32 next; /* of the symbols, the first that begins behind it */
	enum before before;
};

/* Behind a call that does not return (abort) there is another function, which is not entered there: it is aligned. */
static bool runs_into(const struct at *at, u64 offset)
{
	return at->before == RUNS_ON || (at->before == CALLS && offset % ALIGNED);
}

static void enter(struct scan *s, struct at *at, u64 offset)
{
	u32 sym = symbol_at(s, offset);

	while (at->next < s->out->n && s->starts[at->next] <= offset)
		at->next++;
	at->start = offset;
	at->end = at->next < s->out->n ? s->starts[at->next] : UINT64_MAX;
	if (sym != ID_NONE) {
		at->end = MIN(at->end, MAX(symtab_at(s->symbols, sym)->end, offset + 1));
		if (runs_into(at, offset))
			add_jump(s, sym, at->sym);
	}
	at->sym = sym;
}

/* May it jump, call, or not go on to the next one? p: its opcode. Of all others there is nothing to decode. */
static bool may_branch(const u8 *p, u32 n)
{
	switch (p[0]) {
	case 0x0f:
		return n > 1 && ((p[1] & 0xf0) == 0x80 || p[1] == 0x07 || p[1] == 0x0b || p[1] == 0x35);
	case 0x70 ... 0x7f:
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xcf:
	case 0xe0 ... 0xe3:
	case 0xe8 ... 0xeb:
	case 0xf4:
	case 0xff:
		return true;
	default:
		return false;
	}
}

static void note_insn(struct scan *s, const struct part *g, u32 i, const struct x86_insn *in, struct at *at)
{
	const u8 *p = g->p + i + in->opcode;
	u32 n = in->size - in->opcode, to;
	u64 next = g->offset + i + in->size;
	struct x86_branch b;

	if (is_fill(p, n)) {
		at->before = at->before == CALLS ? ENDS : at->before;
		return;
	}
	note_addresses(s, p, n, g->addr + i + in->size, at->sym);
	at->before = RUNS_ON;
	if (!may_branch(p, n))
		return;
	x86_branch_decode(g->p + i, in->size, true, &b);
	if (b.flow == X86_AWAY || b.flow == X86_CALL)
		at->before = b.flow == X86_CALL ? CALLS : ENDS;
	if (!b.size || b.target == INT64_MAX)
		return;
	next += (u64)b.target;
	if (b.flow == X86_CALL && b.target) { /* else it only asks for its own address */
		add_call(s, next, g->offset + i, at->sym);
	} else if (b.flow != X86_CALL && (next < at->start || next >= at->end)) {
		to = symbol_at(s, next);
		if (to != ID_NONE)
			add_jump(s, to, at->sym);
	}
}

static void scan_code(struct scan *s, const struct part *g)
{
	struct at at = { .sym = ID_NONE };
	struct x86_insn in;

	for (u32 i = 0; i < g->n;) {
		u64 offset = g->offset + i;

		if (offset >= at.end)
			enter(s, &at, offset);
		if (!x86_insn_decode(g->p + i, g->n - i, &in)) {
			i++;
			continue;
		}
		note_insn(s, g, i, &in, &at);
		i += (u32)MIN(in.size, at.end - offset);
	}
}

/* Calls and jumps to functions at any byte. Those that are there by chance only make functions less certain. */
static void scan_bytes(struct scan *s, const struct part *g)
{
	for (u32 i = 0; i + CALL_SIZE <= g->n; i++) {
		u64 to = g->offset + i + CALL_SIZE + (u64)(s64)(s32)word_at(g->p + i + 1, 4);
		u32 sym, from;

		if ((g->p[i] | 1) != 0xe9 || to - g->offset >= g->n)
			continue;
		sym = symbol_at(s, to);
		if (sym == ID_NONE || symtab_at(s->symbols, sym)->start != to)
			continue;
		from = symbol_at(s, g->offset + i);
		if (g->p[i] == 0xe8)
			add_call(s, to, g->offset + i, from);
		else
			add_jump(s, sym, from);
	}
}

/* False: it has more code than is looked through, or is of another machine. all: bytes of all files. */
static bool find_code(struct scan *s, const struct elf_file *f, _Atomic u64 *all)
{
	u64 bytes = 0;

	for (u32 i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *g = &f->segments[i];

		if (g->type != PT_LOAD)
			continue;
		bytes += MIN(g->filesz, (u64)LARGEST + 1);
		if (bytes > LARGEST || (g->flags & PF_X && s->nr_code == DSO_SEGMENTS))
			return false;
		if (g->flags & PF_X)
			s->code[s->nr_code++] =
				(struct part){ .offset = g->offset, .addr = g->vaddr, .n = (u32)g->filesz };
	}
	return f->machine == EM_X86_64 && f->is64 && !f->swap && atomic_fetch_add(all, bytes) + bytes <= LARGEST_ALL;
}

static bool scan_segments(struct scan *s, const struct elf_file *f)
{
	for (u32 i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *g = &f->segments[i];
		struct part part = { .offset = g->offset, .addr = g->vaddr, .n = (u32)g->filesz };

		if (g->type != PT_LOAD || !part.n)
			continue;
		if (elf_file_read(f, g->offset, g->filesz, &part.p) < 0)
			return false;
		scan_words(s, &part);
		if (g->flags & PF_X) {
			scan_code(s, &part);
			scan_bytes(s, &part);
		}
		free(part.p);
	}
	return !s->damaged;
}

static struct dso_entered *read_entered(struct dsos *d, struct dso_slot *slot, struct symtab *symbols)
{
	struct dso_entered *out = mem_zalloc(sizeof(*out));
	struct scan s = { .symbols = symbols, .out = out };
	struct found_file file;
	bool whole;

	if (!dso_open_code(d, slot, &file))
		return out;
	s.fixed = file.elf.type == ET_EXEC;
	whole = symtab_count(symbols) && find_code(&s, &file.elf, &d->entered) &&
		(s.starts = symtab_starts(symbols)) != NULL;
	if (whole) {
		out->n = symtab_count(symbols);
		out->v = mem_zalloc(MAX(1u, out->n) * sizeof(*out->v));
		for (u32 i = 0; i < out->n; i++)
			out->v[i].jumped_from = ID_NONE;
		whole = scan_segments(&s, &file.elf);
		for (u32 i = 0; i < out->n; i++)
			out->v[i].comes_back |= s.has_stacks;
	}
	if (!whole)
		out->n = 0;
	free(s.starts);
	found_file_close(&file);
	return out;
}

bool dsos_entered(struct dsos *d, u32 dso, u32 sym, struct entered *out)
{
	struct symtab *symbols = dso_get_table(d, dso);
	struct dso_slot *s = dso_slot_of_file(d, dso);
	const struct dso_entered *e;

	DSO_MADE_ONCE(e, s, entered, read_entered(d, s, symbols));
	if (sym >= e->n)
		return false;
	*out = e->v[sym];
	return true;
}

void dso_entered_free(struct dso_entered *e)
{
	if (e)
		free(e->v);
	free(e);
}
