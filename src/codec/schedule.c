/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/schedule.h"

const char *schedule_check(const struct schedule *s)
{
	if (!s->period_long)
		return "the period is 0";
	if (s->jitter_long / 2 >= s->period_long)
		return "the jitter of the long period is more than twice that period";
	if (!s->period_short)
		return s->batch_count || s->jitter_short ? "a burst needs a short period" : NULL;
	if (!s->batch_count)
		return "a short period needs a burst of at least 1";
	if (s->jitter_short / 2 >= s->period_short)
		return "the jitter of the short period is more than twice that period";
	return NULL;
}

u64 schedule_whole(const struct schedule *s)
{
	return s->period_long + (s->period_short ? s->period_short * s->batch_count : 0);
}

/* splitmix64: any seed will do, 0 too */
static u64 next_random(u64 *state)
{
	u64 z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9;
	z = (z ^ z >> 27) * 0x94d049bb133111eb;
	return z ^ z >> 31;
}

void schedule_start(struct schedule_state *st, u64 seed)
{
	*st = (struct schedule_state){ .random = seed };
}

static u64 jittered(u64 period, u64 jitter, struct schedule_state *st)
{
	u64 half = jitter / 2;

	if (!half)
		return period;
	/* The high word of a 64 x 64 product is uniform enough: its bias is under jitter / 2^64. */
	return period - half + (u64)((unsigned __int128)next_random(&st->random) * (2 * half + 1) >> 64);
}

u64 schedule_next(const struct schedule *s, struct schedule_state *st)
{
	st->in_short = st->shorts > 0;
	if (st->in_short) {
		st->shorts--;
		return jittered(s->period_short, s->jitter_short, st);
	}
	st->shorts = s->period_short ? s->batch_count : 0;
	return jittered(s->period_long, s->jitter_long, st);
}
