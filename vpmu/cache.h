/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches of one thread: sets of ways in true LRU order, most recent first, so that what is used again and again is found
 * by the first comparison. Tags are whole line numbers. A level is asked when the one above misses, and then has the
 * line too; nothing is taken away from a level because another one lost it. Loads, stores and fetches share L2 and LLC.
 */
#ifndef VPMU_CACHE_H
#define VPMU_CACHE_H

#include "vpmu/model.h"

#define LINE_SHIFT 6
#define PAGE_SHIFT 12

enum cache_level { IN_L1, IN_L2, IN_LLC, IN_MEMORY };

struct cache {
	u64 *tags; /* ways of set 0, of set 1.. */
	u32 mask;  /* sets - 1 */
	u32 ways;
};

struct caches {
	struct cache l1i, l1d, l2, llc, dtlb;
	u64 fetched; /* the line that instructions came from last */
};

void caches_new(struct caches *c, const struct model *m);
void caches_free(struct caches *c);

/* Makes tag its set's most recent one. Was it there? */
bool cache_touch(struct cache *c, u64 tag);

static inline bool cache_is_recent(const struct cache *c, u64 tag)
{
	return c->tags[(tag & c->mask) * c->ways] == tag;
}

/* Where a line was. It is in L1 then. */
enum cache_level caches_fill(struct caches *c, struct cache *l1, u64 line);

static inline enum cache_level caches_data(struct caches *c, u64 line)
{
	return LIKELY(cache_is_recent(&c->l1d, line)) ? IN_L1 : caches_fill(c, &c->l1d, line);
}

static inline enum cache_level caches_fetch(struct caches *c, u64 line)
{
	if (LIKELY(c->fetched == line))
		return IN_L1;
	c->fetched = line;
	return cache_is_recent(&c->l1i, line) ? IN_L1 : caches_fill(c, &c->l1i, line);
}

static inline bool caches_page(struct caches *c, u64 page)
{
	return LIKELY(cache_is_recent(&c->dtlb, page)) || cache_touch(&c->dtlb, page);
}

#endif
