/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Where there is no /proc: opened by its path, and given back if it is another file by now. */
static int open_again(int dir, const char *path, int flags, const struct stat *looked_at)
{
	int fd = openat(dir, path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_dev == looked_at->st_dev && st.st_ino == looked_at->st_ino)
		return fd;
	close(fd);
	return -EINVAL;
}

/*
 * A descriptor of O_PATH opens nothing: it holds the file that was looked at, and /proc leads back to it. Opens that
 * one if it is a regular file. -ENOENT: there is no /proc.
 */
static int reopen(int at, struct stat *st)
{
	char itself[32];
	int fd;

	if (fstat(at, st) < 0)
		return -errno;
	if (!S_ISREG(st->st_mode))
		return S_ISLNK(st->st_mode) ? -ELOOP : -EINVAL;
	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", at);
	fd = open(itself, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	return fd < 0 ? -errno : fd;
}

static int open_looked_at(int dir, const char *path, int flags)
{
	int at = openat(dir, path, O_PATH | O_CLOEXEC | flags), fd;
	struct stat st;

	if (at < 0)
		return -errno;
	fd = reopen(at, &st);
	if (fd == -ENOENT)
		fd = open_again(dir, path, flags, &st);
	close(at);
	return fd;
}

int regular_open(const char *path)
{
	return open_looked_at(AT_FDCWD, path, 0);
}

int regular_open_itself(const char *path)
{
	return open_looked_at(AT_FDCWD, path, O_NOFOLLOW);
}

int regular_open_at(int dir, const char *name)
{
	return open_looked_at(dir, name, O_NOFOLLOW);
}

/* Where a descriptor's file is, as the kernel tells it; false when it does not. */
static bool place_of(int fd, char path[PATH_MAX])
{
	char itself[32];
	ssize_t n;

	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", fd);
	n = readlink(itself, path, PATH_MAX - 1);
	path[n > 0 ? n : 0] = 0;
	return n > 0 && path[0] == '/';
}

/* For kernels before 5.6: looked up as usual, and given back when it turns out to lie elsewhere. */
static int look_then_compare(int root, const char *path, u64 flags)
{
	char inside[PATH_MAX], found[PATH_MAX];
	int at = openat(root, path, O_PATH | O_CLOEXEC | (int)flags);
	size_t n;

	if (at < 0)
		return -errno;
	if (place_of(root, inside) && place_of(at, found)) {
		n = strcmp(inside, "/") ? strlen(inside) : 0;
		if (!strncmp(found, inside, n) && found[n] == '/')
			return at;
	}
	close(at);
	return -EXDEV;
}

static int look_inside(int root, const char *path, u64 flags)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC | flags,
				.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS };
	int at = (int)syscall(SYS_openat2, root, path, &how, sizeof(how));

	if (at >= 0)
		return at;
	/* A filter of system calls that does not know this one may say EPERM, which openat2 never does here. */
	return errno == ENOSYS || errno == EPERM ? look_then_compare(root, path, flags) : -errno;
}

static int open_inside(const char *root, const char *path, u64 flags)
{
	int dir, at, fd;
	struct stat st;

	while (*path == '/')
		path++;
	dir = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (dir < 0)
		return -errno;
	at = look_inside(dir, path, flags);
	close(dir);
	if (at < 0)
		return at;
	fd = reopen(at, &st);
	close(at);
	return fd;
}

int regular_open_in(const char *root, const char *path)
{
	return root && *root ? open_inside(root, path, 0) : regular_open(path);
}

int regular_open_itself_in(const char *root, const char *path)
{
	return root && *root ? open_inside(root, path, O_NOFOLLOW) : regular_open_itself(path);
}
