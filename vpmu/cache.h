/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches of one thread: sets of ways in true LRU order. The most recent way of each set stands in an array of its own, so
 * that what is used again and again is found by one comparison in memory that stays in the host's L1. Tags are whole
 * line numbers. A level is asked when the one above misses, and then has the line too; nothing is taken away from a
 * level because another one lost it. Loads, stores and fetches share L2 and LLC.
 */
#ifndef VPMU_CACHE_H
#define VPMU_CACHE_H

#include "vpmu/model.h"

#define LINE_SHIFT 6
#define PAGE_SHIFT 12

enum cache_level { IN_L1, IN_L2, IN_LLC, IN_MEMORY };

struct cache {
	u64 *recent; /* one of each set */
	u64 *older;  /* ways - 1 of set 0, then of set 1.. */
	u32 mask;    /* sets - 1 */
	u32 ways;
};

struct caches {
	struct cache l1i, l1d, l2, llc, dtlb;
};

void caches_new(struct caches *c, const struct model *m);
void caches_free(struct caches *c);

/* Looking at what is most recent changes nothing: it may be done twice. */
static inline bool cache_is_recent(const struct cache *c, u64 tag)
{
	return c->recent[tag & c->mask] == tag;
}

/* Makes tag its set's most recent one. Was it there? */
bool cache_touch(struct cache *c, u64 tag);

/* Where a line was that is wanted in this L1. It is there then. */
enum cache_level caches_find(struct caches *c, struct cache *l1, u64 line);

#endif
