/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waits: how long threads ran, were ready to run, and waited, for each activity that they worked for, and what they
 * waited for. It is made from what the scheduler says, event after event in the order of time: a thread stops to run,
 * somebody wakes it, it runs again.
 *
 * A thread that does not run keeps its activity, so a wait belongs to one activity for certain. While it runs it may
 * change its activity at any time, and only its samples tell for what it works. Time between two samples that say
 * different things belongs to both, in `unsure`.
 *
 * What was lost is never guessed. A stretch of time in which a record of its thread may be missing is `unknown`: it is
 * known whose it is, but not what the thread did.
 *
 * What is kept grows with the threads that live at the same time and with distinct places, not with the events.
 * Activities, places and wakers are numbers of the caller.
 */
#ifndef AGG_WAITS_H
#define AGG_WAITS_H

#include "base/map.h"
#include "base/set.h"
#include "base/vec.h"

#define WAIT_NOBODY UINT32_MAX	     /* an activity or a waker that is not known */
#define WAIT_HIDDEN (UINT32_MAX - 1) /* an activity that a filter leaves out */

/* What a thread does when it does not run. */
enum wait_state {
	WAIT_RUNNABLE, /* it has to let others run */
	WAIT_SLEEPING, /* until something happens; a signal ends that */
	WAIT_BLOCKED,  /* in an uninterruptible sleep: for a disk or a lock, as a rule */
	WAIT_STOPPED,  /* by a signal or a debugger */
	WAIT_ENDED,    /* it will not run again */
	NR_WAIT_STATES,
};

/*
 * Times in which records are missing: of one CPU, or of any. If a CPU goes from one thread to another, and on from a
 * third one, a switch is missing. Who was ready to run may have run then. Who slept has not, for somebody would have
 * had to wake him; and if that is missing, too, it shows as soon as he is seen to run.
 */
struct wait_loss {
	u64 from, to;
	u32 cpu;       /* or ANY_CPU */
	bool switches; /* only switches are missing */
};
struct wait_span {
	u64 from, to;
};
struct wait_spans { /* in order, and apart from each other */
	VEC(struct wait_span) v;
};
struct wait_losses {
	VEC(struct wait_loss) v;
	/* After wait_losses_seal: */
	struct wait_spans all;	       /* of any CPU */
	struct wait_spans any_records; /* those in which not only switches are missing */
	struct wait_spans no_cpu;      /* those of ANY_CPU */
	struct map cpu_at;	       /* CPU -> cpus */
	VEC(struct wait_spans) cpus;
};
#define ANY_CPU UINT32_MAX
void wait_losses_add(struct wait_losses *l, const struct wait_loss *loss);
void wait_losses_seal(struct wait_losses *l);
void wait_losses_free(struct wait_losses *l);
/* May the thread have run in that time, on any CPU, though no record says so? sleeps: it had to be woken first. */
bool wait_losses_touch(const struct wait_losses *l, u64 from, u64 to, bool sleeps);
/* May records of that CPU be missing in that time? */
bool wait_losses_touch_cpu(const struct wait_losses *l, u64 from, u64 to, u32 cpu);

/* All times are in ns. */
struct wait_sum {
	u32 activity;
	u64 running;
	u64 unsure; /* running, for this activity or for another */
	u64 runnable;
	u64 waiting[NR_WAIT_STATES]; /* of WAIT_SLEEPING, WAIT_BLOCKED and WAIT_STOPPED */
	u64 unknown;		     /* running, runnable or waiting */
	u64 waits, longest;	     /* number of waits, and the longest of them */
	u64 open;		     /* waits that had not ended when the recording did; they are among waits */
	u64 lost;		     /* times that went into unknown */
};

/* What one activity waited for. */
struct wait_place {
	u32 activity, place, waker;
	enum wait_state state;
	u64 waiting, waits, longest;
};

struct wait_thread {
	u32 tid, activity; /* the last that it said, or WAIT_NOBODY */
	bool switched;	   /* an event said that it ran, or did not */
	bool runs;
	bool torn;	       /* it has stopped since its last sample, and no event said so */
	u32 cpu;	       /* on which it runs */
	u64 since;	       /* it runs or does not run; running, since its last sample */
	enum wait_state state; /* if it does not run */
	u32 place, waker;      /* likewise */
	u64 woken;	       /* likewise; 0: not yet */
	u64 early;	       /* somebody woke it when it seemed to run, because it was about to stop; 0: nobody */
	u32 early_waker;
};

struct waits {
	const struct wait_losses *losses; /* sealed */
	VEC(struct wait_sum) sums;
	VEC(struct wait_place) places;
	u64 never_switched; /* threads with samples that no event said to run or not; after waits_end */
	/* Working state. */
	struct map sum_of; /* activity -> sums */
	struct set known_places;
	VEC(struct wait_thread) threads;
	struct map thread_of; /* tid -> threads; it may name another thread, when its own has ended */
	struct map leaving;   /* CPU -> the thread that stopped to run there last: it may still be seen there */
};

/* A thread stops to run on a CPU, another one begins. Thread 0 is none. */
struct wait_switch {
	u64 time;
	u32 cpu;
	u32 prev, next;
	u32 activity; /* of prev */
	enum wait_state state;
	u32 place; /* where prev waits */
};

/* In the order of time. */
/* A sample of a thread, whatever its event; it runs, or has just said that it stops. */
void waits_sample(struct waits *w, u64 time, u32 cpu, u32 tid, u32 activity);
void waits_switch(struct waits *w, const struct wait_switch *s);
void waits_waking(struct waits *w, u64 time, u32 tid, u32 waker);
/* The recording ends. Sums and places are sorted then: those that waited longest first. */
void waits_end(struct waits *w, u64 time);
void waits_free(struct waits *w);

static inline u64 wait_sum_waiting(const struct wait_sum *s)
{
	return s->waiting[WAIT_SLEEPING] + s->waiting[WAIT_BLOCKED] + s->waiting[WAIT_STOPPED];
}

#endif
