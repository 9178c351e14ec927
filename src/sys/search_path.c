/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/search_path.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

#define DEFAULT_PATH "/bin:/usr/bin" /* execvp's without PATH */

/* 0, or why this file cannot be executed. */
static int executable(const char *path)
{
	struct stat st;

	if (stat(path, &st))
		return errno;
	return S_ISREG(st.st_mode) && !access(path, X_OK) ? 0 : EACCES;
}

int search_path(const char *command, char **out)
{
	const char *dir = getenv("PATH"), *end;
	int failed, first = ENOENT;

	*out = NULL;
	if (strchr(command, '/')) {
		failed = executable(command);
		*out = failed ? NULL : mem_strdup(command);
		return failed;
	}
	if (!*command)
		return ENOENT;
	for (dir = dir ? dir : DEFAULT_PATH;; dir = end + 1) {
		end = strchrnul(dir, ':');
		/* An empty entry is the current directory. */
		*out = mem_printf("%.*s/%s", end > dir ? (int)(end - dir) : 1, end > dir ? dir : ".", command);
		failed = executable(*out);
		if (!failed)
			return 0;
		free(*out);
		*out = NULL;
		if (failed == EACCES)
			first = EACCES;
		if (!*end)
			return first;
	}
}
