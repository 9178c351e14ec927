/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/push_lock.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static int cannot(const struct push_lock *l, const char *why, const struct notify *to)
{
	return notify_error(to, ERR_IO, "cannot lock %s: %s", l->path, why);
}

/* Whoever had it may have removed the file since it was opened, and another one may have made a new one. */
static bool is_there(const struct push_lock *l, const struct stat *opened)
{
	struct stat there;

	return !lstat(l->path, &there) && there.st_ino == opened->st_ino && there.st_dev == opened->st_dev;
}

/* 1: to be tried again. */
static int try_once(struct push_lock *l, const char *path, const struct notify *to)
{
	struct stat st;

	l->fd = open(l->path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0600);
	if (l->fd < 0)
		return cannot(l, strerror(errno), to);
	if (fstat(l->fd, &st) || !S_ISREG(st.st_mode) || st.st_uid != geteuid())
		return cannot(l, "it is no file, or another user's", to);
	if (!flock(l->fd, LOCK_EX | LOCK_NB))
		return !is_there(l, &st);
	if (errno == EINTR)
		return 1;
	if (errno != EWOULDBLOCK)
		return cannot(l, strerror(errno), to);
	return notify_error(to, ERR_IO,
			    "another recorder with --push writes %s, and would send these files, too: end it, or give "
			    "this one another name with -o",
			    path);
}

int push_lock_take(struct push_lock *l, const char *path, const struct notify *to)
{
	int err;

	*l = (struct push_lock){ mem_printf("%s.lock", path), -1 };
	while ((err = try_once(l, path, to)) > 0)
		close(l->fd);
	if (!err)
		return 0;
	if (l->fd >= 0)
		close(l->fd);
	free(l->path);
	*l = (struct push_lock){ NULL, -1 };
	return err;
}

void push_lock_keep(struct push_lock *l)
{
	free(l->path);
	*l = (struct push_lock){ NULL, -1 };
}

void push_lock_end(struct push_lock *l)
{
	if (l->fd < 0)
		return;
	unlink(l->path);
	close(l->fd);
	free(l->path);
	*l = (struct push_lock){ NULL, -1 };
}
