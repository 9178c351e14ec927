/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A branch profile as llvm-bolt reads it, and perf2bolt writes it: a line for each branch, and for each place where
 * the code went on from one basic block to the next,
 *
 *	1 FUNCTION OFFSET 1 FUNCTION OFFSET MISPREDICTED COUNT
 *
 * in which "0 [unknown] 0" stands for an end outside of the binary's functions.
 */
#ifndef VIEW_EXPORT_FDATA_H
#define VIEW_EXPORT_FDATA_H

#include "agg/branch_traces.h"
#include "base/bytes.h"

struct fdata_counts {
	u64 lines, passages, refused; /* passages that do not fit the code */
	u64 odd;		      /* functions that are left out: no line can name them */
	bool cut;		      /* there was more code than is read for so many branches */
};

/* t is sorted. 0, or an error that is noted: there is no symbol table, or no library that reads instructions. */
int view_fdata(const struct branch_traces *t, const struct dso_linked *at, u32 dso, struct bytes *out,
	       struct fdata_counts *counts, const struct notify *to);

#endif
