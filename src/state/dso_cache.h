/* SPDX-License-Identifier: Apache-2.0 */
/* Symbol tables in the cache, by DSO. */
#ifndef STATE_DSO_CACHE_H
#define STATE_DSO_CACHE_H

#include "state/cache.h"
#include "state/dso_table.h"

/* How the table of a DSO is kept. */
struct dso_entry {
	enum cache_kind kind;
	struct bytes key; /* empty: it is not kept. Freed by who made the struct */
	struct stored_marks marks;
};

/* The key of a file's table: the version, the build id, the options that decide what comes out, and both files. False,
 * and an empty key: nothing may be kept of them. */
bool dso_cache_key(const struct dsos *d, const struct dso_slot *s, const struct elf_file *run,
		   const struct elf_file *separate, struct bytes *key);

/* The key of the table of a build id, wherever its file is. False: the DSO has none. */
bool dso_cache_build_key(const struct dsos *d, const struct dso_slot *s, struct bytes *key);

/*
 * The key of what /proc/kallsyms tells now, on this boot, to this user, of the kernel (module: NULL) or a module.
 * False: it cannot be told apart from others.
 */
bool dso_cache_kernel_key(const char *module, struct bytes *key);

/* With e's key: the table as it is kept, and e->marks. NULL: it is not there, or not to be used for this DSO. */
struct stored *dso_cache_find(const struct dsos *d, const struct dso_slot *s, struct dso_entry *e);
/* t: is not freed before dsos_keep_end if later is true. */
void dso_cache_keep(struct dsos *d, const struct dso_entry *e, const struct symtab *t, bool later);

#endif
