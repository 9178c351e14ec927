/* SPDX-License-Identifier: Apache-2.0 */
/* Variables of a file that have one address: of all units, also those within functions, namespaces and classes. */
#ifndef STATE_DATA_GLOBALS_H
#define STATE_DATA_GLOBALS_H

#include "state/dtype.h"
#include "state/dwarf_impl.h"

struct data_global {
	u64 start, end; /* linked addresses */
	Dwarf_Die die;
};

struct data_globals;

/* Walks through all units of f, which outlives them. */
struct data_globals *data_globals_new(struct dwarf_file *f);
void data_globals_free(struct data_globals *g);
/* The one that holds a linked address, or NULL; *type is its own. Of several the smallest that begins last. */
const struct data_global *data_globals_at(const struct data_globals *g, u64 vaddr, struct dtype *type);

#endif
