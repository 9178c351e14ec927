/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which ELF symbols name code, and where in the file it lies.
 *
 * Functions and data objects count, and untyped labels that are visible and lie in a section of text or data. Data is
 * kept because it bounds the code before it and because memory samples name it. Not kept: undefined and absolute
 * symbols, symbols of sections that are not loaded, and the mapping symbols of ARM ($x, $d.1) which repeat endlessly.
 * All of this as perf does it; perf takes .dynsym only when there is no .symtab, and so do we.
 */
#include "state/elf_symbols.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A table is read in parts, so that the same few pages serve for all of it: bytes, a multiple of both entries' sizes.
 */
#define AT_ONCE (2048u * sizeof(Elf64_Sym))

static u64 entry_size(const struct elf_file *f)
{
	return f->is64 ? sizeof(Elf64_Sym) : sizeof(Elf32_Sym);
}

static const struct elf_section *find_table(const struct elf_file *f, enum elf_table which)
{
	const struct elf_section *s = elf_section_named(f, which == ELF_SYMTAB ? ".symtab" : ".dynsym");

	return s && s->type == (which == ELF_SYMTAB ? SHT_SYMTAB : SHT_DYNSYM) ? s : NULL;
}

bool elf_has_table(const struct elf_file *f, enum elf_table which)
{
	return find_table(f, which) != NULL;
}

bool elf_file_offset(const struct elf_file *f, u64 vaddr, u64 *offset)
{
	for (u32 i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type == PT_LOAD && vaddr >= s->vaddr && vaddr - s->vaddr < s->memsz) {
			*offset = vaddr - s->vaddr + s->offset;
			return true;
		}
	}
	return false;
}

bool elf_vaddr(const struct elf_file *f, u64 offset, u64 *vaddr)
{
	for (u32 i = 0; i < f->nr_segments; i++) {
		const struct elf_segment *s = &f->segments[i];

		if (s->type == PT_LOAD && offset >= s->offset && offset - s->offset < s->filesz) {
			*vaddr = offset - s->offset + s->vaddr;
			return true;
		}
	}
	return false;
}

struct elf_sym {
	u32 name;
	u8 info, other;
	u16 shndx;
	u64 value, size;
};

static struct elf_sym read_sym(const struct elf_file *f, struct cursor *c)
{
	struct elf_sym s;

	s.name = cursor_u32(c);
	if (f->is64) {
		s.info = cursor_u8(c);
		s.other = cursor_u8(c);
		s.shndx = cursor_u16(c);
		s.value = cursor_u64(c);
		s.size = cursor_u64(c);
	} else {
		s.value = cursor_u32(c);
		s.size = cursor_u32(c);
		s.info = cursor_u8(c);
		s.other = cursor_u8(c);
		s.shndx = cursor_u16(c);
	}
	return s;
}

static bool is_mapping_symbol(const struct elf_file *f, const char *name)
{
	return (f->machine == EM_ARM || f->machine == EM_AARCH64) && name[0] == '$' && name[1] &&
	       strchr("adtx", name[1]) && (!name[2] || name[2] == '.');
}

/* Labels count only in sections that hold text or data, by their names. */
static bool label_counts(const struct elf_file *f, const struct elf_sym *s, const struct elf_section *sec)
{
	const char *name = elf_section_name(f, sec);
	u8 visibility = ELF64_ST_VISIBILITY(s->other);

	return visibility != STV_HIDDEN && visibility != STV_INTERNAL &&
	       (strstr(name, "text") || strstr(name, "data"));
}

static bool convert(const struct elf_file *f, const struct elf_file *runtime, const struct elf_sym *s,
		    struct raw_symbol *out)
{
	u8 type = ELF64_ST_TYPE(s->info), bind = ELF64_ST_BIND(s->info);
	const struct elf_section *sec;
	u64 at = s->value;

	if (type != STT_FUNC && type != STT_GNU_IFUNC && type != STT_OBJECT && type != STT_NOTYPE)
		return false;
	if (!s->name || s->shndx == SHN_UNDEF || s->shndx >= f->nr_sections)
		return false;
	sec = &f->sections[s->shndx];
	if (!(sec->flags & SHF_ALLOC) || (type == STT_NOTYPE && !label_counts(f, s, sec)))
		return false;
	if (f->machine == EM_ARM && type == STT_FUNC)
		at &= ~(u64)1; /* the Thumb flag */
	if (runtime && !elf_file_offset(runtime, at, &at)) {
		if (sec->type == SHT_NOBITS && s->shndx < runtime->nr_sections)
			sec = &runtime->sections[s->shndx];
		at -= sec->addr - sec->offset;
	}
	out->start = at;
	out->end = at + s->size < at ? at : at + s->size;
	out->bind = bind == STB_GLOBAL || bind == STB_GNU_UNIQUE ? BIND_GLOBAL :
		    bind == STB_WEAK				 ? BIND_WEAK :
								   BIND_LOCAL;
	out->is_func = type != STT_OBJECT;
	return true;
}

/* Linkers let a name be the end of another one. Whoever makes a file on purpose has thousands of ends of one name,
 * which has no end itself: so names have all together a few times what their section has, and each has its limit. */
#define LONGEST_NAME (64u << 10)
#define NAMES_FREE (16u << 20)
#define NAMES_TIMES 8

u64 elf_names_most(u64 section)
{
	return NAMES_FREE + section * NAMES_TIMES;
}

bool elf_name_counts(const char *name, u64 *left)
{
	u64 most = MIN(*left, (u64)LONGEST_NAME), n = strnlen(name, most);

	if (n == most)
		return false;
	*left -= n;
	return true;
}

/* The string section that `table` links to becomes part of the builder's names; *base is where. */
static int add_names(struct symtab_build *b, const struct elf_file *f, const struct elf_section *table, u32 *base,
		     u64 *len)
{
	const struct elf_section *sec;
	size_t at = b->names.len;

	if (table->link >= f->nr_sections || f->sections[table->link].type != SHT_STRTAB)
		return ERR_FORMAT;
	sec = &f->sections[table->link];
	if (sec->flags & SHF_COMPRESSED)
		return ERR_FORMAT;
	if (sec->offset > f->size || sec->size > f->size - sec->offset)
		return ERR_TRUNCATED;
	if (at + sec->size + 1 >= UINT32_MAX)
		return ERR_LIMIT;
	bytes_grow(&b->names, sec->size + 1);
	if (elf_file_read_to(f, sec->offset, sec->size, b->names.p + at))
		return ERR_TRUNCATED;
	b->names.len += sec->size;
	bytes_char(&b->names, 0);
	*len = sec->size;
	*base = (u32)at;
	return 0;
}

/* Adds those entries that count. left: of what names may have. */
static void add_entries(struct symtab_build *b, const struct elf_file *f, const struct elf_file *runtime,
			struct cursor c, u32 base, u64 names_len, u64 *left)
{
	for (u64 n = cursor_left(&c) / entry_size(f); n; n--) {
		struct elf_sym s = read_sym(f, &c);
		struct raw_symbol out = { 0 };

		if (s.name >= names_len || !convert(f, runtime, &s, &out))
			continue;
		out.name = base + s.name;
		if (!is_mapping_symbol(f, (const char *)b->names.p + out.name) &&
		    elf_name_counts((const char *)b->names.p + out.name, left))
			vec_push(&b->syms, out);
	}
}

s64 elf_symbols_add(struct symtab_build *b, const struct elf_file *f, enum elf_table which,
		    const struct elf_file *runtime)
{
	const struct elf_section *table = find_table(f, which);
	u64 names_len, size, part, left;
	size_t before = b->syms.n;
	u32 base;
	u8 *raw;
	int err;

	if (!table)
		return ERR_NOTFOUND;
	if (table->flags & SHF_COMPRESSED)
		return ERR_FORMAT;
	if (table->offset > f->size || table->size > f->size - table->offset)
		return ERR_TRUNCATED;
	err = add_names(b, f, table, &base, &names_len);
	if (err < 0)
		return err;
	left = elf_names_most(names_len);
	size = table->size - table->size % entry_size(f);
	vec_reserve(&b->syms, before + size / entry_size(f));
	raw = mem_alloc(AT_ONCE);
	for (u64 at = 0; at < size && !err; at += part) {
		part = MIN(size - at, (u64)AT_ONCE);
		err = elf_file_read_to(f, table->offset + at, part, raw);
		if (!err)
			add_entries(b, f, runtime, cursor_over(raw, part, f->swap), base, names_len, &left);
	}
	free(raw);
	if (err)
		b->syms.n = before;
	return err ? err : (s64)(b->syms.n - before);
}

/* Sizes of the first and of the following entries of .plt. */
static void plt_sizes(const struct elf_file *f, const struct elf_section *plt, u64 *header, u64 *entry)
{
	switch (f->machine) {
	case EM_ARM:
		*header = 20;
		*entry = 12;
		break;
	case EM_AARCH64:
	case EM_RISCV:
		*header = 32;
		*entry = 16;
		break;
	default:
		*header = *entry = plt->entsize ? plt->entsize : 16; /* lld leaves it out */
	}
}

struct plt {
	const struct elf_file *f;
	u8 *syms, *strs, *rels;
	u64 first_sym, nr_syms, nr_strs, nr_rels; /* syms: from the first that a relocation names */
	u64 left;				  /* of what names may have */
	bool rela;
};

/* The symbol of relocation i of .rel[a].plt. */
static u64 plt_symbol(const struct plt *p, u64 i)
{
	u64 word = p->f->is64 ? 8 : 4, size = word * (p->rela ? 3 : 2);
	struct cursor c = cursor_over(p->rels + i * size + word, word, p->f->swap);

	return p->f->is64 ? cursor_u64(&c) >> 32 : cursor_u32(&c) >> 8;
}

/* The name of the function that relocation i of .rel[a].plt is for, or NULL. */
static const char *plt_target(const struct plt *p, u64 i)
{
	u64 symsize = entry_size(p->f), sym = plt_symbol(p, i) - p->first_sym;
	struct cursor c;
	u32 name;

	if (sym >= p->nr_syms)
		return NULL;
	c = cursor_over(p->syms, p->nr_syms * symsize, p->f->swap);
	cursor_skip(&c, sym * symsize);
	name = cursor_u32(&c);
	return name < p->nr_strs ? (const char *)p->strs + name : NULL;
}

static void add_plt_symbols(struct symtab_build *b, struct plt *p, u64 at, u64 header, u64 entry, u64 size)
{
	u64 n = entry ? (size - MIN(size, header)) / entry : 0;

	at += header;
	for (u64 i = 0; i < MIN(n, p->nr_rels); i++, at += entry) {
		const char *name = plt_target(p, i);
		char text[1024];
		struct raw_symbol s = {
			.start = at, .end = at + entry, .bind = BIND_GLOBAL, .is_func = true, .late = true
		};

		if (!name || !elf_name_counts(name, &p->left))
			continue;
		snprintf(text, sizeof(text), "%s@plt", name);
		s.name = symtab_build_name(b, text, strlen(text));
		vec_push(&b->syms, s);
	}
}

/* Undefined symbols come first, and few others have an entry. */
static bool read_plt_symbols(struct plt *p, const struct elf_section *dyn)
{
	u64 each = entry_size(p->f), all = dyn->size / each, last = 0;

	p->first_sym = all;
	for (u64 i = 0; i < p->nr_rels; i++) {
		u64 sym = plt_symbol(p, i);

		if (sym >= all)
			continue;
		p->first_sym = MIN(p->first_sym, sym);
		last = MAX(last, sym);
	}
	p->nr_syms = p->first_sym < all ? last + 1 - p->first_sym : 0;
	if (!p->nr_syms || dyn->flags & SHF_COMPRESSED || dyn->offset > p->f->size ||
	    dyn->size > p->f->size - dyn->offset)
		return false;
	return elf_file_read(p->f, dyn->offset + p->first_sym * each, p->nr_syms * each, &p->syms) == 0;
}

void elf_plt_add(struct symtab_build *b, const struct elf_file *f)
{
	const struct elf_section *dyn = find_table(f, ELF_DYNSYM), *plt = elf_section_named(f, ".plt"),
				 *sec = elf_section_named(f, ".plt.sec"), *rel = elf_section_named(f, ".rela.plt");
	struct plt p = { .f = f, .rela = rel != NULL };
	u64 header, entry;

	if (!rel)
		rel = elf_section_named(f, ".rel.plt");
	if (!dyn || !rel || !plt || dyn->link >= f->nr_sections)
		return;
	if (elf_section_read(f, rel, &p.rels) == 0 && elf_section_read(f, &f->sections[dyn->link], &p.strs) == 0 &&
	    (p.nr_rels = rel->size / ((f->is64 ? 8 : 4) * (p.rela ? 3 : 2))) && read_plt_symbols(&p, dyn)) {
		p.nr_strs = f->sections[dyn->link].size;
		p.left = elf_names_most(p.nr_strs);
		plt_sizes(f, plt, &header, &entry);
		add_plt_symbols(b, &p, plt->offset, header, entry, plt->size);
		if (sec)
			add_plt_symbols(b, &p, sec->offset, 0, sec->entsize ? sec->entsize : 16, sec->size);
	}
	free(p.syms);
	free(p.rels);
	free(p.strs);
}
