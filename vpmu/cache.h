/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches of one thread: sets of ways, of which the least recently used one is given up. Tags are whole line numbers. A
 * level is asked when the one above misses, and then has the line too; nothing is taken away from a level because
 * another one lost it. Loads, stores and fetches share L2 and LLC.
 *
 * What is asked all the time (struct cache) stamps a way when it is used, which costs the same wherever in its set it
 * stands, and has a table of hints where a line was last: what is there is found by one comparison. What was used last
 * in its set is the newest there already and needs no stamp: most of what is asked for is such, and found in a few lines
 * of memory (line_is_old). Its tables have a fixed size, so that they are part of the thread's memory and no pointer
 * to them has to be at hand. What is asked for misses only (struct deep_cache) keeps its ways in order of use: there is
 * less memory to look at.
 */
#ifndef VPMU_CACHE_H
#define VPMU_CACHE_H

#include "vpmu/model.h"

#define LINE_SHIFT 6
#define PAGE_SHIFT 12
#define CACHE_HINTS 4096
/* No more than there are sets of an L1 (of a TLB), or they are not all used. */
#define CACHE_RECENT 64
#define TLB_RECENT 16
#define CACHE_WAYS_MAX 1024 /* of all sets of an L1, or TLB */

enum cache_level { IN_L1, IN_L2, IN_LLC, IN_MEMORY };

struct cache {
	u64 clock;
	u32 mask; /* sets - 1 */
	u32 ways;
	u64 recent_mask;	  /* tags of one set share a place in */
	u64 recent[CACHE_RECENT]; /* what was used last of the sets that share this place */
	struct cache_way {
		u64 tag, stamp;
	} all[CACHE_WAYS_MAX];	/* ways of set 0, of set 1.. */
	u16 hints[CACHE_HINTS]; /* by a tag's lowest bits: offset in bytes of one of them */
};

struct deep_cache {
	u64 *tags; /* ways of set 0, the most recent one first, of set 1.. */
	u32 mask, ways;
};

struct caches {
	struct cache l1i, l1d, dtlb;
	struct deep_cache l2, llc;
};

void caches_new(struct caches *c, const struct model *m);
void caches_free(struct caches *c);

/* 0: tag is there, and the newest in its set; using it changes nothing. Anything else says nothing. */
static inline u64 line_is_old(const struct cache *c, u64 line)
{
	return c->recent[line % CACHE_RECENT] ^ line;
}
static inline u64 page_is_old(const struct cache *c, u64 page)
{
	return c->recent[page % TLB_RECENT] ^ page;
}

/* Where tag was last, if it was anywhere. */
static inline struct cache_way *cache_hint(struct cache *c, u64 tag)
{
	return (struct cache_way *)((u8 *)c->all + c->hints[tag % CACHE_HINTS]);
}

/* Uses tag, which is there. */
static inline void cache_use(struct cache *c, struct cache_way *at, u64 tag)
{
	at->stamp = ++c->clock;
	c->recent[tag & c->recent_mask] = tag;
}

/* Uses what is where it is hinted to be. False says nothing: cache_touch knows. */
static inline bool cache_hits(struct cache *c, u64 tag)
{
	struct cache_way *at = cache_hint(c, tag);

	if (UNLIKELY(at->tag != tag))
		return false;
	cache_use(c, at, tag);
	return true;
}

/* Uses tag, which is there then. Was it before? */
bool cache_touch(struct cache *c, u64 tag);
bool deep_touch(struct deep_cache *c, u64 tag);

/* Where a line was that is wanted in this L1. It is there then. */
enum cache_level caches_find(struct caches *c, struct cache *l1, u64 line);

#endif
