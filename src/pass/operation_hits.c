/* SPDX-License-Identifier: Apache-2.0 */
#include "pass/operation_hits.h"

void operation_hits(const struct feed *f, struct hit *h, const struct spe_record *r, hit_fn take, void *ctx)
{
	for (u32 i = 0; i < f->spe->nr_made; i++) {
		if (!spe_made_counts(r, &f->spe->made[i]))
			continue;
		h->event = f->spe->made[i].event;
		h->e = &f->src->events.events.v[h->event];
		take(ctx, h);
		h->nth++;
	}
}
