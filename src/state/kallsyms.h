/* SPDX-License-Identifier: Apache-2.0 */
/* Kernel symbols from the text of /proc/kallsyms. */
#ifndef STATE_KALLSYMS_H
#define STATE_KALLSYMS_H

#include "base/err.h"
#include "state/symtab.h"

/*
 * Parsed text: all symbols that count, in the order of the text, kernel and modules together. A module's symbols carry
 * its name as a suffix, " [name]" in the text; here they are apart.
 */
struct kallsyms {
	VEC(struct kallsyms_symbol) syms;
	struct bytes names; /* the text itself, with a NUL behind each name */
	u64 lines, zeros;   /* lines read; of them symbols whose address is 0 */
};

struct kallsyms_symbol {
	u64 addr;
	u32 name, module; /* offsets in names; module 0: the kernel itself */
	char type;
};

/* Takes the text, of less than 4 GB. Never fails: lines that are no symbols are skipped. */
void kallsyms_parse(struct kallsyms *k, struct bytes *text);
void kallsyms_free(struct kallsyms *k);

/* The address of a symbol; false when absent. */
bool kallsyms_address(const struct kallsyms *k, struct str name, u64 *addr);

/* The symbols of the kernel, moved by delta. They leave k, with its names: after that only modules are asked for. */
void kallsyms_take_kernel(struct symtab_build *b, struct kallsyms *k, u64 delta);
/* The symbols of one module. */
void kallsyms_add_module(struct symtab_build *b, const struct kallsyms *k, struct str module, u64 delta);

#endif
