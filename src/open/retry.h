/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do when the kernel refuses an event: which part of it this kernel is too old for, which part this user may
 * not have, and what to tell him if nothing helps.
 */
#ifndef OPEN_RETRY_H
#define OPEN_RETRY_H

#include "open/set.h"

struct retry {
	u32 too_old;	   /* rows of the table of kernel features that were taken back */
	bool probed;	   /* the kernel was asked */
	bool user_only;	   /* kernel samples were given up */
	bool files_raised; /* RLIMIT_NOFILE was raised */
};

/*
 * perf_event_open of set->events[event] failed with errno `failed`. True: the attrs (or a limit) were changed and
 * opening is worth another try, from the start. Sends notes about what a user would miss.
 */
bool event_retry(struct event_set *set, size_t event, int failed, struct retry *r, const struct notify *to);

/* Once all are open: says what was given up for want of rights. */
void event_retry_tell(const struct retry *r, const struct notify *to);

/* The error for an event that nothing helps. Returns the enum err. */
int event_refused(const struct event_set *set, size_t event, int failed, const struct notify *to);

int perf_open(const struct attr *a, s32 pid, s32 cpu, int group, unsigned long flags); /* the system call; fd or -1 */

#endif
