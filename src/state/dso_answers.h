/* SPDX-License-Identifier: Apache-2.0 */
/* What the DWARF of one DSO answered, by address; kept in the cache from one run to the next. Not thread-safe: the
 * caller holds the DSO's lock. */
#ifndef STATE_DSO_ANSWERS_H
#define STATE_DSO_ANSWERS_H

#include "state/cache.h"
#include "state/dso.h"

struct answers;

/* With what the cache has under that key (copied), if anything. Without a key nothing is kept. */
struct answers *answers_new(struct cache *c, const struct bytes *key);
size_t answers_count(const struct answers *a);
bool answers_has(const struct answers *a, u64 addr);
/* The answer for addr, at most max frames of it, innermost first. False: it was not asked yet. The strings live as
 * long as a. */
bool answers_find(const struct answers *a, u64 addr, struct source_frame *out, u32 max, u32 *n);
/* The whole answer, unless there is one; strings are copied. */
void answers_add(struct answers *a, u64 addr, const struct source_frame *frames, u32 n);
/* They are of this run only. */
void answers_do_not_keep(struct answers *a);
/* Puts them into the cache when there are new ones. NULL is fine. */
void answers_keep(struct answers *a, struct cache *c);
/* The same, and frees a. */
void answers_free(struct answers *a, struct cache *c);

#endif
