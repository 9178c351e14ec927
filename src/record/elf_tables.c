/* SPDX-License-Identifier: Apache-2.0 */
#include "record/elf_tables.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"

#define SECTIONS_MAX 4096u
#define SEGMENTS_MAX 512u
#define TABLE_MAX ((u64)32 << 20)

bool elf_tables_read_at(const struct elf_tables *f, void *to, u64 size, u64 at)
{
	return at <= INT64_MAX && pread(f->fd, to, size, (off_t)at) == (ssize_t)size;
}

void *elf_tables_read(const struct elf_tables *f, u64 at, u64 size)
{
	void *table = size && size <= MIN(TABLE_MAX, *f->left) ? mem_alloc(size) : NULL;

	if (table)
		*f->left -= size;
	if (table && !elf_tables_read_at(f, table, size, at)) {
		free(table);
		return NULL;
	}
	return table;
}

bool elf_tables_open(struct elf_tables *f, int fd, u64 *left)
{
	const Elf64_Ehdr *h = &f->head;

	*f = (struct elf_tables){ .fd = fd, .left = left };
	if (!elf_tables_read_at(f, &f->head, sizeof(f->head), 0) || memcmp(h->e_ident, ELFMAG, SELFMAG) ||
	    h->e_ident[EI_CLASS] != ELFCLASS64 || h->e_ident[EI_DATA] != ELFDATA2LSB || h->e_machine != ELF_MACHINE ||
	    h->e_phentsize != sizeof(*f->segments) || h->e_phnum > SEGMENTS_MAX)
		return false;
	f->segments = elf_tables_read(f, h->e_phoff, (u64)h->e_phnum * sizeof(*f->segments));
	if (h->e_shentsize == sizeof(*f->sections) && h->e_shnum <= SECTIONS_MAX)
		f->sections = elf_tables_read(f, h->e_shoff, (u64)h->e_shnum * sizeof(*f->sections));
	return f->segments;
}

void elf_tables_free(struct elf_tables *f)
{
	free(f->segments);
	free(f->sections);
	f->segments = NULL;
	f->sections = NULL;
}
