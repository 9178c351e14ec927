/* SPDX-License-Identifier: Apache-2.0 */
#include "state/roots.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "base/rootdir.h"
#include "codec/proc_stat.h"
#include "state/text.h"

#define NOT_ASKED (ID_NONE - 1)
#define SECOND_NS 1000000000ull
#define SLACK_NS SECOND_NS /* the beginning is told in ticks */

/* Most that a recording names do not live, and asking for each of them takes its time. */
static void note_all(struct roots *r)
{
	DIR *proc = opendir("/proc");
	const struct dirent *e;

	r->asked = true;
	while (proc && (e = readdir(proc)) != NULL)
		if (e->d_name[0] >= '1' && e->d_name[0] <= '9')
			map_set(&r->by_pid, strtoul(e->d_name, NULL, 10), NOT_ASKED);
	if (proc)
		closedir(proc);
}

static u64 now_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (u64)t.tv_sec * SECOND_NS + (u64)t.tv_nsec;
}

/* When it began, in ns since 1970; 0: it is gone. */
static u64 began_ns(u32 pid)
{
	struct bytes text = { 0 };
	struct proc_stat stat;
	char path[32];
	u64 began = 0;

	snprintf(path, sizeof(path), "/proc/%u/stat", pid);
	if (!text_read(path, &text) && proc_stat_parse((const char *)text.p, text.len, &stat))
		began = now_ns(CLOCK_REALTIME) - now_ns(CLOCK_BOOTTIME) +
			stat.start_ticks * (SECOND_NS / (u64)sysconf(_SC_CLK_TCK));
	bytes_free(&text);
	return began;
}

u32 root_of_process(struct roots *r, u32 pid)
{
	u32 known;

	if (!r->asked)
		note_all(r);
	known = map_get(&r->by_pid, pid);
	if (known != NOT_ASKED)
		return known == ID_NONE ? 0 : known;
	known = rootdir_of(pid);
	if (known && r->made_ns && began_ns(pid) > r->made_ns + SLACK_NS)
		known = 0;
	map_set(&r->by_pid, pid, known);
	return known;
}

void roots_free(struct roots *r)
{
	map_free(&r->by_pid);
}
