/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress bar for work that takes longer than half a second. Drawn on standard error when that is a terminal, wiped
 * before anything else is printed there and when the work is done.
 */
#ifndef CMD_PROGRESS_H
#define CMD_PROGRESS_H

#include <pthread.h>

#include "base/err.h"

struct progress {
	pthread_mutex_t lock;
	bool on, drawn;
	u64 start_ns, drawn_ns;
	int columns;		     /* of the terminal */
	const struct notify *behind; /* where notes go in the end */
	struct notify notify;	     /* hand this one to the work: a note wipes the bar first */
};

void progress_start(struct progress *p, bool terminal, const struct notify *notify);
/* As session_opts.progress wants it; ctx is the struct progress. */
void progress_report(void *ctx, const char *what, u64 done, u64 total);
void progress_stop(struct progress *p);

#endif
