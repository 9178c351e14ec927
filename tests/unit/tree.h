/* SPDX-License-Identifier: Apache-2.0 */
/* Trees of small files that stand for sysfs, tracefs and procfs in tests. */
#ifndef TESTS_UNIT_TREE_H
#define TESTS_UNIT_TREE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "events/spec.h"
#include "own_dir.h"

struct tree {
	char dir[OWN_DIR_PATH];
	char trace[80];
	struct event_env env;
};

/* Paths under DEV are a PMU's; each row is a file and what it holds. */
#define DEV "bus/event_source/devices/"
struct file {
	const char *path, *text;
};

static inline void make_file(const char *root, const struct file *f)
{
	char path[512];
	FILE *out;

	snprintf(path, sizeof(path), "%s/%s", root, f->path);
	for (char *p = path + strlen(root) + 1; (p = strchr(p, '/')); *p++ = '/') {
		*p = 0;
		mkdir(path, 0700);
	}
	out = fopen(path, "w");
	if (!out)
		abort();
	fputs(f->text, out);
	fclose(out);
}

static inline struct tree make_tree(const struct file *files, u32 n)
{
	struct tree t = { 0 };

	own_dir_make(t.dir);
	for (u32 i = 0; i < n; i++)
		make_file(t.dir, &files[i]);
	snprintf(t.trace, sizeof(t.trace), "%s/trace", t.dir);
	return t;
}

/* The env points into the tree itself, so it is made where the tree lives. */
static inline const struct event_env *env_of(struct tree *t)
{
	t->env = (struct event_env){ .sysfs = t->dir, .tracefs = t->trace, .procfs = t->dir };
	return &t->env;
}

static inline void drop_tree(struct tree *t)
{
	own_dir_remove(t->dir);
}

#endif
