/* SPDX-License-Identifier: Apache-2.0 */
/* Finds out whether this user can open an event on this machine: it is opened, disabled, for this process, and closed
 * at once. */
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
 * attr and cpus ("0,18" or NULL) are as in an event_spec; an event with cpus is tried on its first CPU. A core PMU's
 * event is tried on this process first. *sys_errno (may be NULL): the reason for a failure; 0 if the event can be
 * used.
 */
enum event_usable event_probe(const struct attr *attr, const char *cpus, int *sys_errno);

/* Only the system call, with cloexec. A file descriptor, or -1 with errno. */
int event_probe_open(struct attr *attr, int pid, int cpu);
int event_probe_open_group(struct attr *attr, int pid, int cpu, int leader);

/* A copy with that schedule in the fields of event_open_scheduled, and of that size. */
struct attr event_scheduled_attr(const struct attr *a, const struct schedule *s);

/*
 * Like event_probe_open_group, for kernels that alternate periods themselves. For them the attr has 160 bytes, with
 * the length of the short period at 144, the width of the jitter at 152 and the number of short periods in a batch at
 * 156; sample_period is that of a whole turn. -1 and errno; E2BIG: this kernel does not support it.
 */
int event_open_scheduled(const struct attr *a, const struct schedule *s, s32 pid, s32 cpu, int group);

#endif
