/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Window hits: decides to which node of the call tree a window's counts go, if to any.
 *
 * A window begins at the previous sample and ends with its own sample. The samples at both ends are places in the
 * tree; the counts go to the later place if both places agree as the mode demands, and are dropped otherwise. Where
 * keys tell activities apart, both must belong to the same activity, except with --attribution=keep. A dropped window
 * still counts in WINDOWS_SHORT, because rows are ranked by samples, and windows are dropped more often in short
 * functions.
 */
#ifndef AGG_WINDOW_HITS_H
#define AGG_WINDOW_HITS_H

#include "agg/measure.h"
#include "agg/window_sums.h"
#include "state/frames.h"

enum attribution {
	ATTRIBUTION_ESTIMATE,  /* as discard, but the shown values are based on samples, too (metric/estimate.c) */
	ATTRIBUTION_DISCARD,   /* both ends are in one function: the rule of the kernel patches from which windows come
				*/
	ATTRIBUTION_KEEP,      /* all windows, wherever they began */
	ATTRIBUTION_CALLCHAIN, /* both ends have the same stack */
	NR_ATTRIBUTIONS
};

/* What stands for "one function" if a table's rows are something else. Code without known bounds of functions does not
 * count as a function: a window that begins and ends at the same instruction has been around its whole loop. */
enum window_unit {
	UNIT_FUNCTION,
	UNIT_ADDRESS, /* rows are finer than functions: windows cannot be attributed to them */
	UNIT_OBJECT,  /* rows are DSOs */
	UNIT_ANY,     /* rows do not depend on the code */
};

/* Restricts windows to those with both ends in one piece of code. */
struct code_range {
	u64 start, end;	    /* DSO addresses; end 0: any */
	const char *object; /* name, or end of the path, of the DSO of these addresses; NULL: any */
	const char *file;   /* name, or end of the path, of a source file; NULL: any */
	u32 first_line, last_line;
};

static inline bool code_range_given(const struct code_range *r)
{
	return r->end || r->file;
}

/* What is known about the range from the windows so far. */
struct code_seen {
	bool inside, file;	   /* some window was inside the range; in its source file or DSO */
	u32 first_line, last_line; /* of that file */
};

/* Shared by all workers; in the end it has their joint findings. Everything is borrowed. */
struct window_setup {
	const struct windows *windows; /* of all: settled */
	enum attribution attribution;
	enum window_unit unit;
	struct code_range range;
	struct code_seen seen;
	bool chains; /* nodes have callers, and places may turn out to lie in inlined calls */
};

/* The unit of a frame; everything in the same unit has the same number: a frame, or a DSO. */
u32 window_unit_of(enum window_unit unit, struct frames *frames, u32 frame);

struct window_hits;

/* w: the worker's own. Everything is borrowed. */
struct window_hits *window_hits_new(const struct window_setup *setup, struct frames *frames, struct dsos *dsos,
				    const struct windows *w);
void window_hits_free(struct window_hits *h);

/* The functions of the measure (agg/measure.h): held is a struct window, the worker's part a struct window_hits, and
 * sums are the struct window_sums of the place's tree. Call them for each sample of a slot that was not filtered out,
 * in order, and flush at the end. */
bool window_hits_hold(const struct hit *h, void *held);
void window_hits_add(void *worker, const void *held, const struct hit_place *place, void *sums);
void window_hits_flush(void *worker);
/* With a range: what was found of it. */
struct code_seen window_hits_seen(const struct window_hits *h);

#endif
