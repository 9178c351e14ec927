/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Workload: the command that a recording runs. The child waits before its exec until events are open on it, so that
 * the whole command is recorded and no part of the recorder.
 */
#ifndef RECORD_WORKLOAD_H
#define RECORD_WORKLOAD_H

#include <signal.h>
#include <sys/types.h>

#include "base/err.h"
#include "windows/arm.h"

struct workload {
	pid_t pid;
	int go_fd;     /* a word sent here starts the command; closing it ends the child unstarted */
	int result_fd; /* errno of a failed exec arrives here, or the end of file when it succeeded */
	bool reaped;
	int status; /* as of waitpid, once reaped */
};

struct workload_command {
	char *const *argv, *const *env;
	const sigset_t *mask;
	bool silent;	   /* its output is discarded, and its input is empty */
	bool stdout_taken; /* standard output is used for something else: the command's output goes to standard error
			    */
};

/* Forks the waiting child. It runs the command with the current dispositions of signals, so fork before ignoring any.
 * ERR_IO, noted. */
int workload_prepare(struct workload *w, const struct workload_command *c, const struct notify *to);
/* Lets the child continue (pairs: the twins that it arms first, or NULL) and waits until the exec is done.
 * ERR_NOTFOUND, ERR_PERM or ERR_IO (noted) if the exec failed. */
int workload_start(struct workload *w, const struct window_pairs *pairs, const char *name, const struct notify *to);
/* True once the child has ended (it is reaped then). Does not wait unless told to; a wait ends at signals too. */
bool workload_ended(struct workload *w, bool wait);
/* The exit status to pass on: the command's own, or 128 + the signal that ended it. */
int workload_exit_status(const struct workload *w);
/* Ends a child that never started, and closes all descriptors. */
void workload_close(struct workload *w);

#endif
