/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sink: code in this process that takes a recording while it is made, instead of a file. It gets the same stream as a
 * pipe (`record -o -`): the header of pipe mode, the events and features as records, records for what existed before
 * the first event, and then, round after round, the contents of the rings.
 */
#ifndef RECORD_SINK_H
#define RECORD_SINK_H

#include <sys/uio.h>

#include "base/types.h"

/* Called on the recorder's thread. */
struct sink {
	/* Takes bytes of the stream, in order. Each call ends at the end of a record, of the header, or of a record's
	 * payload. */
	void (*put)(void *ctx, const struct iovec *part, int nr);
	/* The contents of all rings have been put; the first time: everything before the events has been put. */
	void (*round)(void *ctx);
	void *ctx;
	u32 every_ms; /* the longest time between two rounds */
};

#endif
