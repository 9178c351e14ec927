/* SPDX-License-Identifier: Apache-2.0 */
#include "agg/measure.h"

#include <stdlib.h>

#include "base/mem.h"

void *measured_sums(struct measured *m, u32 id)
{
	if (!m->sums[id])
		m->sums[id] = mem_zalloc(measures[id].sums);
	return m->sums[id];
}

void measured_merge(struct measured *m, struct measured *from, const u32 *at)
{
	for (u32 i = 0; i < NR_MEASURES; i++)
		if (from->sums[i])
			measures[i].merge(measured_sums(m, i), from->sums[i], at);
	measured_free(from);
}

void measured_free(struct measured *m)
{
	for (u32 i = 0; i < NR_MEASURES; i++) {
		if (!m->sums[i])
			continue;
		measures[i].free(m->sums[i]);
		free(m->sums[i]);
		m->sums[i] = NULL;
	}
}

bool measures_want_full(u32 used)
{
	bool full = false;

	for (u32 i = 0; i < NR_MEASURES; i++)
		full |= used >> i & 1 && measures[i].full;
	return full;
}
