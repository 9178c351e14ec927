/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/cache.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

static void cache_new(struct cache *c, struct cache_shape s)
{
	size_t all = (size_t)s.sets * s.ways * sizeof(*c->recent);

	c->mask = s.sets - 1;
	c->ways = s.ways;
	c->recent = mem_alloc(all);
	c->older = c->recent + s.sets;
	/* No line or page of user space has this number. */
	memset(c->recent, 0xff, all);
}

void caches_new(struct caches *c, const struct model *m)
{
	cache_new(&c->l1i, m->l1i);
	cache_new(&c->l1d, m->l1d);
	cache_new(&c->l2, m->l2);
	cache_new(&c->llc, m->llc);
	cache_new(&c->dtlb, m->dtlb);
}

void caches_free(struct caches *c)
{
	free(c->l1i.recent);
	free(c->l1d.recent);
	free(c->l2.recent);
	free(c->llc.recent);
	free(c->dtlb.recent);
}

bool cache_touch(struct cache *c, u64 tag)
{
	u64 *recent = &c->recent[tag & c->mask], *older = &c->older[(tag & c->mask) * (c->ways - 1)], carry = *recent;

	if (carry == tag)
		return true;
	*recent = tag;
	/* Each moves one place down, to where the wanted one was, or out. */
	for (u32 i = 0; i < c->ways - 1; i++) {
		u64 here = older[i];

		older[i] = carry;
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
	if (cache_touch(&c->l2, line))
		return IN_L2;
	return cache_touch(&c->llc, line) ? IN_LLC : IN_MEMORY;
}
