/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Visits: when a recording's threads worked for each trace, and what that says of the clocks of two recordings.
 *
 * Samples are moments, so a visit is known by two pairs of times: its first and its last sample, between which it was
 * there, and the last sample before it and the first one after it that say something else, outside of which it was
 * not.
 *
 * Spans of a trace that run elsewhere lie within those of the host where the trace begins. So each of their samples is
 * between the outer times there, once the difference of the clocks is taken away, and each trace gives two bounds of
 * that difference. They are bounds for certain only if all threads that work for the trace there have samples, and
 * while the clocks run at the same speed.
 */
#ifndef AGG_TRACE_VISITS_H
#define AGG_TRACE_VISITS_H

#include "base/map.h"
#include "base/set.h"
#include "base/vec.h"

#define TRACE_ID 16
#define VISIT_OPEN_END UINT64_MAX

struct trace_visit {
	u8 id[TRACE_ID];
	u64 first, last;   /* samples */
	u64 before, after; /* 0, VISIT_OPEN_END: not known */
	/* What its samples came to, for who fills it. */
	u64 samples, weight;
	bool chosen;	 /* some of them were asked for */
	char *functions; /* or NULL */
};

struct trace_visits {
	VEC(struct trace_visit) v; /* by `first` once it has ended */
	struct set known;
	VEC(struct visit_thread) threads;
	struct map thread_of;
};

struct visit_thread {
	u64 time;  /* of its last sample */
	u32 visit; /* ID_NONE: it worked for no trace then */
};

/* In the order of time. trace: NULL, or TRACE_ID bytes. */
void trace_visits_sample(struct trace_visits *t, u64 time, u32 tid, const u8 *trace);
void trace_visits_end(struct trace_visits *t);
void trace_visits_free(struct trace_visits *t);
struct trace_visit *trace_visits_find(const struct trace_visits *t, const u8 *trace); /* or NULL */

/* What has to be taken from the times of a recording to have those of another one. */
struct clock_bounds {
	s64 low, high; /* with low > high, traces contradict each other */
	bool has_low, has_high;
	u64 traces; /* that are in both */
};
/* begin: of the host where traces begin. */
void clock_bounds_find(const struct trace_visits *begin, const struct trace_visits *other, struct clock_bounds *out);
static inline bool clock_bounds_good(const struct clock_bounds *b)
{
	return b->has_low && b->has_high && b->low <= b->high;
}

#endif
