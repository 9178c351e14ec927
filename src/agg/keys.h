/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sort keys: the row of a key in sort_keys[] says where its values come from, how they are ordered and how they are
 * shown.
 *
 * A key of the sample has a value for each hit; hits with the same values of all such keys in use form one group of
 * the call tree. A key of the frame has a value for each frame, so one sample counts in the rows of all frames in its
 * stack.
 */
#ifndef AGG_KEYS_H
#define AGG_KEYS_H

#include "agg/columns.h"
#include "agg/frame_keys.h"
#include "attrib/hit.h"
#include "attrib/resolver.h"
#include "codec/features.h"
#include "state/procs.h"

#define KEY_NONE COLUMN_UNKNOWN /* the sample does not say */

/* What keys of the sample need in addition to the hit. */
struct hit_keys {
	const struct features *features;
	u64 time_slice_ns, first_time; /* SORT_TIME: slices of that width, from then on */
	struct resolver *resolver;     /* of the worker */
	struct trace_keys *trace;      /* for SORT_TRACE and fields; NULL: they are not in use */
	u32 key;		       /* the key whose value is wanted */
};

struct sort_key_row {
	struct column column;
	bool full; /* it needs a field that only the full sample has (hit.full) */
	/* One of these is set, except for SORT_PARENT, for which stacks are rebuilt (agg/restack.h). */
	u64 (*of_hit)(const struct hit_keys *k, const struct hit *h, const struct thread_view *t);
	u32 (*of_frame)(struct frame_keys *k, const struct frame *f);
	/* With of_hit: the value that rows have instead of the hit's, if it would be too slow to find for each hit.
	 * NULL: the hit's value itself. */
	u64 (*of_value)(struct frame_keys *k, u64 value);
	int (*compare)(const struct profile *p, u64 x,
		       u64 y); /* of different values; NULL: the smaller number first */
	/* A number for a value, where compare is slow: of two values with different numbers, the one with the smaller
	 * number comes first. */
	u64 (*word)(const struct profile *p, u64 value);
};

extern const struct sort_key_row sort_keys[NR_SORT_KEYS];

/* key: below MAX_KEYS; all fields have one row. */
static inline const struct sort_key_row *sort_key_row(u32 key)
{
	return &sort_keys[MIN(key, (u32)SORT_FIELD)];
}

/* Keys whose label includes the name of a thread, which is in their groups, too. */
#define KEYS_NAMED (1ull << SORT_PID | 1ull << SORT_TID)
/* Keys whose values are lines of source: of the sampled code, and of a branch's two ends. */
#define KEYS_LINES (1ull << SORT_SRCLINE | 1ull << SORT_SRCFILE)
#define KEYS_BRANCH_LINES (1ull << SORT_SRCLINE_FROM | 1ull << SORT_SRCLINE_TO)

/* Does the key have a value for each frame? */
static inline bool key_is_frames(u32 key)
{
	return sort_key_row(key)->of_frame;
}

/* Do only branches have values for it? */
static inline bool key_is_branch(u32 key)
{
	return key >= SORT_DSO_FROM && key <= SORT_CYCLES;
}

/* Sets the keys by which rows of p are split: n of enum sort_key, in order. */
void profile_sort_by(struct profile *p, const u8 *order, u32 n);
/* Do values come from tracepoints? */
static inline bool key_is_trace(u32 key)
{
	return key >= SORT_TRACE;
}

/* Does a row's value of some key stand for several values of hits? */
bool profile_joins_values(const struct profile *p);

/* Does any key need hit.full? */
bool profile_wants_full(const struct profile *p);

/* The thread name in a group's first word: a string id or, for a thread without a recorded name, bit 31 and its
 * tid. */
#define COMM_UNNAMED (1u << 31)
u32 key_comm(const struct hit *h, const struct thread_view *t);

#endif
