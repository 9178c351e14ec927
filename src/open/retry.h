/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What to do if the kernel refuses an event: for which part of it the kernel is too old, which part this user is not
 * allowed to use, and what to tell the user if nothing helps.
 */
#ifndef OPEN_RETRY_H
#define OPEN_RETRY_H

#include "open/set.h"

struct retry {
	u32 too_old;	   /* number of rows in the table of kernel features that were given up */
	bool probed;	   /* the kernel was asked */
	bool user_only;	   /* kernel samples were given up */
	bool files_raised; /* RLIMIT_NOFILE was raised */
};

/*
 * perf_event_open of set->events[event] failed with errno `failed`. True: the attrs (or a limit) were changed, and
 * opening should be tried again from the start. Sends notes about things that a user would miss.
 */
bool event_retry(struct event_set *set, size_t event, int failed, struct retry *r, const struct notify *to);

/* After all events were opened: says what was given up because of missing permissions. */
void event_retry_tell(const struct retry *r, const struct notify *to);

/* Notes the error if nothing helped. Returns the enum err. */
int event_refused(const struct event_set *set, size_t event, int failed, const struct notify *to);

int perf_open(const struct attr *a, s32 pid, s32 cpu, int group, unsigned long flags); /* the system call; fd or -1 */

#endif
