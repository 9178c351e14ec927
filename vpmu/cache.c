/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

#define LANES 4
/* A vector of the host, if it has any. */
typedef u32 quad __attribute__((vector_size(LANES * sizeof(u32)), may_alias));
typedef u64 halves __attribute__((vector_size(sizeof(quad))));

static u32 padded(u32 ways)
{
	return (ways + LANES - 1) / LANES * LANES;
}

static void cache_new(struct cache *c, struct cache_shape s)
{
	c->mask = s.sets - 1;
	c->ways = padded(s.ways);
	/* No line or page of user space has this number. Ways that there are not look as if just used. */
	memset(c->tags, 0xff, sizeof(c->tags));
	memset(c->stamps, 0xff, sizeof(c->stamps));
	for (u32 set = 0; set < s.sets; set++)
		memset(&c->stamps[CACHE_FIRST + set * c->ways], 0, s.ways * sizeof(c->stamps[0]));
}

/* What a line of user space leaves of its number fits into 32 bits: there are sets enough, and 48 bits of addresses.
 */
static void deep_new(struct deep_cache *c, struct cache_shape s)
{
	size_t n = (size_t)s.sets * s.ways;

	*c = (struct deep_cache){ .tags = mem_alloc_lines(n * sizeof(*c->tags)),
				  .stamps = mem_zalloc(n * sizeof(*c->stamps)),
				  .mask = s.sets - 1,
				  .ways = s.ways,
				  .shift = (u32)__builtin_ctz(s.sets) };
	memset(c->tags, 0xff, n * sizeof(*c->tags));
}

void caches_new(struct caches *c, const struct model *m)
{
	c->now = 0;
	c->recent_mask = MIN(m->l1i.sets, CODE_RECENT) - 1;
	memset(c->recent, 0xff, sizeof(c->recent));
	memset(c->code_hints, 0, sizeof(c->code_hints));
	memset(c->data_hints, 0, sizeof(c->data_hints));
	memset(c->page_hints, 0, sizeof(c->page_hints));
	memset(c->pages, 0, sizeof(c->pages));
	cache_new(&c->l1i, m->l1i);
	cache_new(&c->l1d, m->l1d);
	cache_new(&c->dtlb, m->dtlb);
	deep_new(&c->l2, m->l2);
	deep_new(&c->llc, m->llc);
}

void caches_free(struct caches *c)
{
	free(c->l2.tags);
	free(c->l2.stamps);
	free(c->llc.tags);
	free(c->llc.stamps);
}

/* The way among those of a set that was used longest ago: no branch could tell beforehand. */
static inline u32 oldest_of(const u64 *stamps, u32 ways)
{
	u64 oldest = UINT64_MAX;

	for (u32 k = 0; k < ways; k += LANES, stamps += LANES) {
		u64 a = stamps[0] | k, b = stamps[1] | (k + 1), c = stamps[2] | (k + 2), d = stamps[3] | (k + 3);

		a = MIN(a, b);
		c = MIN(c, d);
		a = MIN(a, c);
		oldest = MIN(a, oldest);
	}
	return oldest % CACHE_TICK;
}

/* The way that has the tag, which is not likely; or `ways`. */
static inline u32 way_of(const u64 *tags, u32 ways, u64 tag)
{
	for (u32 k = 0; k < ways; k += LANES, tags += LANES) {
		if (UNLIKELY(tags[0] == tag))
			return k;
		if (UNLIKELY(tags[1] == tag))
			return k + 1;
		if (UNLIKELY(tags[2] == tag))
			return k + 2;
		if (UNLIKELY(tags[3] == tag))
			return k + 3;
	}
	return ways;
}

/* Uses tag: where it is then, and what was there before (*was). */
static inline u32 cache_use(struct cache *c, u64 tag, u64 now, u64 *was)
{
	u32 at = CACHE_FIRST + ((u32)tag & c->mask) * c->ways, way = way_of(&c->tags[at], c->ways, tag);

	at += LIKELY(way == c->ways) ? oldest_of(&c->stamps[at], c->ways) : way;
	*was = c->tags[at];
	c->tags[at] = tag;
	c->stamps[at] = now;
	return at;
}

/* The way among those of a set that has the tag, from 1; 0: none. */
static inline u32 deep_way_of(const u32 *tags, u32 ways, u32 tag)
{
	const quad *set = (const quad *)tags;
	quad ones = { 1, 1, 1, 1 }, is = ones * tag, at = { 1, 2, 3, 4 }, found = { 0 };
	halves both;

	for (u32 i = 0; i < ways / LANES; i++) {
		found |= (quad)(set[i] == is) & at;
		at += ones * LANES;
	}
	both = (halves)found;
	both[0] |= both[1];
	return (u32)(both[0] | both[0] >> 32);
}

bool deep_touch(struct deep_cache *c, u64 line)
{
	u32 set = ((u32)line & c->mask) * c->ways, tag = (u32)(line >> c->shift);
	u32 way = deep_way_of(&c->tags[set], c->ways, tag);
	u64 *stamps = &c->stamps[set], now = c->now += CACHE_TICK;

	if (LIKELY(way)) {
		stamps[way - 1] = now;
		return true;
	}
	way = oldest_of(stamps, c->ways);
	c->tags[set + way] = tag;
	stamps[way] = now;
	return false;
}

static enum cache_level find_deep(struct caches *c, u64 line)
{
	if (deep_touch(&c->l2, line))
		return IN_L2;
	return deep_touch(&c->llc, line) ? IN_LLC : IN_MEMORY;
}

enum cache_level caches_code(struct caches *c, u64 line)
{
	u64 was;

	c->code_hints[line % CACHE_HINTS] = (u16)cache_use(&c->l1i, line, c->now += CACHE_TICK, &was);
	c->recent[line & c->recent_mask] = line;
	return was == line ? IN_L1 : find_deep(c, line);
}

/* A page leaves the TLB: its lines have to be looked for. */
static void forget_hints(struct caches *c, u64 page)
{
	quad *hints = (quad *)&c->data_hints[(page << (PAGE_SHIFT - LINE_SHIFT)) % CACHE_HINTS];

	for (u32 i = 0; i < (sizeof(c->data_hints[0]) << (PAGE_SHIFT - LINE_SHIFT)) / sizeof(quad); i++)
		hints[i] = (quad){ 0 };
}

/* The TLB's way of a page, which is not where it is hinted to be. */
static __attribute__((noinline)) u32 find_page(struct caches *c, u64 page, u64 now, bool *walk)
{
	u64 was;
	u32 at = cache_use(&c->dtlb, page, now, &was);

	*walk = was != page;
	if (*walk)
		forget_hints(c, was);
	c->page_hints[page % PAGE_HINTS] = (u16)at;
	return at;
}

enum cache_level caches_data(struct caches *c, u64 line, u32 vpmu_models, u64 now, bool *walk)
{
	u64 page = line >> (PAGE_SHIFT - LINE_SHIFT), was;
	u32 place = 0, at;

	*walk = false;
	if (vpmu_models & VPMU_MODEL_TLB) {
		place = c->page_hints[page % PAGE_HINTS];
		if (LIKELY(c->dtlb.tags[place] == page))
			c->dtlb.stamps[place] = now;
		else
			place = find_page(c, page, now, walk);
	}
	if (!(vpmu_models & VPMU_MODEL_CACHE))
		return IN_L1;
	at = cache_use(&c->l1d, line, now, &was);
	c->pages[at] = (u16)place;
	c->data_hints[line % CACHE_HINTS] = (u16)at;
	return was == line ? IN_L1 : find_deep(c, line);
}
