/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pipeline: from a recording to a profile. Read pass/pipeline.c first: it is an overview of the whole program.
 */
#ifndef PASS_PIPELINE_H
#define PASS_PIPELINE_H

#include "agg/collector.h"
#include "agg/columns.h"
#include "agg/restack.h"
#include "agg/window_rows.h"
#include "pass/session.h"

/* How windows (attrib/window.h) are used, if the recording has any. */
struct window_use {
	enum attribution attribution;
	struct code_range range;
	bool default_sort; /* one row per command, shared object and function, whatever sort_order says */
	bool chains;	   /* stacks are wanted, too */
	bool children;	   /* totals are wanted, too; else they are not shown, whatever pipeline_opts.children says */
};

/* Are branches counted, or samples (pass/branches.h)? */
enum branch_view {
	BRANCHES_OFF,
	BRANCHES_ON,
	BRANCHES_AUTO,	  /* as the recording was made for */
	BRANCHES_HISTORY, /* samples, whose branches stand before the callers of their chains */
};

struct pipeline_opts {
	struct session_opts session;
	const char *input;	  /* path, or "-" */
	u8 sort_order[MAX_KEYS];  /* enum sort_key, in the user's order; nr_sort of them */
	u32 nr_sort;		  /* 0: comm, dso, symbol */
	u32 nr_usual;		  /* the number of keys, at the beginning, that are defaults */
	u8 row_order[NR_COLUMNS]; /* enum column_id: the columns by which rows are sorted; nr_row_order of them, 0:
				     weights */
	u32 nr_row_order;
	/* Keys that are fields of tracepoints: SORT_FIELD + i is fields[i], which have to outlive the profile.
	 * no_field[i] notes the error that none of the recording's events has it. */
	const char *fields[MAX_FIELD_KEYS];
	int (*no_field[MAX_FIELD_KEYS])(const char *name, const struct notify *to);
	u32 nr_fields;
	enum branch_view branches;
	u32 first_rows;		  /* as in the profile */
	u32 measures;		  /* bits of enum measure_id: beside windows; not with restack */
	bool costs;		  /* samples weigh what their weight field says, as in perf's --mem-mode */
	bool children;		  /* totals (has no effect without call chains) */
	bool no_chains;		  /* use only leaves, even if chains were recorded */
	bool no_stitch;		  /* call stacks of branch records are those of one sample each */
	bool no_inline;		  /* do not expand inlined calls */
	enum graph_key graph_key; /* of call graphs; unless by function, inlined calls are not expanded */
	bool addresses;		  /* frames keep their addresses, for who looks up lines and inlined calls
				     (view/export/locations.h):	   not with graph_key or rows */
	bool no_rows;		  /* only trees are needed: profile_event.rows stay empty */
	struct sample_filter samples;
	const char *time; /* --time text (base/timerange.h), or NULL */
	struct row_filter rows;
	struct restack restack; /* needs call chains: not with no_chains */
	u64 time_slice_ns;	/* for SORT_TIME; 0: a 100th of the recording */
	/* NULL: windows are ignored, and members of a group are events like others. Else the events of a group with
	 * windows share one table, that of its leader. */
	const struct window_use *windows;
};

/* On success both are the caller's: profile_free before session_close. Errors are noted. */
int pipeline_profile(const struct pipeline_opts *opts, struct session **session, struct profile **profile,
		     const struct notify *notify);

/* The same for an open session, which can be used only once, because its processes are dropped. opts->session and
 * opts->input are not used. */
int pipeline_over(const struct pipeline_opts *opts, struct session *s, struct profile **profile,
		  const struct notify *notify);

#endif
