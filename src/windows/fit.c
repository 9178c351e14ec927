/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel refuses a group that can never fit on its PMU (EINVAL), but it does not consider counters that are
 * permanently in use, such as that of the NMI watchdog. Such a group can be opened but never counts. So the group is
 * also switched on for a moment.
 */
#include "windows/fit.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/clock.h"
#include "sys/probe.h"

#define FIT_MAX 64
#define SPIN_NS 200000

static void spin(void)
{
	u64 start = clock_ns();

	while (clock_ns() - start < SPIN_NS)
		;
}

static int open_member(const struct attr *wanted, int leader)
{
	struct attr a = *wanted;

	a.sample_type = a.sample_period = 0;
	a.read_format = PERF_FORMAT_TOTAL_TIME_ENABLED | PERF_FORMAT_TOTAL_TIME_RUNNING;
	a.flags &= ~(u64)(ATTR_FREQ | ATTR_PINNED | ATTR_EXCLUSIVE | ATTR_DISABLED);
	a.flags |= ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV | (leader < 0 ? ATTR_DISABLED : 0);
	return event_probe_open_group(&a, 0, -1, leader);
}

/* Does the group of these run? */
static bool runs(int leader)
{
	u64 words[3] = { 0 };

	ioctl(leader, PERF_EVENT_IOC_ENABLE, 0);
	spin();
	return read(leader, words, sizeof(words)) != sizeof(words) || words[2];
}

/* The first n of the attrs. 1: they run. 0: too many. -1: refused for another reason. */
static int try_group(const struct attr *const attrs[], u32 n)
{
	int fds[FIT_MAX], result = 1;
	u32 opened = 0;

	while (opened < n && result > 0) {
		fds[opened] = open_member(attrs[opened], opened ? fds[0] : -1);
		if (fds[opened] < 0)
			result = opened && (errno == EINVAL || errno == ENOSPC) ? 0 : -1;
		else
			opened++;
	}
	if (result > 0)
		result = runs(fds[0]);
	while (opened)
		close(fds[--opened]);
	return result;
}

u32 window_fit(const struct event_specs *specs, u32 leader, bool with_twin)
{
	const struct attr *attrs[FIT_MAX];
	u32 n = 0, all;

	if (with_twin)
		attrs[n++] = &specs->v.v[leader].attr;
	for (u32 i = 0; i < specs->v.n && n < FIT_MAX; i++)
		if (specs->v.v[i].leader == leader)
			attrs[n++] = &specs->v.v[i].attr;
	all = n;
	for (; n > 1; n--) {
		int fits = try_group(attrs, n);

		if (fits)
			return fits < 0 ? all : n;
	}
	return 1;
}

bool window_has_event(void *ctx, const char *name)
{
	struct event_specs specs = { 0 };
	enum event_usable usable = EVENT_ABSENT;

	(void)ctx;
	if (!event_specs_parse(&specs, name, NULL, NULL) && specs.v.n == 1)
		usable = event_probe(&specs.v.v[0].attr, specs.v.v[0].cpus, NULL);
	event_specs_free(&specs);
	/* What may not be tried is left for the opening to refuse. */
	return usable != EVENT_ABSENT;
}
