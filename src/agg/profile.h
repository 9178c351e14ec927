/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile: the result of a pass over the samples, for the views. Immutable once made.
 *
 * Per event there is one call tree (agg/tree.h) whose top level are groups: one per distinct combination of the sort
 * keys that are not frames' (comm, pid, cpu, time slice, ...). Below a group are stacks, outermost frame first. Rows
 * are derived from the tree in one walk: a row is one combination of all sort keys; the values of dso, symbol and
 * srcline come from a frame. Events that Arm SPE's operations are samples of may share one tree, which is gone once
 * they have their rows (agg/together.h); not if no rows are asked for.
 */
#ifndef AGG_PROFILE_H
#define AGG_PROFILE_H

#include "agg/measure.h"
#include "agg/tree.h"
#include "attrib/filter.h"
#include "attrib/place.h"
#include "attrib/tally.h"
#include "base/map.h"
#include "base/strtab.h"
#include "codec/evlist.h"
#include "state/dso.h"
#include "state/frames.h"

/* The keys by which rows can be split; agg/keys.c has a row for each, in this order, with its values. */
enum sort_key {
	SORT_COMM,
	SORT_PID,
	SORT_TID,
	SORT_CPU,
	SORT_SOCKET,
	SORT_TIME,
	SORT_EVENT,
	SORT_CGROUP,
	SORT_CGROUP_ID,
	SORT_ADDR,
	SORT_LOCAL_WEIGHT,
	SORT_WEIGHT,
	SORT_LOCAL_INS_LAT,
	SORT_INS_LAT,
	SORT_P_STAGE_CYC,
	SORT_TRANSACTION,
	SORT_CODE_PAGE_SIZE,
	SORT_MEM_OP,
	SORT_MEM,
	SORT_SNOOP,
	SORT_TLB,
	SORT_LOCKED,
	SORT_BLOCKED,
	SORT_SYMBOL_DADDR,
	SORT_DSO_DADDR,
	SORT_PHYS_DADDR,
	SORT_DCACHELINE,
	SORT_SYMBOL_IADDR,
	SORT_SYMOFF,
	SORT_DATA_PAGE_SIZE,
	SORT_DADDR,
	SORT_TYPE,
	SORT_TYPEOFF,
	SORT_TYPECLN,
	SORT_DSO_FROM, /* from here to SORT_CYCLES: keys of branches */
	SORT_DSO_TO,
	SORT_SYMBOL_FROM,
	SORT_SYMBOL_TO,
	SORT_ADDR_FROM,
	SORT_ADDR_TO,
	SORT_SRCLINE_FROM,
	SORT_SRCLINE_TO,
	SORT_MISPREDICT,
	SORT_IN_TX,
	SORT_ABORT,
	SORT_BRANCH_TYPE,
	SORT_CYCLES,
	SORT_PARENT,
	SORT_DSO,
	SORT_DSO_SIZE,
	SORT_SYMBOL,
	SORT_SYMBOL_SIZE,
	SORT_SRCLINE,
	SORT_SRCFILE,
	SORT_ACTIVITY, /* a number of the timelines */
	SORT_TRACE,
	SORT_FIELD, /* the first of those that are named by fields of tracepoints (agg/trace_keys.h) */
	NR_SORT_KEYS,
};
#define MAX_FIELD_KEYS 16
#define MAX_KEYS (SORT_FIELD + MAX_FIELD_KEYS)
_Static_assert(NR_SORT_KEYS <= 64, "profile.sort_keys has a bit for each");

struct row {
	u64 self, total; /* weight (sum of periods) of the samples in it; of the samples with it on the stack,
			    including those in it */
	u64 samples;	 /* number of samples behind self */
	u64 total_samples;
	const u64 *keys; /* values of the keys in use, in the order of profile.sort_order (profile_row_key) */
	u32 comm;	 /* a name its thread had, for the labels of pid and tid */
	u32 frame;	 /* a frame of this row, or ID_NONE when no key is a frame's */
};

struct profile_event {
	u32 event;  /* index in the evlist */
	u64 weight; /* sum over all samples kept: 100 % */
	u64 samples;
	u64 exact;	/* those whose address is that of the exact instruction */
	double squares; /* sum of the samples' squared weights */
	bool helper;	/* its samples are used in a table of metrics (agg/window_samples.c), and so it has no table of
			   its own */
	u64 unfiltered; /* weight including what filters on comm, pid and tid left out; 0: the same as weight */
	u64 row_weight; /* sum of the rows' self: less than weight if a row_filter left out some rows */
	bool shares;	/* it has no tree: its rows come from profile.together */
	struct tree tree;
	VEC(struct row)
	rows; /* sorted: by row_order; else by total (or self), largest first, or by time where that is the first key;
		 ties by names */
	struct arena keys; /* of the rows */
	/* For profile_row_graph: the row of each tree node (ID_NONE: none), and each row's nodes, in ascending
	 * order. */
	u32 *row_of;
	u32 *row_nodes;
	u32 *row_first;		     /* rows.n + 1 of them, in row_nodes */
	void *measured[NR_MEASURES]; /* the results of each measure's of_event; NULL: nothing was measured */
};

/* The property by which two frames are one branch of a call graph. */
enum graph_key {
	GRAPH_KEY_FUNCTION,
	GRAPH_KEY_ADDRESS,
	GRAPH_KEY_LINE, /* source lines; functions without lines are whole */
};

/* An address of a function in call graphs (agg/lines.h). */
struct graph_place {
	u32 shown; /* the frame that stands for it */
	u32 line;  /* string id of "file:line", or ID_NONE */
};

struct profile {
	struct strtab *strings;
	struct dsos *dsos;
	struct frames *frames;
	const struct evlist *evlist;
	const struct timelines *timelines; /* the recording's activities; NULL: it has none */
	VEC(struct profile_event) events;  /* those with samples, in the file's order */
	struct profile_event *together;	   /* what events share (agg/together.h), or NULL */
	const struct measure *measures;	   /* the table of measures; NULL: nothing was measured */
	struct tally tally;
	struct stack_cuts cuts; /* files are string ids of their paths, or ids of DSOs with CUT_IN_DSO */
	bool stacks_told;	/* the recorder unwound stacks, and said what became of them */
	u32 stack_bytes;	/* that were copied of a stack, at most; 0: none */
	struct str simulated;	/* the core of a recording of the virtual PMU; len 0: the recording was made on a real
				   one */
	bool arm64;		/* the machine that was recorded */
	u64 sort_keys;		/* bits 1 << enum sort_key (all fields share one), and their order: */
	u8 sort_order[MAX_KEYS];
	u32 nr_sort;
	u8 key_at[MAX_KEYS]; /* of the keys in use: their places in sort_order */
	/* For keys without frames: the word of a group (agg/tree.h) that has the value. Word 0 is always the thread's
	 * name, because it is in the labels of pid and tid. */
	u8 word_of[MAX_KEYS];
	u32 group_words;
	u8 row_order[MAX_KEYS + 12]; /* what rows are sorted by: enum column_id; none: by weights, then by keys */
	u32 nr_row_order;
	u32 first_rows; /* the number of rows that are used: after them, rows of equal weight are in no particular
			   order. 0: all are used */
	const struct map *cgroups; /* id -> string id of the path */
	const char *const *fields; /* SORT_FIELD + i is the key of fields[i] */
	u32 nr_fields;
	struct trace_texts *texts; /* the texts for SORT_TRACE and fields; NULL: they are not in use */
	bool branches;		   /* branches in samples are counted, each at its target */
	bool history;		   /* branches in samples stand before the callers of their chains */
	bool costs;		   /* weights are those of the samples (PERF_SAMPLE_WEIGHT), not periods */
	bool children;		   /* rows have totals and are sorted by them */
	bool has_chains;	   /* some events were recorded with call chains */
	bool has_inlined;	   /* the trees may have frames of inlined calls */
	bool has_addresses;	   /* frames of code with a symbol may be addresses in it */
	u32 first_inlined;	   /* no frame of an inlined call has a smaller id */
	enum graph_key graph_key;
	VEC(struct graph_place)
	places;			      /* by frame id; frames beyond its end stand for themselves */
	u64 time_slice_ns, time_base; /* SORT_TIME: slice n begins at time_base + n * time_slice_ns */
};

/* Which rows are kept, by the user's filters. */
struct row_filter {
	struct place_filter places;
	bool exclude_other; /* leave out rows without a parent, too */
};

/* The row's value of a key in use. */
static inline u64 profile_row_key(const struct profile *p, const struct row *r, u32 key)
{
	return r->keys[p->key_at[key]];
}

/* What branch records say of the frames of a node in a call graph: how many were the target of a branch, the branch
 * itself, or a caller that is in no record. */
struct graph_branches {
	u32 to, from, callers;
	/* Of the targets: */
	u32 told, predicted; /* of how many the CPU tells whether they were predicted; those that were */
	u32 aborted;	     /* branches to where a transaction that was given up goes on */
	u32 kinds;	     /* bits: see agg/branch_notes.h */
	/* Of the branches: */
	u64 cycles;		  /* since the branch before, all together */
	u64 rounds, round_cycles; /* of loops that are shown once: further rounds, and the cycles of these */
};

/* A call graph of one row, ready to print: pruned and sorted, largest first. */
struct graph_node {
	u32 frame;
	u64 self, total; /* weights, or numbers of samples */
	struct graph_node **kids;
	u32 nr_kids;
	struct graph_branches *branches; /* NULL: nothing is known (MEASURE_BRANCH_NOTES) */
};

struct graph_opts {
	bool caller;  /* outermost frame first (perf's default with --children); else the leaf first, callers below */
	bool samples; /* weights are numbers of samples */
	u64 min_weight; /* branches lighter than this are left out */
	u32 max_depth;	/* 0: no bound */
};

/* Working memory for graphs: one per thread and event. A zeroed struct is empty. */
struct graph_room {
	struct arena arena;
	u64 *through; /* per tree node, all 0 between calls */
};

/* The stacks of a row, as perf shows them below it; NULL if none is heavy enough. The root's frame is ID_NONE; its
 * kids are the first printed level. Valid until the next call with the same room. */
const struct graph_node *profile_row_graph(const struct profile *p, const struct profile_event *e, const struct row *r,
					   const struct graph_opts *o, struct graph_room *room);
void graph_room_free(struct graph_room *room);
/* The frame that stands for this one in graphs: frames of one symbol that differ by address only are one there, unless
 * the graph is by address or line. */
static inline u32 profile_shown_frame(const struct profile *p, u32 frame)
{
	return frame < p->places.n ? p->places.v[frame].shown : frame;
}

#define PROFILE_MADE_UP PLACE_MADE_UP

/* Text of a frame: its symbol's name, or "[dso+0x1234]" when unresolved. NUL-terminated; buf is used only when it has
 * to be made up. */
const char *profile_frame_name(const struct profile *p, u32 frame, char *buf,
			       size_t size); /* size >= 32 when buf is used */
/* The text after the name in a call graph by address or line: "+0x1d", " file.c:12", both or nothing; at most
 * PROFILE_MADE_UP bytes. */
void profile_frame_place(const struct profile *p, u32 frame, char *buf, size_t size);

/* Compares frames: those with names first, by name; then by address. Ids cannot be used, because they differ from run
 * to run. */
int profile_compare_frames(const struct profile *p, u32 x, u32 y);
/* Of two frames with different words, that with the smaller one comes first. */
u64 profile_frame_word(const struct profile *p, u32 frame);

static inline bool profile_frame_inlined(const struct profile *p, u32 frame)
{
	return frame >= p->first_inlined && frames_get(p->frames, frame)->inlined;
}

/* The next node, after `node`, whose own weight counts for the row of `top` (a node that is not an inlined frame):
 * these are top itself, and the inlined frames under it. Start with node == top; ID_NONE at the end. */
u32 profile_next_own(const struct profile *p, const struct profile_event *e, u32 top, u32 node);

/* The row of a node's own samples, or ID_NONE: for an inlined call it is the row of the function; if rows are whole
 * groups it is the row of the group. */
u32 profile_own_row(const struct profile *p, const struct profile_event *e, u32 node);

/* Adds the counts of stacks in e's finished tree to p->tally (frames, unresolved, stacks, broken), and, unless
 * somebody knows more, where they end, and why. */
void profile_count_stacks(struct profile *p, const struct profile_event *e);
/* Counts a frame in p->tally, that many times. */
void profile_count_frame(struct profile *p, u32 frame, u64 times);
#define CUT_IN_DSO (1u << 31)
/* Adds cut stacks that were counted by DSO. */
void profile_add_cuts(struct profile *p, const struct stack_cuts *by_dso);

/* Does the filter keep code of this frame? */
bool profile_keeps_frame(const struct profile *p, const struct place_filter *f, u32 frame);
/* Leaves only stacks of samples in code that the filter keeps, in the trees and in the sums over events; events
 * without any are dropped. For profiles that have no rows: those have filters of their own. */
void profile_keep_places(struct profile *p, const struct place_filter *f);

/* Fills e->rows and the related fields from e->tree, which is finished, and adds stack counts to p->tally. */
void profile_make_rows(struct profile *p, struct profile_event *e, const struct row_filter *filter, u32 workers);

/* Fills each measure's data for rows, once all events have their rows. */
void profile_measure_rows(struct profile *p);

/* What the event holds. */
void profile_event_free(const struct profile *p, struct profile_event *e);
void profile_free(struct profile *p);

#endif
