/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --control: commands, one per line, that come through a FIFO or a descriptor during a recording. They are answered
 * with "ack\n" and a NUL through another descriptor, if there is one.
 */
#ifndef RECORD_CONTROL_H
#define RECORD_CONTROL_H

#include "base/err.h"
#include "base/types.h"

#define CONTROL_LINE_MAX 4096 /* longer ones are left out */

struct control {
	int in, ack; /* -1: none; closed with it */
	bool skip;   /* the rest of a line that was too long */
	u32 len;
	char line[CONTROL_LINE_MAX];
};

/* No descriptors. */
void control_init(struct control *c);
/*
 * Parses "fifo:PATH[,PATH]" or "fd:N[,N]". ERR_USAGE (also if it is not a FIFO, not open, or cannot be waited for),
 * ERR_IO, noted.
 */
int control_open(struct control *c, const char *text, const struct notify *to);
/*
 * Reads the available bytes once, and calls fn for each line that is not empty, without its end, which is a newline, a
 * NUL, or the end of the available bytes. False: it was closed at the other end. Does not wait for pipes and sockets,
 * even if others read them, too, nor for anything else that still has the data that poll() announced.
 */
bool control_read(struct control *c, void (*fn)(void *ctx, char *line), void *ctx, const struct notify *to);
/* Does not wait either, because there may be no reader. */
void control_ack(const struct control *c, const struct notify *to);
void control_close(struct control *c);

#endif
