/* SPDX-License-Identifier: Apache-2.0 */
/* The tables of segments and sections of an ELF file of this machine, which anybody may have made. */
#ifndef RECORD_ELF_TABLES_H
#define RECORD_ELF_TABLES_H

#include <elf.h>

#include "base/types.h"

#if defined(__x86_64__)
#define ELF_MACHINE EM_X86_64
#elif defined(__aarch64__)
#define ELF_MACHINE EM_AARCH64
#else
#define ELF_MACHINE EM_NONE
#endif

struct elf_tables {
	int fd;
	u64 *left; /* bytes that may be read; what is read is taken from it */
	Elf64_Ehdr head;
	Elf64_Phdr *segments; /* head.e_phnum of them */
	Elf64_Shdr *sections; /* head.e_shnum of them; NULL: none that can be read */
};

/* fd and left stay the caller's. False: it is no ELF file of this machine. To be freed in any case. */
bool elf_tables_open(struct elf_tables *f, int fd, u64 *left);
void elf_tables_free(struct elf_tables *f);

/* Exactly so many bytes of the file, which are not taken from what may be read. */
bool elf_tables_read_at(const struct elf_tables *f, void *to, u64 size, u64 at);
/* A piece of the file, to be freed. NULL: it is empty, not there, or too large. Whoever made the file may name the
 * same one many times. */
void *elf_tables_read(const struct elf_tables *f, u64 at, u64 size);

#endif
