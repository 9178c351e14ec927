/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The paths that programs took according to branch stacks, per binary: how often each branch was taken, and how often
 * the code between the target of one branch and the place of the next was executed. Post-link optimisers (BOLT) need
 * this.
 *
 * In a stack of all taken branches, the code between two entries ran without a jump. It counts only if both ends are
 * in the same function; otherwise something was not recorded, such as an interrupt.
 */
#ifndef AGG_BRANCH_TRACES_H
#define AGG_BRANCH_TRACES_H

#include "attrib/hit.h"
#include "base/set.h"
#include "base/vec.h"
#include "codec/branch_counters.h"
#include "state/procs.h"

enum trace_kind {
	TRACE_BRANCH,
	TRACE_THROUGH,	     /* entered by a branch of the same function */
	TRACE_THROUGH_ENTRY, /* entered from outside */
};

/* from, to: addresses as in symbol look-ups; TRACE_OUTSIDE: not in the binary. */
#define TRACE_OUTSIDE UINT64_MAX
struct branch_trace {
	u32 dso, kind;
	u64 from, to, count, mispredicted;
	u64 samples, last; /* by_sample: in how many samples it was, and the number of the last of these */
	u64 cycles, timed; /* that its passages took, and of how many of them the CPU told that */
	u32 events;	   /* what was counted in its passages: block of event_sums, from 1 on; 0: nothing */
};

/* How often an event happened in the passages that it was counted in; `full` of them reached the largest number that
 * a counter holds. */
struct event_sum {
	u64 happened, passages, full;
};
#define EVENT_SUMS_MAX 32 /* of one file: the counters of further events are not summed up */

struct known_branches;
/* What was mapped at some time in a process and in the kernel. */
struct mapped {
	struct maps maps, kernel;
};
struct branch_traces {
	struct dsos *dsos;
	const struct procs *procs;
	struct thread_view thread; /* the last one */
	u32 mapped;		   /* in it: of all_mapped */
	struct set mapped_ids;
	VEC(struct mapped) all_mapped;
	struct known_branches *known; /* what was counted, until it is merged or sorted */
	bool by_sample;		      /* in how many samples each trace was is wanted, too */
	struct set index;
	VEC(struct branch_trace) v;
	u64 samples;  /* number of samples that were added */
	u64 filtered; /* of those that filters left out */
	u64 cycles;   /* between branches, of all that came with them */
	/* Where branch counters are to be summed up: what they are of. NULL: they are not. */
	const struct branch_counters *counters;
	VEC(struct event_sum) event_sums; /* blocks of branch_traces_counted(), one sum for each counter */
};

/* Do samples of this event have all branches that were taken? */
static inline bool branch_traces_event(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK && e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY;
}
/* How many counters are summed up for each trace. */
static inline u32 branch_traces_counted(const struct branch_traces *t)
{
	return t->counters ? (u32)MIN(t->counters->v.n, (size_t)EVENT_SUMS_MAX) : 0;
}
/* Those of a trace; NULL: none. */
static inline const struct event_sum *branch_trace_events(const struct branch_traces *t, const struct branch_trace *b)
{
	return b->events ? t->event_sums.v + (size_t)(b->events - 1) * branch_traces_counted(t) : NULL;
}
/* Adds n sums to those at `to`. */
void event_sums_add(struct event_sum *to, const struct event_sum *from, u32 n);
/* h->full is the sample. */
void branch_traces_add(struct branch_traces *t, const struct hit *h);
/* Adds all of `from`, which was made from other samples of the same recording, and frees it. */
void branch_traces_merge(struct branch_traces *t, struct branch_traces *from);
/* Sorts by binary, kind and addresses. Nothing can be added after that. */
void branch_traces_sort(struct branch_traces *t);
void branch_traces_free(struct branch_traces *t);

#endif
