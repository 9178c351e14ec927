/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The events of a recording as they are opened: what was asked for (event_spec), what the kernel is told (attr), and
 * the resulting file descriptors and rings.
 */
#ifndef OPEN_SET_H
#define OPEN_SET_H

#include "events/spec.h"
#include "open/attr_opts.h"
#include "open/ring_opts.h"
#include "open/target.h"
#include "sys/aux_area.h"

struct opened { /* one event on one CPU and task */
	int fd;
	s32 cpu;
	struct target_task task;
	u64 id;
	u64 lost; /* what event_set_lost has reported so far */
	u32 ring; /* index of the ring that its records go to */
};

struct open_event {
	struct attr attr;
	struct schedule schedule; /* that of the spec, after attr has got its period or frequency; all 0: one period,
				     or one frequency */
	char *name;		  /* owned */
	const struct event_spec *spec; /* NULL for the event that only follows mmaps, comms and forks */
	u32 leader;		       /* index of the group's leader; its own when alone */
	s32 cgroup;		       /* index in target.cgroups, or -1 */
	bool tracking;		       /* carries the side-band */
	bool activity;		       /* takes what the BPF program writes; follows no task */
	bool once;		       /* opened in one place only: just its id is needed */
	bool everywhere;       /* opened on all CPUs, whatever -C says, because mappings are also made on other CPUs */
	bool native;	       /* the kernel itself runs the schedule */
	bool unwound;	       /* the recorder makes call chains of its samples' stacks: event_recorded_attr */
	bool off;	       /* by event_set_switch; others are off for a while when an AUX area is full */
	VEC(struct opened) on; /* by CPU, then by task */
};

struct watched_ring {
	struct ring ring;
	struct aux_area aux; /* where an event has one */
	VEC(int) fds;	     /* the descriptors that write into it */
	size_t live;	     /* index in fds of the one that is polled; fds.n: all have hung up */
};

struct event_set {
	VEC(struct open_event) events;
	VEC(struct watched_ring) rings;
	bool system_wide, others; /* others: tasks that the user named */
	bool by_task;	       /* each task has its own counters and ring (except for the event that follows mmaps) */
	bool overwrites;       /* some events have rings that the kernel overwrites */
	bool aux;	       /* some event writes into an AUX area */
	bool aux_overwritten;  /* which is never full */
	bool follows;	       /* and new tasks get theirs, too: event_set_add_task */
	u32 ring_pages;	       /* what was mapped, per ring; */
	u32 overwritten_pages; /* the same for rings that the kernel overwrites, which are not larger */
	u32 aux_pages;	       /* and of AUX areas */
};

#define EVENT_SET_NOWHERE SIZE_MAX

/*
 * Makes the attrs: one event per spec (per spec and cgroup), and a tracking event if one is needed. The specs must
 * outlive the set. ERR_USAGE, ERR_UNSUPPORTED (noted).
 */
int event_set_configure(struct event_set *set, const struct event_specs *specs, const struct attr_opts *o,
			const struct target *t, bool has_workload, const struct notify *to);

/* The attr that describes the event's samples in the recording. It is the kernel's, but samples whose stacks are
 * unwound have a call chain there instead of registers and a copy of the stack. */
struct attr event_recorded_attr(const struct open_event *e);

/*
 * Opens all events on the target, asking for less if this kernel or this user's permissions make it necessary
 * (open/retry.h), and maps the rings. Tasks that have ended meanwhile are left out; ERR_NOTFOUND if none is left.
 */
int event_set_open(struct event_set *set, const struct target *t, const struct ring_opts *sizes,
		   const struct notify *to);

/*
 * With by_task: opens all events on one more task, with a ring. Returns the index of its descriptors in each event's
 * `on` (except the tracking event's), or EVENT_SET_NOWHERE if it has ended already, or cannot be counted (errno).
 */
size_t event_set_add_task(struct event_set *set, struct target_task task, u32 pages);
/* Closes the descriptors of a task; its ids stay. fn: as in event_set_lost. */
void event_set_drop_task(struct event_set *set, size_t on, void (*fn)(void *ctx, const struct opened *o, u64 lost),
			 void *ctx);
/* Raises the limit of open files as far as this user may. */
void event_set_raise_files(void);

/* Events with AUX areas stop, and what they have written can be read. */
void event_set_pause_aux(const struct event_set *set);
/* Events with AUX areas in that ring go on: the kernel switches them off when they have no room. Not those that
 * event_set_switch has switched off. */
void event_set_resume(const struct event_set *set, u32 ring);
/* All; with on, except those that event_set_switch has switched off. */
void event_set_enable(const struct event_set *set, bool on);
/* The events that were asked for or, if name is not NULL, those with this name. False: there is none. */
bool event_set_switch(struct event_set *set, const char *name, bool on);
/* The event that only follows mmaps, comms and forks, if there is one. */
void event_set_follow(const struct event_set *set);
/* The records that the kernel has dropped for lack of space since the last call, by PERF_FORMAT_LOST; calls fn for
 * each id that lost some. */
void event_set_lost(struct event_set *set, void (*fn)(void *ctx, const struct opened *o, u64 lost), void *ctx);
void event_set_close(struct event_set *set); /* descriptors and rings */
void event_set_free(struct event_set *set);

#endif
