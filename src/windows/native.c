/* SPDX-License-Identifier: Apache-2.0 */
#include "windows/native.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "events/watch.h"
#include "sys/probe.h"

#define PROBE_LONG 900000 /* ns */
#define PROBE_SHORT 100000
#define PROBE_NS 20000000
#define SAMPLES_MAX 64
#define LEAST 6 /* samples to judge by */
#define TRIES 5 /* who shares the CPU with others sees their turns in the times as well */

struct times {
	u32 n;
	u64 v[SAMPLES_MAX];
};

static void add_time(void *ctx, const struct sample *s)
{
	struct times *t = ctx;

	if (t->n < SAMPLES_MAX)
		t->v[t->n++] = s->time;
}

/* Of neighbours, one is near and one is far, in turn. */
static bool alternate(const u64 *times, u32 n)
{
	u32 turns = 0;

	for (u32 i = 2; i < n; i++) {
		bool first = times[i - 1] - times[i - 2] < (PROBE_LONG + PROBE_SHORT) / 2;
		bool second = times[i] - times[i - 1] < (PROBE_LONG + PROBE_SHORT) / 2;

		turns += first != second;
	}
	return n >= LEAST && turns * 4 >= (n - 2) * 3;
}

static bool watch(int fd, const struct attr *a, const char **why)
{
	struct times times = { 0 };
	bool works;

	if (event_watch(fd, a, PROBE_NS, add_time, &times)) {
		*why = "this cannot be tried: no memory may be locked";
		return false;
	}
	works = alternate(times.v, times.n);
	*why = works ? "the kernel alternates periods" :
		       "the kernel accepts the attributes of alternating periods, but does not alternate them";
	return works;
}

bool windows_native_works(const char **why)
{
	const struct schedule s = { PROBE_LONG, PROBE_SHORT, 1, 0, 0 };
	struct attr a = { .type = PERF_TYPE_SOFTWARE,
			  .config = PERF_COUNT_SW_CPU_CLOCK,
			  .sample_period = PROBE_LONG + PROBE_SHORT,
			  .sample_type = PERF_SAMPLE_TIME,
			  .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
	int fd = event_open_scheduled(&a, &s, 0, -1, -1);
	bool works = false;

	*why = "this kernel has no alternating periods";
	if (fd >= 0) {
		for (u32 i = 0; i < TRIES && !works; i++)
			works = watch(fd, &a, why);
		close(fd);
	} else if (errno == EACCES || errno == EPERM) {
		*why = "this user may not record";
	}
	return works;
}

#define LONG 1000000 /* long enough for any PMU, with whatever jitter */

static int try_leader(const struct attr *leader, const struct schedule *s, u64 more_flags, const char *cpus)
{
	struct attr a = *leader;
	int fd;

	a.flags = (a.flags | more_flags | ATTR_DISABLED) &
		  ~(u64)(ATTR_PINNED | ATTR_EXCLUSIVE | ATTR_INHERIT | ATTR_FREQ);
	a.sample_type = PERF_SAMPLE_TID;
	a.read_format = 0;
	a.sample_period = LONG + s->period_short * s->batch_count;
	fd = event_open_scheduled(&a, s, 0, -1, -1);
	/* A PMU of the whole machine, or of some CPUs. */
	if (fd < 0 && cpus && (errno == EINVAL || errno == ENOENT))
		fd = event_open_scheduled(&a, s, -1, atoi(cpus), -1);
	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

const char *windows_native_refused(const struct attr *leader, const struct schedule *s, const char *cpus)
{
	int error = try_leader(leader, s, 0, cpus);

	if (error == EACCES || error == EPERM)
		error = try_leader(leader, s, ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV, cpus);
	switch (error) {
	case EOPNOTSUPP:
		return "the driver of its PMU does not alternate periods";
	case ERANGE:
		return "its PMU cannot count a period as short as that";
	case EINVAL:
		return "its PMU refuses such periods";
	default: /* none; or what opening it plainly says better */
		return NULL;
	}
}
