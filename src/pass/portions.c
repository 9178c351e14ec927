/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/portions.h"

#include <stdlib.h>
#include <string.h>

#include "agg/keys.h"
#include "attrib/unwind.h"
#include "base/hash.h"
#include "pass/lanes.h"

void portion_forget(struct portion *p)
{
	if (p->collected)
		collected_free(p->collected, p->nr_trees);
	free(p->collected);
	*p = (struct portion){ 0 };
}

static bool chains_come_later(const struct evlist *l)
{
	for (size_t i = 0; i < l->events.n; i++)
		if (l->events.v[i].attr.flags & ATTR_DEFER_CALLCHAIN)
			return true;
	return false;
}

/* Does a key mean something else with each recording, or text that a profile has of its own? */
static bool has_own_values(u8 key)
{
	return key == SORT_TIME || key_is_trace(key);
}

bool portions_suffice(const struct pipeline_opts *o, const struct source *src)
{
	for (u32 i = 0; i < o->nr_sort; i++)
		if (has_own_values(o->sort_order[i]))
			return false;
	return !lanes_needed(&src->events) && !unwind_used(&src->events) && !chains_come_later(&src->events) &&
	       !o->measures && !o->time;
}

static u64 mix_names(u64 h, const struct name_list *l)
{
	h = hash_mix(h, l->n);
	for (u32 i = 0; i < l->n; i++)
		h = hash_mix(h, hash_bytes(l->v[i], strlen(l->v[i])));
	return h;
}

static u64 mix_numbers(u64 h, const struct u32_list *l)
{
	return hash_mix(hash_mix(h, l->n), l->n ? hash_bytes(l->v, l->n * sizeof(*l->v)) : 0);
}

u64 portions_kind(const struct pipeline_opts *o)
{
	const u64 flags = (u64)o->costs | (u64)o->children << 1 | (u64)o->no_chains << 2 | (u64)o->no_inline << 3 |
			  (u64)o->graph_key << 8 | (u64)o->branches << 16;
	u64 h = hash_mix(flags, hash_bytes(o->sort_order, o->nr_sort));

	h = hash_mix(h, o->nr_sort);
	h = mix_names(h, &o->samples.comms);
	h = mix_numbers(h, &o->samples.pids);
	h = mix_numbers(h, &o->samples.tids);
	return mix_numbers(h, &o->samples.cpus);
}
