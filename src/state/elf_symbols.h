/* SPDX-License-Identifier: Apache-2.0 */
/* Symbols of an ELF file, as file offsets (or as linked addresses, for kernels). */
#ifndef STATE_ELF_SYMBOLS_H
#define STATE_ELF_SYMBOLS_H

#include "state/elf_file.h"
#include "state/symtab.h"

enum elf_table { ELF_SYMTAB, ELF_DYNSYM };

bool elf_has_table(const struct elf_file *f, enum elf_table which);

/*
 * Adds the symbols of one table of f. `runtime` is the file that was mapped (f itself, or the file whose debug file f
 * is): its program headers say where in it an address lies. NULL: symbols keep their linked addresses. Returns how
 * many were added, or a negative error.
 */
s64 elf_symbols_add(struct symtab_build *b, const struct elf_file *f, enum elf_table which,
		    const struct elf_file *runtime);

/* Adds NAME@plt for each entry of the procedure linkage tables; after all other symbols. */
void elf_plt_add(struct symtab_build *b, const struct elf_file *runtime);

/* Bytes that the names of a file may have together, of which the section has so many. */
u64 elf_names_most(u64 section);
/* Is a name short enough, and is there so much left? It is taken from that. */
bool elf_name_counts(const char *name, u64 *left);

/* Address to file offset by the file's loadable segments; false when none holds it. */
bool elf_file_offset(const struct elf_file *f, u64 vaddr, u64 *offset);
/* And back. */
bool elf_vaddr(const struct elf_file *f, u64 offset, u64 *vaddr);

#endif
