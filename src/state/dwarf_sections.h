/* SPDX-License-Identifier: Apache-2.0 */
/* The sections of a file of DWARF, made ready for libdw: without those that nobody asks for, and unpacked. */
#ifndef STATE_DWARF_SECTIONS_H
#define STATE_DWARF_SECTIONS_H

#include <libelf.h>

#include "base/types.h"
#include "base/vec.h"
#include "state/dwarf.h"

/* What sections were unpacked to, which the ELF file refers to: freed when that is closed. */
struct dwarf_sections {
	VEC(void *) unpacked;
};

/*
 * For dwarf_begin_elf. elf: opened with ELF_C_READ_MMAP_PRIVATE; what it says of its sections changes in memory, and
 * not in the file. part: what is asked for. What cannot be unpacked stays as it is, and libdw tells. False: its
 * sections would unpack to more than any that a compiler has made.
 */
bool dwarf_sections_ready(struct dwarf_sections *s, Elf *elf, enum dwarf_part part);
void dwarf_sections_free(struct dwarf_sections *s);

#endif
