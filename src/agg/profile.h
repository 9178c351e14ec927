/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Profile: what a pass over the samples leaves for the views. Immutable once made.
 *
 * Per event there is one call tree (agg/tree.h) whose top level are groups: one per distinct combination of the sort
 * keys that are not frames' (comm, pid, cpu, time slice, ...). Below a group stand stacks, outermost frame first. Rows
 * are derived from the tree by one walk: a row is one combination of all sort keys, of which dso, symbol and srcline
 * come from a frame.
 */
#ifndef AGG_PROFILE_H
#define AGG_PROFILE_H

#include "agg/measure.h"
#include "agg/tree.h"
#include "attrib/tally.h"
#include "base/lists.h"
#include "base/map.h"
#include "base/strtab.h"
#include "codec/evlist.h"
#include "state/dso.h"
#include "state/frames.h"

/* What rows can be split by; agg/keys.c has a row for each, in this order, that says what its values are. */
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
	SORT_DATA_PAGE_SIZE,
	SORT_DADDR,
	SORT_DSO_FROM, /* from here to SORT_CYCLES: of branches */
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
	SORT_CYCLES,
	SORT_PARENT,
	SORT_DSO,
	SORT_DSO_SIZE,
	SORT_SYMBOL,
	SORT_SYMBOL_SIZE,
	SORT_SRCLINE,
	SORT_SRCFILE,
	SORT_TRACE,
	SORT_FIELD, /* the first of those that are named by fields of tracepoints (agg/trace_keys.h) */
	NR_SORT_KEYS,
};
#define MAX_FIELD_KEYS 16
#define MAX_KEYS (SORT_FIELD + MAX_FIELD_KEYS)
_Static_assert(NR_SORT_KEYS <= 64, "profile.sort_keys has a bit for each");

struct row {
	u64 self, total; /* weight (sum of periods) of samples in it; with it on the stack, itself included */
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
	u64 exact;	/* of them: of which the address is that of the very instruction */
	double squares; /* sum of the samples' squared weights */
	bool helper;	/* its samples serve a table of metrics (agg/window_samples.c), which stands for it, too */
	u64 unfiltered; /* weight with what filters on comm, pid and tid left out; 0: the same */
	u64 row_weight; /* sum of the rows' selfs: less than weight when a row_filter left some out */
	struct tree tree;
	VEC(struct row)
	rows; /* sorted: by row_order; else by total (or self), largest first, or by time where that is the first key;
		 ties by names */
	struct arena keys; /* of the rows */
	/* For profile_row_graph: which row each tree node belongs to (ID_NONE: none), and each row's nodes, ascending.
	 */
	u32 *row_of;
	u32 *row_nodes;
	u32 *row_first;		     /* rows.n + 1 of them, in row_nodes */
	void *measured[NR_MEASURES]; /* what each measure's of_event made of it; NULL: nothing was measured */
};

/* What makes two frames one branch of a call graph. */
enum graph_key {
	GRAPH_KEY_FUNCTION,
	GRAPH_KEY_ADDRESS,
	GRAPH_KEY_LINE, /* of the source; functions without lines are whole */
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
	VEC(struct profile_event) events; /* those with samples, in the file's order */
	const struct measure *measures;	  /* the table by which events were measured; NULL: none was */
	struct tally tally;
	struct str simulated; /* the core that a recording of the virtual PMU is of; len 0: it is of a real one */
	u64 sort_keys;	      /* bits 1 << enum sort_key (all fields have one together), and their order: */
	u8 sort_order[MAX_KEYS];
	u32 nr_sort;
	u8 key_at[MAX_KEYS]; /* of the keys in use: their places in sort_order */
	/* Of those that are not frames': which word of a group (agg/tree.h) has the value. Word 0 is the thread's name
	 * in any case, as pid and tid are labelled with it. */
	u8 word_of[MAX_KEYS];
	u32 group_words;
	u8 row_order[MAX_KEYS + 8]; /* what rows are sorted by: enum column_id; none: by weights, then by keys */
	u32 nr_row_order;
	u32 first_rows; /* so many rows are looked at: behind them those of one weight are in no order. 0: all are */
	const struct map *cgroups; /* id -> string id of the path */
	const char *const *fields; /* SORT_FIELD + i is the key of fields[i] */
	u32 nr_fields;
	struct trace_texts *texts; /* what SORT_TRACE and fields read, or NULL: they are not in use */
	bool branches;		   /* what is counted are branches that samples hold, each at its target */
	bool costs;		   /* weights are those of the samples (PERF_SAMPLE_WEIGHT), not periods */
	bool children;		   /* rows have totals and are sorted by them */
	bool has_chains;	   /* some event was recorded with call chains */
	bool has_inlined;	   /* frames of inlined calls may stand in the trees */
	bool has_addresses;	   /* frames of code that has a symbol may be addresses of it */
	u32 first_inlined;	   /* no frame of an inlined call has a smaller id */
	enum graph_key graph_key;
	VEC(struct graph_place)
	places;			      /* per frame id; frames behind its end stand for themselves */
	u64 time_slice_ns, time_base; /* SORT_TIME: slice n begins at time_base + n * time_slice_ns */
};

/* Which rows are kept, by what the user named; an empty list keeps all. */
struct row_filter {
	struct name_list dsos;	  /* short names or paths */
	struct name_list symbols; /* whole names */
	const char *symbol_part;  /* a part of the symbol's name, or NULL */
	bool hide_unresolved;
	bool exclude_other; /* those without a parent, too */
};

/* The value that a row has for a key in use. */
static inline u64 profile_row_key(const struct profile *p, const struct row *r, u32 key)
{
	return r->keys[p->key_at[key]];
}

/* A call graph of one row, ready to print: pruned and sorted, largest first. */
struct graph_node {
	u32 frame;
	u64 self, total; /* weights, or numbers of samples */
	struct graph_node **kids;
	u32 nr_kids;
};

struct graph_opts {
	bool caller;  /* outermost frame first (perf's default with --children); else the leaf first, callers below */
	bool samples; /* weights are numbers of samples */
	u64 min_weight; /* branches lighter than this are left out */
	u32 max_depth;	/* 0: no bound */
};

/* What graphs are made in: one per thread and event. A zeroed struct is an empty one. */
struct graph_room {
	struct arena arena;
	u64 *through; /* per tree node, all 0 between calls */
};

/* The stacks of a row, as perf shows them below it; NULL when it has none that are heavy enough. The root's frame is
 * ID_NONE; its kids are the first printed level. Valid until the next call with that room. */
const struct graph_node *profile_row_graph(const struct profile *p, const struct profile_event *e, const struct row *r,
					   const struct graph_opts *o, struct graph_room *room);
void graph_room_free(struct graph_room *room);

#define PROFILE_MADE_UP 512 /* the same everywhere: filters see what is shown */

/* Text of a frame: its symbol's name, or "[dso+0x1234]" when unresolved. NUL-terminated; buf is used only when it has
 * to be made up. */
const char *profile_frame_name(const struct profile *p, u32 frame, char *buf,
			       size_t size); /* size >= 32 when buf is used */
/* What stands behind the name in a call graph by address or line: "+0x1d", " file.c:12", both or nothing; at most
 * PROFILE_MADE_UP bytes. */
void profile_frame_place(const struct profile *p, u32 frame, char *buf, size_t size);

/* Named frames first, by name; then by address. Ids say nothing: they differ from run to run. */
int profile_compare_frames(const struct profile *p, u32 x, u32 y);

/* The next node, after `node`, whose own weight counts for the row of `top` (a node that is no inlined frame): top
 * itself, and the inlined frames under it. Start with node == top; ID_NONE at the end. */
u32 profile_next_own(const struct profile *p, const struct profile_event *e, u32 top, u32 node);

/* Which row a node's own samples belong to, ID_NONE where none does: that of the function, where it is an inlined
 * call; that of the group, where rows are groups as a whole. */
u32 profile_own_row(const struct profile *p, const struct profile_event *e, u32 node);

/* Adds what e's finished tree says about stacks to p->tally: frames, unresolved, stacks, broken. */
void profile_count_stacks(struct profile *p, const struct profile_event *e);

/* Fills e->rows and what belongs to them from e->tree, which is finished, and adds stack counts to p->tally. */
void profile_make_rows(struct profile *p, struct profile_event *e, const struct row_filter *filter, u32 workers);

/* Fills what each measure has of rows, once all events have theirs. */
void profile_measure_rows(struct profile *p);

void profile_free(struct profile *p);

#endif
