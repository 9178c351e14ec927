/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

/* No line or page of user space has this number. */
#define NO_TAG UINT64_MAX

static void cache_new(struct cache *c, struct cache_shape s)
{
	c->mask = s.sets - 1;
	c->ways = s.ways;
	c->tags = mem_alloc((size_t)s.sets * s.ways * sizeof(*c->tags));
	memset(c->tags, 0xff, (size_t)s.sets * s.ways * sizeof(*c->tags)); /* NO_TAG */
}

void caches_new(struct caches *c, const struct model *m)
{
	cache_new(&c->l1i, m->l1i);
	cache_new(&c->l1d, m->l1d);
	cache_new(&c->l2, m->l2);
	cache_new(&c->llc, m->llc);
	cache_new(&c->dtlb, m->dtlb);
	c->fetched = NO_TAG;
}

void caches_free(struct caches *c)
{
	free(c->l1i.tags);
	free(c->l1d.tags);
	free(c->l2.tags);
	free(c->llc.tags);
	free(c->dtlb.tags);
}

bool cache_touch(struct cache *c, u64 tag)
{
	u64 *set = &c->tags[(tag & c->mask) * c->ways];
	u32 way = 0;
	bool found;

	while (way < c->ways && set[way] != tag)
		way++;
	found = way < c->ways;
	if (!found)
		way--;
	memmove(set + 1, set, way * sizeof(*set));
	set[0] = tag;
	return found;
}

enum cache_level caches_fill(struct caches *c, struct cache *l1, u64 line)
{
	if (cache_touch(l1, line))
		return IN_L1;
	if (cache_touch(&c->l2, line))
		return IN_L2;
	return cache_touch(&c->llc, line) ? IN_LLC : IN_MEMORY;
}
