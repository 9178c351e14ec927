/* SPDX-License-Identifier: Apache-2.0 */
#include "state/text.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/err.h"

/* /proc/kallsyms has some 15 MB, the map of a large JVM 50. The file may be of somebody who would like our memory. */
#define TEXT_MAX (256u << 20)
#define HOLE_FREE (4 << 20)
#define HOLE_TIMES 32

/* Text has no holes. Some file systems pack it, though, and keep small files where they show no blocks. */
static bool is_mostly_hole(const struct stat *st)
{
	return S_ISREG(st->st_mode) && st->st_size > HOLE_FREE && st->st_size / HOLE_TIMES > st->st_blocks * 512;
}

int text_read_fd(int fd, struct bytes *out)
{
	struct stat st;

	if (!fstat(fd, &st) && (st.st_size > TEXT_MAX || is_mostly_hole(&st)))
		return ERR_LIMIT; /* files of /proc have no size; they are stopped below */
	for (;;) {
		ssize_t n;

		bytes_grow(out, 1u << 16);
		n = read(fd, out->p + out->len, out->cap - out->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? ERR_IO : 0;
		out->len += (size_t)n;
		if (out->len > TEXT_MAX)
			return ERR_LIMIT;
	}
}

int text_read(const char *path, struct bytes *out)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY), err;

	if (fd < 0)
		return errno == ENOENT || errno == ENOTDIR ? ERR_NOTFOUND :
		       errno == EACCES || errno == EPERM   ? ERR_PERM :
							     ERR_IO;
	err = text_read_fd(fd, out);
	close(fd);
	return err;
}
