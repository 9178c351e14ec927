/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A finished symbol table as an entry of the cache: blocks of symbols with their names, of which a look-up reads those
 * that hold its address, and no others. Thread-safe.
 */
#ifndef STATE_STORED_H
#define STATE_STORED_H

#include "state/cache.h"
#include "state/dso.h"

struct segment {
	u64 start;
	u32 sym; /* ID_NONE: a gap */
};

/* A finished table, as symtab.c has it. */
struct table_parts {
	const struct symbol *syms; /* by start, no two alike, none empty */
	u32 n;
	const struct segment *segs; /* as in symtab.c; NULL: symbols do not overlap */
	u32 nr_segs;
	const char *names;
	size_t names_size;
	bool keep_names;
	u64 demangled_most; /* bytes of shown names that may be made of it */
};

#define STORED_MARKS 2

/* What else is kept with a table, for its maker. */
struct stored_marks {
	bool stripped;
	u64 address[STORED_MARKS];
};

struct stored;

/* Appends the table as an entry. False, and nothing is appended, if the entry would be too large to be kept: many
 * symbols may share the end of one long name. */
bool stored_encode(const struct table_parts *p, const struct stored_marks *marks, struct bytes *out);

/* Opens an entry, whose e->fd belongs to the table from then on, and fills in marks. NULL: it is damaged. */
struct stored *stored_open(const struct cache_entry *e, struct stored_marks *marks);
void stored_free(struct stored *t);
void stored_move(struct stored *t, u64 by); /* before the first look-up */

#define STORED_DAMAGED (ID_NONE - 1)

u32 stored_count(const struct stored *t);
bool stored_keeps_names(const struct stored *t);
u64 stored_demangled_most(const struct stored *t);
/* The symbol at addr, ID_NONE, or STORED_DAMAGED: then the table has to be made anew. */
u32 stored_find(struct stored *t, u64 addr);
/* Any symbol of the table, read from the entry. NULL: it is damaged. */
const struct symbol *stored_read(struct stored *t, u32 sym);
/* A symbol that stored_find or stored_read has given before, and its name as the linker knows it. */
const struct symbol *stored_symbol(const struct stored *t, u32 sym);
const char *stored_name(const struct stored *t, u32 sym);

#endif
