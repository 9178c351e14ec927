/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline: from a recording to a profile. Read pipeline.c first: it is the whole program in one page.
 */
#ifndef PIPELINE_H
#define PIPELINE_H

#include "agg/collector.h"
#include "session.h"

struct pipeline_opts {
	struct session_opts session;
	const char *input;	     /* path, or "-" */
	u8 sort_order[NR_SORT_KEYS]; /* enum sort_key, in the user's order; nr_sort of them */
	u32 nr_sort;		     /* 0: comm, dso, symbol */
	bool children;		     /* totals (has no effect without call chains) */
	bool no_chains;		     /* look at leaves only, even where chains were recorded */
	bool no_inline;		     /* do not expand inlined calls */
	bool no_rows;		     /* trees are all that is wanted: profile_event.rows stay empty */
	struct sample_filter samples;
	const char *time; /* --time text (base/timerange.h), or NULL */
	struct row_filter rows;
	u64 time_slice_ns; /* for SORT_TIME; 0: a 100th of the recording */
};

/* On success both are the caller's: profile_free before session_close. Errors are noted. */
int pipeline_profile(const struct pipeline_opts *opts, struct session **session, struct profile **profile,
		     const struct notify *notify);

#endif
