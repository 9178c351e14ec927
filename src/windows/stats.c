/* SPDX-License-Identifier: Apache-2.0 */
#include "windows/stats.h"

/* Lengths below 2^9 are their own step; above, the 8 bits behind the leading one tell steps of one magnitude apart. */
static u32 step_of(u64 length)
{
	u32 magnitude = length >> WINDOW_STATS_BITS ? 63 - (u32)__builtin_clzll(length) - WINDOW_STATS_BITS : 0;

	return (magnitude << WINDOW_STATS_BITS) + (u32)(length >> magnitude);
}

static u64 least_of(u32 step)
{
	u32 magnitude = step >> WINDOW_STATS_BITS;

	if (magnitude < 2)
		return step;
	magnitude--;
	return (u64)(step - (magnitude << WINDOW_STATS_BITS)) << magnitude;
}

void window_stats_add(struct window_stats *s, u64 length)
{
	s->n++;
	s->steps[step_of(length)]++;
}

u64 window_stats_at(const struct window_stats *s, u32 percent)
{
	u64 want = (s->n * percent + 99) / 100, seen = 0;

	for (u32 i = 0; i < WINDOW_STATS_STEPS && s->n; i++) {
		seen += s->steps[i];
		if (seen >= want && seen)
			return least_of(i);
	}
	return 0;
}
