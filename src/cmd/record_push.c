/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/record_push.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/mem.h"
#include "cmd/push_lock.h"
#include "cmd/push_sender.h"
#include "cmd/rights.h"

#define INTERVAL_MS 10000
#define LEAST_KEEP (16ull << 20)
#define PARTS 4 /* of the disk: one for the file that is being written */
#define LOWER_PRIORITY 2

struct record_push {
	const struct notify *to;
	const char *control; /* of --control, or NULL */
	int out;
	pid_t pid;
	struct push_lock lock;
};

static struct export_push target_of(const struct record_push_opts *p, bool no_cache)
{
	return (struct export_push){ .format = p->format, .to = p->to, .headers = &p->headers, .no_cache = no_cache };
}

static int check_alone(const struct record_push_opts *p, const struct notify *to)
{
	const struct {
		bool given;
		const char *name;
	} options[] = {
		{ p->headers.n > 0, "push-header" },
		{ p->format != NULL, "push-format" },
		{ p->interval_ms > 0, "interval" },
		{ p->keep > 0, "push-keep" },
	};

	for (u32 i = 0; i < ARRAY_LEN(options); i++)
		if (options[i].given)
			return notify_error(to, ERR_USAGE, "option --%s works only with --push", options[i].name);
	return 0;
}

int record_push_check(struct record_push_opts *p, struct record_opts *o, const struct notify *to)
{
	struct output_opts *out = &o->output;
	struct export_push target;

	if (!p->to)
		return check_alone(p, to);
	if (out->path && !strcmp(out->path, "-"))
		return notify_error(to, ERR_USAGE, "--push needs a file, in which it keeps what is not sent yet");
	if (out->switch_on != SWITCH_NEVER || out->switch_max_files)
		return notify_error(to, ERR_USAGE,
				    "--push has its own --switch-output: --interval says when, and --push-keep how "
				    "much is kept");
	if (out->max_size)
		return notify_error(to, ERR_USAGE, "--push and --max-size exclude each other (see --push-keep)");
	p->format = p->format ? p->format : "otlp";
	p->keep = p->keep ? p->keep : RECORD_PUSH_KEEP;
	if (p->keep < LEAST_KEEP)
		return notify_error(to, ERR_USAGE, "option --push-keep: at least 16M are needed");
	out->switch_on = SWITCH_TIME;
	out->switch_ms = p->interval_ms ? p->interval_ms : INTERVAL_MS;
	out->switch_size = p->keep / PARTS;
	out->switch_name = PUSH_NAME;
	/* So that each recording says when it was made. */
	if (!o->attr.use_clockid && !o->sim.on) {
		o->attr.use_clockid = true;
		o->attr.clockid = CLOCK_MONOTONIC;
		o->attr.clock_name = "monotonic";
	}
	target = target_of(p, false);
	return export_push_check(&target, to);
}

/* Signals to a whole group, as a terminal and systemd send them, are the recorder's, whose end is waited for. */
static void leave_signals_alone(void)
{
	const int signals[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR2, SIGPIPE };

	for (u32 i = 0; i < ARRAY_LEN(signals); i++)
		signal(signals[i], SIG_IGN);
	signal(SIGCHLD, SIG_DFL);
}

/* --control fd:N[,N]: who waits for the recorder to close them is not to wait for the sender. What we have opened
 * ourselves has other flags. */
static void close_control(const char *control)
{
	const char *at = control && !strncmp(control, "fd:", 3) ? control + 3 : "";

	while (*at) {
		int fd = atoi(at);

		if (fd > STDERR_FILENO && fcntl(fd, F_GETFD) == 0)
			close(fd);
		at += strcspn(at, ",");
		at += *at == ',';
	}
}

static _Noreturn void send_all(const struct push_sender_opts *o, int in, const struct notify *to)
{
	leave_signals_alone();
	setpriority(PRIO_PROCESS, 0, MAX(getpriority(PRIO_PROCESS, 0), 0) + LOWER_PRIORITY);
	rights_drop_to_reading();
	exit(push_sender_run(o, in, to) ? EXIT_SUCCESS : EXIT_FAILURE);
}

static int begin_sender(struct record_push *r, const struct push_sender_opts *sender)
{
	const struct notify *to = r->to;
	int fds[2];

	if (pipe2(fds, O_CLOEXEC))
		return notify_error(to, ERR_IO, "cannot make a pipe: %s", strerror(errno));
	r->pid = fork();
	if (!r->pid) {
		close(fds[1]);
		close_control(r->control);
		push_lock_keep(&r->lock);
		free(r);
		send_all(sender, fds[0], to);
	}
	close(fds[0]);
	r->out = fds[1];
	if (r->pid > 0)
		return 0;
	close(fds[1]);
	return notify_error(to, ERR_IO, "cannot start a process that sends: %s", strerror(errno));
}

struct record_push *record_push_begin(const struct record_push_opts *p, const struct record_opts *o, bool no_cache,
				      const struct notify *to)
{
	struct push_sender_opts sender = { .path = o->output.path ? o->output.path : "perf.data",
					   .push = target_of(p, no_cache),
					   .keep = p->keep - p->keep / PARTS,
					   .quiet = o->quiet };
	struct record_push *r = mem_zalloc(sizeof(*r));
	int err;

	r->to = to;
	r->control = o->control;
	if (push_lock_take(&r->lock, sender.path, to)) {
		free(r);
		return NULL;
	}
	/* While no file of this recorder can be among them. */
	push_queue_find(&sender.waiting, sender.path);
	err = begin_sender(r, &sender);
	push_queue_free(&sender.waiting);
	if (err) {
		push_lock_end(&r->lock);
		free(r);
		return NULL;
	}
	return r;
}

static int tell(struct record_push *p, const char *line)
{
	size_t n = strlen(line) + 1;
	ssize_t put;

	do
		put = write(p->out, line, n);
	while (put < 0 && errno == EINTR);
	return put == (ssize_t)n ? 0 : notify_error(p->to, ERR_IO, "the process that sends has ended");
}

int record_push_take(struct record_push *p, const char *path)
{
	return tell(p, path);
}

void record_push_reload(struct record_push *p)
{
	(void)tell(p, PUSH_RELOAD);
}

int record_push_end(struct record_push *p)
{
	int status = 0;

	close(p->out);
	while (waitpid(p->pid, &status, 0) < 0 && errno == EINTR)
		;
	push_lock_end(&p->lock);
	free(p);
	return WIFEXITED(status) && !WEXITSTATUS(status) ? 0 : ERR_IO;
}
