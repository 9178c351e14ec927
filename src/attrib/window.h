/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: what a group of counters counted between two of its samples in one thread.
 *
 * Each sample of a group that reads all its members ({..}:S) ends a window and begins the next. The counts of a window
 * belong to the code that ran in it; when it is short enough, that is one function. A recording may alternate long and
 * short windows (see codec/schedule.h): the short ones are measured, the long ones only keep the number of samples
 * low.
 *
 * Counters are known by the id of the group's first member. Where children of a process inherit its events, one id
 * stands for a set of counters per thread, so the thread belongs to what they are known by.
 *
 * Use: feed the first samples (in file order, as those of one counter come from one ring), windows_settle, feed all
 * records again from the beginning.
 */
#ifndef ATTRIB_WINDOW_H
#define ATTRIB_WINDOW_H

#include <stddef.h>
#include <string.h>

#include "base/map.h"
#include "codec/event_role.h"
#include "codec/evlist.h"
#include "codec/schedule.h"

#define WINDOW_MEMBERS 32 /* larger groups have no windows */

/* Why the counts of a window cannot be used, wherever it began and ended. */
enum window_fault {
	WINDOW_SOUND,
	WINDOW_FIRST,	     /* where it began is not known: the first sample of these counters */
	WINDOW_OTHER_THREAD, /* counters of a CPU, and the sample before was another thread's */
	WINDOW_THROTTLED,    /* the kernel paused the sampling; members went on counting */
	WINDOW_LOST,	     /* records were lost in it */
	WINDOW_MULTIPLEXED,  /* the counters had no hardware for a part of it */
	WINDOW_BACKWARDS,    /* a counter's value fell */
	WINDOW_EMPTY,	     /* twins that had lost their distance: both samples at once */
	WINDOW_PAUSED,	     /* the group was off for a part of it: before the first sample of a burst that is armed */
	NR_WINDOW_FAULTS
};

struct window {
	u32 group; /* in windows.groups */
	u32 slot;  /* which counters: dense, from 0 */
	u32 turn;  /* of the slot's samples, from 0; one more with each */
	u8 fault;  /* enum window_fault */
	bool is_short;
	u32 lost;   /* of WINDOW_LOST: short windows that are lost in it, itself or between samples that are missing */
	u64 length; /* what the sampling event counted; 0 when not known */
	u64 weight; /* of the sample: the same, or for the first what was counted since the counter was opened */
	u32 nr;	    /* counts: of the group's members; the others are not set */
	u64 counts[WINDOW_MEMBERS];
};

/* How short windows were made, as far as the recording says. */
enum window_mode {
	WINDOWS_PLAIN,	 /* one period all the time: each window counts */
	WINDOWS_TERMS,	 /* alternating periods, that the event's name states */
	WINDOWS_TWIN,	 /* two leaders of one period, one behind the other */
	WINDOWS_REFRESH, /* short periods, armed for a burst at a time */
	WINDOWS_SEEN,	 /* alternating, as the values show */
};

/* The events of one group read. */
struct window_group {
	u32 leader; /* whose samples end windows (of twins: the first) */
	u32 nr;
	u32 events[WINDOW_MEMBERS];  /* in the order of the values */
	u8 roles[WINDOW_MEMBERS];    /* enum event_role of each; NR_ROLES: none */
	u8 mode;		     /* enum window_mode */
	struct schedule schedule;    /* as the event's name states it; zeros where it does not */
	u64 short_max;		     /* longer windows are long ones */
	bool per_thread;	     /* one id stands for counters of each thread */
	bool proven;		     /* values have shown that it is so */
	u64 usual_short, usual_long; /* lengths; 0: not known */
	/* What was fed: windows of known length in which nothing was lost, and their sums. */
	u64 nr_short, nr_long, sum_short, sum_long;
};

/* Which member that event is: how far it is in the values. ID_NONE: none. */
static inline u32 window_member_of(const struct window_group *g, u32 event)
{
	for (u32 i = 0; i < g->nr; i++)
		if (g->events[i] == event)
			return i;
	return ID_NONE;
}

struct window_slot;

struct windows {
	VEC(struct window_group) groups;
	struct map by_event;  /* of a group's first member -> group */
	struct map by_leader; /* likewise of its leader: an event leads one group */
	VEC(struct window_slot) slots;
	VEC(u64) values; /* last ones of each slot */
	struct map by_counters;
	/* The counters of the sample before: most samples follow one of the same. last_id 0: none. */
	u64 last_id;
	u32 last_tid, last_slot;
	struct map first_ids; /* any member's id -> that of the first member */
	struct map last_threads;
	struct map throttles, losses; /* id, CPU -> how many */
	u32 all_throttles, all_losses, unknown_throttles, unknown_losses;
	bool arm; /* raw event numbers are Arm's; set before the first sample */
	bool settled;
};

static inline void window_copy(struct window *to, const struct window *from)
{
	memcpy(to, from, offsetof(struct window, counts) + from->nr * sizeof(u64));
}

/* Might samples of this event end windows? */
bool window_event(const struct event *e);

/* The window that this sample of `event` ends; false when it ends none. */
bool windows_take(struct windows *w, const struct evlist *l, u32 event, const struct sample *s, struct window *out);
/* Any other record: THROTTLE, UNTHROTTLE and LOST matter. */
void windows_note(struct windows *w, const struct evlist *l, const struct record *r);
/* Decides, by what was fed so far, what is short in each group; forgets all values. */
void windows_settle(struct windows *w, const struct evlist *l);
/* A second reader of the same recording, which is fed the samples of other counters. It begins as windows_settle left
 * the first one, which has to be fed nothing meanwhile. */
void windows_copy_settled(struct windows *to, const struct windows *from);
/* Adds what `from`, a copy of `to`, was fed to what is known of groups; groups that it alone has seen come along. */
void windows_join(struct windows *to, const struct windows *from);
/* May samples of one set of counters, but of different threads, be read by different readers? Not before values have
 * shown what the counters are (struct window_group). */
bool windows_proven(const struct windows *w);
void windows_free(struct windows *w);

/* What the terms in an event's name say: period=, alt-period=, burst=, period-jitter=, alt-period-jitter=. False: no
 * alternating period. */
bool window_schedule_of(const char *name, struct schedule *out);

#endif
