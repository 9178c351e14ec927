/* SPDX-License-Identifier: Apache-2.0 */
/* Directories for files of a test. A failed assertion skips what a test has to do at its end, so what is left of them
 * goes when the test's process ends. */
#ifndef TESTS_UNIT_OWN_DIR_H
#define TESTS_UNIT_OWN_DIR_H

#include <errno.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define OWN_DIR_BEGIN "/tmp/reticle-test-"
#define OWN_DIR_PATH 48 /* bytes of a path, with the NUL */

struct own_dir {
	struct own_dir *next;
	pid_t pid; /* who made it: children end, too */
	char path[OWN_DIR_PATH];
};

static struct own_dir *own_dirs;

static inline int own_dir_remove_one(const char *path, const struct stat *st, int type, struct FTW *ftw)
{
	(void)st;
	(void)type;
	(void)ftw;
	return remove(path);
}

/* With all that is in it. */
static inline void own_dir_remove(const char *path)
{
	nftw(path, own_dir_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void own_dirs_remove(void)
{
	for (struct own_dir *d = own_dirs, *next; d; d = next) {
		next = d->next;
		if (d->pid == getpid())
			own_dir_remove(d->path);
		free(d);
	}
	own_dirs = NULL;
}

/* Makes one that nobody else has, and writes its path. */
static inline void own_dir_make(char path[OWN_DIR_PATH])
{
	struct own_dir *d = malloc(sizeof(*d));
	unsigned n = 0;

	do
		snprintf(path, OWN_DIR_PATH, OWN_DIR_BEGIN "%d-%u", (int)getpid(), n++);
	while (mkdir(path, 0700) && errno == EEXIST);
	if (!d || access(path, W_OK) || (!own_dirs && atexit(own_dirs_remove)))
		abort();
	d->next = own_dirs;
	d->pid = getpid();
	strcpy(d->path, path);
	own_dirs = d;
}

#endif
