/* SPDX-License-Identifier: Apache-2.0 */
#include "sys/branch_hw.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "codec/attr.h"
#include "sys/smallfile.h"

#define CPUINFO_MAX (1u << 20)
#define ENTRIES_MAX 4096
#define TX (PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX | PERF_SAMPLE_BRANCH_ABORT_TX)
#define LEVELS (PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_KERNEL | PERF_SAMPLE_BRANCH_HV)

static const char *const names[] = {
	[BRANCH_HW_NONE] = "none",	     [BRANCH_HW_LBR] = "Intel LBR", [BRANCH_HW_BRS] = "AMD BRS",
	[BRANCH_HW_LBR_V2] = "AMD LbrExtV2", [BRANCH_HW_BRBE] = "Arm BRBE",
};

/* In the order in which they are looked at: the first that is in the way is told. */
static const struct {
	enum branch_hw_kind kind;
	u64 filter;
	const char *text;
} rows[] = {
	{ BRANCH_HW_BRBE, PERF_SAMPLE_BRANCH_CALL_STACK,
	  "Arm's BRBE keeps no call stacks (--call-graph unwind makes them from copies of the stack, --call-graph fp "
	  "from frame pointers)" },
	{ BRANCH_HW_BRBE, TX, "Arm's BRBE knows of no transactions (leave out in_tx, no_tx and abort_tx)" },
	{ BRANCH_HW_BRBE, BRANCH_COUNTERS,
	  "Arm's BRBE does not count events between branches (leave out counter; --pmu=sim,records=lbr has it)" },
	{ BRANCH_HW_LBR_V2, PERF_SAMPLE_BRANCH_CALL_STACK,
	  "AMD's LbrExtV2 keeps no call stacks (--call-graph unwind makes them from copies of the stack, --call-graph "
	  "fp from frame pointers)" },
	{ BRANCH_HW_LBR_V2, TX, "AMD's LbrExtV2 knows of no transactions (leave out in_tx, no_tx and abort_tx)" },
	{ BRANCH_HW_LBR_V2, PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES,
	  "AMD's LbrExtV2 cannot leave out a part of its records (leave out no_flags and no_cycles)" },
	{ BRANCH_HW_LBR_V2, BRANCH_COUNTERS,
	  "AMD's LbrExtV2 does not count events between branches (leave out counter; --pmu=sim has it)" },
	{ BRANCH_HW_BRS, PERF_SAMPLE_BRANCH_CALL_STACK,
	  "AMD's BRS keeps no call stacks (--call-graph unwind makes them from copies of the stack, --call-graph fp "
	  "from frame pointers)" },
	{ BRANCH_HW_BRS, ~(u64)(LEVELS | PERF_SAMPLE_BRANCH_ANY),
	  "AMD's BRS records all taken branches, without filters (-b; reticle report and script choose from them)" },
};

static u32 number(const struct sysfs_pmu *pmu, const char *cap)
{
	char *text = sysfs_pmu_cap(pmu, cap);
	unsigned long n = text ? strtoul(text, NULL, 10) : 0;

	free(text);
	return n <= ENTRIES_MAX ? (u32)n : 0;
}

static bool is_amd(const char *cpuinfo)
{
	return strstr(cpuinfo, "AuthenticAMD") || strstr(cpuinfo, "HygonGenuine");
}

static bool has_event(const struct sysfs_pmu *pmu, const char *name)
{
	char *path = mem_printf("%s/events/%s", pmu->dir, name);
	bool found = !access(path, F_OK);

	free(path);
	return found;
}

char *branch_hw_cpuinfo(const char *procfs)
{
	char *path = mem_printf("%s/cpuinfo", procfs);
	struct bytes text = { 0 };

	if (smallfile_read(AT_FDCWD, path, CPUINFO_MAX, &text)) {
		bytes_free(&text);
		text.p = (u8 *)mem_strdup("");
	}
	free(path);
	return (char *)text.p;
}

void branch_hw_find(struct branch_hw *out, const struct sysfs_pmu *pmu, const char *cpuinfo)
{
	bool brs = has_event(pmu, "branch-brs");

	*out = (struct branch_hw){ .depth = number(pmu, "branches") };
	if (!out->depth && !brs)
		return;
	out->counters = number(pmu, "branch_counter_nr");
	out->width = number(pmu, "branch_counter_width");
	out->kind = !strncmp(pmu->name, "arm", 3) ? BRANCH_HW_BRBE :
		    brs				  ? BRANCH_HW_BRS :
		    is_amd(cpuinfo)		  ? BRANCH_HW_LBR_V2 :
						    BRANCH_HW_LBR;
}

void branch_hw_describe(const struct branch_hw *hw, struct bytes *out)
{
	bytes_str(out, names[hw->kind]);
	if (hw->depth)
		bytes_printf(out, ", %u entries", hw->depth);
	if (hw->counters && hw->width)
		bytes_printf(out, ", %u counters of %u bits", hw->counters, hw->width);
}

const char *branch_hw_refuses(const struct branch_hw *hw, u64 filter)
{
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (rows[i].kind == hw->kind && filter & rows[i].filter)
			return rows[i].text;
	if (hw->kind == BRANCH_HW_LBR && filter & BRANCH_COUNTERS && filter & PERF_SAMPLE_BRANCH_CALL_STACK)
		return "counter counts between branches, not between the calls of a stack (-j any,counter)";
	if (hw->kind == BRANCH_HW_LBR && filter & BRANCH_COUNTERS && !hw->counters)
		return "this processor's LBR does not count events between branches, or the kernel is older than 6.8 "
		       "(leave out counter; --pmu=sim has it)";
	return NULL;
}
