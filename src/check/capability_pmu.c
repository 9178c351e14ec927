/* SPDX-License-Identifier: Apache-2.0 */
/* What can be sampled: hardware events, branch records, SPE, PT, IBS, the software clock; and which clocks can give
 * the time. */
#include <errno.h>
#include <time.h>
#include <unistd.h>

#include "check/capability.h"
#include "sys/branch_hw.h"
#include "sys/probe.h"

#define COUNTERS_MAX 64 /* more in one group are not tried */

/* Without the kernel, so that an ordinary user's answer is about the hardware. */
static struct attr hardware(u64 config)
{
	return (struct attr){ .type = PERF_TYPE_HARDWARE,
			      .config = config,
			      .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV | ATTR_EXCLUDE_GUEST };
}

static int try_attr(struct attr attr)
{
	int fd = event_probe_open(&attr, 0, -1);

	if (fd < 0)
		return errno;
	close(fd);
	return 0;
}

static const char *reason(int err)
{
	return err == ENOENT ? "no hardware PMU counts cycles" : strerror(err);
}

static u32 list_pmus(const struct capability_env *env, struct bytes *out, bool (*wanted)(const struct sysfs_pmu *))
{
	u32 n = 0;

	for (size_t i = 0; i < env->pmus.v.n; i++)
		if (wanted(&env->pmus.v.v[i]))
			bytes_printf(out, "%s%s", n++ ? ", " : "", env->pmus.v.v[i].name);
	return n;
}

/* The kernel refuses a group that could never be scheduled: the first refusal tells how many counters there are. */
static u32 count_counters(void)
{
	struct attr attr = hardware(PERF_COUNT_HW_BRANCH_MISSES);
	int fds[COUNTERS_MAX];
	u32 n;

	for (n = 0; n < COUNTERS_MAX; n++) {
		struct attr member = attr;

		if (n)
			member.flags &= ~ATTR_DISABLED;
		fds[n] = event_probe_open_group(&member, 0, -1, n ? fds[0] : -1);
		if (fds[n] < 0)
			break;
	}
	for (u32 i = 0; i < n; i++)
		close(fds[i]);
	return n;
}

void capability_hardware(const struct capability_env *env, struct capability_report *r)
{
	int err = try_attr(hardware(PERF_COUNT_HW_CPU_CYCLES));
	u32 counters;

	if (err == EACCES || err == EPERM) {
		capability_say(r, CAPABILITY_NO, "see rights to record", "not permitted for this user");
		return;
	}
	if (err) {
		capability_say(
			r, CAPABILITY_NO,
			"in a virtual machine, give it a PMU (QEMU: -cpu host,pmu=on; clouds: larger or bare metal "
			"instances); until then record --pmu=sim, or -e cpu-clock",
			"none: %s", reason(err));
		return;
	}
	counters = count_counters();
	r->state = CAPABILITY_OK;
	if (!list_pmus(env, &r->detail, sysfs_pmu_is_core))
		bytes_str(&r->detail, "unnamed");
	if (counters)
		bytes_printf(&r->detail, "; %u general counters in one group", counters);
}

void capability_precise(const struct capability_env *env, struct capability_report *r)
{
	struct attr attr = hardware(PERF_COUNT_HW_CPU_CYCLES);
	int level, err = 0;

	(void)env;
	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP;
	for (level = 3; level > 0; level--) {
		struct attr precise = attr;

		precise.flags |= (u64)level << ATTR_PRECISE_IP_SHIFT;
		err = try_attr(precise);
		if (!err)
			break;
	}
	if (level)
		capability_say(r, CAPABILITY_OK, NULL, "cycles up to %.*s", level, "ppp");
	else
		capability_say(r, CAPABILITY_NO, NULL, "none: %s", reason(err));
}

static int try_branches(u64 type)
{
	struct attr attr = hardware(PERF_COUNT_HW_CPU_CYCLES);

	attr.sample_period = 1000000;
	attr.sample_type = PERF_SAMPLE_IP | PERF_SAMPLE_BRANCH_STACK;
	attr.branch_sample_type = type | PERF_SAMPLE_BRANCH_USER;
	return try_attr(attr);
}

/* Each core PMU's, as sysfs shows them; the last one's kind. */
static struct branch_hw list_branches(const struct capability_env *env, struct bytes *out)
{
	char *cpuinfo = branch_hw_cpuinfo(env->procfs);
	struct branch_hw last = { 0 };

	for (size_t i = 0; i < env->pmus.v.n; i++) {
		struct branch_hw hw;

		if (!sysfs_pmu_is_core(&env->pmus.v.v[i]))
			continue;
		branch_hw_find(&hw, &env->pmus.v.v[i], cpuinfo);
		if (!hw.kind)
			continue;
		bytes_printf(out, "%s%s: ", out->len ? "; " : "", env->pmus.v.v[i].name);
		branch_hw_describe(&hw, out);
		last = hw;
	}
	free(cpuinfo);
	return last;
}

#ifdef __aarch64__
#define NO_BRANCHES                                                                                                   \
	"BRBE needs a processor that has it (Armv9.2), Linux 6.17 with CONFIG_ARM64_BRBE, and firmware that gives "   \
	"it to the kernel; until then record --pmu=sim -b, and --call-graph unwind for call stacks"
#else
#define NO_BRANCHES                                                                                                   \
	"in a virtual machine, give it a PMU with LBR, or use a bare metal instance; until then record --pmu=sim "    \
	"-b, "                                                                                                        \
	"and --call-graph unwind for call stacks"
#endif

void capability_branches(const struct capability_env *env, struct capability_report *r)
{
	struct bytes kinds = { 0 };
	struct branch_hw hw = list_branches(env, &kinds);
	int err = try_branches(PERF_SAMPLE_BRANCH_ANY);
	bool stacks = !try_branches(PERF_SAMPLE_BRANCH_CALL_STACK);

	bytes_char(&kinds, 0);
	if (hw.kind == BRANCH_HW_BRS)
		capability_say(r, CAPABILITY_LIMITED,
			       "record -e branch-brs -c 100003 -b; call stacks: --call-graph unwind",
			       "%s; of one event, all taken branches, no call stacks", (const char *)kinds.p);
	else if (err && hw.kind)
		capability_say(r, CAPABILITY_NO, err == EACCES || err == EPERM ? "see rights to record" : NULL,
			       "%s; they cannot be opened (%s)", (const char *)kinds.p, strerror(err));
	else if (err)
		capability_say(r, CAPABILITY_NO, NO_BRANCHES, "none: %s", reason(err));
	else
		capability_say(r, stacks ? CAPABILITY_OK : CAPABILITY_LIMITED,
			       stacks ? NULL : "call stacks: record --call-graph unwind", "branches%s%s%s",
			       stacks ? " and call stacks (--call-graph lbr)" : "; no call stacks",
			       hw.kind ? "; " : "", (const char *)kinds.p);
	bytes_free(&kinds);
}

void capability_software(const struct capability_env *env, struct capability_report *r)
{
	struct attr attr = { .type = PERF_TYPE_SOFTWARE,
			     .config = PERF_COUNT_SW_CPU_CLOCK,
			     .sample_period = 1000000,
			     .sample_type = PERF_SAMPLE_IP,
			     .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV };
	int err = try_attr(attr);

	(void)env;
	if (err)
		capability_say(r, CAPABILITY_NO, "see rights to record", "cpu-clock cannot be opened (%s)",
			       strerror(err));
	else
		capability_say(r, CAPABILITY_OK, NULL, "cpu-clock, task-clock");
}

static bool is_spe(const struct sysfs_pmu *p)
{
	return !strncmp(p->name, "arm_spe_", 8);
}

static bool is_pt(const struct sysfs_pmu *p)
{
	return !strcmp(p->name, "intel_pt");
}

static bool is_ibs(const struct sysfs_pmu *p)
{
	return !strncmp(p->name, "ibs_", 4);
}

static bool is_other(const struct sysfs_pmu *p)
{
	return !sysfs_pmu_is_core(p) && !is_spe(p) && !is_pt(p) && !is_ibs(p);
}

static void report_pmus(const struct capability_env *env, struct capability_report *r,
			bool (*wanted)(const struct sysfs_pmu *), const char *missing, const char *remedy)
{
	r->state = CAPABILITY_OK;
	if (list_pmus(env, &r->detail, wanted))
		return;
	capability_say(r, CAPABILITY_NO, remedy, "%s", missing);
}

#ifdef __aarch64__
#define SPE_MISSING "no arm_spe_* in sysfs"
#define SPE_REMEDY                                                                                                    \
	"the processor and firmware must have it; then modprobe arm_spe_pmu, and boot with kpti=off where the "       \
	"driver "                                                                                                     \
	"asks"
#define PT_MISSING "not an Intel processor"
#define IBS_MISSING "not an AMD processor"
#else
#define SPE_MISSING "not an Arm processor"
#define SPE_REMEDY NULL
#define PT_MISSING "no intel_pt in sysfs: not an Intel processor, or not passed to this guest"
#define IBS_MISSING "no ibs_op in sysfs: not an AMD processor, or not passed to this guest"
#endif

void capability_spe(const struct capability_env *env, struct capability_report *r)
{
	report_pmus(env, r, is_spe, SPE_MISSING, SPE_REMEDY);
}

void capability_intel_pt(const struct capability_env *env, struct capability_report *r)
{
	report_pmus(env, r, is_pt, PT_MISSING, NULL);
}

void capability_amd_ibs(const struct capability_env *env, struct capability_report *r)
{
	report_pmus(env, r, is_ibs, IBS_MISSING, NULL);
}

void capability_other_pmus(const struct capability_env *env, struct capability_report *r)
{
	report_pmus(env, r, is_other, "none in sysfs", NULL);
}

void capability_clocks(const struct capability_env *env, struct capability_report *r)
{
	static const struct {
		const char *name;
		int id;
	} clocks[] = {
		{ "monotonic", CLOCK_MONOTONIC },
		{ "monotonic_raw", CLOCK_MONOTONIC_RAW },
		{ "realtime", CLOCK_REALTIME },
		{ "boottime", CLOCK_BOOTTIME },
		{ "tai", CLOCK_TAI },
	};
	struct attr attr = { .type = PERF_TYPE_SOFTWARE,
			     .config = PERF_COUNT_SW_DUMMY,
			     .flags = ATTR_DISABLED | ATTR_EXCLUDE_KERNEL | ATTR_EXCLUDE_HV | ATTR_USE_CLOCKID };
	u32 n = 0;

	(void)env;
	r->state = CAPABILITY_OK;
	for (u32 i = 0; i < ARRAY_LEN(clocks); i++) {
		attr.clockid = clocks[i].id;
		if (!try_attr(attr))
			bytes_printf(&r->detail, "%s%s", n++ ? ", " : "", clocks[i].name);
	}
	if (!n)
		capability_say(r, CAPABILITY_NO, "see perf_event_open", "none");
	else if (n < ARRAY_LEN(clocks))
		r->state = CAPABILITY_LIMITED;
}
