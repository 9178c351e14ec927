/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/smallfile.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"

#define CHUNK 4096
#define LINE_LIMIT 4095

int smallfile_read(int dirfd, const char *path, size_t limit, struct bytes *out)
{
	int fd = openat(dirfd, path, O_RDONLY | O_CLOEXEC | O_NOCTTY), err = 0;
	ssize_t n;

	out->len = 0;
	if (fd < 0)
		return -errno;
	do {
		/* All spare room at once: each read of /proc formats anew, and few large ones are cheaper. */
		if (out->cap - out->len < CHUNK + 1)
			bytes_grow(out, MAX(out->cap, (size_t)CHUNK) + 1);
		n = read(fd, out->p + out->len, out->cap - out->len - 1);
		if (n > 0)
			out->len += (size_t)n;
		else if (n < 0 && errno != EINTR)
			err = -errno;
		if (out->len > limit)
			err = -EFBIG;
	} while (!err && n);
	close(fd);
	out->p[out->len] = 0;
	return err;
}

char *smallfile_line(const char *path)
{
	struct bytes b = { 0 };
	char *line = NULL;

	if (!smallfile_read(AT_FDCWD, path, LINE_LIMIT, &b))
		line = mem_strndup((const char *)b.p, strcspn((const char *)b.p, "\n"));
	bytes_free(&b);
	return line;
}

bool smallfile_u64(const char *path, u64 *out)
{
	char *line = smallfile_line(path), *end = line;
	bool ok = false;

	if (line && *line >= '0' && *line <= '9') {
		errno = 0;
		*out = strtoull(line, &end, 0);
		ok = !errno && !*end;
	}
	free(line);
	return ok;
}
