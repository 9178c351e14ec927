/* SPDX-License-Identifier: Apache-2.0 */
#include "record/journal_owner.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "codec/proc_stat.h"
#include "sys/smallfile.h"

#define STAT_LIMIT 4096u
#define STATUS_LIMIT 65536u /* a list of groups may be long */

static bool read_started(u32 pid, struct bytes *file, u32 *out)
{
	struct proc_stat stat;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (smallfile_read(AT_FDCWD, path, STAT_LIMIT, file) ||
	    !proc_stat_parse((const char *)file->p, file->len, &stat))
		return false;
	*out = (u32)stat.start_ticks;
	return true;
}

/* "\nUid:\treal\teffective...", behind the name, in which line ends are escaped. */
static bool read_uid(u32 pid, struct bytes *file, u32 *out)
{
	const char *line;
	char path[32];

	snprintf(path, sizeof(path), "/proc/%u/status", pid);
	if (smallfile_read(AT_FDCWD, path, STATUS_LIMIT, file))
		return false;
	line = strstr((const char *)file->p, "\nUid:");
	return line && sscanf(line, "\nUid: %*u %u", out) == 1;
}

bool journal_owner_of(u32 pid, struct journal_owner *out)
{
	struct bytes file = { 0 };
	bool ok = read_started(pid, &file, &out->started) && read_uid(pid, &file, &out->uid);

	bytes_free(&file);
	return ok;
}
