/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diff: several recordings' rows as one table, in text as `perf diff` lays it out, in CSV and in JSON.
 */
#ifndef VIEW_DIFF_H
#define VIEW_DIFF_H

#include "agg/diff.h"
#include "view/report.h"

/* One recording, as far as it is kept. */
struct diff_file {
	const char *path;
	struct tally tally;
	char *core; /* of a simulated recording, or NULL; owned by whoever filled it in */
};

struct diff_opts {
	struct diff_method method;
	u32 order;		/* the recording by whose values rows are sorted */
	u8 keys[DIFF_MAX_KEYS]; /* enum column_id, diff.nr_keys of them */
	bool counts;		/* weights and their differences, too */
	bool formula, baseline_only, totals, quiet;
	double percent_limit; /* rows below it in every recording are left out */
	double fail_above;    /* percent; < 0: nothing fails */
	char separator;
	u32 room;		       /* columns of the terminal; 0: there is none */
	const struct diff_file *files; /* diff.nr_files of them */
};

/* Adds what a profile holds, as recording number `file`. o gives the percentages' base (relative) and how DSOs are
 * named. */
void diff_take(struct diff *d, u32 file, struct profile *p, const u8 *keys, const struct report_opts *o);

void diff_text(const struct diff *d, const struct diff_opts *o, struct bytes *out);
/* A header line, then one line per row: event, keys, then per recording weight, samples and percent, and for all but
 * the baseline what the method says and the difference of the weights. */
void diff_csv(const struct diff *d, const struct diff_opts *o, struct bytes *out);
/* {"meta":{"generator","compute","sort","files":[{}]},"events":[{"name","files":[{"weight","whole","samples"}],
 * "rows":[{keys, "weight":[], "samples":[], "value":[], "failed":bool}]}],"failed":n}: one value less than recordings
 */
void diff_json(const struct diff *d, const struct diff_opts *o, struct bytes *out);

/* Whether the row is shown: not too light, and in the baseline where only those are wanted. */
bool diff_wants(const struct diff *d, const struct diff_event *e, const struct diff_row *r, const struct diff_opts *o);
/* Can it be compared: the baseline and one other recording have it. */
bool diff_has_pair(const struct diff *d, const struct diff_event *e);
/* The recording in which the row grew beyond fail_above, or 0. */
u32 diff_failed(const struct diff *d, const struct diff_event *e, const struct diff_row *r, const struct diff_opts *o);
u32 diff_whole_failed(const struct diff *d, const struct diff_event *e, const struct diff_opts *o);
/* One line per row, and per event as a whole, that failed; at most `most`, then how many more. Returns how many there
 * are. */
u32 diff_failures(const struct diff *d, const struct diff_opts *o, u32 most, struct bytes *out);
/* "delta-abs" ... */
const char *diff_method_name(enum diff_compute compute);

#endif
