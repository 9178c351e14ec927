/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows while a recording runs: the tasks that come get counters, twins are armed and armed anew, bursts are let loose, and the
 * lengths that come of it are counted.
 *
 * A *place* is what has counters of its own: a task, or with whole CPUs a CPU. Each windowed group (a leader, and its twin) has
 * one state per place.
 */
#ifndef IO_WINDOW_RUN_H
#define IO_WINDOW_RUN_H

#include "base/map.h"
#include "base/vec.h"
#include "codec/evlist.h"
#include "io/event_set.h"
#include "io/flow.h"
#include "io/window_arm.h"
#include "io/window_plan.h"
#include "io/window_stats.h"
#include "io/workload.h"

struct window_group_run {
	u32 first, second; /* events; the same where there is no twin */
	u64 period, length;
	u32 burst;
	bool clock;
};

struct window_place {
	struct target_task task; /* -1: a CPU */
	s32 cpu;
	size_t on; /* index in each event's `on` */
	bool gone;
	u64 stepped_ms; /* when its task was stopped last */
};

struct window_state { /* of a group in a place */
	enum { WINDOW_OFF, WINDOW_ON, WINDOW_STOPPING, WINDOW_REFUSES } armed;
	bool ever;	      /* it was armed once */
	bool anew;	      /* it was throttled, or the distance is lost: arm again */
	u64 due_ms;	      /* when arming is tried (again); 0: nothing to do */
	u32 tries;	      /* that failed, in a row; */
	u32 waited;	      /* of these, those in which the task did not sleep, */
	u32 idle;	      /* and those since the last sample */
	bool known, first;    /* a sample came; it was the first leader's */
	u64 value;	      /* of the leader then */
	u64 since;	      /* of the leader, when it was armed: windows before do not tell of this distance */
	u32 wide;	      /* windows in a row that are far from what was asked */
	u32 corrections;      /* times that it was armed anew for that, */
	u32 fruitless;	      /* of these, the last in a row after which all were still far */
	u32 throttles;	      /* and because the kernel had held samples back */
	u32 wanted, burst_at; /* refresh: samples still to come, and how many of the burst came */
	u64 wanted_ms;	      /* since when */
};

struct window_run {
	enum window_how how; /* WINDOW_AUTO: no windows */
	struct event_set *set;
	struct evlist *events;
	const struct notify *notify;
	VEC(struct window_group_run) groups;
	VEC(struct window_place) places;
	VEC(struct window_state) states; /* groups.n per place */
	struct map by_id;		 /* a leader's id -> (place * groups.n + group) * 2 + is the twin */
	struct map tids;		 /* 1: the task has a place, or will have */
	VEC(struct target_task) born;	 /* that have none yet */
	struct flow_tap tap;
	struct window_stats *stats;
	u64 interval_ns; /* refresh: between bursts, */
	u64 random;	 /* and what their jitter is drawn from */
	int timer;	 /* -1: none */
	pid_t child;
	bool no_tracing; /* ptrace was refused */
	bool started, follows, told_forbidden, told_limit;
	u64 drift_ms; /* when a clock was last armed, or its windows seen far from what was asked */
	u32 missed;   /* tasks that had ended before they had counters */
	u32 rearmed;
};

struct window_summary {
	enum window_how how;		       /* WINDOW_AUTO: there were none to be had */
	u64 asked, windows, low, median, high; /* lengths: what was asked for; 5, 50 and 95 per cent of what came */
	bool clock;			       /* in nanoseconds */
	u32 places, unarmed, missed, rearmed;
	bool cpus; /* places are CPUs */
};

/* After the events are open and described. interval_ns: for refresh. ERR_IO, noted. */
int window_run_begin(struct window_run *w, enum window_how how, struct event_set *set, struct evlist *events,
		     u64 interval_ns, const struct notify *to);
/* The counters of the first place, for the command to switch on itself. */
void window_run_pairs(struct window_run *w, struct workload_pairs *out);
/* Counting begins: leaders are let loose. own: the first place was armed by the command. child: that
 * the recorder has, or -1. */
void window_run_start(struct window_run *w, bool own, pid_t child);
/*
 * After each pass over the rings: counters for new tasks, arming. late(ctx, ring) is called for rings that came, lost for what
 * tasks that have ended had lost.
 */
struct window_turn {
	void (*late)(void *ctx, u32 ring);
	void (*lost)(void *ctx, const struct opened *o, u64 lost);
	void *ctx;
};
void window_run_turn(struct window_run *w, const struct window_turn *turn);
/* The timer has called: bursts are due. */
void window_run_tick(struct window_run *w);
/* Milliseconds until something is to be done, at most `most`. */
int window_run_timeout(const struct window_run *w, int most);
void window_run_summary(const struct window_run *w, struct window_summary *out);
void window_run_end(struct window_run *w);

#endif
