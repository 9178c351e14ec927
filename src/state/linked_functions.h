/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The functions of a file by linked address, each with one name that no other has: where several symbols have the same
 * name because only their own file sees them, "/1", "/2", ... is behind it in the order of their addresses, and behind
 * the names of all others that only one file sees "/1". That is how BOLT names them.
 */
#ifndef STATE_LINKED_FUNCTIONS_H
#define STATE_LINKED_FUNCTIONS_H

#include "base/strtab.h"
#include "base/vec.h"
#include "state/dso.h"

struct linked_function {
	u64 start, end; /* up to the next one */
	u32 name;	/* of names */
	bool plt;	/* an entry of the procedure linkage table */
};

struct linked_functions {
	VEC(struct linked_function) v; /* by address */
	VEC(u64) entries;	       /* by address: symbols within functions */
	struct strtab names;
};

/* The caller frees it. False: the file that was mapped is not there, or has no symbol table. Thread-safe. */
bool dsos_linked_functions(struct dsos *d, u32 dso, struct linked_functions *out);
void linked_functions_free(struct linked_functions *f);
/* The one that holds an address; NULL: none. */
const struct linked_function *linked_functions_at(const struct linked_functions *f, u64 addr);

#endif
