/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events outlive their program: over an exec the sampler's state, and windows of the truth, are carried by a file in
 * memory, whose descriptor the next program's plugin reads and closes before the guest begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/uio.h>
#include <unistd.h>

#include "base/mem.h"
#include "vpmu/sampler.h"
#include "vpmu/truth.h"

static void make(struct exec_carried *c, bool truth)
{
	c->events = mem_zalloc(sizeof(*c->events));
	c->windows = truth ? mem_zalloc(sizeof(*c->windows)) : NULL;
}

static void drop(struct exec_carried *c)
{
	free(c->events);
	free(c->windows);
	*c = (struct exec_carried){ 0 };
}

/* As the file has it. Returns the size. */
static ssize_t parts_of(const struct exec_carried *c, struct iovec parts[2])
{
	parts[0] = (struct iovec){ c->events, sizeof(*c->events) };
	parts[1] = (struct iovec){ c->windows, c->windows ? sizeof(*c->windows) : 0 };
	return (ssize_t)(parts[0].iov_len + parts[1].iov_len);
}

int sampler_exec_prepare(void)
{
	int keep = errno, fd = memfd_create("events", MFD_CLOEXEC);

	errno = keep;
	return fd;
}

void sampler_exec(struct vthread *t, int fd)
{
	struct exec_carried c;
	struct iovec parts[2];
	bool saved;

	sampler_flush_operations(t);
	make(&c, t->truth);
	sampler_save(t, c.events);
	sampler_free(t);
	if (t->truth)
		truth_save_windows(t, c.windows);
	saved = fd >= 0 && parts_of(&c, parts) == pwritev(fd, parts, 2, 0);
	if (saved)
		fcntl(fd, F_SETFD, 0);
	drop(&c);
}

void sampler_take_over(struct exec_carried *to, bool truth, int fd)
{
	int keep = errno;
	struct iovec parts[2];

	if (fd < 0)
		return;
	make(to, truth);
	if (parts_of(to, parts) != preadv(fd, parts, 2, 0))
		drop(to);
	close(fd);
	errno = keep;
}
