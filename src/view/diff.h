/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Diff: the rows of several recordings as one table, as text in the layout of `perf diff`, as CSV and as JSON.
 */
#ifndef VIEW_DIFF_H
#define VIEW_DIFF_H

#include "agg/diff.h"
#include "view/report.h"

/* The data of one recording that are kept. */
struct diff_file {
	const char *path;
	struct tally tally;
	char *core; /* of a simulated recording, or NULL; owned by the code that filled it in */
};

struct diff_opts {
	struct diff_method method;
	u32 order;		   /* the recording by whose values rows are sorted */
	u8 keys[DIFF_MAX_KEYS];	   /* enum column_id, diff.nr_keys of them */
	const char *const *fields; /* as the pipeline's */
	bool counts;		   /* weights and their differences, too */
	bool formula, baseline_only, totals, quiet;
	double percent_limit; /* rows below it in every recording are left out */
	double fail_above;    /* percent; < 0: nothing fails */
	char separator;
	u32 room;		       /* columns of the terminal; 0: there is none */
	const struct diff_file *files; /* diff.nr_files of them */
};

/* Adds the contents of a profile, as recording number `file`. o gives the base of percentages (relative) and how DSOs
 * are named. */
void diff_take(struct diff *d, u32 file, struct profile *p, const u8 *keys, const struct report_opts *o);

void diff_text(const struct diff *d, const struct diff_opts *o, struct bytes *out);
/* A header line, then one line per row: event, keys, then for each recording weight, samples and percent, and for all
 * except the baseline the method's value and the difference of the weights. */
void diff_csv(const struct diff *d, const struct diff_opts *o, struct bytes *out);
/* {"meta":{"generator","compute","sort","files":[{}]},"events":[{"name","files":[{"weight","whole","samples"}],
 * "rows":[{keys, "weight":[], "samples":[], "value":[], "failed":bool}]}],"failed":n}: one value less than recordings
 */
void diff_json(const struct diff *d, const struct diff_opts *o, struct bytes *out);

/* Of the key in this place, for eyes and for programs. */
const char *diff_key_header(const struct diff_opts *o, u32 nth);
const char *diff_key_name(const struct diff_opts *o, u32 nth);

/* Is the row shown? It must not be too light and, if only these are wanted, it must be in the baseline. */
bool diff_wants(const struct diff *d, const struct diff_event *e, const struct diff_row *r, const struct diff_opts *o);
/* Can it be compared? The baseline and at least one other recording must have it. */
bool diff_has_pair(const struct diff *d, const struct diff_event *e);
/* The recording in which the row grew beyond fail_above, or 0. */
u32 diff_failed(const struct diff *d, const struct diff_event *e, const struct diff_row *r, const struct diff_opts *o);
u32 diff_whole_failed(const struct diff *d, const struct diff_event *e, const struct diff_opts *o);
/* Writes one line for each row, and for each event as a whole, that failed: at most `most` lines, and then how many
 * more there are. Returns their number. */
u32 diff_failures(const struct diff *d, const struct diff_opts *o, u32 most, struct bytes *out);
/* "delta-abs" ... */
const char *diff_method_name(enum diff_compute compute);

#endif
