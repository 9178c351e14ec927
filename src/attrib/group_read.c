/* SPDX-License-Identifier: Apache-2.0 */
#include "attrib/group_read.h"

bool group_read_used(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++) {
		const struct attr *a = &l->events.v[i].attr;

		if (a->sample_type & PERF_SAMPLE_READ && a->read_format & PERF_FORMAT_ID)
			return true;
	}
	return false;
}

static u64 advance(struct group_read *g, u64 id, u64 value)
{
	u32 *i = map_at(&g->index, id, (u32)g->last.n);
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
		u64 id = read_id(&s->read, i), weight = advance(g, id, read_value(&s->read, i));
		u32 event = map_get(&l->by_id, id);

		if (weight && event != ID_NONE)
			out[n++] = (struct member_sample){ event, weight };
	}
	return n;
}

void group_read_free(struct group_read *g)
{
	map_free(&g->index);
	vec_free(&g->last);
}
