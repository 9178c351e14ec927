/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events outlive their program: over an exec the sampler's state, and windows of the truth, are carried by a file in memory,
 * whose descriptor the next program's plugin reads and closes before the guest begins.
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

/* Made; the windows only where there is a truth. */
struct carried {
	struct sampler_state *state;
	struct truth_windows *windows;
	struct iovec parts[2];
	ssize_t size;
};

static struct carried make(bool truth)
{
	struct carried c = { .state = mem_zalloc(sizeof(*c.state)) };

	c.parts[0] = (struct iovec){ c.state, sizeof(*c.state) };
	c.size = sizeof(*c.state);
	if (!truth)
		return c;
	c.windows = mem_zalloc(sizeof(*c.windows));
	c.parts[1] = (struct iovec){ c.windows, sizeof(*c.windows) };
	c.size += sizeof(*c.windows);
	return c;
}

static void drop(const struct carried *c)
{
	free(c->state);
	free(c->windows);
}

int sampler_exec_prepare(void)
{
	int keep = errno, fd = memfd_create("events", MFD_CLOEXEC);

	errno = keep;
	return fd;
}

void sampler_exec(struct vthread *t, int fd)
{
	struct carried c = make(t->truth);
	bool saved;

	sampler_save(t, c.state);
	sampler_free(t);
	if (t->truth)
		truth_save_windows(t, c.windows);
	saved = fd >= 0 && pwritev(fd, c.parts, ARRAY_LEN(c.parts), 0) == c.size;
	if (saved)
		fcntl(fd, F_SETFD, 0);
	drop(&c);
}

void sampler_take_over(struct vprocess *p, int fd)
{
	int keep = errno;
	struct carried c;

	if (fd < 0)
		return;
	c = make(p->control->options.truth);
	if (preadv(fd, c.parts, ARRAY_LEN(c.parts), 0) == c.size) {
		p->sampler_state = c.state;
		p->truth_windows = c.windows;
	} else {
		drop(&c);
	}
	close(fd);
	errno = keep;
}
