/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sort keys: one row in sort_keys[] says of a key where its values come from, how they are ordered and how they read.
 *
 * A key of the sample has a value for each hit; hits whose values are the same, of all such keys in use, are one group
 * of the call tree. A key of the frame has a value for each frame, so that one sample counts in the rows of all that
 * its stack holds.
 */
#ifndef AGG_KEYS_H
#define AGG_KEYS_H

#include "agg/columns.h"
#include "attrib/hit.h"
#include "attrib/resolver.h"
#include "codec/features.h"
#include "state/procs.h"

#define KEY_NONE COLUMN_UNKNOWN /* the sample does not say */

/* What keys of the sample ask beside the hit. */
struct hit_keys {
	const struct features *features;
	u64 time_slice_ns, first_time; /* SORT_TIME: slices of that width, from then on */
	struct resolver *resolver;     /* of the worker */
	struct trace_keys *trace;      /* SORT_TRACE and fields; or NULL: they are not in use */
	u32 key;		       /* which one is asked for */
};

/* What keys of the frame ask beside the frame. Zeroed but for the profile; freed by frame_keys_free. */
struct frame_keys {
	struct profile *p;
	struct map by_dso;   /* short name's string id -> first DSO id */
	struct strtab names; /* of DSOs */
	struct map lines;    /* frame -> string id of its source line: of keys that have of_value */
};
void frame_keys_free(struct frame_keys *k);

struct sort_key_row {
	struct column column;
	bool full; /* of a field that only the whole sample has (hit.full) */
	/* One of these, but for SORT_PARENT, which stacks are put together anew for (agg/restack.h). */
	u64 (*of_hit)(const struct hit_keys *k, const struct hit *h, const struct thread_view *t);
	u32 (*of_frame)(struct frame_keys *k, const struct frame *f);
	/* With of_hit: what rows have in place of the hit's value, where to find that out for each hit would cost too
	 * much. NULL: the value as it is. */
	u64 (*of_value)(struct frame_keys *k, u64 value);
	int (*compare)(const struct profile *p, u64 x,
		       u64 y); /* of different values; NULL: the smaller number first */
};

extern const struct sort_key_row sort_keys[NR_SORT_KEYS];

/* key: below MAX_KEYS; all fields have one row. */
static inline const struct sort_key_row *sort_key_row(u32 key)
{
	return &sort_keys[MIN(key, (u32)SORT_FIELD)];
}

/* Those that are labelled with the name of a thread, which is in their groups, too. */
#define KEYS_NAMED (1ull << SORT_PID | 1ull << SORT_TID)

/* Is a value of it one of a frame? */
static inline bool key_is_frames(u32 key)
{
	return sort_key_row(key)->of_frame;
}

/* Has a branch values for it, and nothing else? */
static inline bool key_is_branch(u32 key)
{
	return key >= SORT_DSO_FROM && key <= SORT_CYCLES;
}

/* Settles what rows of p are split by: n of enum sort_key, in order. */
void profile_sort_by(struct profile *p, const u8 *order, u32 n);
/* Are values what tracepoints say? */
static inline bool key_is_trace(u32 key)
{
	return key >= SORT_TRACE;
}

/* Does a row's value of some key stand for several values of hits? */
bool profile_joins_values(const struct profile *p);

/* Does some key ask for hit.full? */
bool profile_wants_full(const struct profile *p);

/* Which thread name stands in a group's first word: a string id, or for a thread that no record named bit 31 and its
 * tid. */
#define COMM_UNNAMED (1u << 31)
u32 key_comm(const struct hit *h, const struct thread_view *t);

#endif
