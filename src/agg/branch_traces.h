/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What branch stacks tell of the way that programs took, per binary: how often each branch was taken, and how often
 * the code from where one branch led to where the next was taken ran through. Post-link optimisers want that (BOLT).
 *
 * In a stack of all taken branches nothing is jumped over between two entries. That code counts only where both ends
 * are in one function; else something was not recorded, such as an interrupt.
 */
#ifndef AGG_BRANCH_TRACES_H
#define AGG_BRANCH_TRACES_H

#include "attrib/hit.h"
#include "base/set.h"
#include "base/vec.h"
#include "state/procs.h"

enum trace_kind {
	TRACE_BRANCH,
	TRACE_THROUGH,	     /* entered by a branch of the same function */
	TRACE_THROUGH_ENTRY, /* entered from outside */
};

/* from, to: as symbol look-ups take them; TRACE_OUTSIDE: not in the binary. */
#define TRACE_OUTSIDE UINT64_MAX
struct branch_trace {
	u32 dso, kind;
	u64 from, to, count, mispredicted;
};

struct branch_traces {
	struct dsos *dsos;
	const struct procs *procs;
	struct thread_view thread; /* the last one */
	struct set index;
	VEC(struct branch_trace) v;
	u64 samples; /* that were taken in */
};

/* Samples of this event hold all branches that were taken. */
static inline bool branch_traces_event(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK && e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_ANY;
}
/* h->full is the sample. */
void branch_traces_add(struct branch_traces *t, const struct hit *h);
/* By binary, kind and addresses. Nothing can be added from then on. */
void branch_traces_sort(struct branch_traces *t);
void branch_traces_free(struct branch_traces *t);

#endif
