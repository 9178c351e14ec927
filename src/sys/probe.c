/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/probe.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ALL_CPUS -1
#define SELF 0
#define ANYONE -1

int event_probe_open_group(struct attr *attr, int pid, int cpu, int leader)
{
	attr->size = attr_open_size(attr);
	return (int)syscall(SYS_perf_event_open, attr, pid, cpu, leader, PERF_FLAG_FD_CLOEXEC);
}

int event_probe_open(struct attr *attr, int pid, int cpu)
{
	return event_probe_open_group(attr, pid, cpu, -1);
}

struct attr event_scheduled_attr(const struct attr *a, const struct schedule *s)
{
	struct attr n = *a;

	n.sample_period_short = s->period_short;
	n.sample_period_jitter = (u32)MIN(s->jitter_long, (u64)UINT32_MAX);
	n.sample_batch = s->batch_count;
	n.size = attr_open_size(&n);
	return n;
}

int event_open_scheduled(const struct attr *a, const struct schedule *s, s32 pid, s32 cpu, int group)
{
	struct attr n = event_scheduled_attr(a, s);

	return event_probe_open_group(&n, pid, cpu, group);
}

/* 0 or the errno. */
static int try_open(const struct attr *wanted, u64 more_flags, const char *cpus)
{
	struct attr attr = *wanted;
	int fd;

	attr.flags |= ATTR_DISABLED | more_flags;
	attr.flags &= ~(ATTR_PINNED | ATTR_EXCLUSIVE);
	attr.sample_type = 0;
	attr.sample_period = 0;
	fd = event_probe_open(&attr, SELF, ALL_CPUS);
	if (fd < 0 && cpus && (errno == EINVAL || errno == ENOENT))
		fd = event_probe_open(&attr, ANYONE, atoi(cpus));
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

enum event_usable event_probe(const struct attr *attr, const char *cpus, int *sys_errno)
{
	int err = try_open(attr, 0, cpus);

	if (sys_errno)
		*sys_errno = err;
	if (!err)
		return EVENT_USABLE;
	if (err != EACCES && err != EPERM)
		return EVENT_ABSENT;
	return try_open(attr, ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV, cpus) ? EVENT_NOT_PERMITTED : EVENT_USER_ONLY;
}
