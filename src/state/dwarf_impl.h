/* SPDX-License-Identifier: Apache-2.0 */
/* What dwarf.c knows of a file, for those who read its types; nobody else includes this. */
#ifndef STATE_DWARF_IMPL_H
#define STATE_DWARF_IMPL_H

#include <elfutils/libdw.h>

#include "state/dwarf.h"

/* What others keep with a file: done frees it, before the file is closed. NULL: nothing is kept yet. */
void dwarf_file_attach(struct dwarf_file *f, void *what, void (*done)(void *what));
void *dwarf_file_attached(const struct dwarf_file *f);
u32 dwarf_file_units(const struct dwarf_file *f);
Dwarf_Die *dwarf_file_unit(struct dwarf_file *f, u32 i);
/* The function that holds a linked address and is not inlined there. */
bool dwarf_file_outer(struct dwarf_file *f, u64 vaddr, Dwarf_Die *out);

#endif
