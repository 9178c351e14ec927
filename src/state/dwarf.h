/* SPDX-License-Identifier: Apache-2.0 */
/*
 * DWARF of one ELF file: which functions, inlined ones too, hold an address, and their source lines. Not thread-safe;
 * the caller holds a lock.
 */
#ifndef STATE_DWARF_H
#define STATE_DWARF_H

#include "base/bytes.h"
#include "base/err.h"
#include "state/dso.h"

struct dwarf_file;

/* What is asked for beside the names of functions. */
enum dwarf_part { DWARF_FUNCTIONS, DWARF_LINES, DWARF_TYPES };

/* Takes fd. NULL when the file has no usable DWARF. path: where it is, or NULL to find that out. alone: no other file
 * that it names may be opened; units that need one are left out, or all of it. part: DWARF_LINES:
 * answers have files and lines, and not functions alone; DWARF_TYPES: types are asked for (state/data_types.h). */
struct dwarf_file *dwarf_file_open(int fd, const struct str *path, bool alone, enum dwarf_part part);
void dwarf_file_close(struct dwarf_file *f);
/* Does it stand in further files as well? */
bool dwarf_file_is_split(const struct dwarf_file *f);

/*
 * What holds a linked address: out[0] is the innermost function. Strings live as long as f; function is NULL where
 * only the line is known. Returns how many were written, at most max.
 */
u32 dwarf_file_at(struct dwarf_file *f, u64 vaddr, struct source_frame *out, u32 max);

/* Appends all of the outer function that holds a linked address, as apart_functions has it, to an answer: `out` is
 * empty, or has what was appended for other addresses of f since it was. Returns up to where that says what holds the
 * next addresses, too; that is behind vaddr, unless it is the last address that there is. */
u64 dwarf_file_function(struct dwarf_file *f, u64 vaddr, struct bytes *out);

#endif
