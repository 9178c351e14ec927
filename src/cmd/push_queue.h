/* SPDX-License-Identifier: Apache-2.0 */
/* Recordings that wait to be sent, the oldest first, and what they take of the disk. */
#ifndef CMD_PUSH_QUEUE_H
#define CMD_PUSH_QUEUE_H

#include "base/vec.h"

/* PATH.push.DATE, so that what --switch-output has left under the same PATH, for its user, is neither sent nor
 * removed.
 */
#define PUSH_NAME "push"

struct push_file {
	char *path;
	u64 bytes;
	u64 changed_ns; /* when it was last written to */
};

struct push_queue {
	VEC(struct push_file) v;
	u64 bytes; /* of all */
};

void push_queue_free(struct push_queue *q); /* the files stay */
/* Behind the others, whoever owns it: a file system may say that somebody else does. 0 or -errno: it is left out. */
int push_queue_add(struct push_queue *q, const char *path);
/* Those that an earlier run with the same name has left: PATH.push.DATE, of this user. */
void push_queue_find(struct push_queue *q, const char *path);
/* Removes the file, too. 0 or -errno: it is there still, and out of the queue. */
int push_queue_remove(struct push_queue *q, size_t i);

#endif
