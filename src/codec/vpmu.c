/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/vpmu.h"

#include <string.h>

#define CACHE(level, op, result)                                                                                      \
	(PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)
#define HW(event) PERF_TYPE_HARDWARE, PERF_COUNT_HW_##event
#define SW(event) PERF_TYPE_SOFTWARE, PERF_COUNT_SW_##event

/* Raw events carry the numbers of Arm's PMUv3 (Arm ARM, D13), on every simulated core: they are documented for all. */
const struct vpmu_event_name vpmu_events[] = {
	{ "cycles", HW(CPU_CYCLES), VC_CYCLES },
	{ "instructions", HW(INSTRUCTIONS), VC_INSTRUCTIONS },
	{ "cache-references", HW(CACHE_REFERENCES), VC_LLC_REFERENCES },
	{ "cache-misses", HW(CACHE_MISSES), VC_LLC_MISSES },
	{ "branches", HW(BRANCH_INSTRUCTIONS), VC_BRANCHES },
	{ "branch-misses", HW(BRANCH_MISSES), VC_BRANCH_MISSES },
	{ "bus-cycles", HW(BUS_CYCLES), VC_CYCLES },
	{ "ref-cycles", HW(REF_CPU_CYCLES), VC_CYCLES },
	{ "stalled-cycles-frontend", HW(STALLED_CYCLES_FRONTEND), VC_STALL_FRONTEND },
	{ "stalled-cycles-backend", HW(STALLED_CYCLES_BACKEND), VC_STALL_BACKEND },
	{ "L1-dcache-loads", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS), VC_L1D_LOADS },
	{ "L1-dcache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS), VC_L1D_LOAD_MISSES },
	{ "L1-dcache-stores", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, ACCESS), VC_L1D_STORES },
	{ "L1-dcache-store-misses", PERF_TYPE_HW_CACHE, CACHE(L1D, WRITE, MISS), VC_L1D_STORE_MISSES },
	{ "L1-icache-load-misses", PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS), VC_L1I_MISSES },
	{ "LLC-loads", PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS), VC_LLC_LOADS },
	{ "LLC-load-misses", PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), VC_LLC_LOAD_MISSES },
	{ "LLC-stores", PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, ACCESS), VC_LLC_STORES },
	{ "LLC-store-misses", PERF_TYPE_HW_CACHE, CACHE(LL, WRITE, MISS), VC_LLC_STORE_MISSES },
	{ "dTLB-loads", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, ACCESS), VC_DTLB_LOADS },
	{ "dTLB-load-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), VC_DTLB_LOAD_MISSES },
	{ "dTLB-stores", PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, ACCESS), VC_DTLB_STORES },
	{ "dTLB-store-misses", PERF_TYPE_HW_CACHE, CACHE(DTLB, WRITE, MISS), VC_DTLB_STORE_MISSES },
	{ "branch-loads", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, ACCESS), VC_BRANCHES },
	{ "branch-load-misses", PERF_TYPE_HW_CACHE, CACHE(BPU, READ, MISS), VC_BRANCH_MISSES },
	{ "cpu-clock", SW(CPU_CLOCK), VC_TIME_NS },
	{ "task-clock", SW(TASK_CLOCK), VC_TIME_NS },
	{ "dummy", SW(DUMMY), VC_NONE },
	{ "r8", PERF_TYPE_RAW, 0x08, VC_INSTRUCTIONS },	  /* INST_RETIRED */
	{ "re", PERF_TYPE_RAW, 0x0e, VC_RETURNS },	  /* BR_RETURN_RETIRED */
	{ "r10", PERF_TYPE_RAW, 0x10, VC_BRANCH_MISSES }, /* BR_MIS_PRED */
	{ "r11", PERF_TYPE_RAW, 0x11, VC_CYCLES },	  /* CPU_CYCLES */
	{ "r16", PERF_TYPE_RAW, 0x16, VC_L2_REFERENCES }, /* L2D_CACHE */
	{ "r17", PERF_TYPE_RAW, 0x17, VC_L2_MISSES },	  /* L2D_CACHE_REFILL */
	{ "r21", PERF_TYPE_RAW, 0x21, VC_BRANCHES },	  /* BR_RETIRED */
	{ "r22", PERF_TYPE_RAW, 0x22, VC_BRANCH_MISSES }, /* BR_MIS_PRED_RETIRED */
	{ "r23", PERF_TYPE_RAW, 0x23, VC_STALL_FRONTEND },
	{ "r24", PERF_TYPE_RAW, 0x24, VC_STALL_BACKEND },
	/* Top-down in slots. Arm has no number for slots, calls and bad speculation: those are ours, above 0x10000. */
	{ "r3a", PERF_TYPE_RAW, 0x3a, VC_SLOTS_RETIRING }, /* OP_RETIRED */
	{ "r3d", PERF_TYPE_RAW, 0x3d, VC_SLOTS_BACKEND },  /* STALL_SLOT_BACKEND */
	{ "r3e", PERF_TYPE_RAW, 0x3e, VC_SLOTS_FRONTEND }, /* STALL_SLOT_FRONTEND */
	{ "r10000", PERF_TYPE_RAW, 0x10000, VC_SLOTS },
	{ "r10001", PERF_TYPE_RAW, 0x10001, VC_SLOTS_BAD_SPECULATION },
	{ "r10002", PERF_TYPE_RAW, 0x10002, VC_CALLS },
	/* What their samples met: data_src, weight. */
	{ "mem-loads", PERF_TYPE_RAW, VPMU_MEM_LOADS, VC_SLOW_LOADS },
	{ "mem-stores", PERF_TYPE_RAW, VPMU_MEM_STORES, VC_L1D_STORES },
};
const u32 nr_vpmu_events = sizeof(vpmu_events) / sizeof(vpmu_events[0]);

const char *const vpmu_count_names[NR_VPMU_COUNTS] = {
	[VC_INSTRUCTIONS] = "instructions",
	[VC_CYCLES] = "cycles",
	[VC_BRANCHES] = "branches",
	[VC_BRANCH_MISSES] = "branch-misses",
	[VC_RETURNS] = "returns",
	[VC_CALLS] = "calls",
	[VC_L1D_LOADS] = "L1-dcache-loads",
	[VC_L1D_LOAD_MISSES] = "L1-dcache-load-misses",
	[VC_L1D_STORES] = "L1-dcache-stores",
	[VC_L1D_STORE_MISSES] = "L1-dcache-store-misses",
	[VC_L2_REFERENCES] = "L2-references",
	[VC_L2_MISSES] = "L2-misses",
	[VC_LLC_LOADS] = "LLC-loads",
	[VC_LLC_LOAD_MISSES] = "LLC-load-misses",
	[VC_LLC_STORES] = "LLC-stores",
	[VC_LLC_STORE_MISSES] = "LLC-store-misses",
	[VC_DTLB_LOADS] = "dTLB-loads",
	[VC_DTLB_LOAD_MISSES] = "dTLB-load-misses",
	[VC_DTLB_STORES] = "dTLB-stores",
	[VC_DTLB_STORE_MISSES] = "dTLB-store-misses",
	[VC_L1I_MISSES] = "L1-icache-load-misses",
	[VC_SLOW_LOADS] = "mem-loads",
	[VC_SLOTS] = "slots",
	[VC_SLOTS_RETIRING] = "slots-retiring",
	[VC_SLOTS_BAD_SPECULATION] = "slots-bad-speculation",
	[VC_SLOTS_FRONTEND] = "slots-frontend",
	[VC_SLOTS_BACKEND] = "slots-backend",
	[VC_STALL_FRONTEND] = "stalled-cycles-frontend",
	[VC_STALL_BACKEND] = "stalled-cycles-backend",
	[VC_LLC_REFERENCES] = "cache-references",
	[VC_LLC_MISSES] = "cache-misses",
	[VC_TIME_NS] = "time-ns",
	[VC_NONE] = NULL,
};

const char *const vpmu_branch_kinds[NR_VPMU_BRANCH_KINDS] = { [VPMU_LBR] = "lbr", [VPMU_BRBE] = "brbe" };

bool vpmu_branch_depth_fits(u32 kind, u32 depth)
{
	if (kind == VPMU_LBR)
		return depth && depth <= VPMU_BRANCHES_MAX;
	return depth == 8 || depth == 16 || depth == 32 || depth == 64;
}

const char *const vpmu_core_names[NR_VPMU_CORES] = {
	[VPMU_GENERIC_X86] = "generic-x86",
	[VPMU_NEOVERSE_N1] = "neoverse-n1",
};
const u32 vpmu_core_mhz[NR_VPMU_CORES] = { [VPMU_GENERIC_X86] = 3000, [VPMU_NEOVERSE_N1] = 2600 };

struct str vpmu_simulated(const char *cpuid)
{
	const size_t n = strlen(VPMU_CPUID_PREFIX);

	/* Early recordings have a comma there, too. */
	if (!cpuid || strncmp(cpuid, VPMU_CPUID_PREFIX, n) || (cpuid[n] != ':' && cpuid[n] != ','))
		return (struct str){ 0 };
	return (struct str){ cpuid + n + 1, (u32)strcspn(cpuid + n + 1, ",") };
}

int vpmu_count_of(const struct attr *a)
{
	if (a->flags & (ATTR_EXCLUDE_USER | ATTR_EXCLUDE_HOST))
		return -1;
	if (vpmu_is_spe(a))
		return VC_INSTRUCTIONS;
	for (u32 i = 0; i < nr_vpmu_events; i++)
		if (vpmu_events[i].type == a->type && vpmu_events[i].config == a->config)
			return vpmu_events[i].count;
	return -1;
}

bool vpmu_is_memory(const struct attr *a)
{
	return a->type == PERF_TYPE_RAW && (a->config == VPMU_MEM_LOADS || a->config == VPMU_MEM_STORES);
}

bool vpmu_is_spe(const struct attr *a)
{
	return a->type == VPMU_SPE_TYPE;
}

bool vpmu_is_modelled(u32 count, u32 models)
{
	switch (count) {
	case VC_BRANCH_MISSES:
	case VC_SLOTS_BAD_SPECULATION:
		return models & VPMU_MODEL_BRANCH;
	/* Taken branches and fetches that miss; slow operations with any model. */
	case VC_SLOTS_FRONTEND:
	case VC_STALL_FRONTEND:
		return models & (VPMU_MODEL_BRANCH | VPMU_MODEL_CACHE);
	case VC_SLOTS_BACKEND:
	case VC_STALL_BACKEND:
		return models;
	case VC_L1I_MISSES:
	case VC_SLOW_LOADS:
	case VC_LLC_REFERENCES:
	case VC_LLC_MISSES:
		return models & VPMU_MODEL_CACHE;
	}
	if (count >= VC_DTLB_LOADS && count <= VC_DTLB_STORE_MISSES)
		return models & VPMU_MODEL_TLB;
	return count < VC_L1D_LOADS || count > VC_LLC_STORE_MISSES || models & VPMU_MODEL_CACHE;
}
