/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which kind of branch records a PMU has, by what the kernel shows of it in sysfs, and what each kind lacks. Kinds are
 * those of Linux's drivers: Intel's LBR (arch/x86/events/intel/lbr.c), AMD's BRS of family 19h and LbrExtV2
 * (arch/x86/events/amd), and Arm's BRBE (drivers/perf/arm_brbe.c, Linux 6.17).
 */
#ifndef SYS_BRANCH_HW_H
#define SYS_BRANCH_HW_H

#include "base/bytes.h"
#include "sys/sysfs_pmu.h"

enum branch_hw_kind { BRANCH_HW_NONE, BRANCH_HW_LBR, BRANCH_HW_BRS, BRANCH_HW_LBR_V2, BRANCH_HW_BRBE };

struct branch_hw {
	enum branch_hw_kind kind;
	u32 depth;	     /* entries; 0: not known */
	u32 counters, width; /* events counted between branches, and the bits of each; 0: none */
};

/* The text of cpuinfo below procfs ("/proc"), which tells AMD's from Intel's; empty if it cannot be read. Caller
 * frees. */
char *branch_hw_cpuinfo(const char *procfs);
/* pmu: one of CPU cores. cpuinfo: that text. */
void branch_hw_find(struct branch_hw *out, const struct sysfs_pmu *pmu, const char *cpuinfo);
/* "Intel LBR, 32 entries, 4 counters of 2 bits" */
void branch_hw_describe(const struct branch_hw *hw, struct bytes *out);
/* Why records by this filter (branch_sample_type) are refused, with a way out; NULL: the kind does not refuse it. */
const char *branch_hw_refuses(const struct branch_hw *hw, u64 filter);

#endif
