/* SPDX-License-Identifier: Apache-2.0 */
#include "cmd/push_sender.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/clock.h"
#include "base/mem.h"

#define MOST_TRIES 3 /* to make a profile of one recording */

struct sender {
	const struct push_sender_opts *o;
	const struct notify *to;
	int in; /* -1: it has ended */
	struct bytes line;
	struct push_queue queue;
	pid_t child;   /* works on the first of the queue; or -1 */
	int result;    /* its pipe */
	u32 failures;  /* in a row */
	u32 not_made;  /* of these: how often the first could not be made a profile */
	u64 retry_ms;  /* not before */
	bool reloads;  /* told to while the child worked, which may not know yet what is new */
	bool away;     /* the server did not take the last one */
	bool gives_up; /* at the end: the last try has failed */
	bool refusing; /* it has refused the last one, and that was said */
	u64 n[PUSH_ENDS], bytes;
	u64 dropped, dropped_before; /* before: when the server answered last */
	u64 lost;		     /* could not be found, or not be removed */
};

/* What a child may say: neither each success, nor again and again the same failure. */
struct news {
	const struct notify *to;
	bool failing, refusing;
};

static void pass_news(void *ctx, const struct note *note)
{
	const struct news *news = ctx;

	if (note->level != NOTE_INFO && !(note->err == ERR_UNSUPPORTED ? news->refusing : news->failing))
		news->to->fn(news->to->ctx, note);
}

static void pass_faults(void *ctx, const struct note *note)
{
	const struct news *news = ctx;

	if (note->level == NOTE_ERROR)
		news->to->fn(news->to->ctx, note);
}

static _Noreturn void work(const struct sender *s, pid_t parent, int result)
{
	struct news news = { s->to, s->failures > 0, s->refusing };
	const struct notify making = { pass_faults, &news }, sending = { pass_news, &news };
	struct export_push push = s->o->push;
	struct push_outcome outcome;
	ssize_t n;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (getppid() != parent)
		_exit(1);
	push.input = s->queue.v.v[0].path;
	export_push(&push, &making, &sending, &outcome);
	n = write(result, &outcome, sizeof(outcome));
	_exit(n != sizeof(outcome));
}

static void wait_more(struct sender *s, u64 asked_ms)
{
	s->retry_ms = clock_ms() + push_wait_ms(s->failures++, asked_ms);
}

/* errno says why. */
static void cannot_begin(struct sender *s)
{
	if (!s->failures || s->in < 0)
		notify_error(s->to, ERR_IO, "cannot start a process that sends %s: %s", s->queue.v.v[0].path,
			     strerror(errno));
	s->gives_up |= s->in < 0;
	wait_more(s, 0);
}

static void begin_work(struct sender *s)
{
	pid_t parent = getpid();
	int fds[2];

	if (pipe2(fds, O_CLOEXEC)) {
		cannot_begin(s);
		return;
	}
	s->child = fork();
	if (!s->child) {
		close(fds[0]);
		work(s, parent, fds[1]);
	}
	if (s->child < 0)
		cannot_begin(s);
	close(fds[1]);
	s->result = fds[0];
	if (s->child < 0)
		close(fds[0]);
}

/* Its file, too. */
static void remove_from_queue(struct sender *s, size_t i)
{
	char *path = mem_strdup(s->queue.v.v[i].path);
	int err = push_queue_remove(&s->queue, i);

	if (err) {
		notify_error(s->to, ERR_IO, "cannot remove %s: %s", path, strerror(-err));
		s->lost++;
	}
	free(path);
}

static void say_answers_again(struct sender *s)
{
	notify_warn(s->to, "the server answers again: %zu recording%s waited", s->queue.v.n,
		    s->queue.v.n == 1 ? " has" : "s have");
	if (s->dropped > s->dropped_before)
		notify_error(s->to, ERR_IO, "recordings dropped before the server answered again: %llu",
			     (unsigned long long)(s->dropped - s->dropped_before));
	s->dropped_before = s->dropped;
	s->away = false;
}

static void done_with_first(struct sender *s, const struct push_outcome *o)
{
	const char *path = s->queue.v.v[0].path;

	if (s->away && (o->end == PUSH_SENT || o->end == PUSH_REFUSED))
		say_answers_again(s);
	if (o->end == PUSH_NOT_MADE)
		notify_error(s->to, ERR_IO, "dropping %s: no profile can be made of it", path);
	else if (o->end == PUSH_REFUSED && !s->refusing)
		notify_error(s->to, ERR_IO, "dropping %s: the server refuses it (more that it refuses are counted)",
			     path);
	else if (o->end == PUSH_SENT && s->refusing)
		notify_warn(s->to, "the server takes profiles again: it has refused %llu in all",
			    (unsigned long long)s->n[PUSH_REFUSED]);
	if (o->end == PUSH_SENT || o->end == PUSH_REFUSED)
		s->refusing = o->end == PUSH_REFUSED;
	s->n[o->end]++;
	s->bytes += o->bytes;
	s->failures = s->not_made = 0;
	s->retry_ms = 0;
	remove_from_queue(s, 0);
}

/* A failure is news again. */
static void try_at_once(struct sender *s)
{
	s->retry_ms = s->failures = 0;
	s->reloads = s->child > 0;
}

static void end_work(struct sender *s)
{
	struct push_outcome o;
	bool ended = read(s->result, &o, sizeof(o)) == sizeof(o);

	close(s->result);
	waitpid(s->child, NULL, 0);
	s->child = -1;
	if (!ended)
		o = (struct push_outcome){ PUSH_NOT_MADE };
	if (o.end == PUSH_NOT_MADE && ++s->not_made < MOST_TRIES)
		wait_more(s, 0);
	else if (o.end == PUSH_LATER) {
		s->away = true;
		s->gives_up |= s->in < 0;
		wait_more(s, o.wait_ms);
	} else {
		done_with_first(s, &o);
	}
	if (s->reloads)
		try_at_once(s);
}

/* The first one is left alone while it is being sent. */
static void drop_oldest(struct sender *s)
{
	size_t first = s->child > 0;

	while (s->queue.bytes > s->o->keep && s->queue.v.n > first) {
		if (s->dropped == s->dropped_before)
			notify_error(s->to, ERR_IO,
				     "recordings that wait take more than %llu MB: dropping the oldest ones",
				     (unsigned long long)(s->o->keep >> 20));
		s->dropped++;
		remove_from_queue(s, first);
	}
}

static void take_line(struct sender *s, const char *line)
{
	int err;

	if (!strcmp(line, PUSH_RELOAD)) {
		try_at_once(s);
		return;
	}
	err = push_queue_add(&s->queue, line);
	if (!err)
		return;
	notify_error(s->to, ERR_IO, "cannot send %s: %s", line, strerror(-err));
	s->lost++;
}

static void take_lines(struct sender *s)
{
	char buf[4096], *newline;
	ssize_t n = read(s->in, buf, sizeof(buf));
	size_t used = 0;

	if (n <= 0) {
		close(s->in);
		s->in = -1;
		s->retry_ms = 0;
		return;
	}
	bytes_put(&s->line, buf, (size_t)n);
	while ((newline = memchr(s->line.p + used, 0, s->line.len - used))) {
		const char *line = (const char *)s->line.p + used;

		used = (size_t)(newline + 1 - (char *)s->line.p);
		take_line(s, line);
	}
	memmove(s->line.p, s->line.p + used, s->line.len - used);
	s->line.len -= used;
}

static bool may_begin(const struct sender *s)
{
	return s->child < 0 && s->queue.v.n && !s->gives_up && (s->in < 0 || clock_ms() >= s->retry_ms);
}

static int next_timeout(const struct sender *s)
{
	u64 now = clock_ms();

	if (s->child > 0 || !s->queue.v.n)
		return -1;
	return s->retry_ms <= now ? 0 : (int)(s->retry_ms - now);
}

static void turn(struct sender *s)
{
	struct pollfd p[2] = { { .fd = s->in, .events = POLLIN } };

	if (may_begin(s))
		begin_work(s);
	if (s->child > 0)
		p[1] = (struct pollfd){ .fd = s->result, .events = POLLIN };
	else
		p[1].fd = -1;
	if (poll(p, 2, next_timeout(s)) < 0)
		return;
	if (p[1].revents)
		end_work(s);
	if (p[0].revents)
		take_lines(s);
	drop_oldest(s);
}

static void print_end(const struct sender *s)
{
	fprintf(stderr, "[ reticle record: sent %llu profile%s, %.3f MB", (unsigned long long)s->n[PUSH_SENT],
		plural(s->n[PUSH_SENT]), (double)s->bytes / (1024.0 * 1024));
	if (s->n[PUSH_EMPTY])
		fprintf(stderr, "; empty: %llu", (unsigned long long)s->n[PUSH_EMPTY]);
	if (s->n[PUSH_REFUSED])
		fprintf(stderr, "; the server refused %llu", (unsigned long long)s->n[PUSH_REFUSED]);
	if (s->n[PUSH_NOT_MADE])
		fprintf(stderr, "; %llu could not be made", (unsigned long long)s->n[PUSH_NOT_MADE]);
	if (s->dropped)
		fprintf(stderr, "; dropped %llu, because too many waited", (unsigned long long)s->dropped);
	if (s->lost)
		fprintf(stderr, "; %llu could not be found or removed", (unsigned long long)s->lost);
	if (s->queue.v.n)
		fprintf(stderr, "; left as %s." PUSH_NAME ".* for the next run: %zu", s->o->path, s->queue.v.n);
	fprintf(stderr, " ]\n");
}

bool push_sender_run(const struct push_sender_opts *o, int in, const struct notify *to)
{
	struct sender s = { .o = o, .to = to, .in = in, .queue = o->waiting, .child = -1 };
	bool all;

	while (s.in >= 0 || s.child > 0 || (s.queue.v.n && !s.gives_up))
		turn(&s);
	all = !s.queue.v.n && !s.dropped && !s.lost && !s.n[PUSH_REFUSED] && !s.n[PUSH_NOT_MADE];
	if (!o->quiet || !all)
		print_end(&s);
	push_queue_free(&s.queue);
	bytes_free(&s.line);
	return all;
}
