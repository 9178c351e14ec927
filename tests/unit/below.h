/* SPDX-License-Identifier: Apache-2.0 */
/* A process below another root directory. */
#ifndef UNIT_BELOW_H
#define UNIT_BELOW_H

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/rootdir.h"

/* One that waits until end_below kills it. 0: this user may have none. */
static inline pid_t start_below(const char *root)
{
	int told[2];
	char ok = 0;
	pid_t pid;

	assert_int_equal(pipe(told), 0);
	pid = fork();
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails does not end it */
		if ((!geteuid() || !unshare(CLONE_NEWUSER)) && !chroot(root) && write(told[1], "y", 1) == 1)
			pause();
		_exit(1);
	}
	close(told[1]);
	if (read(told[0], &ok, 1) != 1 || !rootdir_of((u32)pid)) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
		pid = 0;
	}
	close(told[0]);
	return pid;
}

/* 0: nothing to do. */
static inline void end_below(pid_t pid)
{
	if (!pid)
		return;
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
}

#endif
