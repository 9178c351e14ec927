/* SPDX-License-Identifier: Apache-2.0 */
/* What to tell if the kernel refuses an event that has branch records: what this machine's kind of records lacks. */
#ifndef OPEN_REFUSED_BRANCHES_H
#define OPEN_REFUSED_BRANCHES_H

#include "open/set.h"

/*
 * The event was refused with errno `failed`. Notes why as far as sysfs and procfs (their roots) tell, with a way out,
 * and returns ERR_UNSUPPORTED.
 */
int refused_branches(const struct open_event *e, int failed, const char *sysfs, const char *procfs,
		     const struct notify *to);

#endif
