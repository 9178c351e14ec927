/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Twins: two leaders of the same event, with the same period P, in one group, of which the second is switched on S
 * counts after the first. From then on the second overflows S counts after each overflow of the first, and the two
 * samples enclose a window of S. The kernel saves the rest of each period across context switches, so the distance
 * stays the same.
 *
 * Arming means to switch both on at that distance. There are three ways, depending on what can be stopped:
 *
 * - here: whoever is counted does it, the command before its exec, or the recorder on a CPU whose counters they
 *   are. It counts itself up to S: it watches clocks, and has a loop of the right length between the switches of
 *   hardware counters, which is exact where nothing disturbs it, and else good to a few counts.
 * - watched: the task runs elsewhere, and its counters are read until they show S. This is good to a few microseconds,
 *   which is enough for clocks.
 * - stepped: the task is stopped (ptrace) and goes on by single steps until its counter shows S. This is good to an
 *   instruction.
 *
 * The group's values are read with times (PERF_FORMAT_GROUP and both TOTAL_TIMEs), so the leader's value is the fourth
 * word.
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

/* Twins that a command's process switches on by itself, before its exec. */
#define WINDOW_PAIRS 16
struct window_pairs {
	u32 n;
	struct window_pair pair[WINDOW_PAIRS];
};

enum window_armed {
	WINDOW_ARMED,
	WINDOW_ASLEEP,	  /* the task sleeps: the first leader is on, and the twin is unchanged; try again later */
	WINDOW_WAITS,	  /* the same, but it would run if it had a CPU */
	WINDOW_CUT_SHORT, /* it ran, but not for a window's length: the first leader is on, the second is not */
	WINDOW_SEIZED,	  /* as asleep, and the task will be stopped, but has not stopped yet. Continue with
			     window_arm_stepped */
	WINDOW_GONE,	  /* the task has ended */
	WINDOW_FORBIDDEN, /* as asleep; the task must not be traced */
};

/* The count of the group's leader. */
u64 window_count(int leader);
/* Is this length far from the wanted one? Clocks are armed with an error of a few microseconds, and drift; hardware
 * counters that also count the kernel never come close. */
bool window_is_wide(const struct window_pair *p, u64 length);
/* Async-signal-safe. Gives up after 10 ms of its own time, for instance if the group is not on the hardware. */
enum window_armed window_arm_here(const struct window_pair *p);
/* Arms several groups of ours, none of which is on yet: each is armed while the others are off, so that it is on the
 * hardware. */
void window_arm_all_here(const struct window_pair *p, u32 n);
/* Takes up to the time of three windows. This function and the next can also arm twins again. */
enum window_armed window_arm_watched(pid_t tid, const struct window_pair *p);
/* child: the task is our own child, and the code that waits for its end still has to see it. seized: this function
 * returned WINDOW_SEIZED before. Takes a few milliseconds, or longer if others want the same CPU. If SIGCHLD is
 * blocked, one that this function consumes is sent again. */
enum window_armed window_arm_stepped(pid_t tid, bool child, const struct window_pair *p, bool seized);
/* Lets a task go for which that returned WINDOW_SEIZED, at the end of the recording, and waits for it until until_ns
 * (clock_ns). False: it is in a system call that cannot be interrupted, and may get the SIGTRAP of a step behind it.
 */
bool window_let_go(pid_t tid, bool child, u64 until_ns);

#endif
