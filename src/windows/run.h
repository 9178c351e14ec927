/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows while a recording runs: new tasks get counters, twins are armed and armed again, bursts are enabled, and the
 * resulting lengths are counted.
 */
#ifndef WINDOWS_RUN_H
#define WINDOWS_RUN_H

#include "base/map.h"
#include "base/vec.h"
#include "codec/evlist.h"
#include "open/set.h"
#include "windows/plan.h"
#include "windows/state.h"
#include "windows/stats.h"
#include "windows/tap.h"

struct window_run {
	struct window_states states; /* how: WINDOW_AUTO, no windows */
	struct event_set *set;
	struct evlist *events;
	const struct notify *notify;
	struct map by_id;	      /* a leader's id -> state * 2 + is the twin */
	struct map tids;	      /* 1: the task has a place, or will have */
	VEC(struct target_task) born; /* that have none yet */
	struct flow_tap tap;
	struct window_stats *stats;
	u64 interval_ns; /* refresh: between bursts, */
	u64 random;	 /* and what their jitter is drawn from */
	int timer;	 /* -1: none */
	pid_t child;
	bool started, follows, told_forbidden, told_limit;
	u32 missed; /* tasks that had ended before they had counters */
};

struct window_summary {
	enum window_how how; /* WINDOW_AUTO: there were no windows */
	u64 asked, windows, low, median,
		high; /* lengths: the wanted one; the number of windows; the 5, 50 and 95 per cent quantiles */
	bool clock;   /* in nanoseconds */
	u32 places, unarmed, missed, rearmed;
	bool cpus; /* places are CPUs */
};

/* Call it after the events are open and described. interval_ns: for refresh. ERR_IO, noted. */
int window_run_begin(struct window_run *w, enum window_how how, struct event_set *set, struct evlist *events,
		     u64 interval_ns, const struct notify *to);
/* The counters of the first place, which the command switches on itself. */
void window_run_pairs(struct window_run *w, struct window_pairs *out);
/* Counting begins: leaders are enabled. own: the first place was armed by the command. child: the recorder's child, or
 * -1. */
void window_run_start(struct window_run *w, bool own, pid_t child);
/*
 * Call it after each pass over the rings: it opens counters for new tasks, and arms. late(ctx, ring) is called for new
 * rings, and lost for records that ended tasks had lost.
 */
struct window_turn {
	void (*late)(void *ctx, u32 ring);
	void (*lost)(void *ctx, const struct opened *o, u64 lost);
	void *ctx;
};
void window_run_turn(struct window_run *w, const struct window_turn *turn);
/* The timer has fired: bursts are due. */
void window_run_tick(struct window_run *w);
/* Milliseconds until something has to be done, at most `most`. */
int window_run_timeout(const struct window_run *w, int most);
void window_run_summary(const struct window_run *w, struct window_summary *out);
/* Nothing is armed any more: whoever was about to be stopped for it goes on without. */
void window_run_let_go(struct window_run *w);
void window_run_end(struct window_run *w);

#endif
