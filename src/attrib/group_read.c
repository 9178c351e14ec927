/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/group_read.h"

#include "base/hash.h"

bool group_read_used(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++) {
		const struct attr *a = &l->events.v[i].attr;

		if (a->sample_type & PERF_SAMPLE_READ && a->read_format & PERF_FORMAT_ID)
			return true;
	}
	return false;
}

/* Events that children inherit (Linux 6.12 lets such groups read) have a counter per thread, all under one id. */
static u64 counter_key(const struct event *e, u64 id, u32 tid)
{
	return e->attr.flags & ATTR_INHERIT && e->attr.sample_type & PERF_SAMPLE_TID ? hash_mix(hash_u64(id), tid) :
										       id;
}

static u64 advance(struct group_read *g, u64 key, u64 value)
{
	u32 *i = map_at(&g->index, key, (u32)g->last.n);
	u64 before;

	if (*i == g->last.n)
		vec_push(&g->last, 0);
	before = g->last.v[*i];
	g->last.v[*i] = value;
	return value - before;
}

u32 group_read_explode(struct group_read *g, const struct evlist *l, const struct sample *s, struct member_sample *out,
		       u32 max)
{
	u32 n = 0;

	for (u32 i = 0; i < s->read.nr && n < max; i++) {
		u64 id = read_id(&s->read, i), weight;
		u32 event = evlist_of_id(l, id);

		if (event == ID_NONE)
			continue;
		weight = advance(g, counter_key(&l->events.v[event], id, s->tid), read_value(&s->read, i));
		if (weight)
			out[n++] = (struct member_sample){ event, weight };
	}
	return n;
}

void group_read_free(struct group_read *g)
{
	map_free(&g->index);
	vec_free(&g->last);
}
