/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* No line or page of user space has the number that this leaves. */
static u64 *tags_new(size_t n)
{
	u64 *tags = mem_alloc(n * sizeof(*tags));

	return memset(tags, 0xff, n * sizeof(*tags));
}

static void cache_new(struct cache *c, struct cache_shape s, u32 recent)
{
	c->clock = 0;
	c->mask = s.sets - 1;
	c->ways = s.ways;
	c->recent_mask = MIN(s.sets, recent) - 1;
	memset(c->recent, 0xff, sizeof(c->recent));
	memset(c->hints, 0, sizeof(c->hints));
	for (u32 i = 0; i < s.sets * s.ways; i++)
		c->all[i] = (struct cache_way){ UINT64_MAX, 0 };
}

static void deep_new(struct deep_cache *c, struct cache_shape s)
{
	*c = (struct deep_cache){ tags_new((size_t)s.sets * s.ways), s.sets - 1, s.ways };
}

void caches_new(struct caches *c, const struct model *m)
{
	cache_new(&c->l1i, m->l1i, CACHE_RECENT);
	cache_new(&c->l1d, m->l1d, CACHE_RECENT);
	cache_new(&c->dtlb, m->dtlb, TLB_RECENT);
	deep_new(&c->l2, m->l2);
	deep_new(&c->llc, m->llc);
}

void caches_free(struct caches *c)
{
	free(c->l2.tags);
	free(c->llc.tags);
}

bool cache_touch(struct cache *c, u64 tag)
{
	struct cache_way *set = &c->all[(tag & c->mask) * c->ways], *at;
	u32 there = c->ways, oldest = 0;
	u64 stamp = UINT64_MAX;
	bool found;

	for (u32 i = 0; i < c->ways; i++) {
		bool older = set[i].stamp < stamp;

		there = set[i].tag == tag ? i : there;
		oldest = older ? i : oldest;
		stamp = older ? set[i].stamp : stamp;
	}
	found = there < c->ways;
	at = &set[found ? there : oldest];
	*at = (struct cache_way){ tag, ++c->clock };
	c->hints[tag % CACHE_HINTS] = (u16)((u8 *)at - (u8 *)c->all);
	c->recent[tag & c->recent_mask] = tag;
	return found;
}

bool deep_touch(struct deep_cache *c, u64 tag)
{
	u64 *set = &c->tags[(tag & c->mask) * c->ways], carry = tag;

	/* Each moves one place down, to where the wanted one was, or out. */
	for (u32 i = 0; i < c->ways; i++) {
		u64 here = set[i];

		set[i] = carry;
		if (here == tag)
			return true;
		carry = here;
	}
	return false;
}

enum cache_level caches_find(struct caches *c, struct cache *l1, u64 line)
{
	if (cache_touch(l1, line))
		return IN_L1;
	if (deep_touch(&c->l2, line))
		return IN_L2;
	return deep_touch(&c->llc, line) ? IN_LLC : IN_MEMORY;
}
