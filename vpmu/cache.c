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

/* What a line of user space leaves of its number fits into 32 bits: there are sets enough, and 48 bits of addresses. */
static void deep_new(struct deep_cache *c, struct cache_shape s)
{
	size_t n = (size_t)s.sets * s.ways;

	*c = (struct deep_cache){ mem_alloc_lines(n * sizeof(*c->tags)), s.sets - 1, s.ways,
				  (u32)__builtin_ctz(s.sets) };
	memset(c->tags, 0xff, n * sizeof(*c->tags));
}

void caches_new(struct caches *c, const struct model *m)
{
	c->now = 0;
	c->recent_mask = MIN(m->l1i.sets, CODE_RECENT) - 1;
	memset(c->recent, 0xff, sizeof(c->recent));
	memset(c->code_hints, 0, sizeof(c->code_hints));
	memset(c->data_hints, 0, sizeof(c->data_hints));
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
	free(c->llc.tags);
}

/* Looks at way k of a set. */
static inline void look(const u64 *tags, const u64 *stamps, u32 k, u64 tag, u32 *there, u64 *oldest)
{
	u64 age = stamps[k] | k;

	*there = tags[k] == tag ? k : *there;
	*oldest = age < *oldest ? age : *oldest;
}

/* The way among those of a set that has the tag, else the one that was used longest ago. */
static inline u32 way_of(const u64 *tags, const u64 *stamps, u32 ways, u64 tag)
{
	u64 oldest = UINT64_MAX;
	u32 there = ways;

	for (u32 i = 0; i < ways; i += LANES) {
		look(tags, stamps, i, tag, &there, &oldest);
		look(tags, stamps, i + 1, tag, &there, &oldest);
		look(tags, stamps, i + 2, tag, &there, &oldest);
		look(tags, stamps, i + 3, tag, &there, &oldest);
	}
	return there < ways ? there : oldest % CACHE_TICK;
}

/* Uses tag: where it is then, and what was there before (*was). */
static inline u32 cache_use(struct cache *c, u64 tag, u64 now, u64 *was)
{
	u32 at = CACHE_FIRST + ((u32)tag & c->mask) * c->ways;

	at += way_of(&c->tags[at], &c->stamps[at], c->ways, tag);
	*was = c->tags[at];
	c->tags[at] = tag;
	c->stamps[at] = now;
	return at;
}

bool deep_touch(struct deep_cache *c, u64 line)
{
	u32 tag = (u32)(line >> c->shift), quads = c->ways / LANES, place;
	quad *set = (quad *)&c->tags[((u32)line & c->mask) * c->ways];
	quad ones = { 1, 1, 1, 1 }, is = ones * tag, at = { 1, 2, 3, 4 }, found = { 0 }, before = is, end;
	halves both;

	for (u32 i = 0; i < quads; i++) {
		found |= (quad)(set[i] == is) & at;
		at += ones * LANES;
	}
	both = (halves)found;
	both[0] |= both[1];
	place = (u32)(both[0] | both[0] >> 32); /* from 1; 0: nowhere */
	/* Each moves one place up, to where the wanted one was, or out. */
	end = ones * (place ? place : c->ways);
	at = (quad){ 1, 2, 3, 4 };
	for (u32 i = 0; i < quads; i++) {
		quad here = set[i], moved = __builtin_shufflevector(before, here, 3, 4, 5, 6);
		quad moves = (quad)(at <= end);

		set[i] = (moved & moves) | (here & ~moves);
		before = here;
		at += ones * LANES;
	}
	return place;
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

/* The TLB's way of a page. */
static u32 find_page(struct caches *c, u64 page, u64 now, bool *walk)
{
	u64 was;
	u32 at = cache_use(&c->dtlb, page, now, &was);

	*walk = was != page;
	if (*walk)
		forget_hints(c, was);
	return at;
}

enum cache_level caches_data(struct caches *c, u64 line, u32 vpmu_models, u64 now, bool *walk)
{
	u32 page = 0, at;
	u64 was;

	*walk = false;
	if (vpmu_models & VPMU_MODEL_TLB)
		page = find_page(c, line >> (PAGE_SHIFT - LINE_SHIFT), now, walk);
	if (!(vpmu_models & VPMU_MODEL_CACHE))
		return IN_L1;
	at = cache_use(&c->l1d, line, now, &was);
	c->pages[at] = (u16)page;
	c->data_hints[line % CACHE_HINTS] = (u16)at;
	return was == line ? IN_L1 : find_deep(c, line);
}
