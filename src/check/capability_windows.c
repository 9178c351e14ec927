/* SPDX-License-Identifier: Apache-2.0 */
/* The ways to make short windows, one row each; record uses the first that works. Also the other feature of patched
 * kernels, thread data. */
#include <errno.h>
#include <unistd.h>

#include "check/capability.h"
#include "events/tls_user.h"
#include "sys/machine.h"
#include "sys/probe.h"
#include "windows/fit.h"
#include "windows/native.h"
#include "windows/opts.h"
#include "windows/plan.h"

static struct attr leader(u32 type, u64 config)
{
	return (struct attr){ .type = type,
			      .config = config,
			      .sample_period = 1000000,
			      .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
}

/* 0 or the errno of two leaders in one group. */
static int try_twins(struct attr a)
{
	int first = event_probe_open(&a, 0, -1), second, failed;

	if (first < 0)
		return errno;
	second = event_probe_open_group(&a, 0, -1, first);
	failed = second < 0 ? errno : 0;
	close(first);
	if (second >= 0)
		close(second);
	return failed;
}

void capability_windows_native(const struct capability_env *env, struct capability_report *r)
{
	const char *why;
	bool works = windows_native_works(&why);

	(void)env;
	capability_say(r, works ? CAPABILITY_OK : CAPABILITY_NO,
		       works ? NULL : "none is needed: twins and bursts work without it", "%s", why);
}

/* How many of the default group's events the hardware holds, the second leader among them. *all: of how many. */
static u32 fitting(u32 *all)
{
	struct event_specs specs = { 0 };
	struct bytes group = { 0 };
	u32 fit = 0;

	window_default_group(
		&(struct window_opts){ 0 },
		&(struct window_supply){ .has = window_has_event, .user_only = true, .machine = machine_events() },
		&group);
	if (!event_specs_parse(&specs, (const char *)group.p, NULL, NULL))
		fit = window_fit(&specs, 0, true);
	*all = (u32)specs.v.n + 1;
	bytes_free(&group);
	event_specs_free(&specs);
	return fit;
}

void capability_windows_twin(const struct capability_env *env, struct capability_report *r)
{
	int hardware = try_twins(leader(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES));
	int clock = try_twins(leader(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK));
	u32 fit, all;

	(void)env;
	if (!hardware) {
		fit = fitting(&all);
		capability_say(r, fit >= all ? CAPABILITY_OK : CAPABILITY_LIMITED,
			       fit >= all ? NULL :
					    "sysctl kernel.nmi_watchdog=0 frees a counter on x86; larger groups "
					    "take turns",
			       "cycles and clocks; %u events, both leaders among them, fit the counters", fit);
	} else if (!clock) {
		capability_say(r, CAPABILITY_LIMITED, "--pmu=sim has hardware events",
			       "clocks only (windows from 20 us on): %s",
			       hardware == ENOENT ? "no hardware PMU counts cycles" : strerror(hardware));
	} else {
		capability_say(r, CAPABILITY_NO, "see rights to record", "%s", strerror(clock));
	}
}

void capability_windows_refresh(const struct capability_env *env, struct capability_report *r)
{
	struct attr cycles = leader(PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES);
	struct attr clock = leader(PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK);

	(void)env;
	if (event_probe(&cycles, NULL, NULL) == EVENT_USABLE)
		capability_say(r, CAPABILITY_OK, NULL, "bursts of cycles and clocks: --window=mode=refresh");
	else if (event_probe(&clock, NULL, NULL) <= EVENT_USER_ONLY)
		capability_say(r, CAPABILITY_LIMITED, "--pmu=sim has hardware events",
			       "bursts of clocks only: --window=mode=refresh");
	else
		capability_say(r, CAPABILITY_NO, "see rights to record", "not permitted for this user");
}

void capability_windows_plain(const struct capability_env *env, struct capability_report *r)
{
	s64 rate = 0;

	if (!capability_sysctl(env, "kernel/perf_event_max_sample_rate", &rate))
		capability_say(r, CAPABILITY_LIMITED, NULL,
			       "a short period all the time; how many samples may be "
			       "taken is not known");
	else
		capability_say(r, CAPABILITY_LIMITED, "sysctl kernel.perf_event_max_sample_rate",
			       "a short period all the time: the kernel throttles it above %lld samples per second",
			       (long long)rate);
}

void capability_thread_data(const struct capability_env *env, struct capability_report *r)
{
	const char *why;
	bool works = tls_user_works(&why);

	(void)env;
	capability_say(r, works ? CAPABILITY_OK : CAPABILITY_NO,
		       works ? NULL : "a kernel with the patches that come with reticle (kernel/)", "%s", why);
}
