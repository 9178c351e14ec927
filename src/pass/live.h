/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: profiles of a recording that is still being made. Its stream (that of pipe mode) comes in on one thread, round
 * by round; profiles of what came lately are made on another.
 *
 * A span is a recording in memory: the records of the last rounds, and behind them, as the records that brought it
 * about, what was there when they began (pass/living.h). Sessions take them in order of their times, so that a span is
 * read by the same code as a file, and nothing has to be merged or taken back. DSOs, symbols and frames last from one
 * span to the next. Memory is bounded by the history and by what lives.
 */
#ifndef PASS_LIVE_H
#define PASS_LIVE_H

#include <sys/uio.h>

#include "pass/pipeline.h"

struct live_opts {
	u32 history_ms; /* how far a profile reaches back */
	u64 max_bytes;	/* and at most so much of the stream */
};

struct live;

struct live *live_new(const struct live_opts *opts, const struct notify *notify);
void live_free(struct live *l);

/* The stream, on the recorder's thread: whole records, or the header of pipe mode. */
void live_put(struct live *l, const struct iovec *part, int nr);
/* A round has ended; the first time: the head has. */
void live_round(struct live *l);

struct live_view {
	struct session *session; /* NULL: the stream's head has not come yet */
	struct profile *profile;
	u64 ms;		     /* how long a time it covers */
	u64 left_out;	     /* so many bytes came faster than profiles were made, since the last one */
	u64 lost, throttled; /* in all */
};

/*
 * A profile of what has come lately; without `take` of what the profile before it was of, for other options. `o` stays
 * as long as the view; its session's options are used, the input is not. The view before this one, if any, ends.
 * Errors are noted.
 */
int live_refresh(struct live *l, const struct pipeline_opts *o, bool take, struct live_view *view);
/* What there is has been seen: the next profile begins behind it. */
void live_zero(struct live *l);

#endif
