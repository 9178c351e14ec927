/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/predictor.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void predictor_new(struct predictor *p, const struct model *m)
{
	static const u8 after[2 * END_TAKEN] = { 0, 0, 1, 2, STATE_NOBODY, 0, 0, 0, 1, 2, 3, 3, STATE_NOBODY };

	p->history = p->top = 0;
	p->mask = (1u << m->history_bits) - 1;
	p->indirect_mask = (1u << m->indirect_bits) - 1;
	p->target_mask = (1u << m->target_bits) - 1;
	p->depth = m->return_depth;
	memset(p->counters, 1, p->mask + 2);
	p->counters[0] = STATE_NOBODY;
	memcpy(p->after, after, sizeof(after));
	p->targets = mem_zalloc((p->target_mask + 1) * sizeof(*p->targets));
	p->indirect = mem_zalloc((p->indirect_mask + 1) * sizeof(*p->indirect));
	p->returns = mem_zalloc(p->depth * sizeof(*p->returns));
}

void predictor_free(struct predictor *p)
{
	free(p->targets);
	free(p->indirect);
	free(p->returns);
}
