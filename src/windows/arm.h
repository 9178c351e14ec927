/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins: two leaders of one event and one period P in one group, of which the second is switched on S counts after the
 * first. From then on the second overflows S counts after each overflow of the first, and the two samples enclose a
 * window of S. The kernel keeps what is left of each period over context switches, so the distance holds.
 *
 * Arming is switching both on at that distance. Who does it depends on what can be stopped:
 *
 *   here      whoever is counted does it: the command before its exec, or the recorder on a CPU whose counters they
 * are. It counts itself up to S: it watches clocks, and has a loop of the right length between the switches of
 *             hardware counters, which is exact where nothing disturbs it, and else good to a few counts.
 *   watched   the task runs elsewhere, and its counters are read until they show S. Good to a few microseconds, which
 * is enough for clocks. stepped   the task is stopped (ptrace) and goes on by single steps until its counter shows S.
 * Good to an instruction.
 *
 * The group's values are read with times (PERF_FORMAT_GROUP and both TOTAL_TIMEs), so that the leader's stands fourth.
 */
#ifndef WINDOWS_ARM_H
#define WINDOWS_ARM_H

#include <sys/types.h>

#include "base/types.h"

struct window_pair {
	int first, second;  /* descriptors of the two leaders */
	u64 period, length; /* P and S */
	bool clock;	    /* nanoseconds */
};

/* Twins that a command's process switches on itself, before its exec. */
#define WINDOW_PAIRS 16
struct window_pairs {
	u32 n;
	struct window_pair pair[WINDOW_PAIRS];
};

enum window_armed {
	WINDOW_ARMED,
	WINDOW_ASLEEP,	  /* the task sleeps: the first leader is on, and the twin as it was; try again later */
	WINDOW_WAITS,	  /* the same, but it would run if it had a CPU */
	WINDOW_CUT_SHORT, /* it ran, but not for a window's length: the first leader is on, the second is not */
	WINDOW_SEIZED,	  /* as asleep, and the task is to be stopped; it was not yet. Go on with window_arm_stepped */
	WINDOW_GONE,	  /* the task has ended */
	WINDOW_FORBIDDEN, /* as asleep; it must not be traced */
};

/* What the group's leader has counted. */
u64 window_count(int leader);
/* Is this length far from what was asked? Clocks are armed to a few microseconds, and drift; hardware counters that
 * count the kernel too never come close. */
bool window_is_wide(const struct window_pair *p, u64 length);
/* Async-signal-safe. Gives up after 10 ms of its own time, as when the group is not on the hardware. */
enum window_armed window_arm_here(const struct window_pair *p);
/* Several groups of ours, none of which is on yet: each is armed while the others are off, so that it is on the
 * hardware. */
void window_arm_all_here(const struct window_pair *p, u32 n);
/* Takes up to three windows' time. This and the next also arm anew what was armed. */
enum window_armed window_arm_watched(pid_t tid, const struct window_pair *p);
/* child: it is our own, and whoever waits for its end shall see it. seized: this returned WINDOW_SEIZED before. Takes
 * a few milliseconds, longer where others want the CPU as well. A SIGCHLD that it takes is sent anew, when it is
 * blocked. */
enum window_armed window_arm_stepped(pid_t tid, bool child, const struct window_pair *p, bool seized);

#endif
