/* SPDX-License-Identifier: Apache-2.0 */
#include "record/tls_symbol.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "record/elf_tables.h"

#define INTERP_MAX 256u

#if defined(__x86_64__)
#define TO_OFFSET R_X86_64_TPOFF64
#define TO_MODULE R_X86_64_DTPMOD64
#define TO_DESC R_X86_64_TLSDESC
#elif defined(__aarch64__)
#define TO_OFFSET R_AARCH64_TLS_TPREL
#define TO_MODULE R_AARCH64_TLS_DTPMOD
#define TO_DESC R_AARCH64_TLSDESC
#else
#define TO_OFFSET 1
#define TO_MODULE 2
#define TO_DESC 3
#endif

struct file {
	struct elf_tables elf;
	const struct tls_name *names;
	u32 nr_names;
};

/* A table of symbols, and the names of these, so many bytes. */
struct symbols {
	Elf64_Sym *v;
	u64 n;
	char *text;
	u64 bytes;
};

/* The index of a variable of that kind, name and size; 0: there is none, as the first symbol is none. */
static u64 index_of(const struct symbols *s, u32 type, const char *name, u64 size)
{
	size_t len = strlen(name) + 1;

	for (u64 i = 1; s->v && i < s->n; i++) {
		const Elf64_Sym *v = &s->v[i];

		if (ELF64_ST_TYPE(v->st_info) == type && v->st_shndx != SHN_UNDEF && v->st_size == size &&
		    v->st_name <= s->bytes && s->bytes - v->st_name >= len && !memcmp(s->text + v->st_name, name, len))
			return i;
	}
	return 0;
}

static bool is_of_version(const struct file *f, const struct symbols *s, const struct tls_name *n)
{
	u64 i = n->version ? index_of(s, STT_OBJECT, n->version, sizeof(u32)) : 0;
	u32 version;

	for (u32 k = 0; i && k < f->elf.head.e_phnum; k++) {
		const Elf64_Phdr *p = &f->elf.segments[k];
		u64 at = s->v[i].st_value - p->p_vaddr;

		if (p->p_type == PT_LOAD && at < p->p_filesz)
			return elf_tables_read_at(&f->elf, &version, sizeof(version), p->p_offset + at) &&
			       version == n->is;
	}
	return !n->version;
}

/* The first of the names from *name on that the table has: its index there, or 0. */
static u64 find_symbol(const struct file *f, const Elf64_Shdr *table, u32 *name, Elf64_Sym *out)
{
	const Elf64_Shdr *names = table->sh_link < f->elf.head.e_shnum ? &f->elf.sections[table->sh_link] : NULL;
	struct symbols s = { .n = table->sh_size / sizeof(*out), .bytes = names ? names->sh_size : 0 };
	u64 found = 0;

	s.text = names ? elf_tables_read(&f->elf, names->sh_offset, names->sh_size) : NULL;
	for (u32 k = *name; s.text && k < f->nr_names && !found; k++) {
		const struct tls_name *n = &f->names[k];

		if (!memmem(s.text, s.bytes, n->name, strlen(n->name) + 1))
			continue;
		if (!s.v)
			s.v = elf_tables_read(&f->elf, table->sh_offset, table->sh_size);
		found = index_of(&s, STT_TLS, n->name, n->size);
		if (found && !is_of_version(f, &s, n))
			found = 0;
		if (found) {
			*out = s.v[found];
			*name = k;
		}
	}
	free(s.text);
	free(s.v);
	return found;
}

/* The block of the program itself lies at a fixed distance from the thread pointer. */
static void in_own_block(const struct file *f, const Elf64_Sym *s, struct tls_symbol *out)
{
	for (u32 i = 0; i < f->elf.head.e_phnum; i++) {
		const Elf64_Phdr *p = &f->elf.segments[i];
		u64 align = p->p_align ? p->p_align : 1;

		if (p->p_type != PT_TLS || align & (align - 1))
			continue;
		out->kind = ACTIVITY_KIND_STATIC;
#if defined(__x86_64__)
		out->where = s->st_value - ((p->p_memsz + align - 1) & ~(align - 1));
#else
		out->where = s->st_value + MAX(align, 16ull);
#endif
	}
}

static enum activity_kind kind_of(u64 type)
{
	return type == TO_OFFSET ? ACTIVITY_KIND_OFFSET :
	       type == TO_DESC	 ? ACTIVITY_KIND_DESC :
	       type == TO_MODULE ? ACTIVITY_KIND_MODULE :
				   ACTIVITY_KIND_NONE;
}

/* A relocation names the symbol, or what is the same where nobody else can define it: its place in the block. */
static void look_for_slot(const struct file *f, const Elf64_Shdr *table, u64 symbol, const Elf64_Sym *s,
			  struct tls_symbol *out)
{
	Elf64_Rela *r = elf_tables_read(&f->elf, table->sh_offset, table->sh_size);

	for (u64 i = 0; r && i < table->sh_size / sizeof(*r) && out->kind == ACTIVITY_KIND_NONE; i++) {
		enum activity_kind kind = kind_of(ELF64_R_TYPE(r[i].r_info));
		u64 of = ELF64_R_SYM(r[i].r_info);

		if (kind == ACTIVITY_KIND_NONE ||
		    (of != symbol && (of || kind == ACTIVITY_KIND_MODULE || r[i].r_addend != (s64)s->st_value)))
			continue;
		out->kind = kind;
		out->where = r[i].r_offset;
	}
	free(r);
}

/* A variable that is in a table and has no slot is none that anybody can find; the file may have the next one, too. */
static void look_in_table(const struct file *f, u32 table, bool as_program, struct tls_symbol *out)
{
	for (u32 name = 0; name < f->nr_names && out->kind == ACTIVITY_KIND_NONE; name++) {
		Elf64_Sym s = { 0 };
		u64 symbol = find_symbol(f, &f->elf.sections[table], &name, &s);

		if (!symbol)
			return;
		if (as_program)
			in_own_block(f, &s, out);
		for (u32 k = 0; !as_program && k < f->elf.head.e_shnum && out->kind == ACTIVITY_KIND_NONE; k++)
			if (f->elf.sections[k].sh_type == SHT_RELA && f->elf.sections[k].sh_link == table)
				look_for_slot(f, &f->elf.sections[k], symbol, &s, out);
		out->name = name;
	}
}

static void look_for_symbol(const struct file *f, u32 type, bool as_program, struct tls_symbol *out)
{
	for (u32 i = 0; i < f->elf.head.e_shnum && out->kind == ACTIVITY_KIND_NONE; i++)
		if (f->elf.sections[i].sh_type == type)
			look_in_table(f, i, as_program, out);
}

static void look_at_segments(const struct file *f, struct tls_symbol *out)
{
	char path[INTERP_MAX];

	for (u32 i = f->elf.head.e_phnum; i-- > 0;) {
		const Elf64_Phdr *p = &f->elf.segments[i];

		if (p->p_type == PT_LOAD)
			out->first = p->p_vaddr - p->p_offset;
		if (p->p_type == PT_INTERP && p->p_filesz < sizeof(path) &&
		    elf_tables_read_at(&f->elf, path, p->p_filesz, p->p_offset))
			out->musl = memmem(path, p->p_filesz, "ld-musl", 7);
	}
}

bool tls_symbol_find(int fd, const struct tls_name *names, u32 nr_names, bool as_program, u64 *left,
		     struct tls_symbol *out)
{
	struct file f = { .names = names, .nr_names = nr_names };
	bool is_elf = elf_tables_open(&f.elf, fd, left);

	*out = (struct tls_symbol){ .kind = ACTIVITY_KIND_NONE };
	if (is_elf)
		look_at_segments(&f, out);
	if (is_elf && f.elf.sections) {
		look_for_symbol(&f, SHT_DYNSYM, as_program, out);
		/* Static programs have no other table. */
		if (out->kind == ACTIVITY_KIND_NONE && as_program)
			look_for_symbol(&f, SHT_SYMTAB, true, out);
	}
	elf_tables_free(&f.elf);
	return is_elf;
}
