/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/tracefs.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sys/smallfile.h"

#define ENTRIES_MAX 100000
#define ID_MAX 64 /* bytes of an id file */

static int from_errno(int e)
{
	if (e == EACCES || e == EPERM)
		return ERR_PERM;
	return e == ENOENT || e == ENOTDIR ? ERR_NOTFOUND : ERR_IO;
}

const char *tracefs_root(const char *given)
{
	if (given)
		return given;
	if (access("/sys/kernel/tracing/events", F_OK) && errno == ENOENT &&
	    !access("/sys/kernel/debug/tracing/events", F_OK))
		return "/sys/kernel/debug/tracing";
	return "/sys/kernel/tracing";
}

static int by_text(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static bool name_fits(const char *name)
{
	if (name[0] == '.')
		return false;
	for (const char *p = name; *p; p++)
		if (!isalnum((u8)*p) && !strchr("_-.", *p))
			return false;
	return true;
}

static bool is_directory(const char *base, const struct dirent *d)
{
	struct stat st;
	char *path;
	bool yes;

	if (d->d_type != DT_UNKNOWN)
		return d->d_type == DT_DIR;
	path = mem_printf("%s/%s", base, d->d_name);
	yes = !stat(path, &st) && S_ISDIR(st.st_mode);
	free(path);
	return yes;
}

int tracefs_list(const char *root, const char *subsystem, struct tracefs_names *out)
{
	char *path = mem_printf("%s/events%s%s", root, subsystem ? "/" : "", subsystem ? subsystem : "");
	DIR *dir = opendir(path);
	struct dirent *d;
	int err = dir ? 0 : from_errno(errno);

	while (dir && out->v.n < ENTRIES_MAX && (d = readdir(dir)))
		if (name_fits(d->d_name) && is_directory(path, d))
			vec_push(&out->v, mem_strdup(d->d_name));
	if (dir)
		closedir(dir);
	free(path);
	if (out->v.n)
		qsort(out->v.v, out->v.n, sizeof(*out->v.v), by_text);
	return err;
}

void tracefs_names_free(struct tracefs_names *n)
{
	for (size_t i = 0; i < n->v.n; i++)
		free(n->v.v[i]);
	vec_free(&n->v);
}

int tracefs_event_id(const char *root, const char *subsystem, const char *event, u64 *id)
{
	char *path = mem_printf("%s/events/%s/%s/id", root, subsystem, event), *end;
	struct bytes text = { 0 };
	int err = smallfile_read(AT_FDCWD, path, ID_MAX, &text);

	if (err) {
		err = err == -EFBIG ? ERR_FORMAT : from_errno(-err);
	} else {
		*id = strtoull((const char *)text.p, &end, 10);
		if (!isdigit(text.p[0]) || (*end && *end != '\n'))
			err = ERR_FORMAT;
	}
	bytes_free(&text);
	free(path);
	return err;
}
