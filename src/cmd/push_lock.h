/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two recorders of one name would send each other's files, so the first one locks the name: PATH.lock is locked while
 * it runs, and by processes that it has forked, whatever ends it. The file is removed at the end, if there is one.
 */
#ifndef CMD_PUSH_LOCK_H
#define CMD_PUSH_LOCK_H

#include "base/err.h"

struct push_lock {
	char *path;
	int fd; /* -1: none */
};

/* 0, or ERR_IO: another one has it, or it cannot be had; noted. */
int push_lock_take(struct push_lock *l, const char *path, const struct notify *to);
/* In a forked process: it holds the lock until it ends, and the file is not its own. */
void push_lock_keep(struct push_lock *l);
/* When the others that hold it have ended. A zeroed lock with fd -1 is fine. */
void push_lock_end(struct push_lock *l);

#endif
