/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Live: profiles of a recording that is still being made. Its stream (that of pipe mode) comes in on one thread, round
 * by round; another thread makes profiles of the most recent part.
 *
 * A span is a recording in memory: the records of the last rounds, and after them records that describe the state when
 * these rounds began (pass/living.h). Sessions order records by their times, so a span is read by the same code as a
 * file, and nothing has to be merged or undone. DSOs, symbols and frames are kept from one span to the next. Memory is
 * limited by the length of the history and by the number of threads and mappings that exist.
 */
#ifndef PASS_LIVE_H
#define PASS_LIVE_H

#include <sys/uio.h>

#include "pass/pipeline.h"

struct live_opts {
	u32 history_ms; /* how far a profile reaches back */
	u64 max_bytes;	/* and the largest number of bytes of the stream */
};

struct live;

struct live *live_new(const struct live_opts *opts, const struct notify *notify);
void live_free(struct live *l);

/* The stream, on the recorder's thread: whole records, or the header of pipe mode. */
void live_put(struct live *l, const struct iovec *part, int nr);
/* A round has ended; the first time: the head of the stream has. */
void live_round(struct live *l);

struct live_view {
	struct session *session; /* NULL: the stream's head has not come yet */
	struct profile *profile;
	u64 ms;		     /* the time that it covers */
	u64 left_out;	     /* number of bytes since the last profile that came too fast and are left out */
	u64 lost, throttled; /* in all */
};

/*
 * Makes a profile of the most recent part of the stream or, without `take`, of the same part as the previous profile,
 * with other options. `o` has to outlive the view; its session options are used, but not its input. The previous view,
 * if any, ends. Errors are noted.
 */
int live_refresh(struct live *l, const struct pipeline_opts *o, bool take, struct live_view *view);
/* The next profile begins after everything that has come so far. */
void live_zero(struct live *l);

#endif
