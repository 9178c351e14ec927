/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sender: a process beside the recorder that sends what it has finished. Each recording is made into a profile, and
 * sent, by a child of the sender, so that neither its memory nor its end is the sender's. What cannot be sent waits on
 * the disk, and the oldest recordings are dropped when they take too much of it.
 */
#ifndef CMD_PUSH_SENDER_H
#define CMD_PUSH_SENDER_H

#include "cmd/export_push.h"
#include "cmd/push_queue.h"

#define PUSH_RELOAD "!" /* instead of a path */

struct push_sender_opts {
	const char *path;	   /* of recordings, without their dates */
	struct export_push push;   /* without input */
	struct push_queue waiting; /* from before; the sender frees its copy */
	u64 keep;		   /* bytes of recordings that may wait */
	bool quiet;		   /* nothing is said at the end if everything was sent */
};

/*
 * Reads lines from in: paths of finished recordings, and PUSH_RELOAD, at which it tries again at once. Its end is that
 * of the recorder. Then what waits is sent, until the first time that this fails; recordings that are left are sent by
 * the next sender for this path. Returns whether everything was sent.
 */
bool push_sender_run(const struct push_sender_opts *o, int in, const struct notify *to);

#endif
