/* SPDX-License-Identifier: Apache-2.0 */
#include "state/linked_functions.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/map.h"
#include "state/debuginfo.h"
#include "state/dso_table.h"
#include "state/elf_symbols.h"

#define LONGEST_NAME 4096
#define PLT_HEAD "__BOLT_PSEUDO_.plt"

static int by_start(const void *a, const void *b)
{
	const struct raw_symbol *x = a, *y = b;

	if (x->start != y->start)
		return x->start < y->start ? -1 : 1;
	return x->name < y->name ? -1 : x->name > y->name;
}

/* Sections of code that are looked through for each symbol; those behind are not: each function may have its own, but
 * only before it is linked. */
#define MOST_SECTIONS 64

struct code_sections {
	const struct elf_section *v[MOST_SECTIONS];
	u32 n;
};

static struct code_sections code_sections(const struct elf_file *f)
{
	struct code_sections c = { .n = 0 };

	for (u32 i = 0; i < f->nr_sections && c.n < MOST_SECTIONS; i++)
		if (f->sections[i].flags & SHF_EXECINSTR && f->sections[i].flags & SHF_ALLOC)
			c.v[c.n++] = &f->sections[i];
	return c;
}

/* Where the code ends that holds the address; 0: it is no code. */
static u64 code_end(const struct code_sections *c, u64 addr)
{
	for (u32 i = 0; i < c->n; i++)
		if (addr >= c->v[i]->addr && addr - c->v[i]->addr < c->v[i]->size)
			return c->v[i]->addr + c->v[i]->size;
	return 0;
}

static u32 name_of(struct linked_functions *out, struct map *numbers, const struct raw_symbol *s, const char *name)
{
	char text[LONGEST_NAME];
	u32 id = strtab_intern(&out->names, name, strlen(name)), *number;

	if (s->bind != BIND_LOCAL)
		return id;
	number = map_at(numbers, id, 0);
	snprintf(text, sizeof(text), "%s/%u", name, ++*number);
	return strtab_intern(&out->names, text, strlen(text));
}

static void add_symbols(struct linked_functions *out, const struct elf_file *f, struct symtab_build *b)
{
	const struct code_sections code = code_sections(f);
	struct map numbers = { 0 };
	u64 busy = 0; /* up to here there is a function of known size */

	if (b->syms.n)
		qsort(b->syms.v, b->syms.n, sizeof(*b->syms.v), by_start);
	for (size_t i = 0; i < b->syms.n; i++) {
		const struct raw_symbol *s = &b->syms.v[i];
		u32 name = name_of(out, &numbers, s, (const char *)b->names.p + s->name);
		u64 end = s->is_func ? code_end(&code, s->start) : 0;
		struct linked_function *last = out->v.n ? &out->v.v[out->v.n - 1] : NULL;

		if (!end || (last && last->start == s->start))
			continue;
		if (s->start < busy) {
			vec_push(&out->entries, s->start);
			continue;
		}
		if (last)
			last->end = MIN(last->end, s->start);
		vec_push(&out->v, (struct linked_function){ s->start, end, name, s->late });
		busy = MAX(busy, s->end);
	}
	map_free(&numbers);
}

/* Entries of the PLT, which are found by where they are in the file, and what stands before them. */
static void add_plt(struct symtab_build *b, const struct elf_file *f)
{
	const struct elf_section *plt = elf_section_named(f, ".plt");
	size_t n = b->syms.n;

	elf_plt_add(b, f);
	for (size_t i = n; i < b->syms.n; i++) {
		struct raw_symbol *s = &b->syms.v[i];
		u64 size = s->end - s->start;

		if (!elf_vaddr(f, s->start, &s->start))
			s->start = 0;
		s->end = s->start + size;
		memcpy(b->names.p + s->name + strlen((char *)b->names.p + s->name) - 4, "@PLT", 4);
	}
	if (plt && b->syms.n > n)
		vec_push(&b->syms, (struct raw_symbol){ .start = plt->addr,
							.end = plt->addr,
							.name = symtab_build_name(b, PLT_HEAD, strlen(PLT_HEAD)),
							.bind = BIND_GLOBAL,
							.is_func = true,
							.late = true });
}

/* A word that the dynamic linker fills, and the name of what it puts there. */
struct filled {
	u64 addr;
	u32 at, name; /* which relocation; where in the names */
};

struct dynamic {
	VEC(struct filled) v; /* by address, and in the order of relocations */
	u8 *names;	      /* a NUL is behind all */
	u64 names_size;
};

static int by_addr(const void *a, const void *b)
{
	const struct filled *x = a, *y = b;

	if (x->addr != y->addr)
		return x->addr < y->addr ? -1 : 1;
	return x->at < y->at ? -1 : x->at > y->at;
}

/* Nothing, where the file has none, or has damaged ones. */
static void read_dynamic(struct dynamic *d, const struct elf_file *f)
{
	const struct elf_section *rela = elf_section_named(f, ".rela.dyn"), *dyn = elf_section_named(f, ".dynsym");
	u8 *relocations = NULL, *symbols = NULL;

	*d = (struct dynamic){ 0 };
	if (f->is64 && rela && dyn && dyn->link < f->nr_sections && !elf_section_read(f, rela, &relocations) &&
	    !elf_section_read(f, dyn, &symbols) && !elf_section_read(f, &f->sections[dyn->link], &d->names)) {
		struct cursor c = cursor_over(relocations, rela->size, f->swap);

		d->names_size = f->sections[dyn->link].size;
		for (u32 i = 0; cursor_left(&c) >= sizeof(Elf64_Rela); i++) {
			u64 addr = cursor_u64(&c), symbol = cursor_u64(&c) >> 32;
			struct cursor s = cursor_over(symbols, dyn->size, f->swap);

			cursor_skip(&c, 8);
			cursor_skip(&s, symbol * sizeof(Elf64_Sym));
			vec_push(&d->v, (struct filled){ addr, i, cursor_u32(&s) });
		}
		if (d->v.n)
			qsort(d->v.v, d->v.n, sizeof(*d->v.v), by_addr);
	}
	free(relocations);
	free(symbols);
}

static void free_dynamic(struct dynamic *d)
{
	vec_free(&d->v);
	free(d->names);
}

/* The name of what the dynamic linker puts at that address, first of all; "": nothing. */
static const char *name_at(const struct dynamic *d, u64 addr)
{
	size_t low = 0, high = d->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (d->v.v[middle].addr < addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < d->v.n && d->v.v[low].addr == addr && d->v.v[low].name < d->names_size ?
		       (const char *)d->names + d->v.v[low].name :
		       "";
}

/*
 * Entries for functions whose address is taken as well: these jump through a word that is filled when the program
 * starts (x86-64: jmp *OFFSET(%rip), in 8 bytes or 16). Only the instruction tells which word.
 */
static void add_plt_got(struct symtab_build *b, const struct elf_file *f)
{
	const struct elf_section *sec = f->machine == EM_X86_64 ? elf_section_named(f, ".plt.got") : NULL;
	struct dynamic d = { 0 };
	u8 *code = NULL;
	u64 each = sec && sec->entsize == 16 ? 16 : 8, left;

	if (sec)
		read_dynamic(&d, f);
	left = elf_names_most(d.names_size);
	if (d.v.n && !elf_section_read(f, sec, &code))
		for (u64 at = 0; at + each <= sec->size; at += each) {
			const u8 *jump = memmem(code + at, each, "\xff\x25", 2);
			u64 end = jump ? (u64)(jump - code) + 6 : UINT64_MAX;
			struct raw_symbol s = {
				.start = sec->addr + at, .bind = BIND_GLOBAL, .is_func = true, .late = true
			};
			char text[LONGEST_NAME];
			const char *name;
			s32 offset;

			if (end > at + each)
				continue;
			memcpy(&offset, jump + 2, sizeof(offset));
			name = name_at(&d, sec->addr + end + (u64)offset);
			if (!elf_name_counts(name, &left))
				continue;
			snprintf(text, sizeof(text), "%s@PLT", name);
			s.end = s.start + each;
			s.name = symtab_build_name(b, text, strlen(text));
			if (text[0] != '@')
				vec_push(&b->syms, s);
		}
	free(code);
	free_dynamic(&d);
}

bool dsos_linked_functions(struct dsos *d, u32 dso, struct linked_functions *out)
{
	struct dso_slot *s = d->slots.v[dso];
	struct symtab_build b;
	struct found_file file;

	*out = (struct linked_functions){ 0 };
	pthread_mutex_lock(&s->lock);
	if (!dso_open_code(d, s, &file)) {
		pthread_mutex_unlock(&s->lock);
		return false;
	}
	symtab_build_init(&b);
	if (elf_symbols_add(&b, &file.elf, ELF_SYMTAB, NULL) <= 0)
		(void)elf_symbols_add(&b, &file.elf, ELF_DYNSYM, NULL);
	if (b.syms.n) {
		add_plt(&b, &file.elf);
		add_plt_got(&b, &file.elf);
	}
	add_symbols(out, &file.elf, &b);
	symtab_build_free(&b);
	found_file_close(&file);
	pthread_mutex_unlock(&s->lock);
	return out->v.n;
}

void linked_functions_free(struct linked_functions *f)
{
	vec_free(&f->v);
	vec_free(&f->entries);
	strtab_free(&f->names);
}

const struct linked_function *linked_functions_at(const struct linked_functions *f, u64 addr)
{
	size_t low = 0, high = f->v.n;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->v.v[middle].end <= addr)
			low = middle + 1;
		else
			high = middle;
	}
	return low < f->v.n && f->v.v[low].start <= addr ? &f->v.v[low] : NULL;
}
