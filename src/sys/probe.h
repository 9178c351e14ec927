/* SPDX-License-Identifier: Apache-2.0 */
/* Whether this machine lets this user open an event: tried, disabled, on ourselves, and closed at once. */
#ifndef SYS_PROBE_H
#define SYS_PROBE_H

#include "codec/attr.h"
#include "codec/schedule.h"

enum event_usable {
	EVENT_USABLE,
	EVENT_USER_ONLY,     /* only with the kernel excluded (:u) */
	EVENT_NOT_PERMITTED, /* for this user */
	EVENT_ABSENT,	     /* no PMU here counts it */
	EVENT_UNTESTED,
};

/*
 * attr as in an event_spec; cpus as there ("0,18" or NULL): such an event is tried on its first CPU. A core PMU's
 * event is tried on ourselves first. *sys_errno (may be NULL): why not; 0 when usable.
 */
enum event_usable event_probe(const struct attr *attr, const char *cpus, int *sys_errno);

/* The bare system call, cloexec. A file descriptor or -1 with errno. */
int event_probe_open(struct attr *attr, int pid, int cpu);
int event_probe_open_group(struct attr *attr, int pid, int cpu, int leader);

/*
 * As event_probe_open_group, for kernels that alternate periods themselves: the attr has 160 bytes there, with the
 * length of the short period at 144, the width of the jitter at 152 and the number of short periods in a batch at 156;
 * sample_period is that of a whole turn. flags: the system call's, PERF_FLAG_PID_CGROUP for one. -1 and errno; E2BIG:
 * this kernel has no such thing.
 */
int event_open_scheduled(const struct attr *a, const struct schedule *s, s32 pid, s32 cpu, int group,
			 unsigned long flags);

#endif
