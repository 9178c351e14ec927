/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/predictor.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"

void predictor_new(struct predictor *p, const struct model *m)
{
	*p = (struct predictor){ .mask = (1u << m->history_bits) - 1,
				 .indirect_mask = (1u << m->indirect_bits) - 1,
				 .depth = m->return_depth };
	p->counters = mem_alloc(p->mask + 2);
	memset(p->counters, 1, p->mask + 2);
	p->targets = mem_zalloc((p->indirect_mask + 1) * sizeof(*p->targets));
	p->returns = mem_zalloc(p->depth * sizeof(*p->returns));
}

void predictor_free(struct predictor *p)
{
	free(p->counters);
	free(p->targets);
	free(p->returns);
}
