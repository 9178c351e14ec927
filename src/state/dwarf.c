/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF look-ups that stay fast when there are many.
 *
 * libdw answers "which scopes hold this address" by walking the unit's whole tree each time. Reports ask that for tens
 * of thousands of addresses, most of them in a few units. So we walk each unit once, when it is first hit, and note
 * every function with its address ranges, and within a function, when that is first hit, every inlined call; look-ups
 * are then binary searches for the innermost range (symtab.h does that for symbols already) and a climb over parents.
 * An address that no outer function holds may be in one that stands within another (nested functions): then the whole
 * unit is walked.
 *
 * Units are found by the ranges that they claim, not by .debug_aranges, which some compilers leave out. A unit that
 * claims nothing is walked at the start. Ranges at address 0 belong to functions that the linker dropped.
 *
 * Names, files and lines are fetched when asked for. Recursion is bounded: the nesting comes from the input.
 */
#include "state/dwarf.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/map.h"
#include "state/apart.h"
#include "state/demangle.h"
#include "state/dwarf_impl.h"
#include "state/dwarf_others.h"
#include "state/dwarf_sections.h"
#include "state/symtab.h"

#define DEEPEST_NESTING 128
#define DEEPEST_STACK 256

/* A function, or an inlined call in one. */
struct node {
	Dwarf_Die die;
	u32 parent;	       /* the function around it, or ID_NONE */
	const char *name;      /* NULL: not fetched yet */
	struct symtab *inner;  /* of an outer function: ranges of what is within; NULL: not walked yet */
	struct origin *origin; /* NULL: not fetched yet */
};

/* What an answer about a whole function says of it, or of a call inlined into it. */
struct origin {
	const char *name;	 /* as the linker knows it; "" if it has none */
	u32 size;		 /* of that, with the NUL */
	u32 first;		 /* the line where it begins */
	u32 line, discriminator; /* of the call, in the function around it */
};

struct unit {
	Dwarf_Die die;
	struct symtab *ranges; /* of nodes, by address; NULL: not walked yet. A symbol's name is a node's index */
	bool whole;	       /* they are those of all nodes, and not of outer functions alone */
	VEC(struct node) nodes;
};

struct dwarf_file {
	int fd;
	struct dwarf_home home;
	Elf *elf;
	struct dwarf_sections sections;
	Dwarf *dw;
	bool split; /* some units stand in other files, or would */
	enum dwarf_part part;
	VEC(struct unit) units;
	struct symtab *by_addr; /* a symbol's name is a unit's index */
	struct arena arena;	/* demangled names, joined paths */
	void *attached;		/* dwarf_file_attach; or NULL */
	void (*done)(void *what);
	struct map joined; /* hash of unit and file name -> index in paths */
	VEC(const char *) paths;
	struct map put; /* where a name is in memory -> where the present answer has it */
};

/* A range that cannot hold code: empty, backwards, or of a function that was dropped. */
static bool is_dead(Dwarf_Addr lo, Dwarf_Addr hi)
{
	return !lo || hi <= lo || lo >= UINT64_MAX - 1;
}

static void add_ranges(struct symtab_build *b, Dwarf_Die *die, u32 name)
{
	Dwarf_Addr base, lo, hi;
	ptrdiff_t at = 0;

	while ((at = dwarf_ranges(die, at, &base, &lo, &hi)) > 0)
		if (!is_dead(lo, hi))
			vec_push(&b->syms, (struct raw_symbol){ .start = lo, .end = hi, .name = name, .late = true });
}

/* outer: functions are not gone into. */
static void walk(struct unit *u, struct symtab_build *b, Dwarf_Die *parent, u32 around, int depth, bool outer)
{
	Dwarf_Die die;

	if (depth > DEEPEST_NESTING || dwarf_child(parent, &die) != 0)
		return;
	do {
		u32 node = around;

		switch (dwarf_tag(&die)) {
		case DW_TAG_subprogram:
		case DW_TAG_inlined_subroutine:
			node = (u32)u->nodes.n;
			vec_push(&u->nodes, (struct node){ .die = die, .parent = around });
			add_ranges(b, &die, node);
			if (outer)
				continue;
			break;
		case DW_TAG_lexical_block:
		case DW_TAG_namespace:
		case DW_TAG_module:
		case DW_TAG_structure_type:
		case DW_TAG_class_type:
		case DW_TAG_union_type:
		case DW_TAG_call_site:
		case DW_TAG_GNU_call_site:
		case DW_TAG_try_block:
		case DW_TAG_catch_block:
			break;
		default:
			continue; /* holds no code */
		}
		walk(u, b, &die, node, depth + 1, outer);
	} while (dwarf_siblingof(&die, &die) == 0);
}

static void forget_nodes(struct unit *u)
{
	for (size_t i = 0; i < u->nodes.n; i++)
		symtab_free(u->nodes.v[i].inner);
	u->nodes.n = 0;
	symtab_free(u->ranges);
	u->ranges = NULL;
}

static void walk_unit(struct unit *u, bool whole)
{
	struct symtab_build b;

	forget_nodes(u);
	symtab_build_init(&b);
	walk(u, &b, &u->die, ID_NONE, 0, !whole);
	u->ranges = symtab_finish(&b);
	u->whole = whole;
}

static u32 find_node(const struct symtab *ranges, u64 vaddr)
{
	u32 at = symtab_find(ranges, vaddr);

	return at != ID_NONE ? symtab_at(ranges, at)->name : ID_NONE;
}

/* The innermost node that holds the address, or ID_NONE. */
static u32 node_at(struct unit *u, u64 vaddr)
{
	u32 outer, inner;

	if (!u->ranges)
		walk_unit(u, false);
	outer = find_node(u->ranges, vaddr);
	if (outer == ID_NONE && !u->whole) {
		walk_unit(u, true);
		outer = find_node(u->ranges, vaddr);
	}
	if (u->whole)
		return outer;
	if (!u->nodes.v[outer].inner) {
		Dwarf_Die function = u->nodes.v[outer].die;
		struct symtab_build b;

		symtab_build_init(&b);
		walk(u, &b, &function, outer, 0, false);
		u->nodes.v[outer].inner = symtab_finish(&b);
	}
	inner = find_node(u->nodes.v[outer].inner, vaddr);
	return inner != ID_NONE ? inner : outer;
}

static void find_units(struct dwarf_file *f)
{
	Dwarf_CU *cu = NULL, *next;
	Dwarf_Die die, split;
	struct symtab_build b;
	uint8_t type;

	symtab_build_init(&b);
	while (dwarf_get_units(f->dw, cu, &next, NULL, &type, &die, NULL) == 0) {
		bool fine = dwarf_split_is_fine(&f->home, &die), is_split;
		size_t before = b.syms.n;
		u32 unit = (u32)f->units.n;

		f->split |= !fine || type == DW_UT_skeleton;
		if (!fine) {
			cu = next;
			continue;
		}
		/* Asked for again, with what it is the skeleton of. */
		dwarf_get_units(f->dw, cu, &next, NULL, &type, &die, &split);
		is_split = type == DW_UT_skeleton && dwarf_tag(&split) == DW_TAG_compile_unit;
		cu = next;
		if (dwarf_tag(&die) != DW_TAG_compile_unit && !is_split && type != DW_UT_skeleton)
			continue;
		vec_push(&f->units, (struct unit){ .die = is_split ? split : die });
		add_ranges(&b, &die, unit);
		if (b.syms.n == before) {
			struct unit *u = &f->units.v[unit];

			walk_unit(u, true);
			for (u32 i = 0; i < symtab_count(u->ranges); i++)
				vec_push(&b.syms, (struct raw_symbol){ .start = symtab_at(u->ranges, i)->start,
								       .end = symtab_at(u->ranges, i)->end,
								       .name = unit,
								       .late = true });
		}
	}
	f->by_addr = symtab_finish(&b);
}

struct dwarf_file *dwarf_file_open(int fd, const struct str *path, bool alone, enum dwarf_part part)
{
	struct dwarf_file *f = mem_zalloc(sizeof(*f));

	elf_version(EV_CURRENT);
	f->fd = fd;
	f->part = part;
	f->elf = elf_begin(fd, ELF_C_READ_MMAP_PRIVATE, NULL); /* may be written to, in memory */
	dwarf_home_of(&f->home, fd, path, alone);
	if (f->elf && dwarf_alternate_is_fine(&f->home, f->elf) && dwarf_sections_ready(&f->sections, f->elf, part))
		f->dw = dwarf_begin_elf(f->elf, DWARF_C_READ, NULL);
	if (!f->dw) {
		dwarf_file_close(f);
		return NULL;
	}
	find_units(f);
	return f;
}

void dwarf_file_close(struct dwarf_file *f)
{
	if (!f)
		return;
	for (size_t i = 0; i < f->units.n; i++) {
		forget_nodes(&f->units.v[i]);
		vec_free(&f->units.v[i].nodes);
	}
	vec_free(&f->units);
	symtab_free(f->by_addr);
	arena_free(&f->arena);
	map_free(&f->joined);
	map_free(&f->put);
	vec_free(&f->paths);
	if (f->attached)
		f->done(f->attached);
	if (f->dw)
		dwarf_end(f->dw);
	if (f->elf)
		elf_end(f->elf);
	dwarf_sections_free(&f->sections);
	close(f->fd);
	free(f);
}

bool dwarf_file_is_split(const struct dwarf_file *f)
{
	return f->split;
}

u32 dwarf_file_units(const struct dwarf_file *f)
{
	return (u32)f->units.n;
}

Dwarf_Die *dwarf_file_unit(struct dwarf_file *f, u32 i)
{
	return &f->units.v[i].die;
}

bool dwarf_file_outer(struct dwarf_file *f, u64 vaddr, Dwarf_Die *out)
{
	u32 at = symtab_find(f->by_addr, vaddr), node;
	struct unit *u = at == ID_NONE ? NULL : &f->units.v[symtab_at(f->by_addr, at)->name];

	node = u ? node_at(u, vaddr) : ID_NONE;
	for (u32 depth = 0; node != ID_NONE && depth < DEEPEST_STACK; depth++) {
		*out = u->nodes.v[node].die;
		if (dwarf_tag(out) != DW_TAG_inlined_subroutine)
			return true;
		node = u->nodes.v[node].parent;
	}
	return false;
}

void dwarf_file_attach(struct dwarf_file *f, void *what, void (*done)(void *what))
{
	f->attached = what;
	f->done = done;
}

void *dwarf_file_attached(const struct dwarf_file *f)
{
	return f->attached;
}

static const char *text_attr(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;

	return dwarf_formstring(dwarf_attr_integrate(die, name, &attr));
}

static const char *node_name(struct dwarf_file *f, struct node *n)
{
	const char *linkage;
	char *shown;

	if (n->name)
		return n->name;
	linkage = text_attr(&n->die, DW_AT_linkage_name);
	if (!linkage)
		linkage = text_attr(&n->die, DW_AT_MIPS_linkage_name);
	shown = linkage ? demangle(linkage) : NULL;
	if (shown)
		n->name = arena_strndup(&f->arena, shown, strlen(shown));
	else
		n->name = linkage ? linkage : text_attr(&n->die, DW_AT_name);
	free(shown);
	if (!n->name)
		n->name = "";
	return n->name;
}

static u32 number_attr(Dwarf_Die *die, unsigned name)
{
	Dwarf_Attribute attr;
	Dwarf_Word value;

	return dwarf_attr(die, name, &attr) && dwarf_formudata(&attr, &value) == 0 ? (u32)value : 0;
}

/* A relative name counts from the directory of the compilation. Joined once for each unit and name. */
static const char *full_path(struct dwarf_file *f, struct unit *u, const char *file)
{
	const char *dir = file && file[0] != '/' ? text_attr(&u->die, DW_AT_comp_dir) : NULL;
	size_t nd, nf;
	u32 at;
	char *path;

	if (!dir)
		return file;
	at = *map_at(&f->joined, hash_pair((uintptr_t)u, (uintptr_t)file), (u32)f->paths.n);
	if (at == f->paths.n) {
		nd = strlen(dir);
		nf = strlen(file);
		path = arena_alloc(&f->arena, nd + nf + 2, 1);
		memcpy(path, dir, nd);
		path[nd] = '/';
		memcpy(path + nd + 1, file, nf + 1);
		vec_push(&f->paths, path);
	}
	return f->paths.v[at];
}

/* Where an inlined call stands in the function around it. */
static void call_site(struct dwarf_file *f, struct unit *u, struct node *n, struct source_frame *out)
{
	u32 file = number_attr(&n->die, DW_AT_call_file);
	Dwarf_Files *files;
	size_t nr;

	out->line = number_attr(&n->die, DW_AT_call_line);
	out->file = NULL;
	if (dwarf_getsrcfiles(&u->die, &files, &nr) == 0 && file < nr)
		out->file = full_path(f, u, dwarf_filesrc(files, file, NULL, NULL));
}

static void line_at(struct dwarf_file *f, struct unit *u, u64 vaddr, struct source_frame *out)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, vaddr);
	int nr = 0;

	*out = (struct source_frame){ 0 };
	if (!line)
		return;
	out->file = full_path(f, u, dwarf_linesrc(line, NULL, NULL));
	if (dwarf_lineno(line, &nr) == 0 && nr > 0)
		out->line = (u32)nr;
}

u32 dwarf_file_at(struct dwarf_file *f, u64 vaddr, struct source_frame *out, u32 max)
{
	u32 at = symtab_find(f->by_addr, vaddr), node, n = 0;
	struct source_frame place;
	struct unit *u;

	if (at == ID_NONE || !max)
		return 0;
	u = &f->units.v[symtab_at(f->by_addr, at)->name];
	place = (struct source_frame){ 0 };
	if (f->part == DWARF_LINES)
		line_at(f, u, vaddr, &place);
	node = node_at(u, vaddr);
	for (u32 depth = 0; node != ID_NONE && n < max && depth < DEEPEST_STACK; depth++) {
		struct node *nd = &u->nodes.v[node];

		out[n] = place;
		out[n++].function = node_name(f, nd);
		if (dwarf_tag(&nd->die) != DW_TAG_inlined_subroutine)
			return n;
		if (f->part == DWARF_LINES)
			call_site(f, u, nd, &place);
		node = nd->parent;
	}
	if (!n && place.file)
		out[n++] = place;
	return n;
}

/* --- all of a function --- */

#ifndef DW_AT_GNU_discriminator
#define DW_AT_GNU_discriminator 0x2136
#endif

struct addresses {
	u64 *v;
	size_t n, cap;
};

/* Of one function; compilers' largest have a hundredth of it. With those before it, it fits into an answer. */
#define MOST_SPANS (1u << 20)
#define MOST_BYTES (32u << 20)

/* A position in the function that a frame is of. */
struct position {
	u32 line, discriminator;
};

static struct position position_at(struct unit *u, u64 vaddr)
{
	Dwarf_Line *line = dwarf_getsrc_die(&u->die, vaddr);
	struct position at = { 0 };
	unsigned int discriminator;
	int nr;

	if (line && dwarf_lineno(line, &nr) == 0 && nr > 0)
		at.line = (u32)nr;
	if (line && dwarf_linediscriminator(line, &discriminator) == 0)
		at.discriminator = discriminator;
	return at;
}

static const char *linkage_name(Dwarf_Die *die)
{
	const char *name = text_attr(die, DW_AT_linkage_name);

	if (!name)
		name = text_attr(die, DW_AT_MIPS_linkage_name);
	if (!name)
		name = text_attr(die, DW_AT_name);
	return name ? name : "";
}

static const struct origin *origin_of(struct dwarf_file *f, struct node *n)
{
	const char *name;
	int first;

	if (n->origin)
		return n->origin;
	name = linkage_name(&n->die);
	if (dwarf_decl_line(&n->die, &first) || first < 0)
		first = 0;
	n->origin = arena_new(&f->arena, struct origin);
	*n->origin = (struct origin){ .name = name, .size = (u32)strlen(name) + 1, .first = (u32)first };
	if (dwarf_tag(&n->die) == DW_TAG_inlined_subroutine) {
		n->origin->line = number_attr(&n->die, DW_AT_call_line);
		n->origin->discriminator = number_attr(&n->die, DW_AT_GNU_discriminator);
	}
	return n->origin;
}

/* Once in each answer, unless it is so long that reading it again and again would take long. */
static void put_name(struct dwarf_file *f, const struct origin *o, struct bytes *out)
{
	u32 here = (u32)out->len + sizeof(here);
	u32 at = o->size <= APART_NAME_AGAIN ? *map_at(&f->put, (uintptr_t)o->name, here) : here;

	bytes_u32(out, at);
	if (at == here)
		bytes_put(out, o->name, o->size);
}

static void put_span(struct dwarf_file *f, struct unit *u, u64 vaddr, struct bytes *out)
{
	struct position at = position_at(u, vaddr);
	u32 node = node_at(u, vaddr), n = 0;
	size_t count = out->len + 8;

	bytes_u64(out, vaddr);
	bytes_u32(out, 0);
	while (node != ID_NONE && n < APART_FRAMES) {
		struct node *nd = &u->nodes.v[node];
		const struct origin *o = origin_of(f, nd);

		bytes_u32(out, at.line);
		bytes_u32(out, o->first);
		bytes_u32(out, at.discriminator);
		put_name(f, o, out);
		n++;
		if (dwarf_tag(&nd->die) != DW_TAG_inlined_subroutine)
			break;
		at = (struct position){ o->line, o->discriminator };
		node = nd->parent;
	}
	memcpy(out->p + count, &n, sizeof(n));
}

static int by_address(const void *a, const void *b)
{
	u64 x = *(const u64 *)a, y = *(const u64 *)b;

	return x < y ? -1 : x > y;
}

/* The first row of the line table, which is sorted, at or behind an address. */
static size_t first_row(Dwarf_Lines *lines, size_t n, u64 vaddr)
{
	size_t low = 0;

	while (low < n) {
		size_t middle = low + (n - low) / 2;
		Dwarf_Addr addr;

		if (dwarf_lineaddr(dwarf_onesrcline(lines, middle), &addr) == 0 && addr >= vaddr)
			n = middle;
		else
			low = middle + 1;
	}
	return low;
}

/* Where the line, or what is inlined, may become another one. */
static void find_spans(struct unit *u, u32 function, u64 lo, u64 hi, struct addresses *out)
{
	const struct symtab *inner = u->whole ? u->ranges : u->nodes.v[function].inner;
	Dwarf_Lines *lines;
	Dwarf_Addr addr;
	size_t n;

	vec_push(out, lo);
	if (dwarf_getsrclines(&u->die, &lines, &n) == 0)
		for (size_t i = first_row(lines, n, lo);
		     i < n && dwarf_lineaddr(dwarf_onesrcline(lines, i), &addr) == 0 && addr < hi; i++)
			vec_push(out, addr);
	for (u64 from, to = lo; inner && to < hi && out->n < MOST_SPANS;) {
		symtab_span(inner, to, &from, &to);
		if (to < hi)
			vec_push(out, to);
	}
}

/* Nothing holds the address: nor any other one how far around it? */
static u64 put_gap(const struct dwarf_file *f, const struct unit *u, u64 vaddr, struct bytes *out)
{
	u64 lo, hi, from, to;

	symtab_span(f->by_addr, vaddr, &lo, &hi);
	if (u) {
		symtab_span(u->ranges, vaddr, &from, &to);
		lo = MAX(lo, from);
		hi = MIN(hi, to);
	}
	bytes_u64(out, lo);
	bytes_u64(out, hi);
	bytes_u64(out, 0);
	bytes_u64(out, 0);
	return hi;
}

u64 dwarf_file_function(struct dwarf_file *f, u64 vaddr, struct bytes *out)
{
	u32 at = symtab_find(f->by_addr, vaddr), node;
	struct unit *u = at == ID_NONE ? NULL : &f->units.v[symtab_at(f->by_addr, at)->name];
	struct addresses addrs = { 0 };
	Dwarf_Addr base, lo, hi, entry = 0;
	struct {
		u64 from, to, entry;
		u32 ranges, spans;
	} head = { vaddr, vaddr + 1, 0, 0, 0 };
	size_t begin = out->len;
	ptrdiff_t next = 0;

	if (!begin) /* another answer */
		map_free(&f->put);
	node = u ? node_at(u, vaddr) : ID_NONE;
	while (node != ID_NONE && dwarf_tag(&u->nodes.v[node].die) == DW_TAG_inlined_subroutine)
		node = u->nodes.v[node].parent;
	if (node == ID_NONE)
		return put_gap(f, u, vaddr, out);
	if (!dwarf_entrypc(&u->nodes.v[node].die, &entry))
		head.entry = entry;
	bytes_put(out, &head, sizeof(head));
	while (addrs.n < MOST_SPANS && (next = dwarf_ranges(&u->nodes.v[node].die, next, &base, &lo, &hi)) > 0) {
		if (is_dead(lo, hi))
			continue;
		/* Of a function in several parts only its first one tells where it is entered. */
		if (!head.ranges && !head.entry)
			head.entry = lo;
		if (lo <= vaddr && vaddr < hi) {
			head.from = lo;
			head.to = hi;
		}
		bytes_u64(out, lo);
		bytes_u64(out, hi);
		head.ranges++;
		find_spans(u, node, lo, hi, &addrs);
	}
	if (addrs.n)
		qsort(addrs.v, addrs.n, sizeof(*addrs.v), by_address);
	for (size_t i = 0; i < addrs.n && out->len - begin < MOST_BYTES; i++) {
		if (i && addrs.v[i] == addrs.v[i - 1])
			continue;
		put_span(f, u, addrs.v[i], out);
		head.spans++;
	}
	memcpy(out->p + begin, &head, sizeof(head));
	vec_free(&addrs);
	return head.to;
}
