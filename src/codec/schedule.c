/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/schedule.h"

#include "base/random.h"

const char *const window_how_names[NR_WINDOW_HOWS] = {
	[WINDOW_AUTO] = "auto", [WINDOW_SIM] = "sim",	      [WINDOW_NATIVE] = "native",
	[WINDOW_TWIN] = "twin", [WINDOW_REFRESH] = "refresh", [WINDOW_PLAIN] = "plain",
};

const char *schedule_check(const struct schedule *s)
{
	if (!s->period_long)
		return "the period is 0";
	if (s->jitter_long != SCHEDULE_JITTER_FULL && s->jitter_long / 2 >= s->period_long)
		return "the jitter of the long period is not less than twice that period";
	if (!s->period_short)
		return s->batch_count || s->jitter_short ? "a burst needs a short period" :
		       s->period_long > INT64_MAX	 ? "the period is over 2^63" :
							   NULL;
	if (!s->batch_count)
		return "a short period needs a burst of at least 1";
	if (s->jitter_short / 2 >= s->period_short)
		return "the jitter of the short period is not less than twice that period";
	if (s->period_long > INT64_MAX || s->period_short > (INT64_MAX - s->period_long) / s->batch_count)
		return "long and short periods together are over 2^63";
	return NULL;
}

u64 schedule_whole(const struct schedule *s)
{
	return s->period_long + (s->period_short ? s->period_short * s->batch_count : 0);
}

u64 schedule_width(u64 jitter, u64 period)
{
	return jitter == SCHEDULE_JITTER_FULL ? period : jitter;
}

u64 schedule_short_max(const struct schedule *s)
{
	u64 width = schedule_width(s->jitter_long, s->period_long);

	if (!s->period_long)
		return 4 * s->period_short + s->jitter_short;
	return (s->period_long - MIN(width / 2, s->period_long) + s->period_short + s->jitter_short / 2) / 2;
}

void schedule_start(struct schedule_state *st, u64 seed)
{
	*st = (struct schedule_state){ .random = seed };
}

u64 schedule_draw(u64 period, u64 jitter, u64 *random)
{
	u64 half = MIN(schedule_width(jitter, period) / 2, period - 1);

	return half ? period - half + random_below(random, 2 * half + 1) : period;
}

u64 schedule_next(const struct schedule *s, struct schedule_state *st)
{
	st->in_short = st->shorts > 0;
	if (st->in_short) {
		st->shorts--;
		return schedule_draw(s->period_short, s->jitter_short, &st->random);
	}
	st->shorts = s->period_short ? s->batch_count : 0;
	return schedule_draw(s->period_long, s->jitter_long, &st->random);
}
