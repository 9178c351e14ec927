/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/output.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

static bool is_special(const char *path)
{
	struct stat st;

	return !stat(path, &st) && !S_ISREG(st.st_mode);
}

/* A pipe or device that another user has put a link to where a file was meant. What root links is /dev/stdout. */
static bool is_foreign_link(const char *path)
{
	struct stat st;

	return is_special(path) && !lstat(path, &st) && S_ISLNK(st.st_mode) && st.st_uid && st.st_uid != geteuid();
}

/* What open() would have given the file. */
static mode_t usual_mode(void)
{
	mode_t mask = umask(0);

	umask(mask);
	return 0666 & ~mask;
}

static int note_foreign(const char *path, const struct notify *to)
{
	return notify_at(to, NOTE_ERROR, ERR_PERM, path, NO_OFFSET,
			 "a link that belongs to another user and does not lead to a file; it is not written to");
}

int output_open(struct output *o, const char *path, const struct notify *to)
{
	*o = (struct output){ .fd = STDOUT_FILENO };
	if (path && strcmp(path, "-")) {
		o->path = path;
		if (is_foreign_link(path))
			return note_foreign(path, to);
		if (is_special(path)) {
			o->fd = open(path, O_WRONLY | O_CLOEXEC);
		} else {
			o->temporary = mem_printf("%s.XXXXXX", path);
			o->fd = mkostemp(o->temporary, O_CLOEXEC);
		}
	}
	if (o->fd < 0) {
		int err = errno;

		free(o->temporary);
		return notify_at(to, NOTE_ERROR, ERR_IO, path, NO_OFFSET, "cannot write: %s", strerror(err));
	}
	bytes_to_fd(&o->bytes, o->fd);
	return 0;
}

int output_append(struct output *o, const char *path, bool behind, const struct notify *to)
{
	int follow = O_NOFOLLOW;
	struct stat st;

	*o = (struct output){ .path = path, .fd = -1 };
	/* The file that it leads to would be written to, where output_open puts another one in the link's place. */
	if (!lstat(path, &st) && S_ISLNK(st.st_mode)) {
		if (st.st_uid && st.st_uid != geteuid())
			return notify_at(to, NOTE_ERROR, ERR_PERM, path, NO_OFFSET,
					 "a link that belongs to another user; it is not written to");
		follow = 0;
	}
	o->fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | follow | (behind ? O_APPEND : O_TRUNC), 0666);
	if (o->fd < 0)
		return notify_at(to, NOTE_ERROR, ERR_IO, path, NO_OFFSET, "cannot write: %s", strerror(errno));
	bytes_to_fd(&o->bytes, o->fd);
	return 0;
}

int output_check(const char *path, const struct notify *to)
{
	struct output o;
	struct stat st;
	int err;

	/* Opening one for nothing would be seen at a pipe's other end. */
	if (!strcmp(path, "-"))
		return 0;
	if (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return 0;
	err = output_open(&o, path, to);
	if (err)
		return err;
	unlink(o.temporary);
	close(o.fd);
	free(o.temporary);
	bytes_free(&o.bytes);
	return 0;
}

/* 0 or an errno. */
static int finish(struct output *o)
{
	int err = bytes_flush(&o->bytes) ? o->bytes.sys_errno : 0;

	if (o->temporary && !err && fchmod(o->fd, usual_mode() & (o->owner_only ? 0700 : 0777)))
		err = errno;
	if (o->path && close(o->fd) && !err)
		err = errno;
	if (o->temporary && !err && rename(o->temporary, o->path))
		err = errno;
	if (o->temporary && err)
		unlink(o->temporary);
	return err;
}

/* The directory that a path's last part is in. */
static bool stat_parent(const char *path, struct stat *st)
{
	const char *slash = strrchr(path, '/');
	char *parent = mem_printf("%.*s/.", slash ? (int)(slash - path) : 1, slash ? path : ".");
	bool known = !stat(parent, st);

	free(parent);
	return known;
}

static const char *last_part(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

/* Files that will be renamed have their names compared, because a link of that name is replaced and not followed. */
bool output_same(const struct output *a, const struct output *b)
{
	struct stat at, bt;
	bool known;

	if (a->temporary && b->temporary)
		known = !strcmp(last_part(a->path), last_part(b->path)) && stat_parent(a->path, &at) &&
			stat_parent(b->path, &bt);
	else
		known = !(a->temporary ? lstat(a->path, &at) : fstat(a->fd, &at)) &&
			!(b->temporary ? lstat(b->path, &bt) : fstat(b->fd, &bt));
	return known && at.st_dev == bt.st_dev && at.st_ino == bt.st_ino;
}

/* err: 0 or an errno. */
static int note_written(const struct output *o, int err, const struct notify *to)
{
	if (err == EPIPE)
		return ERR_IO; /* whoever closed the pipe knows */
	if (err)
		return notify_at(to, NOTE_ERROR, ERR_IO, o->path ? o->path : "standard output", NO_OFFSET,
				 "cannot write: %s", strerror(err));
	return 0;
}

int output_flush(struct output *o, const struct notify *to)
{
	return note_written(o, bytes_flush(&o->bytes) ? o->bytes.sys_errno : 0, to);
}

int output_close(struct output *o, const struct notify *to)
{
	int err = finish(o);

	bytes_free(&o->bytes);
	free(o->temporary);
	return note_written(o, err, to);
}

void output_drop(struct output *o)
{
	if (o->path)
		close(o->fd);
	if (o->temporary)
		unlink(o->temporary);
	bytes_free(&o->bytes);
	free(o->temporary);
}

void terminal_size(int fd, u32 *rows, u32 *columns)
{
	struct winsize size = { 0 };

	if (ioctl(fd, TIOCGWINSZ, &size))
		size = (struct winsize){ 0 };
	*rows = size.ws_row;
	*columns = size.ws_col;
}
