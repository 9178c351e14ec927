/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --control: commands, a line each, that come in through a FIFO or a descriptor while it is recorded; answered with
 * "ack\n" and a NUL through another one, where there is one.
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
 * "fifo:PATH[,PATH]" or "fd:N[,N]". ERR_USAGE (also for what is no FIFO, not open, or not to be waited for), ERR_IO,
 * noted.
 */
int control_open(struct control *c, const char *text, const struct notify *to);
/*
 * Reads once what there is, and calls fn for each line that is not empty, without its end: a new line, a NUL, or that
 * there is nothing more to read just now. False: it was closed at the other end. Does not wait for pipes and sockets,
 * whoever else reads them, nor for anything else that still has what poll() says.
 */
bool control_read(struct control *c, void (*fn)(void *ctx, char *line), void *ctx, const struct notify *to);
/* Does not wait either: nobody may read it. */
void control_ack(const struct control *c, const struct notify *to);
void control_close(struct control *c);

#endif
