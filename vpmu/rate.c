/* SPDX-License-Identifier: Apache-2.0 */
#include "vpmu/rate.h"

#define SECOND_NS 1000000000ull
#define ESTIMATES_MAX 9 /* the first two are believed, then 1/2, 1/3, .. and 1/8 in the long run */

void rate_start(struct rate *r, u64 inherited, u64 time_ns, u64 value)
{
	*r = (struct rate){ .period = MAX(inherited, 1), .time_ns = time_ns, .value = value };
	r->estimates = inherited ? ESTIMATES_MAX : 0;
}

static u64 wanted_period(u64 freq, u64 ns, u64 count)
{
	unsigned __int128 period = (unsigned __int128)count * SECOND_NS / ((unsigned __int128)ns * freq);

	return period > INT64_MAX ? INT64_MAX : (u64)period;
}

void rate_train(struct rate *r, u64 freq, u64 time_ns, u64 value)
{
	u64 ns = time_ns - r->time_ns, count = value - r->value;
	s64 wanted, weight;

	if (!count || !freq)
		return;
	/* Faster than the clock ticks: at least one tick is near enough for a first guess. */
	wanted = (s64)wanted_period(freq, MAX(ns, 1), count);
	r->estimates = MIN(r->estimates + 1, ESTIMATES_MAX);
	weight = MAX(r->estimates - 1, 1);
	r->period = (u64)MAX((s64)r->period + (wanted - (s64)r->period) / weight, 1);
	r->time_ns = time_ns;
	r->value = value;
}
