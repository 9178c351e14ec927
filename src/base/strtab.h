/* SPDX-License-Identifier: Apache-2.0 */
/*
 * String table: each distinct string gets one u32 id, and one NUL-terminated copy that lives as long as the table.
 * A zeroed struct is an empty table. Id 0 is the empty string. strtab_get may run while another thread interns only
 * if the caller holds a lock around both.
 */
#ifndef BASE_STRTAB_H
#define BASE_STRTAB_H

#include "base/arena.h"
#include "base/set.h"
#include "base/vec.h"

struct strtab_entry {
	const char *s;
	u32 len;
};

struct strtab {
	struct arena arena;
	struct set ids; /* by what they say */
	VEC(struct strtab_entry) entries;
};

u32 strtab_intern(struct strtab *t, const char *s, size_t len);
u32 strtab_find(const struct strtab *t, const char *s, size_t len); /* ID_NONE: not there */
u32 strtab_intern_z(struct strtab *t, const char *s);
const char *strtab_get(const struct strtab *t, u32 id); /* "" for an id that was never given */
void strtab_free(struct strtab *t);

#endif
