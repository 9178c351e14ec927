/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Windows: what a group of counters counted between two of its samples in one thread.
 *
 * Each sample of a group that reads all its members ({..}:S) ends a window and begins the next. The counts of a window
 * belong to the code that ran in it; if it is short enough, that is one function. A recording may alternate long and
 * short windows (see codec/schedule.h): the short ones are measured, the long ones only keep the number of samples
 * low.
 *
 * Counters are identified by the id of the group's first member. If children of a process inherit its events, one id
 * stands for a set of counters per thread, so the thread is part of the identity.
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

/* Reasons why the counts of a window cannot be used, no matter where it began and ended. */
enum window_fault {
	WINDOW_SOUND,
	WINDOW_FIRST,	     /* its beginning is not known: it is the first sample of these counters */
	WINDOW_OTHER_THREAD, /* counters of a CPU, and the previous sample was in another thread */
	WINDOW_THROTTLED,    /* the kernel paused the sampling; members went on counting */
	WINDOW_LOST,	     /* records were lost in it */
	WINDOW_MULTIPLEXED,  /* the counters had no hardware for a part of it */
	WINDOW_BACKWARDS,    /* the value of a counter decreased */
	WINDOW_EMPTY,	     /* twins that had lost their distance: both samples came at once */
	WINDOW_PAUSED,	     /* the group was off for a part of it: before the first sample of a burst that is armed */
	NR_WINDOW_FAULTS
};

struct window {
	u32 group; /* in windows.groups */
	u32 slot;  /* which counters: numbered from 0 */
	u32 turn;  /* number of the sample in its slot, from 0 */
	u8 fault;  /* enum window_fault */
	bool is_short;
	u32 lost;   /* with WINDOW_LOST: the number of short windows that were lost in it: itself, or those between
		       missing samples */
	u64 length; /* the count of the sampling event; 0 if it is not known */
	u64 weight; /* weight of the sample: the same, or for the first sample the count since the counter was opened
		     */
	u32 nr;	    /* number of counts: one per member of the group; the others are not set */
	u64 counts[WINDOW_MEMBERS];
};

/* How short windows were made, as far as the recording says. */
enum window_mode {
	WINDOWS_PLAIN,	 /* one period all the time: every window counts */
	WINDOWS_TERMS,	 /* alternating periods, which the event's name states */
	WINDOWS_TWIN,	 /* two leaders with the same period, one following the other */
	WINDOWS_REFRESH, /* short periods, armed for a burst at a time */
	WINDOWS_SEEN,	 /* alternating, as the values show */
};

/* The events of one group read. */
struct window_group {
	u32 leader; /* the event whose samples end windows (of twins, the first) */
	u32 nr;
	u32 events[WINDOW_MEMBERS];  /* in the order of the values */
	u8 roles[WINDOW_MEMBERS];    /* enum event_role of each; NR_ROLES: none */
	u8 mode;		     /* enum window_mode */
	struct schedule schedule;    /* as the event's name states it; zeros where it does not */
	u64 short_max;		     /* longer windows are long ones */
	bool per_thread;	     /* one id stands for the counters of all threads */
	bool proven;		     /* values have proved per_thread */
	u64 usual_short, usual_long; /* lengths; 0: not known */
	/* The windows so far with known length and without losses, and their sums. */
	u64 nr_short, nr_long, sum_short, sum_long;
};

/* The index of this event among the members, and so among the values. ID_NONE: it is not a member. */
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
	/* The counters of the previous sample: most samples follow one of the same counters. last_id 0: none. */
	u64 last_id;
	u32 last_tid, last_slot;
	struct map first_ids; /* any member's id -> that of the first member */
	struct map last_threads;
	struct map throttles, losses; /* id, CPU -> how many */
	u32 all_throttles, all_losses, unknown_throttles, unknown_losses;
	enum event_machine machine; /* whose events they are; set before the first sample */
	bool settled;
};

static inline void window_copy(struct window *to, const struct window *from)
{
	memcpy(to, from, offsetof(struct window, counts) + from->nr * sizeof(u64));
}

/* Can samples of this event end windows? */
bool window_event(const struct event *e);

/* The window that this sample of `event` ends; false when it ends none. */
bool windows_take(struct windows *w, const struct evlist *l, u32 event, const struct sample *s, struct window *out);
/* Takes any other record: THROTTLE, UNTHROTTLE and LOST are used. */
void windows_note(struct windows *w, const struct evlist *l, const struct record *r);
/* Decides, from everything that was fed so far, which windows are short in each group; forgets all values. */
void windows_settle(struct windows *w, const struct evlist *l);
/* A second reader of the same recording, for the samples of other counters. It begins in the state in which
 * windows_settle left the first one; the first must not be fed anything in between. */
void windows_copy_settled(struct windows *to, const struct windows *from);
/* Adds to `to` what `from`, a copy of it, has learnt about groups, including groups that only `from` has seen. */
void windows_join(struct windows *to, const struct windows *from);
/* May different readers read samples of the same set of counters but of different threads? Not before values have
 * proved what the counters are (struct window_group). */
bool windows_proven(const struct windows *w);
void windows_free(struct windows *w);

/* Reads the terms in an event's name: period=, alt-period=, burst=, period-jitter=, alt-period-jitter=. False: there
 * is no alternating period. */
bool window_schedule_of(const char *name, struct schedule *out);

#endif
