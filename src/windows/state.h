/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which windows are armed, and when arming is tried (again): the state of each group with windows (a leader, and its
 * twin) in each place, and the decisions from it. A *place* has its own counters: it is a task, or, when whole CPUs
 * are recorded, a CPU.
 *
 * Pure: nothing is opened or armed here, and the clock is not read. windows/run.c reports the samples and the results
 * of arming.
 */
#ifndef WINDOWS_STATE_H
#define WINDOWS_STATE_H

#include "base/vec.h"
#include "open/target.h"
#include "windows/arm.h"
#include "windows/opts.h"

struct window_group_run {
	u32 first, second; /* events; the same where there is no twin */
	u64 period, length;
	u64 short_max; /* the longest period that makes a window */
	u64 jitter;    /* bursts: of a burst's length */
	u32 burst;
	bool clock;
};

struct window_place {
	struct target_task task; /* -1: a CPU */
	s32 cpu;
	size_t on; /* index in each event's `on` */
	bool gone;
	u64 stepped_ms; /* when its task was last stopped */
};

struct window_state { /* of a group in a place */
	enum { WINDOW_OFF, WINDOW_ON, WINDOW_STOPPING, WINDOW_REFUSES } armed;
	bool ever;	   /* it has been armed at least once */
	bool anew;	   /* it was throttled, or the distance is lost: arm again */
	u64 due_ms;	   /* when arming is tried (again); 0: nothing to do */
	u32 tries;	   /* that failed, in a row; */
	u32 waited;	   /* of these, those in which the task did not sleep, */
	u32 idle;	   /* and those since the last sample */
	bool known, first; /* a sample came; it was the first leader's */
	u64 value;	   /* of the leader then */
	u64 since;	   /* the leader's count when it was armed: earlier windows say nothing about this distance */
	u32 wide;	   /* number of windows in a row whose length is far from the wanted one */
	u32 corrections;   /* number of times that it was armed again because of that, */
	u32 fruitless; /* of these, the number of the last ones in a row after which all windows were still far from it
			*/
	u32 throttles; /* and because of throttling */
	u32 wanted, burst_at; /* refresh: samples still to come, and how many of the burst came */
	u64 wanted_ms;	      /* since when */
};

struct window_states { /* of a recording */
	enum window_how how;
	VEC(struct window_group_run) groups;
	VEC(struct window_place) places;
	VEC(struct window_state) of; /* groups.n per place */
	bool no_tracing;	     /* ptrace was refused */
	u64 drift_ms; /* when a clock was last armed, ran unarmed, or had two windows in a row far from what was asked
		       */
	u32 rearmed;
};

static inline struct window_state *window_states_at(const struct window_states *t, size_t place, size_t group)
{
	return &t->of.v[place * t->groups.n + group];
}

void window_states_add(struct window_states *t, const struct window_place *p);
/* The leaders of the place count from now on; armed: they are armed as twins already. */
void window_states_start(struct window_states *t, size_t place, bool armed, u64 now_ms);
void window_states_free(struct window_states *t);

/* A sample of one of the two leaders came, when the first had counted `value`. Does it end a window, and of what
 * length? */
bool window_states_sample(struct window_states *t, size_t state, bool twin, u64 value, u64 now_ms, u64 *length);
/* The kernel held samples back. */
void window_states_throttle(struct window_states *t, size_t state, u64 now_ms);

/* The state to be armed now: what has been due for longest; or none, of.n. */
size_t window_states_next(const struct window_states *t, u64 now_ms);
/* May it be armed, or does another group of its place wait for the task to stop? That is for one at a time. */
bool window_states_may_arm(const struct window_states *t, size_t place, size_t group);
/* Is its task not to be stopped this time? */
bool window_states_only_watch(const struct window_states *t, size_t place, size_t group, u64 now_ms);
/* What came of arming, WINDOW_ASLEEP where it might not be; count: of the first leader, when it is armed. */
void window_states_settle(struct window_states *t, size_t place, size_t group, enum window_armed armed, u64 count,
			  u64 now_ms);
/* Milliseconds until something is to be done, at most `most`. */
int window_states_timeout(const struct window_states *t, int most, u64 now_ms);

/* Bursts: how many samples are to be let loose now; 0: those of before still come. */
u32 window_state_burst(struct window_state *s, const struct window_group_run *g, u64 now_ms);

#endif
