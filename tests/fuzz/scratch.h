/* SPDX-License-Identifier: Apache-2.0 */
/* A directory of a fuzz target's own, in memory where there is such a place, for code that opens files by name. */
#ifndef FUZZ_SCRATCH_H
#define FUZZ_SCRATCH_H

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fuzz.h"

/* The same for all inputs of this process; it is removed when the process ends. */
static char scratch_dir[64];

static void scratch_remove(void)
{
	char command[96];

	snprintf(command, sizeof(command), "rm -rf %s", scratch_dir);
	(void)!system(command);
}

static inline const char *scratch(void)
{
	if (*scratch_dir)
		return scratch_dir;
	snprintf(scratch_dir, sizeof(scratch_dir), "%s/reticle-fuzz-XXXXXX",
		 access("/dev/shm", W_OK) ? "/tmp" : "/dev/shm");
	MUST(mkdtemp(scratch_dir));
	atexit(scratch_remove);
	return scratch_dir;
}

static inline void scratch_write(const char *name, const void *data, size_t size)
{
	char path[128];
	FILE *f;

	snprintf(path, sizeof(path), "%s/%s", scratch(), name);
	f = fopen(path, "w");
	MUST(f && fwrite(data, 1, size, f) == size && !fclose(f));
}

#endif
