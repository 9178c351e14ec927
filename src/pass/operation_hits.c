/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/operation_hits.h"

/* Bits of spe->made. */
static u64 events_of(const struct spe *spe, const struct spe_record *r)
{
	u64 events = 0;

	for (u32 i = 0; i < spe->nr_made; i++)
		events |= (u64)spe_made_counts(r, &spe->made[i]) << i;
	return events;
}

static void be_sample_of(const struct feed *f, struct hit *h, u32 made)
{
	h->event = f->spe->made[made].event;
	h->e = &f->src->events.events.v[h->event];
}

void operation_hits(const struct feed *f, struct hit *h, const struct spe_record *r, hit_fn take, void *ctx)
{
	u64 events = events_of(f->spe, r);

	if (f->together && events) {
		h->together = events;
		be_sample_of(f, h, (u32)__builtin_ctzll(events));
		take(ctx, h);
		return;
	}
	for (; events; events &= events - 1) {
		be_sample_of(f, h, (u32)__builtin_ctzll(events));
		take(ctx, h);
		h->nth++;
	}
}
