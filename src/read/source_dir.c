/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recording that is a directory, as `perf record --threads` makes it: `data` is a recording in file mode, and
 * data.0, data.1, ... hold what each thread of the recorder wrote: records without any header, each file a zstd stream
 * of its own when compressed. All of it is put together in a spool. The order of records in a recording is no order in
 * time anyway.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/regular.h"
#include "read/source_impl.h"
#include "read/unpack.h"

#define MAX_FILES 65536u

static int add_mapped(struct unpack *u, const struct source *s, int fd, const char *path)
{
	struct source in = { .path = path, .swap = s->swap, .notify = s->notify };
	struct stat st;
	void *p;
	int err;

	if (fstat(fd, &st))
		return notify_at(s->notify, NOTE_ERROR, ERR_IO, path, NO_OFFSET, "cannot stat: %s", strerror(errno));
	if (!st.st_size)
		return 0;
	p = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (p == MAP_FAILED)
		return notify_at(s->notify, NOTE_ERROR, ERR_IO, path, NO_OFFSET, "cannot map: %s", strerror(errno));
	in.data = p;
	in.size = (u64)st.st_size;
	err = unpack_add(u, &in, 0);
	munmap(p, (size_t)st.st_size);
	return err;
}

/* data.0, data.1, ... up to the first that is not there. */
static int add_files(struct unpack *u, const struct source *s, int dir)
{
	size_t size = strlen(s->path) + 32;
	char *path = mem_alloc(size);
	int err = 0;

	for (u32 i = 0; i < MAX_FILES && !err; i++) {
		int fd;

		snprintf(path, size, "%s/data.%u", s->path, i);
		fd = regular_open_at(dir, strrchr(path, '/') + 1);
		if (fd == -ENOENT)
			break;
		if (fd < 0) {
			(void)notify_at(s->notify, NOTE_WARNING, ERR_IO, path, NO_OFFSET, "%s; left out",
					fd == -EINVAL || fd == -ELOOP ? "not a file" : strerror(-fd));
			continue;
		}
		err = add_mapped(u, s, fd, path);
		close(fd);
	}
	free(path);
	return err;
}

int source_gather(struct source *s, int dir)
{
	const struct source in = *s;
	struct unpack *u;
	int err = unpack_begin(&u, s);

	if (err)
		return err;
	err = unpack_add(u, &in, 0);
	if (!err)
		err = add_files(u, s, dir);
	if (!err)
		return unpack_end(u);
	unpack_free(u);
	return err;
}
