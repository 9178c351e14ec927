/* SPDX-License-Identifier: Apache-2.0 */
#include "record/workload.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

union room_for_fds {
	struct cmsghdr align;
	char bytes[CMSG_SPACE(2 * WINDOW_PAIRS * sizeof(int))];
};

/* The word to go, and the counters that are to be switched on. In the child. */
static bool take_pairs(int fd, struct window_pairs *pairs)
{
	struct iovec part = { pairs, sizeof(*pairs) };
	union room_for_fds room;
	struct msghdr msg = {
		.msg_iov = &part, .msg_iovlen = 1, .msg_control = room.bytes, .msg_controllen = sizeof(room.bytes)
	};
	struct cmsghdr *c;

	if (recvmsg(fd, &msg, MSG_CMSG_CLOEXEC) != sizeof(*pairs) || pairs->n > WINDOW_PAIRS)
		return false;
	c = CMSG_FIRSTHDR(&msg);
	if (!pairs->n)
		return true;
	if (!c || c->cmsg_type != SCM_RIGHTS || c->cmsg_len < CMSG_LEN(2 * pairs->n * sizeof(int)))
		return false;
	for (u32 i = 0; i < pairs->n; i++) {
		memcpy(&pairs->pair[i].first, CMSG_DATA(c) + 2 * i * sizeof(int), sizeof(int));
		memcpy(&pairs->pair[i].second, CMSG_DATA(c) + (2 * i + 1) * sizeof(int), sizeof(int));
	}
	return true;
}

static bool send_pairs(int fd, const struct window_pairs *pairs)
{
	struct iovec part = { (void *)pairs, sizeof(*pairs) };
	union room_for_fds room;
	struct msghdr msg = { .msg_iov = &part, .msg_iovlen = 1 };
	struct cmsghdr *c;

	if (pairs->n) {
		memset(&room, 0, sizeof(room));
		msg.msg_control = room.bytes;
		msg.msg_controllen = CMSG_SPACE(2 * pairs->n * sizeof(int));
		c = CMSG_FIRSTHDR(&msg);
		*c = (struct cmsghdr){ .cmsg_len = CMSG_LEN(2 * pairs->n * sizeof(int)),
				       .cmsg_level = SOL_SOCKET,
				       .cmsg_type = SCM_RIGHTS };
		for (u32 i = 0; i < pairs->n; i++) {
			memcpy(CMSG_DATA(c) + 2 * i * sizeof(int), &pairs->pair[i].first, sizeof(int));
			memcpy(CMSG_DATA(c) + (2 * i + 1) * sizeof(int), &pairs->pair[i].second, sizeof(int));
		}
	}
	return sendmsg(fd, &msg, MSG_NOSIGNAL) == sizeof(*pairs);
}

/* In the child. Only async-signal-safe calls from here to the exec. */
static _Noreturn void child(const struct workload_command *c, int go_fd, int result_fd)
{
	struct window_pairs pairs;
	int failed;

	prctl(PR_SET_NAME, "reticle-exec");
	sigprocmask(SIG_SETMASK, c->mask, NULL);
	if (c->silent) {
		int null = open("/dev/null", O_RDWR);

		for (int fd = STDIN_FILENO; null >= 0 && fd <= STDERR_FILENO; fd++)
			dup2(null, fd);
		if (null > STDERR_FILENO)
			close(null);
	}
	if (c->stdout_taken)
		dup2(STDERR_FILENO, STDOUT_FILENO);
	if (!take_pairs(go_fd, &pairs))
		_exit(EXIT_FAILURE);
	window_arm_all_here(pairs.pair, pairs.n);
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
	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, go))
		return notify_error(to, ERR_IO, "cannot create a pair of sockets: %s", strerror(errno));
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

int workload_start(struct workload *w, const struct window_pairs *pairs, const char *name, const struct notify *to)
{
	const struct window_pairs none = { 0 };
	bool sent = send_pairs(w->go_fd, pairs ? pairs : &none);
	int failed = 0;
	ssize_t n;

	close(w->go_fd);
	w->go_fd = -1;
	if (!sent)
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
	siginfo_t info = { 0 };

	/* A stop of a child that is traced (windows/arm.c) is not ours to take. */
	if (!w->reaped && w->pid > 0 &&
	    (wait || (!waitid(P_PID, (id_t)w->pid, &info, WEXITED | WNOHANG | WNOWAIT) && info.si_pid &&
		      info.si_code != CLD_TRAPPED && info.si_code != CLD_STOPPED)))
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
	/* Its wait for the word to go has ended with 0 bytes, so it exits. */
	if (unstarted)
		workload_ended(w, true);
}
