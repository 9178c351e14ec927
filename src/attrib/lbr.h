/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks out of branch records (LBR in call-stack mode), stitched together where the hardware has room for less
 * than the stack is deep. How, and when not: attrib/lbr.c.
 */
#ifndef ATTRIB_LBR_H
#define ATTRIB_LBR_H

#include "attrib/callers.h"
#include "attrib/chain.h"
#include "attrib/hit.h"

#define LBR_STACK 127 /* calls of a stack that are kept, as frames of a chain are */

/* A call: the address of the call instruction, and the one that it went to. */
struct lbr_call {
	u64 from, to;
};

struct lbr_stack {
	u32 n, own; /* calls, the newest first; the first `own` are the sample's, the others are stitched on */
	struct lbr_call v[LBR_STACK];
};

/* What was counted on the way. */
struct lbr_counts {
	u64 stacks;   /* samples with such a stack */
	u64 stitched; /* of them: those that others added calls to */
	u64 calls;    /* that were added */
	u64 refused;  /* samples of which the place in an earlier stack was not certain */
	u64 cut;      /* stacks that end where the records contradict themselves (longjmp, exceptions) */
};

struct lbr;

/* Samples of this event hold a call stack of branch records. */
static inline bool lbr_event(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_BRANCH_STACK &&
	       e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK;
}
bool lbr_used(const struct evlist *l);

/* One per worker. depth: registers that the CPU has (0: not known). callers: of the whole recording; NULL: nothing is
 * known of it, and stacks are not stitched. What it keeps does not grow with the number of threads. */
struct lbr *lbr_new(u32 depth, const struct callers *callers, const struct procs *procs, struct dsos *dsos);
void lbr_free(struct lbr *l);

/* The stack of a sample, which is h->full; samples of a thread come in order. False: the records say nothing. */
bool lbr_take(struct lbr *l, const struct hit *h, struct lbr_stack *out);
/* The thread has ended, or runs another program. */
void lbr_forget(struct lbr *l, u32 tid);
const struct lbr_counts *lbr_counted(const struct lbr *l);

/* The same stack as the kernel would have written it into a call chain, in this machine's order: what was recorded of
 * the kernel, then the user part. Returns the number of words. */
u32 lbr_chain(const struct lbr_stack *s, const struct hit *h, u64 words[CHAIN_WORDS]);

#endif
