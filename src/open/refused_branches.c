/* SPDX-License-Identifier: Apache-2.0 */
#include "open/refused_branches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "sys/branch_hw.h"

/* The event's own PMU, or where the event does not say, the first one that has branch records; NULL: no core PMU. */
static const struct sysfs_pmu *pmu_of(const struct open_event *e, const struct sysfs_pmus *pmus, const char *cpuinfo,
				      struct branch_hw *hw)
{
	const struct sysfs_pmu *found = NULL;

	*hw = (struct branch_hw){ 0 };
	for (size_t i = 0; i < pmus->v.n && !hw->kind; i++) {
		const struct sysfs_pmu *p = &pmus->v.v[i];
		bool own = e->attr.type >= PERF_TYPE_MAX && p->type == e->attr.type;

		if (!sysfs_pmu_is_core(p) || (e->attr.type >= PERF_TYPE_MAX && !own))
			continue;
		branch_hw_find(hw, p, cpuinfo);
		found = p;
	}
	return found;
}

static int say(const struct open_event *e, const struct branch_hw *hw, const struct sysfs_pmu *pmu, int failed,
	       const struct notify *to)
{
	const char *text = branch_hw_refuses(hw, e->attr.branch_sample_type);

	if (text)
		return notify_error(to, ERR_UNSUPPORTED, "cannot open %s with branch records: %s", e->name, text);
	if (e->attr.type == PERF_TYPE_SOFTWARE || e->attr.type == PERF_TYPE_TRACEPOINT)
		return notify_error(to, ERR_UNSUPPORTED,
				    "cannot open %s with branch records: they come with events of the hardware (-e "
				    "cycles), which --pmu=sim has on any machine",
				    e->name);
	if (hw->kind == BRANCH_HW_BRS)
		return notify_error(
			to, ERR_UNSUPPORTED,
			"cannot open %s with branch records: AMD's BRS needs its own event and a period of "
			"more than %u (-e branch-brs -c 100003 -b)",
			e->name, hw->depth ? hw->depth : 16);
	if (!hw->kind && pmu && !strncmp(pmu->name, "arm", 3) &&
	    e->attr.branch_sample_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		return notify_error(to, ERR_UNSUPPORTED,
				    "cannot open %s with branch records: Arm's processors keep no call stacks in them "
				    "(--call-graph fp, dwarf and unwind are the ways there)",
				    e->name);
	if (!hw->kind && pmu && !strncmp(pmu->name, "arm", 3))
		return notify_error(to, ERR_UNSUPPORTED,
				    "cannot open %s with branch records: %s has none (BRBE needs Linux 6.17 with "
				    "CONFIG_ARM64_BRBE, and firmware that gives it to the kernel; --pmu=sim has it)",
				    e->name, pmu->name);
	if (failed != EINVAL)
		return notify_error(to, ERR_UNSUPPORTED,
				    "cannot open %s with branch records: this machine's PMU does not offer them "
				    "(--pmu=sim has them; reticle check says what this machine has)",
				    e->name);
	return notify_error(
		to, ERR_UNSUPPORTED,
		"cannot open %s with branch records: the PMU refuses these filters (reticle check says what "
		"it has; --pmu=sim has any, any_call, any_ret, ind_call, ind_jmp, call, cond and stack)",
		e->name);
}

int refused_branches(const struct open_event *e, int failed, const char *sysfs, const char *procfs,
		     const struct notify *to)
{
	char *cpuinfo = branch_hw_cpuinfo(procfs);
	struct sysfs_pmus pmus = { 0 };
	const struct sysfs_pmu *pmu;
	struct branch_hw hw;
	int err;

	sysfs_pmus_load(&pmus, sysfs);
	pmu = pmu_of(e, &pmus, cpuinfo, &hw);
	err = say(e, &hw, pmu, failed, to);
	sysfs_pmus_free(&pmus);
	free(cpuinfo);
	return err;
}
