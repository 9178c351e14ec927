/* SPDX-License-Identifier: Apache-2.0 */
#include "io/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

/* In the child. Only async-signal-safe calls from here to the exec. */
static _Noreturn void child(const struct workload_command *c, int go_fd, int result_fd)
{
	char byte;
	int failed;

	prctl(PR_SET_NAME, "reticle-exec");
	sigprocmask(SIG_SETMASK, c->mask, NULL);
	if (c->stdout_taken)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (read(go_fd, &byte, 1) != 1)
		_exit(EXIT_FAILURE);
	execvpe(c->argv[0], c->argv, c->env);
	failed = errno;
	if (write(result_fd, &failed, sizeof(failed)) != sizeof(failed))
		_exit(EXIT_FAILURE);
	_exit(failed == ENOENT ? 127 : 126);
}

int workload_prepare(struct workload *w, const struct workload_command *c, const struct notify *to)
{
	int go[2], result[2];

	*w = (struct workload){ .pid = -1, .go_fd = -1, .result_fd = -1 };
	if (pipe2(go, O_CLOEXEC))
		return notify_error(to, ERR_IO, "cannot create a pipe: %s", strerror(errno));
	if (pipe2(result, O_CLOEXEC)) {
		close(go[0]);
		close(go[1]);
		return notify_error(to, ERR_IO, "cannot create a pipe: %s", strerror(errno));
	}
	w->pid = fork();
	if (!w->pid) {
		close(go[1]);
		close(result[0]);
		child(c, go[0], result[1]);
	}
	close(go[0]);
	close(result[1]);
	w->go_fd = go[1];
	w->result_fd = result[0];
	return w->pid < 0 ? notify_error(to, ERR_IO, "cannot fork: %s", strerror(errno)) : 0;
}

int workload_start(struct workload *w, const char *name, const struct notify *to)
{
	int failed = 0;
	ssize_t n;

	n = write(w->go_fd, "g", 1);
	close(w->go_fd);
	w->go_fd = -1;
	if (n != 1)
		return notify_error(to, ERR_IO, "cannot start '%s': it ended before its start", name);
	do
		n = read(w->result_fd, &failed, sizeof(failed));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(failed))
		return 0;
	workload_ended(w, true); /* it exits now, with the status that says why */
	return notify_error(to,
			    failed == ENOENT ? ERR_NOTFOUND :
			    failed == EACCES ? ERR_PERM :
					       ERR_IO,
			    "cannot run '%s': %s", name, strerror(failed));
}

bool workload_ended(struct workload *w, bool wait)
{
	if (!w->reaped && w->pid > 0)
		w->reaped = waitpid(w->pid, &w->status, wait ? 0 : WNOHANG) == w->pid;
	return w->reaped || w->pid <= 0;
}

int workload_exit_status(const struct workload *w)
{
	if (!w->reaped)
		return 0;
	return WIFSIGNALED(w->status) ? 128 + WTERMSIG(w->status) : WEXITSTATUS(w->status);
}

void workload_close(struct workload *w)
{
	bool unstarted = w->go_fd >= 0;

	if (w->go_fd >= 0)
		close(w->go_fd);
	if (w->result_fd >= 0)
		close(w->result_fd);
	w->go_fd = w->result_fd = -1;
	/* Its read of the go pipe has ended with 0 bytes, so it exits. */
	if (unstarted)
		workload_ended(w, true);
}
