/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where functions begin and end in a file that does not name them.
 *
 * .eh_frame stays when symbols are stripped, because exceptions need it: it has an entry (FDE) per function, with the
 * function's addresses. A part of a function that the compiler put elsewhere (.cold) has one of its own. Source: the
 * Linux Standard Base, core, "Exception Frames", and DWARF, "Call Frame Information".
 */
#ifndef STATE_ELF_BOUNDS_H
#define STATE_ELF_BOUNDS_H

#include "base/vec.h"
#include "state/elf_file.h"

struct code_bounds {
	u64 start, end; /* file offsets; end is exclusive */
};

/* By start. A zeroed struct is empty. */
struct elf_bounds {
	VEC(struct code_bounds) v;
};

/* Fills an empty one. What cannot be read is left out: entries behind a damaged one, and code outside all segments. */
void elf_bounds_read(struct elf_bounds *b, const struct elf_file *f);
/* The function that holds an offset, or NULL. */
const struct code_bounds *elf_bounds_find(const struct elf_bounds *b, u64 offset);
void elf_bounds_free(struct elf_bounds *b);

#endif
