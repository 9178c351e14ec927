/* SPDX-License-Identifier: Apache-2.0 */
/* The events of one recording: their attrs, ids, names and groups, and which of them a record belongs to. */
#ifndef CODEC_EVLIST_H
#define CODEC_EVLIST_H

#include "base/err.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/record.h"
#include "codec/sample.h"

struct event {
	struct attr attr;
	struct sample_layout layout;
	struct trailer_layout trailer;
	bool silent;	  /* it has no samples: a dummy, or an event that fills AUX data */
	bool counted;	  /* its samples are operations of AUX data that an event of the PMU, whose attr it has, would
			     have counted: one of attr.sample_period (attrib/spe_counted.h) */
	bool activity;	  /* its samples are no samples of anything, but records about threads (codec/activity.h) */
	bool unsupported; /* its samples cannot be decoded: counted, not read */
	char *name;	  /* as perf prints it; "cpu-clock:ppp". Owned by the evlist */
	char *unit;	  /* or NULL */
	VEC(u64) ids;
	u32 leader;	   /* index of the group's leader; its own when alone */
	u32 group_members; /* for a leader: how many events the group has, including itself; 1 if it is alone */
	char *group_name;  /* or NULL */
};

struct evlist {
	VEC(struct event) events;
	struct map by_id; /* the key is the id itself, and the value the event's index */
	/* The same for a sealed list whose ids are consecutive, as the kernel numbers them: id - first_id -> index, or
	 * ID_NONE. */
	VEC(u32) near;
	u64 first_id;
	struct trailer_layout trailer; /* common to all events, unless trailers_differ */
	bool trailers_differ;	       /* then the trailer of each record is found by its id: evlist_trailer */
	bool has_time;		       /* every event has sample_id_all (or none needs it) and PERF_SAMPLE_TIME */
	s32 id_offset, id_trailer; /* where records carry the event id; as in sample_layout; agreed by all events */
};

/* Takes a copy of name. Returns the new event's index. Notes an error for an attr with unknown bits and marks it
 * unsupported. */
u32 evlist_add(struct evlist *l, const struct attr *a, const char *name, const struct notify *to);
/* Gives the event the name that it has in the recording. Names are shown on each line, padded to the longest, so a
 * name of more than EVENT_NAME_MAX bytes is cut. */
#define EVENT_NAME_MAX 1024
void evlist_rename(struct evlist *l, u32 event, struct str name);
void evlist_add_id(struct evlist *l, u32 event, u64 id);
/* Determines trailer, has_time and the positions of ids once all events are in the list. ERR_FORMAT if events disagree
 * on the positions of their ids. */
int evlist_seal(struct evlist *l, const struct notify *to, const char *file);
void evlist_free(struct evlist *l);

/* The event with that id, or ID_NONE. */
static inline u32 evlist_of_id(const struct evlist *l, u64 id)
{
	return l->near.n ? (id - l->first_id < l->near.n ? l->near.v[id - l->first_id] : ID_NONE) :
			   map_get(&l->by_id, id);
}

/*
 * Finds the event to which this record (header included) belongs: the only event if there is one, else by id. ID_NONE
 * if the id is unknown (id 0 belongs to the first event, as in perf).
 */
u32 evlist_find(const struct evlist *l, const u8 *record, u16 size, bool is_sample, bool swap);

/* The layout of this record's id trailer (header included), which depends on its event. */
const struct trailer_layout *evlist_trailer(const struct evlist *l, const u8 *record, u16 size, bool swap);

/* The name that perf gives to an attr without a recorded name: "cycles", "cpu-clock:u", "raw 0x1c2", ... Caller
 * frees. */
char *attr_name(const struct attr *a);

#endif
