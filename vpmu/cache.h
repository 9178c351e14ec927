/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Caches of one thread: sets of ways, of which the least recently used one is given up. A level is asked when the one
 * above misses, and then has the line too; nothing is taken away from a level because another one lost it. Loads,
 * stores and fetches share L2 and LLC.
 *
 * A way is stamped when it is used, which costs the same wherever in its set it stands. What is asked all the time
 * (struct cache) has a table of hints where a line was last: what is there is found by one comparison. Its tables have
 * a fixed size, so that they are part of the thread's memory and no pointer to them has to be at hand. What is asked
 * for misses only (struct deep_cache) is searched without branches: where in its set a line stands is nothing that can
 * be guessed.
 *
 * Data: a line's way in L1D knows its page's place in the TLB, so that one hint finds both. Who has a hint has its
 * page in the TLB: a page that goes takes the hints of its lines with it (they are 64 in a row).
 *
 * Code: what was used last in its set is the newest there already and needs no stamp; most of what is asked for is
 * such, and found in a few lines of memory (code_is_recent).
 */
#ifndef VPMU_CACHE_H
#define VPMU_CACHE_H

#include "vpmu/model.h"

#define LINE_SHIFT 6
#define PAGE_SHIFT 12
#define CACHE_HINTS 4096
#define PAGE_HINTS 256
#define CODE_RECENT 64
#define CACHE_WAYS_MAX 1024 /* of all sets of an L1, or TLB; of a set there are a multiple of four */
#define CACHE_FIRST 8	    /* those before belong to nobody and have nothing */
#define CACHE_TICK 16	    /* between two stamps: more than there are ways in a set */

enum cache_level { IN_L1, IN_L2, IN_LLC, IN_MEMORY };

struct cache {
	u32 mask; /* sets - 1 */
	u32 ways;
	/* Ways of set 0, of set 1.. */
	_Alignas(64) u64 tags[CACHE_FIRST + CACHE_WAYS_MAX];
	u64 stamps[CACHE_FIRST + CACHE_WAYS_MAX];
};

struct deep_cache {
	u32 *tags; /* ways of set 0, of set 1..: a line's number by that of sets */
	u64 *stamps, now;
	u32 mask, ways, shift;
};

struct caches {
	u64 now;		 /* for code */
	u64 recent_mask;	 /* tags of one set share a place in */
	u64 recent[CODE_RECENT]; /* what was used last of L1I's sets that share this place */
	struct cache l1i, l1d, dtlb;
	/* By a line's lowest bits: a way of L1. */
	_Alignas(64) u16 data_hints[CACHE_HINTS];
	u16 code_hints[CACHE_HINTS];
	u16 page_hints[PAGE_HINTS];		 /* by a page's lowest bits: a way of the TLB */
	u16 pages[CACHE_FIRST + CACHE_WAYS_MAX]; /* by L1D's way: the way of the TLB; 0 where that is left out */
	struct deep_cache l2, llc;
};

void caches_new(struct caches *c, const struct model *m);
void caches_free(struct caches *c);

/* 0: the line is there, and the newest in its set; using it changes nothing. Anything else says nothing. */
static inline u64 code_is_recent(const struct caches *c, u64 line)
{
	return c->recent[line % CODE_RECENT] ^ line;
}

/* Uses the line of code, if it is where it is hinted to be. False says nothing: caches_code knows. */
static inline bool code_hits(struct caches *c, u64 line)
{
	u32 at = c->code_hints[line % CACHE_HINTS];

	if (UNLIKELY(c->l1i.tags[at] != line))
		return false;
	c->l1i.stamps[at] = c->now += CACHE_TICK;
	c->recent[line & c->recent_mask] = line;
	return true;
}

/*
 * The same for data, and its page. An access that ends in line `last`, another one than it begins in, is not found.
 * now: at least a tick more than for what was asked for before, in lines that share a set. (What is in two lines is so
 * at one instant.)
 */
static inline bool data_hits(struct caches *c, u64 line, u64 last, u64 now)
{
	u32 at = c->data_hints[line % CACHE_HINTS];

	/* Hints lead into line's own set, where `last` cannot be if it is another one. */
	if (UNLIKELY(c->l1d.tags[at] != last))
		return false;
	c->l1d.stamps[at] = now;
	c->dtlb.stamps[c->pages[at]] = now;
	return true;
}

/* Uses the line, which is there then. Was it before? */
bool deep_touch(struct deep_cache *c, u64 line);

/* Where a line was. It is in L1 then. */
enum cache_level caches_code(struct caches *c, u64 line);
/* The same for the parts of the model that there are, and whether its page was not in the TLB. */
enum cache_level caches_data(struct caches *c, u64 line, u32 vpmu_models, u64 now, bool *walk);

#endif
