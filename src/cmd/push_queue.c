/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/push_queue.h"

#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define DATE_DIGITS 16 /* record/recorder_file.c appends so many */

void push_queue_free(struct push_queue *q)
{
	for (size_t i = 0; i < q->v.n; i++)
		free(q->v.v[i].path);
	vec_free(&q->v);
	q->bytes = 0;
}

static void add(struct push_queue *q, const char *path, const struct stat *st)
{
	vec_push(&q->v, ((struct push_file){
				.path = mem_strdup(path),
				.bytes = (u64)MAX(st->st_size, st->st_blocks * 512),
				.changed_ns = (u64)st->st_mtim.tv_sec * 1000000000 + (u64)st->st_mtim.tv_nsec,
			}));
	q->bytes += q->v.v[q->v.n - 1].bytes;
}

int push_queue_add(struct push_queue *q, const char *path)
{
	struct stat st;

	if (lstat(path, &st))
		return -errno;
	if (!S_ISREG(st.st_mode))
		return -EINVAL;
	add(q, path, &st);
	return 0;
}

int push_queue_remove(struct push_queue *q, size_t i)
{
	struct push_file *f = &q->v.v[i];
	int err = unlink(f->path) && errno != ENOENT ? -errno : 0;

	q->bytes -= f->bytes;
	free(f->path);
	memmove(f, f + 1, (--q->v.n - i) * sizeof(*f));
	return err;
}

static bool is_dated(const char *name, const char *base)
{
	static const char middle[] = "." PUSH_NAME ".";
	size_t n = strlen(base);

	if (strncmp(name, base, n) || strncmp(name + n, middle, strlen(middle)))
		return false;
	name += n + strlen(middle);
	return strlen(name) == DATE_DIGITS && strspn(name, "0123456789") == DATE_DIGITS;
}

/* Names have the local time, which goes back an hour once a year. */
static int by_change(const void *a, const void *b)
{
	const struct push_file *x = a, *y = b;

	if (x->changed_ns != y->changed_ns)
		return x->changed_ns < y->changed_ns ? -1 : 1;
	return strcmp(x->path, y->path);
}

void push_queue_find(struct push_queue *q, const char *path)
{
	const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path;
	char *directory = mem_strndup(path, (size_t)(base - path));
	DIR *d = opendir(*directory ? directory : ".");
	struct dirent *e;

	while (d && (e = readdir(d))) {
		char *found = is_dated(e->d_name, base) ? mem_printf("%s%s", directory, e->d_name) : NULL;
		struct stat st;

		if (found && !lstat(found, &st) && S_ISREG(st.st_mode) && st.st_uid == geteuid())
			add(q, found, &st);
		free(found);
	}
	if (d)
		closedir(d);
	free(directory);
	if (q->v.n)
		qsort(q->v.v, q->v.n, sizeof(*q->v.v), by_change);
}
