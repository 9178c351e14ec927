/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Events outlive their program: over an exec the sampler's state is carried by a file in memory, whose descriptor the
 * next program's plugin reads and closes before the guest begins.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/mem.h"
#include "vpmu/sampler.h"

int sampler_exec_prepare(void)
{
	int keep = errno, fd = memfd_create("events", MFD_CLOEXEC);

	errno = keep;
	return fd;
}

void sampler_exec(struct vthread *t, int fd)
{
	struct sampler_state *state = mem_zalloc(sizeof(*state));
	bool saved;

	sampler_save(t, state);
	sampler_free(t);
	saved = fd >= 0 && pwrite(fd, state, sizeof(*state), 0) == (ssize_t)sizeof(*state);
	if (saved)
		fcntl(fd, F_SETFD, 0);
	free(state);
}

void sampler_take_over(struct vprocess *p, int fd)
{
	int keep = errno;

	if (fd < 0)
		return;
	p->sampler_state = mem_zalloc(sizeof(*p->sampler_state));
	if (pread(fd, p->sampler_state, sizeof(*p->sampler_state), 0) != (ssize_t)sizeof(*p->sampler_state)) {
		free(p->sampler_state);
		p->sampler_state = NULL;
	}
	close(fd);
	errno = keep;
}
