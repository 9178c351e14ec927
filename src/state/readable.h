/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readable names of one symbol table. Another process makes them (state/dso_names.h), so many are asked for at a
 * time. If several symbols have one address, all their names are made before the best is chosen. Of other symbols, all
 * that were found are made when the first of their names is wanted.
 *
 * Names made by hand can be short and stand for much: what all of a table stand for is bounded.
 */
#ifndef STATE_READABLE_H
#define STATE_READABLE_H

#include <pthread.h>

#include "base/arena.h"
#include "base/bytes.h"

struct symtab;
struct symtab_build;

/* Who makes the linked names of one table readable, and keeps what was said (state/dso_names.h). */
struct name_maker {
	/* As dso_names_kept, dso_names_ask, dso_names_keep and dso_names_free. */
	const char *(*kept)(struct name_maker *m, u32 sym);
	bool (*ask)(struct name_maker *m, const struct bytes *names, const u32 *syms, struct bytes *reply);
	void (*keep)(struct name_maker *m);
	void (*free)(struct name_maker *m);
};

/* The linked name of a symbol. */
typedef const char *linked_name_of(const struct symtab *t, u32 sym);

/* Bytes of readable names that may be made of a table whose linked names have so many. */
u64 readable_most(u64 names);

struct readable {
	struct name_maker *names; /* NULL: nothing is made readable */
	linked_name_of *linked;
	u32 n;		      /* symbols */
	u64 left;	      /* bytes that may still be made */
	u64 *found;	      /* a bit for each symbol that was found */
	pthread_mutex_t lock; /* for making names */
	u64 *seen;	      /* of found, those that were asked for. Under the lock */
	const char **shown;   /* per symbol; NULL: not asked yet, "": as linked. Written once each, under the lock */
	struct arena arena;   /* of them */
};

/* Takes names. */
void readable_init(struct readable *r, struct name_maker *names, linked_name_of *linked, u32 n, u64 most);
/* Puts those that were not in the cache into it. */
void readable_keep(const struct readable *r);
void readable_free(struct readable *r);

/* Thread-safe. */
static inline void readable_found(const struct readable *r, u32 sym)
{
	u64 bit = 1ull << sym % 64;

	if (r->found && !(__atomic_load_n(&r->found[sym / 64], __ATOMIC_RELAXED) & bit))
		__atomic_fetch_or(&r->found[sym / 64], bit, __ATOMIC_RELAXED);
}
/* NULL: it is shown as it is linked. Thread-safe. */
const char *readable_name(struct readable *r, const struct symtab *t, u32 sym);

/* Of a table that is being made: the readable names of symbols that begin where others do, where they may decide. */
struct aliases {
	/* Per raw symbol: where in text, + 1; or ALIASES_AS | another symbol, whose name it has; or 0, as linked.
	 * NULL: nothing is readable. */
	u32 *at;
	struct bytes text;
};

#define ALIASES_AS (1u << 31)

/* ids: sorted by address. */
void aliases_read(struct aliases *a, const struct symtab_build *b, const u32 *ids, size_t n);
void aliases_free(struct aliases *a);
/* linked: its name. */
static inline const char *aliases_name(const struct aliases *a, u32 id, const char *linked)
{
	u32 at = a->at ? a->at[id] : 0;

	if (at & ALIASES_AS)
		at = a->at[at & ~ALIASES_AS];
	return at ? (const char *)a->text.p + at - 1 : linked;
}

#endif
