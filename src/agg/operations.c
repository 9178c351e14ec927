/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/operations.h"

#include <string.h>

#include "attrib/hit.h"
#include "attrib/spe.h"

#define EXACT_BITS 6
_Static_assert((16 - EXACT_BITS) << EXACT_BITS < 1 << OPERATION_CLASS_BITS, "classes of 16 bits fit");

/* Larger ones for longer latencies. */
static u32 class_of(u16 latency)
{
	u32 shift = latency >> EXACT_BITS ? 32 - EXACT_BITS - (u32)__builtin_clz(latency) : 0;

	return shift << EXACT_BITS | (u32)latency >> shift;
}

u32 operation_class_first(u32 class)
{
	u32 shift = class >> EXACT_BITS, first = class & ((1u << EXACT_BITS) - 1);

	/* Behind the last one of a length comes the first of the next, of which half is used. */
	return !shift ? first : MAX(first, 1u << (EXACT_BITS - 1)) << shift;
}

static u8 kind_of(const struct spe_record *r, u64 midr)
{
	if (spe_is_load(r))
		return (u8)spe_load_place(r, midr);
	if (spe_is_store(r))
		return OPERATION_STORE;
	return r->has & SPE_HAS(SPE_OPERATION) && r->operation_class == SPE_BRANCH ? OPERATION_BRANCH :
										     OPERATION_OTHER;
}

/* Which events say that something happened, and which that it might have; no events: any operation of these kinds. */
static const struct {
	u32 happened, might_have;
	bool accesses, branches;
} ratios[NR_OPERATION_RATIOS] = {
	[OPERATION_L1D_MISS] = { SPE_EV_L1D_REFILL, SPE_EV_L1D_ACCESS | SPE_EV_L1D_REFILL, true, false },
	[OPERATION_LLC_MISS] = { SPE_EV_LLC_REFILL, SPE_EV_LLC_ACCESS | SPE_EV_LLC_REFILL, true, false },
	[OPERATION_REMOTE] = { SPE_EV_REMOTE_ACCESS, 0, true, false },
	[OPERATION_TLB_WALK] = { SPE_EV_TLB_WALK, SPE_EV_TLB_ACCESS | SPE_EV_TLB_WALK, true, false },
	[OPERATION_NOT_TAKEN] = { SPE_EV_NOT_TAKEN, 0, false, true },
	[OPERATION_MISPREDICTED] = { SPE_EV_MISPREDICTED, 0, false, true },
};

bool operations_hold(const struct hit *h, void *held)
{
	struct operation_held *o = held;
	const struct spe_record *r;

	if (!h->operation)
		return false;
	r = h->operation->record;
	*o = (struct operation_held){ .kind = kind_of(r, h->operation->midr), .times = spe_times(h) };
	for (u32 i = 0; i < SPE_NR_COUNTERS; i++)
		o->latencies |= (u8)((r->has & SPE_HAS_LATENCY(i) ? 1u : 0u) << i);
	memcpy(o->latency, r->latency, sizeof(o->latency));
	for (u32 i = 0; i < NR_OPERATION_RATIOS; i++) {
		if (!(o->kind <= OPERATION_STORE ? ratios[i].accesses :
						   o->kind == OPERATION_BRANCH && ratios[i].branches))
			continue;
		if (ratios[i].might_have && !(r->events & ratios[i].might_have))
			continue;
		o->might_have |= (u8)(1u << i);
		o->happened |= (u8)((r->events & ratios[i].happened ? 1u : 0u) << i);
	}
	return true;
}

static u32 count_at(struct operation_sums *s, u32 node, u32 kind)
{
	u32 *i = map_at(&s->count_at, (u64)node << 32 | kind, (u32)s->counts.n);

	if (*i == s->counts.n)
		vec_push(&s->counts, (struct operation_count){ .node = node, .kind = kind });
	return *i;
}

static void add_class(struct operation_sums *s, const struct operation_class *c)
{
	u32 *i = map_at(&s->class_at, (u64)c->count << 32 | c->what, (u32)s->classes.n);

	if (*i == s->classes.n) {
		vec_push(&s->classes, *c);
		return;
	}
	s->classes.v[*i].n += c->n;
	s->classes.v[*i].sum += c->sum;
}

void operations_add(void *worker, const void *held, const struct hit_place *place, void *sums)
{
	const struct operation_held *o = held;
	struct operation_sums *s = sums;
	u32 at = count_at(s, place->node, o->kind);
	struct operation_count *c = &s->counts.v[at];

	(void)worker;
	c->n += o->times;
	for (u32 i = 0; i < NR_OPERATION_RATIOS; i++) {
		c->ratios[i].n += (o->happened >> i & 1) * o->times;
		c->ratios[i].of += (o->might_have >> i & 1) * o->times;
	}
	for (u32 i = 0; i < SPE_NR_COUNTERS; i++) {
		u16 what = (u16)(i << OPERATION_CLASS_BITS | class_of(o->latency[i]));

		if (o->latencies >> i & 1)
			add_class(s,
				  &(struct operation_class){ at, what, o->kind, o->times, o->times * o->latency[i] });
	}
}

void operation_sums_merge(void *sums, void *from, const u32 *at)
{
	struct operation_sums *s = sums, *other = from;
	u32 *to = mem_alloc((other->counts.n + 1) * sizeof(*to));

	for (size_t i = 0; i < other->counts.n; i++) {
		const struct operation_count *c = &other->counts.v[i];
		struct operation_count *sum;

		to[i] = count_at(s, at[c->node], c->kind);
		sum = &s->counts.v[to[i]];
		sum->n += c->n;
		for (u32 k = 0; k < NR_OPERATION_RATIOS; k++) {
			sum->ratios[k].n += c->ratios[k].n;
			sum->ratios[k].of += c->ratios[k].of;
		}
	}
	for (size_t i = 0; i < other->classes.n; i++) {
		struct operation_class c = other->classes.v[i];

		c.count = to[c.count];
		add_class(s, &c);
	}
	free(to);
	operation_sums_free(other);
}

void operation_sums_free(void *sums)
{
	struct operation_sums *s = sums;

	map_free(&s->count_at);
	map_free(&s->class_at);
	vec_free(&s->counts);
	vec_free(&s->classes);
}

void *profile_operations_new(const void *setup, u32 event, void *sums)
{
	struct profile_operations *o = mem_zalloc(sizeof(*o));

	(void)setup;
	(void)event;
	o->nodes = *(struct operation_sums *)sums;
	memset(sums, 0, sizeof(o->nodes));
	return o;
}

void profile_operations_free(void *operations)
{
	struct profile_operations *o = operations;

	operation_sums_free(&o->nodes);
	vec_free(&o->parts);
	vec_free(&o->classes);
	free(o->first);
	free(o->first_class);
	free(o);
}
