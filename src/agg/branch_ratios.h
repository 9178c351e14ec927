/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Branch instructions of one binary: how often each was taken, how often it was passed without being taken, and how
 * often the CPU had predicted it wrongly; with intervals in which the ratios lie with a probability of 95 %.
 *
 * Branch records hold taken branches only. But code between two of them ran without a jump, so a branch that lies
 * there was not taken.
 *
 * The records of one sample followed one another and are not independent: a loop fills all of them with the same
 * branch. So the intervals (Wilson's) count a branch at most once per sample for each of its outcomes and targets.
 */
#ifndef AGG_BRANCH_RATIOS_H
#define AGG_BRANCH_RATIOS_H

#include "agg/branch_traces.h"
#include "base/proportion.h"

struct branch_ratio {
	u64 from;		 /* the instruction's address, as in symbol look-ups */
	u64 to;			 /* the target that it led to most often; TRACE_OUTSIDE: not in the binary */
	u32 targets;		 /* how many there were */
	u64 taken, passed;	 /* executions */
	u64 mispredicted;	 /* of the taken ones: of others nothing is recorded */
	u64 taken_in, passed_in; /* samples, by target and by passage */
	struct proportion taken_ratio, mispredict_ratio;
};

struct branch_ratios {
	VEC(struct branch_ratio) v; /* those with most executions first */
};

/* Fills r, which is zeroed, with the branches of the DSO dso in t, which is sorted. */
void branch_ratios_make(struct branch_ratios *r, const struct branch_traces *t, u32 dso);
void branch_ratios_free(struct branch_ratios *r);

#endif
