/* SPDX-License-Identifier: Apache-2.0 */
#include "state/text.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "base/err.h"

int text_read_fd(int fd, struct bytes *out)
{
	for (;;) {
		ssize_t n;

		bytes_grow(out, 1u << 16);
		n = read(fd, out->p + out->len, out->cap - out->len);
		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? ERR_IO : 0;
		out->len += (size_t)n;
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
