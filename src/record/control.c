/* SPDX-License-Identifier: Apache-2.0 */
#include "record/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mem.h"

void control_init(struct control *c)
{
	*c = (struct control){ .in = -1, .ack = -1 };
}

/* For reading and writing, so that neither waits for the other end, nor is it missed when that goes. */
static int open_fifo(const char *path, int *fd, const struct notify *to)
{
	struct stat st;

	*fd = open(path, O_RDWR | O_NONBLOCK | O_CLOEXEC);
	if (*fd < 0)
		return notify_error(to, errno == ENOENT ? ERR_USAGE : ERR_IO, "--control: cannot open '%s': %s", path,
				    strerror(errno));
	if (!fstat(*fd, &st) && S_ISFIFO(st.st_mode))
		return 0;
	return notify_error(to, ERR_USAGE, "--control: '%s' is not a FIFO (mkfifo makes one)", path);
}

static int take_number(const char *text, int *fd, const struct notify *to)
{
	size_t digits = strspn(text, "0123456789");

	*fd = digits && digits < 8 && !text[digits] ? atoi(text) : -1;
	if (*fd < 0)
		return notify_error(to, ERR_USAGE, "--control: '%s' is not the number of a descriptor", text);
	if (fcntl(*fd, F_GETFD) >= 0)
		return 0;
	*fd = -1;
	return notify_error(to, ERR_USAGE, "--control: descriptor %s is not open", text);
}

/*
 * The command inherits it, too, and may use it; so may others. A pipe is opened anew, so that only we do not wait for
 * it.
 */
static int own(int fd)
{
	char path[32];
	struct stat st;
	int again = -1, how = fcntl(fd, F_GETFL);

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (how >= 0 && !fstat(fd, &st) && S_ISFIFO(st.st_mode))
		again = open(path, (how & O_ACCMODE) | O_NONBLOCK | O_CLOEXEC);
	return again < 0 ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : again;
}

/* Both are known before there are new ones that could be taken for them. */
static int take_fds(struct control *c, const char *in, const char *ack, const struct notify *to)
{
	int in_fd, ack_fd = -1, err = take_number(in, &in_fd, to);

	if (!err && ack)
		err = take_number(ack, &ack_fd, to);
	if (err)
		return err;
	c->in = own(in_fd);
	c->ack = ack ? own(ack_fd) : -1;
	return c->in >= 0 && (!ack || c->ack >= 0) ?
		       0 :
		       notify_error(to, ERR_IO, "--control: cannot open a descriptor again: %s", strerror(errno));
}

static int open_fifos(struct control *c, const char *in, const char *ack, const struct notify *to)
{
	int err = open_fifo(in, &c->in, to);

	return err || !ack ? err : open_fifo(ack, &c->ack, to);
}

/* Files and the like have always something to read, and so nobody waits for them. */
static bool can_wait(int fd)
{
	struct epoll_event e = { .events = EPOLLIN };
	int epoll = epoll_create1(EPOLL_CLOEXEC);
	bool can = !epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &e) || errno != EPERM;

	if (epoll >= 0)
		close(epoll);
	return can;
}

int control_open(struct control *c, const char *text, const struct notify *to)
{
	const char *colon = strchr(text, ':');
	bool fifos = !strncmp(text, "fifo:", 5);
	char *in, *ack;
	int err;

	if ((!fifos && strncmp(text, "fd:", 3) != 0) || !colon[1])
		return notify_error(to, ERR_USAGE, "--control: '%s' is neither fifo:PATH[,PATH] nor fd:N[,N]", text);
	in = mem_strdup(colon + 1);
	ack = strchr(in, ',');
	if (ack)
		*ack++ = 0;
	err = (fifos ? open_fifos : take_fds)(c, in, ack, to);
	if (!err && !can_wait(c->in))
		err = notify_error(to, ERR_USAGE, "--control: descriptor %s cannot be waited for", in);
	free(in);
	return err;
}

/* What is too long goes on until its end comes. */
static void end_line(struct control *c, void (*fn)(void *ctx, char *line), void *ctx, const struct notify *to)
{
	c->line[c->len] = 0;
	if (c->skip)
		notify_warn(to, "--control: a command of more than %u bytes is left out", CONTROL_LINE_MAX - 1);
	else if (c->len)
		fn(ctx, c->line);
	c->len = 0;
	c->skip = false;
}

/* Clients of perf end a command with a new line, with its NUL behind it, or not at all. */
static void take_byte(struct control *c, char byte, void (*fn)(void *ctx, char *line), void *ctx,
		      const struct notify *to)
{
	if (byte == '\n' || !byte)
		end_line(c, fn, ctx, to);
	else if (c->len + 1 < sizeof(c->line))
		c->line[c->len++] = byte;
	else
		c->skip = true;
}

static bool ready(int fd, short events)
{
	struct pollfd p = { .fd = fd, .events = events };

	return poll(&p, 1, 0) == 1 && p.revents & events;
}

/* Without waiting, though others that have it may have been there first. */
static ssize_t get(int fd, void *part, size_t size)
{
	ssize_t n = recv(fd, part, size, MSG_DONTWAIT);

	if (n >= 0 || errno != ENOTSOCK)
		return n;
	if (ready(fd, POLLIN | POLLHUP | POLLERR))
		return read(fd, part, size);
	errno = EAGAIN;
	return -1;
}

static bool put(int fd, const void *text, size_t len)
{
	ssize_t n = send(fd, text, len, MSG_DONTWAIT | MSG_NOSIGNAL);

	if (n < 0 && errno == ENOTSOCK)
		n = ready(fd, POLLOUT) ? write(fd, text, len) : -1;
	return n == (ssize_t)len;
}

bool control_read(struct control *c, void (*fn)(void *ctx, char *line), void *ctx, const struct notify *to)
{
	char part[512];
	ssize_t n = get(c->in, part, sizeof(part));
	bool open = n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));

	for (ssize_t i = 0; i < n; i++)
		take_byte(c, part[i], fn, ctx, to);
	if (c->len && !c->skip && (!open || !ready(c->in, POLLIN)))
		end_line(c, fn, ctx, to);
	return open;
}

void control_ack(const struct control *c, const struct notify *to)
{
	static const char text[] = "ack\n"; /* with its NUL, as clients of perf read it */

	if (c->ack >= 0 && !put(c->ack, text, sizeof(text)))
		notify_warn(to, "--control: an answer cannot be written, because nobody reads the answers");
}

void control_close(struct control *c)
{
	if (c->in >= 0)
		close(c->in);
	if (c->ack >= 0)
		close(c->ack);
	c->in = c->ack = -1;
}
