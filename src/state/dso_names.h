/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Linkers' names of one DSO, made readable by the process apart (state/apart.h). What it said is kept in the cache, by
 * the symbols' numbers. When it dies of them, they stay as they are linked, and a warning says so.
 */
#ifndef STATE_DSO_NAMES_H
#define STATE_DSO_NAMES_H

#include "base/bytes.h"
#include "base/types.h"

struct dso_names;
struct dso_slot;
struct name_maker;
struct dsos;

/* Of a table that will be made for that slot. */
struct dso_names *dso_names_new(struct dsos *d, const struct dso_slot *s);
/* Convert to what a symbol table takes, and back. NULL is fine. */
struct name_maker *dso_names_maker(struct dso_names *n);
struct dso_names *dso_names_of(struct name_maker *m);
/* Puts what is new into the cache. NULL is fine. Thread-safe. */
void dso_names_keep(struct dso_names *n);
/* The same, and frees n. */
void dso_names_free(struct dso_names *n);
/* Says what the finished table was made from; without it, nothing is cached. Call it once, before dso_names_kept. */
void dso_names_key(struct dso_names *n, const struct bytes *key);

/* The following are thread-safe. */

/* Of a symbol, what was said of its name: empty when it is not readable. Lives as long as n. NULL: it was not asked.
 */
const char *dso_names_kept(struct dso_names *n, u32 sym);
/*
 * Each of `names` has a NUL behind it, and so has each in the reply, as apart_names has them. syms: the numbers of
 * their symbols, or NULL: there are none yet. False: nobody tells.
 */
bool dso_names_ask(struct dso_names *n, const struct bytes *names, const u32 *syms, struct bytes *reply);
/* Did that happen? */
bool dso_names_failed(struct dso_names *n);

#endif
