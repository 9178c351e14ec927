/* SPDX-License-Identifier: Apache-2.0 */
#include "read/spool.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

/* Some file systems know no O_TMPFILE; there the name exists for a moment. */
static int open_unlinked(const char *dir)
{
	int fd = open(dir, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
	char *name;

	if (fd >= 0)
		return fd;
	name = mem_printf("%s/reticle-XXXXXX", dir);
	fd = mkostemp(name, O_CLOEXEC);
	if (fd >= 0)
		unlink(name);
	free(name);
	return fd;
}

int spool_open(struct spool *s, const char *of_what, const struct notify *to)
{
	const char *dir = getenv("TMPDIR");
	int fd;

	*s = (struct spool){ .dir = dir && *dir ? dir : "/var/tmp", .of_what = of_what };
	fd = open_unlinked(s->dir);
	if (fd < 0)
		return notify_at(to, NOTE_ERROR, ERR_IO, of_what, NO_OFFSET,
				 "cannot make a temporary file in %s: %s (set TMPDIR)", s->dir, strerror(errno));
	bytes_to_fd(&s->out, fd);
	return 0;
}

/* In pieces, so that a huge one does not have to fit into the buffer. */
void spool_put(struct spool *s, const void *p, u64 n)
{
	const u8 *at = p;

	while (n) {
		size_t piece = MIN(n, BYTES_FLUSH);

		bytes_put(&s->out, at, piece);
		at += piece;
		n -= piece;
	}
}

int spool_check(struct spool *s, const struct notify *to)
{
	if (!s->out.err)
		return 0;
	return notify_at(to, NOTE_ERROR, ERR_IO, s->of_what, NO_OFFSET,
			 "cannot write its temporary copy in %s: %s (set TMPDIR to where there is room)", s->dir,
			 strerror(s->out.sys_errno));
}

int spool_map(struct spool *s, void **p, const struct notify *to)
{
	struct stat st;
	int err;

	*p = NULL;
	bytes_flush(&s->out);
	err = spool_check(s, to);
	if (!err && fstat(s->out.fd, &st))
		err = ERR_IO;
	s->size = err ? 0 : (u64)st.st_size;
	if (s->size)
		*p = mmap(NULL, s->size, PROT_READ, MAP_PRIVATE, s->out.fd, 0);
	if (*p == MAP_FAILED) {
		*p = NULL;
		err = notify_at(to, NOTE_ERROR, ERR_IO, s->of_what, NO_OFFSET, "cannot map its temporary copy: %s",
				strerror(errno));
	}
	spool_close(s);
	return err;
}

void spool_close(struct spool *s)
{
	if (s->out.to_fd)
		close(s->out.fd);
	bytes_free(&s->out);
}
