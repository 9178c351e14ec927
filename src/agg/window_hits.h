/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Window hits: which node of the call tree a window's counts go to, if to any.
 *
 * A window begins where the sample before it was taken and ends with its own sample. The samples at both ends are
 * places in the tree; the counts go to the later one when they agree in what the mode asks for, and are dropped
 * otherwise. A dropped window still counts in WINDOWS_SHORT: rows are ranked by samples, and dropping is more frequent
 * in short functions.
 */
#ifndef AGG_WINDOW_HITS_H
#define AGG_WINDOW_HITS_H

#include "agg/measure.h"
#include "agg/window_sums.h"
#include "state/frames.h"

enum attribution {
	ATTRIBUTION_ESTIMATE,  /* as discard; but what is shown rests on samples, too (metric/estimate.c) */
	ATTRIBUTION_DISCARD,   /* both ends lie in one function: the rule of the seed that windows come from */
	ATTRIBUTION_KEEP,      /* whatever it began in */
	ATTRIBUTION_CALLCHAIN, /* both ends have the same stack */
	NR_ATTRIBUTIONS
};

/* What "one function" means where a table's rows are something else. Code of which nothing tells where its functions
 * begin and end is no function: a window that begins and ends at one instruction has been all around its loop. */
enum window_unit {
	UNIT_FUNCTION,
	UNIT_ADDRESS, /* rows are finer than functions: no window lies in one */
	UNIT_OBJECT,  /* rows are DSOs */
	UNIT_ANY,     /* rows say nothing of the code */
};

/* Restricts windows to those of which both ends lie in a piece of code. */
struct code_range {
	u64 start, end;	    /* DSO addresses; end 0: any */
	const char *object; /* name, or end of the path, of the DSO that they are of; NULL: any */
	const char *file;   /* name, or end of the path, of a source file; NULL: any */
	u32 first_line, last_line;
};

static inline bool code_range_given(const struct code_range *r)
{
	return r->end || r->file;
}

/* What the windows that were looked at showed of it. */
struct code_seen {
	bool inside, file;	   /* the range itself; its source file or DSO */
	u32 first_line, last_line; /* of that file */
};

/* What all workers have in common, and in the end what they have found out together. Everything is borrowed. */
struct window_setup {
	const struct windows *windows; /* of all: settled */
	enum attribution attribution;
	enum window_unit unit;
	struct code_range range;
	struct code_seen seen;
};

/* What a frame is, where all that belongs to one unit has one number: a frame, or a DSO. */
u32 window_unit_of(enum window_unit unit, struct frames *frames, u32 frame);

struct window_hits;

/* w: the worker's own. Everything is borrowed. */
struct window_hits *window_hits_new(const struct window_setup *setup, struct frames *frames, struct dsos *dsos,
				    const struct windows *w);
void window_hits_free(struct window_hits *h);

/* The measure (agg/measure.h): held is a struct window, the worker's part a struct window_hits, sums are struct
 * window_sums of the tree that the place is in. For each sample of a slot that was not filtered out, in order; and at
 * the end, flush. */
bool window_hits_hold(const struct hit *h, void *held);
void window_hits_add(void *worker, const void *held, const struct hit_place *place, void *sums);
void window_hits_flush(void *worker);
/* With a range: what there was of it. */
struct code_seen window_hits_seen(const struct window_hits *h);

#endif
