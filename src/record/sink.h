/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink: somebody in this process who takes a recording while it is made, in place of a file. What comes is the stream
 * that a pipe would get (`record -o -`): the header of pipe mode, the events and features as records, what was there
 * before the first event, then round after round of what the rings held.
 */
#ifndef RECORD_SINK_H
#define RECORD_SINK_H

#include <sys/uio.h>

#include "base/types.h"

/* Called on the recorder's thread. */
struct sink {
	/* Bytes of the stream, in order. Each call ends where a record does, or the header, or a record's payload. */
	void (*put)(void *ctx, const struct iovec *part, int nr);
	/* All that the rings held has been put; the first time: all that stands before the events. */
	void (*round)(void *ctx);
	void *ctx;
	u32 every_ms; /* between two rounds, at most */
};

#endif
