/* SPDX-License-Identifier: Apache-2.0 */
/* The first pass over a recording: from record header to record header. */
#ifndef HOP_H
#define HOP_H

#include "session.h"
#include "state/threadset.h"

/* A record that is no sample. Called in the file's order, on any thread but never on two at once. */
typedef void (*hop_fn)(void *ctx, const struct source_record *at);

/* Whose samples there are; in set NULL: nobody asks. */
struct hop_samples {
	struct threadset *set;
	u32 at_tid; /* where pid and tid stand in samples; 0: nowhere, so all are of thread 0 */
};

/*
 * Counts the samples of s, cuts its data into blocks of whole records and shows fn everything else. Where a header makes no
 * sense the rest is left out, counted and noted. ERR_INTERRUPTED when s->opts.stop says so.
 */
int hop_records(struct session *s, hop_fn fn, void *ctx, const struct hop_samples *samples);

#endif
