/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diff: the rows of several recordings side by side. The first recording is the baseline.
 *
 * Rows of two recordings are the same when all their keys read the same, as addresses and ids mean nothing outside
 * their recording. Everything that is kept is text and numbers of its own, so a recording can be closed before the
 * next one is opened. Events meet by name.
 */
#ifndef AGG_DIFF_H
#define AGG_DIFF_H

#include "base/set.h"
#include "base/strtab.h"

#define DIFF_MAX_FILES 64
#define DIFF_MAX_KEYS 40

struct diff_cell {
	u64 weight, samples; /* of one row in one recording; both 0 when it is not there */
};

struct diff_row {
	u32 keys[DIFF_MAX_KEYS]; /* string ids, nr_keys of them */
	char level;		 /* of its symbol: 'k', '.', ..; 0 when symbol is no key */
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
	DIFF_DELTA_ABS, /* points of share, sorted by how far from 0 */
	DIFF_DELTA,
	DIFF_RATIO, /* new weight / old weight */
	DIFF_WDIFF, /* new weight * w2 - old weight * w1 */
};

struct diff_method {
	enum diff_compute compute;
	s64 w1, w2;
};

/* The event of that name, added when new. Its index: pointers move when another one is added. */
u32 diff_event(struct diff *d, const char *name);
/* Adds to a row's cell of recording `file`; the row is made when new. keys: nr_keys string ids of d->strings. */
void diff_add(struct diff *d, u32 event, u32 file, const u32 *keys, char level, u64 weight, u64 samples);

static inline const struct diff_cell *diff_cell(const struct diff_event *e, const struct diff_row *r, u32 file)
{
	return &e->cells.v[r->first_cell + file];
}

/* A row's share of the recording, in percent. */
double diff_share(const struct diff_event *e, const struct diff_row *r, u32 file);
/* What the method says of recording `file` against the baseline. False: nothing, as the row is missing in one of them
 * (a delta asks for the newer one only). */
bool diff_value(const struct diff_event *e, const struct diff_row *r, u32 file, const struct diff_method *m,
		double *out);
/* Largest value of recording `file` first, rows without one last; file 0: heaviest in the baseline first. Ties: by the
 * baseline's weight, then by the keys' text. */
void diff_sort(struct diff *d, u32 file, const struct diff_method *m);
/*
 * How much a row grew, in percent, for judging a change: by ratio, of its own old weight (infinite when it had none);
 * else of the baseline's whole, in weight when `counted` (what was recorded is a count that two runs share), or the
 * difference of the shares.
 */
double diff_growth(const struct diff_event *e, const struct diff_row *r, u32 file, const struct diff_method *m,
		   bool counted);
/* Likewise of the event as a whole. */
double diff_growth_of_whole(const struct diff_event *e, u32 file);
void diff_free(struct diff *d);

#endif
