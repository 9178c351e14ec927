/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Schedule: the sequence of lengths of a sampling event's periods.
 *
 * Plain: the same period again and again. Alternating: one long period, then a batch of short ones, so that windows
 * short enough to belong to one function are cut out at the cost of ordinary sampling. The names are those of the
 * kernel's review (period_long, period_short, period_jitter, batch_count).
 */
#ifndef CODEC_SCHEDULE_H
#define CODEC_SCHEDULE_H

#include "base/types.h"

/* How short windows are made, the best way first. */
enum window_how {
	WINDOW_AUTO, /* in the options: the best that works */
	WINDOW_SIM,
	WINDOW_NATIVE,	/* the kernel alternates periods */
	WINDOW_TWIN,	/* two leaders with the same period, the second switched on one window later */
	WINDOW_REFRESH, /* a short period, enabled for one burst at a time */
	WINDOW_PLAIN,	/* a short period all the time */
	NR_WINDOW_HOWS
};
extern const char *const window_how_names[NR_WINDOW_HOWS];

/* A jitter as wide as the period: each period is drawn from 0.5 to 1.5 times its length, even if a frequency changes
 * the length all the time. */
#define SCHEDULE_JITTER_FULL UINT64_MAX

struct schedule {
	u64 period_long;
	u64 period_short; /* 0: plain, each period is period_long */
	u32 batch_count;  /* short periods after each long one; 1 and up when period_short is set */
	/* Lengths: a period p is drawn uniformly from p - jitter/2 .. p + jitter/2 (rounded down); less than 2 p - 1.
	 */
	u64 jitter_long, jitter_short;
};

struct schedule_state {
	u64 random;    /* the generator's state; seeded by schedule_start */
	u32 shorts;    /* short periods still to come in this batch */
	bool in_short; /* the period that runs now is a short one */
};

/* NULL if the schedule is valid, else what is wrong with it, in words. */
const char *schedule_check(const struct schedule *s);
/* The sum of the long and the short periods of one turn, to which an event's rate refers. */
u64 schedule_whole(const struct schedule *s);
void schedule_start(struct schedule_state *st, u64 seed);
/* How wide a jitter is around a period of that length; SCHEDULE_JITTER_FULL: as wide as the period. */
u64 schedule_width(u64 jitter, u64 period);
/*
 * The longest period, or window, that is still a short one: half way between the longest short and the shortest long
 * one that jitter draws. Where a frequency decides on the long one (period_long is 0), four times the short one and
 * its jitter.
 */
u64 schedule_short_max(const struct schedule *s);
/* A length around that of the period, which is at least 1. Never 0, also where a frequency has made the period shorter
 * than its jitter. random: a generator's state (base/random.h). */
u64 schedule_draw(u64 period, u64 jitter, u64 *random);
/* The length of the next period: the first one is long. Never 0. */
u64 schedule_next(const struct schedule *s, struct schedule_state *st);

#endif
