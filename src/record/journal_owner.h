/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process that a journal names, as the kernel knows it now: who it is, and since when it has that number. The
 * owner of /proc/PID does not tell whose it is: once a process has changed its user, that is root.
 */
#ifndef RECORD_JOURNAL_OWNER_H
#define RECORD_JOURNAL_OWNER_H

#include "base/types.h"

struct journal_owner {
	u32 uid;     /* the effective one */
	u32 started; /* the lower half of its beginning in clock ticks (proc_stat.h) */
};

/* False: there is none, or it cannot be looked at. */
bool journal_owner_of(u32 pid, struct journal_owner *out);

#endif
