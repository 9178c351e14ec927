/* SPDX-License-Identifier: Apache-2.0 */
#include "base/regular.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

/* Where there is no /proc: opened by its path, and given back if it is another file by now. */
static int open_again(const char *path, int flags, const struct stat *looked_at)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY | flags);
	struct stat st;

	if (fd < 0)
		return -errno;
	if (!fstat(fd, &st) && st.st_dev == looked_at->st_dev && st.st_ino == looked_at->st_ino)
		return fd;
	close(fd);
	return -EINVAL;
}

/* A descriptor of O_PATH opens nothing: it holds the file that was looked at, and /proc leads back to it. */
static int open_looked_at(const char *path, int flags)
{
	int at = open(path, O_PATH | O_CLOEXEC | flags), fd = -EINVAL;
	char itself[32];
	struct stat st;

	if (at < 0)
		return -errno;
	snprintf(itself, sizeof(itself), "/proc/self/fd/%d", at);
	if (fstat(at, &st) < 0) {
		fd = -errno;
	} else if (S_ISLNK(st.st_mode)) {
		fd = -ELOOP;
	} else if (S_ISREG(st.st_mode)) {
		fd = open(itself, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
		fd = fd >= 0 ? fd : errno == ENOENT ? open_again(path, flags, &st) : -errno;
	}
	close(at);
	return fd;
}

int regular_open(const char *path)
{
	return open_looked_at(path, 0);
}

int regular_open_itself(const char *path)
{
	return open_looked_at(path, O_NOFOLLOW);
}
