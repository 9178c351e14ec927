/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Symbol table of one DSO: built once from whatever source names its code, then read by any number of threads.
 *
 * A builder collects symbols in the order of their source (the order matters: see the rules in symtab.c) together with
 * one block of names. symtab_finish sorts, settles sizes, aliases and overlaps, and gives an immutable table.
 */
#ifndef STATE_SYMTAB_H
#define STATE_SYMTAB_H

#include "base/arena.h"
#include "base/bytes.h"
#include "base/vec.h"
#include "state/dso.h"
#include "state/stored.h"

enum symbol_bind { BIND_LOCAL, BIND_GLOBAL, BIND_WEAK };

struct raw_symbol {
	u64 start, end; /* end == start: size unknown */
	u32 name;	/* offset in the builder's names */
	u8 bind;	/* enum symbol_bind */
	bool is_func;	/* not data; data symbols only bound the code before them */
	bool guessed;	/* end was not known; set by symtab_finish */
	bool late;	/* made up (PLT): added after sizes and aliases were settled */
};

struct name_maker; /* state/readable.h */

struct symtab_build {
	VEC(struct raw_symbol) syms;
	struct bytes names; /* NUL-terminated names; offset 0 holds "" */
	bool keep_names;    /* do not demangle: kernel symbols, or the user's wish */
	/* Who does. NULL: nobody, as with keep_names. It is the table's from symtab_finish on. */
	struct name_maker *readable;
};

struct symtab;

void symtab_build_init(struct symtab_build *b);
/* Adds a name, or a block of names; returns the offset of its first byte, or 0 (the empty name) when 4 GB are full. */
u32 symtab_build_name(struct symtab_build *b, const char *s, size_t n);
void symtab_build_free(struct symtab_build *b);

/* Consumes the builder. Never NULL. */
struct symtab *symtab_finish(struct symtab_build *b);
void symtab_free(struct symtab *t);

/* A finished table as an entry of the cache holds it, and back: symbols keep their numbers. False: it is too large. */
bool symtab_encode(const struct symtab *t, const struct stored_marks *marks, struct bytes *out);
struct symtab *symtab_over(struct stored *stored, struct name_maker *readable);

/* Puts readable names that were not in the cache into it. */
void symtab_keep_names(const struct symtab *t);

u32 symtab_count(const struct symtab *t);
/* The memory of its symbols and their names, which a table over an entry of the cache does not need. */
u64 symtab_bytes(const struct symtab *t);
/* ID_NONE when no symbol holds it; STORED_DAMAGED when it is over an entry that is damaged there. */
u32 symtab_find(const struct symtab *t, u64 addr);
/* The same for whoever wants no name: it is not made readable together with those of others. */
u32 symtab_holding(const struct symtab *t, u64 addr);
/* Where its symbols begin, ascending, of each one. The caller frees them. NULL: the table is over a damaged entry. */
u64 *symtab_starts(const struct symtab *t);
/* The addresses around addr, [*from, *to), for all of which symtab_find says the same. Not of a table over an entry of
 * the cache. */
void symtab_span(const struct symtab *t, u64 addr, u64 *from, u64 *to);
/* Of a symbol that symtab_find has given, where the table is over an entry of the cache. */
const struct symbol *symtab_at(const struct symtab *t, u32 sym);
const char *symtab_raw_name(const struct symtab *t, u32 sym);
/* As shown to people: demangled on first use, together with all that symtab_find has given, and kept. Thread-safe. */
const char *symtab_shown_name(struct symtab *t, u32 sym);

#endif
