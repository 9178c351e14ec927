/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diff: the rows of several recordings side by side. The first recording is the baseline.
 *
 * Rows of two recordings are the same if all their keys have the same text, because addresses and ids mean nothing
 * outside their recording. Only copies of texts and numbers are kept, so a recording can be closed before the next one
 * is opened. Events are matched by name.
 */
#ifndef AGG_DIFF_H
#define AGG_DIFF_H

#include "base/set.h"
#include "base/strtab.h"

#define DIFF_MAX_FILES 64
#define DIFF_MAX_KEYS 64

struct diff_cell {
	u64 weight, samples; /* of one row in one recording; both 0 when it is not there */
};

struct diff_row {
	u32 keys[DIFF_MAX_KEYS]; /* string ids, nr_keys of them */
	char level;		 /* of its symbol: 'k', '.', ..; 0 if symbol is not a key */
	u32 first_cell;		 /* in diff_event.cells: one cell per recording */
};

struct diff_event {
	u32 name; /* string id */
	struct diff_whole {
		u64 whole; /* what 100 % stands for */
		u64 weight, samples;
		bool present; /* the recording has samples of this event */
	} of[DIFF_MAX_FILES];
	VEC(struct diff_row) rows;
	VEC(struct diff_cell) cells;
	struct set by_keys; /* rows */
};

struct diff {
	u32 nr_files, nr_keys;
	struct strtab strings;
	VEC(struct diff_event) events; /* in the order in which recordings brought them */
};

enum diff_compute {
	DIFF_DELTA_ABS, /* percentage points of the share, sorted by absolute value */
	DIFF_DELTA,
	DIFF_RATIO, /* new weight / old weight */
	DIFF_WDIFF, /* new weight * w2 - old weight * w1 */
};

struct diff_method {
	enum diff_compute compute;
	s64 w1, w2;
};

/* The event of that name, which is added if it is new. Returns its index, because pointers move when another one is
 * added. */
u32 diff_event(struct diff *d, const char *name);
/* Adds to a row's cell for recording `file`; the row is created if it is new. keys: nr_keys string ids of
 * d->strings. */
void diff_add(struct diff *d, u32 event, u32 file, const u32 *keys, char level, u64 weight, u64 samples);

static inline const struct diff_cell *diff_cell(const struct diff_event *e, const struct diff_row *r, u32 file)
{
	return &e->cells.v[r->first_cell + file];
}

/* A row's share of the recording, in percent. */
double diff_share(const struct diff_event *e, const struct diff_row *r, u32 file);
/* The method's value for recording `file` compared with the baseline. False: there is none, because the row is missing
 * in one of them (a delta needs it only in the newer one). */
bool diff_value(const struct diff_event *e, const struct diff_row *r, u32 file, const struct diff_method *m,
		double *out);
/* Largest value of recording `file` first, rows without one last; file 0: heaviest in the baseline first. Ties: by the
 * baseline's weight, then by the keys' text. */
void diff_sort(struct diff *d, u32 file, const struct diff_method *m);
/*
 * How much a row grew, in percent, for judging a change. With ratio, it is relative to its own old weight (infinite if
 * it had none). Otherwise it is the growth of the weight relative to the baseline's whole if `counted` (recordings
 * whose counts are the same in each run), or else the difference of the shares.
 */
double diff_growth(const struct diff_event *e, const struct diff_row *r, u32 file, const struct diff_method *m,
		   bool counted);
/* The same for the event as a whole. */
double diff_growth_of_whole(const struct diff_event *e, u32 file);
void diff_free(struct diff *d);

#endif
