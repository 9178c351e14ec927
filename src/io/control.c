/* SPDX-License-Identifier: Apache-2.0 */
#include "io/control.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
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
	return notify_error(to, ERR_USAGE, "--control: '%s' is no FIFO (mkfifo makes one)", path);
}

/* The command inherits it, too, and may use it. */
static int take_fd(const char *text, int *fd, const struct notify *to)
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

static int take(struct control *c, char *text, const struct notify *to)
{
	int (*one)(const char *, int *, const struct notify *) = c->own ? open_fifo : take_fd;
	char *comma = strchr(text, ',');
	int err;

	if (comma)
		*comma = 0;
	err = one(text, &c->in, to);
	return err || !comma ? err : one(comma + 1, &c->ack, to);
}

int control_open(struct control *c, const char *text, const struct notify *to)
{
	const char *colon = strchr(text, ':');
	char *copy;
	int err;

	c->own = !strncmp(text, "fifo:", 5);
	if ((!c->own && strncmp(text, "fd:", 3) != 0) || !colon[1])
		return notify_error(to, ERR_USAGE, "--control: '%s' is neither fifo:PATH[,PATH] nor fd:N[,N]", text);
	copy = mem_strdup(colon + 1);
	err = take(c, copy, to);
	free(copy);
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

bool control_read(struct control *c, void (*fn)(void *ctx, char *line), void *ctx, const struct notify *to)
{
	char part[512];
	ssize_t n = read(c->in, part, sizeof(part));
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

	if (c->ack < 0)
		return;
	if (!ready(c->ack, POLLOUT) || write(c->ack, text, sizeof(text)) != (ssize_t)sizeof(text))
		notify_warn(to, "--control: an answer cannot be written: nobody reads them");
}

void control_close(struct control *c)
{
	if (c->own && c->in >= 0)
		close(c->in);
	if (c->own && c->ack >= 0)
		close(c->ack);
	c->in = c->ack = -1;
}
