/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Timelines: which activity each thread worked for, and when, as the records of a recording say (codec/activity.h).
 *
 * An activity is known by its number; equal ones of one process have one number. A process that calls exec is another
 * one, and so is the next one with its id. To an activity belongs what its process published when the thread said it:
 * names of attributes are good for that time only. What is kept points into the recording, and is smaller than the
 * records that say it; so are the records that are made of labels (state/labels.h).
 */
#ifndef STATE_TIMELINES_H
#define STATE_TIMELINES_H

#include "base/arena.h"
#include "base/map.h"
#include "base/set.h"
#include "base/vec.h"
#include "codec/activity.h"
#include "state/labels.h"

struct activity {
	u32 pid;
	enum activity_status status;
	u64 image;		       /* of the process (struct activity_record) */
	struct str record;	       /* ACTIVITY_KNOWN, ACTIVITY_BARE: the thread's record; else empty */
	struct str payload;	       /* what the process publishes; empty: nothing */
	const struct label_keys *keys; /* the names of its attributes, if its program has labels; else NULL */
};

struct timeline_entry {
	u64 time;     /* from then on */
	u32 activity; /* in noted, ID_NONE: unknown; and from timelines_seal on in all */
	u32 order;    /* of two with the same time the later one holds */
};

struct timeline {
	VEC(struct timeline_entry) v;
	bool sorted;
};

/* What a process publishes from then on. */
struct publication {
	u32 pid, order;
	u64 image, time;
	struct str payload;
};

struct timelines {
	VEC(struct activity) all;
	struct set known; /* of all, by what they are */
	VEC(struct timeline) threads;
	struct map by_id; /* pid << 32 | tid -> threads: who speaks of a process says nothing of others */
	VEC(struct publication) published;
	VEC(struct activity) noted; /* without payloads, until timelines_seal; */
	struct set known_noted;
	struct labels labels;
	struct arena made;	  /* records made of labels */
	u64 broken;		  /* records that make no sense */
	u64 overwritten, refused; /* entries of journals, of which records tell */
};

void timelines_free(struct timelines *t);
/* time: of the sample that carries the raw data, which are at raw. */
void timelines_add(struct timelines *t, u32 pid, u32 tid, u64 time, struct cursor raw);
/* The thread begins, or its process calls exec: what was said of it until then is over. */
void timelines_begin(struct timelines *t, u32 pid, u32 tid, u64 time);
/* Call it after the last one: only then there are numbers, and all is read-only. */
void timelines_seal(struct timelines *t);

/* The number of the activity for which the thread worked then; TIMELINE_UNKNOWN: no record says. */
#define TIMELINE_UNKNOWN 0
u32 timelines_at(const struct timelines *t, u32 pid, u32 tid, u64 time);
/* What its process publishes; with the names that its attributes have. */
void activity_process_of(const struct activity *a, struct activity_process *out);
/* The value of an attribute, by its name in what the process publishes. */
bool activity_attribute_named(const struct activity *a, const char *name, struct str *value);
/* Does any process have an attribute of that name? */
bool timelines_has_attribute(const struct timelines *t, const char *name);

#endif
