/* SPDX-License-Identifier: Apache-2.0 */
/* /proc/PID/stat (proc(5)). */
#ifndef CODEC_PROC_STAT_H
#define CODEC_PROC_STAT_H

#include "base/bytes.h"

/* What one line of /proc/PID/stat says. false when it is no such line. Hostile names hold blanks and brackets. */
struct proc_stat {
	struct str comm;
	s32 ppid;
	u32 flags, threads;
	u64 start_ticks; /* when it began, in clock ticks (sysconf) since the boot */
};
bool proc_stat_parse(const char *text, size_t len, struct proc_stat *out);

#endif
