/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A progress bar for work that takes longer than half a second. It is drawn on standard error if that is a terminal.
 * It is wiped before anything else is printed there, and when the work is done.
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
	const struct notify *behind; /* where notes are passed on to */
	struct notify notify;	     /* the one to give to the work: it wipes the bar before it prints a note */
};

void progress_start(struct progress *p, bool terminal, const struct notify *notify);
/* The function for session_opts.progress; its ctx is the struct progress. */
void progress_report(void *ctx, const char *what, u64 done, u64 total);
void progress_stop(struct progress *p);

#endif
