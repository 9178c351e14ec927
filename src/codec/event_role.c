/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/event_role.h"

#include <string.h>

#include "codec/vpmu.h"

const char *const event_role_names[NR_ROLES] = {
	[ROLE_CYCLES] = "cycles",
	[ROLE_INSTRUCTIONS] = "instructions",
	[ROLE_BRANCHES] = "branches",
	[ROLE_BRANCH_MISSES] = "branch-misses",
	[ROLE_BRANCH_RETURNS] = "branch-returns",
	[ROLE_LLC_REFERENCES] = "llc-references",
	[ROLE_LLC_MISSES] = "llc-misses",
	[ROLE_L1D_REFERENCES] = "l1d-references",
	[ROLE_L1D_MISSES] = "l1d-misses",
	[ROLE_L1D_LOADS] = "l1d-loads",
	[ROLE_L1D_LOAD_MISSES] = "l1d-load-misses",
	[ROLE_L1I_MISSES] = "l1i-misses",
	[ROLE_L2_REFERENCES] = "l2-references",
	[ROLE_L2_MISSES] = "l2-misses",
	[ROLE_LLC_LOADS] = "llc-loads",
	[ROLE_LLC_LOAD_MISSES] = "llc-load-misses",
	[ROLE_DTLB_LOADS] = "dtlb-loads",
	[ROLE_DTLB_LOAD_MISSES] = "dtlb-load-misses",
	[ROLE_ITLB_MISSES] = "itlb-misses",
	[ROLE_STALLS_FRONTEND] = "stalled-cycles-frontend",
	[ROLE_STALLS_BACKEND] = "stalled-cycles-backend",
	[ROLE_SLOTS] = "slots",
	[ROLE_SLOTS_RETIRING] = "slots-retiring",
	[ROLE_SLOTS_BAD_SPECULATION] = "slots-bad-speculation",
	[ROLE_SLOTS_FRONTEND] = "slots-frontend",
	[ROLE_SLOTS_BACKEND] = "slots-backend",
	[ROLE_CALLS] = "calls",
	[ROLE_TIME] = "time",
};

#define CACHE(level, op, result)                                                                                      \
	(PERF_COUNT_HW_CACHE_##level | PERF_COUNT_HW_CACHE_OP_##op << 8 | PERF_COUNT_HW_CACHE_RESULT_##result << 16)

/* The kernel's generic events. */
static const struct {
	u32 type;
	u64 config;
	u32 role;
} generic[] = {
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES, ROLE_CYCLES },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_INSTRUCTIONS, ROLE_INSTRUCTIONS },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_INSTRUCTIONS, ROLE_BRANCHES },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_BRANCH_MISSES, ROLE_BRANCH_MISSES },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, ROLE_STALLS_FRONTEND },
	{ PERF_TYPE_HARDWARE, PERF_COUNT_HW_STALLED_CYCLES_BACKEND, ROLE_STALLS_BACKEND },
	{ PERF_TYPE_HW_CACHE, CACHE(L1D, READ, ACCESS), ROLE_L1D_LOADS },
	{ PERF_TYPE_HW_CACHE, CACHE(L1D, READ, MISS), ROLE_L1D_LOAD_MISSES },
	{ PERF_TYPE_HW_CACHE, CACHE(L1I, READ, MISS), ROLE_L1I_MISSES },
	{ PERF_TYPE_HW_CACHE, CACHE(LL, READ, ACCESS), ROLE_LLC_LOADS },
	{ PERF_TYPE_HW_CACHE, CACHE(LL, READ, MISS), ROLE_LLC_LOAD_MISSES },
	{ PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, ACCESS), ROLE_DTLB_LOADS },
	{ PERF_TYPE_HW_CACHE, CACHE(DTLB, READ, MISS), ROLE_DTLB_LOAD_MISSES },
	{ PERF_TYPE_HW_CACHE, CACHE(ITLB, READ, MISS), ROLE_ITLB_MISSES },
	{ PERF_TYPE_HW_CACHE, CACHE(BPU, READ, ACCESS), ROLE_BRANCHES },
	{ PERF_TYPE_HW_CACHE, CACHE(BPU, READ, MISS), ROLE_BRANCH_MISSES },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK, ROLE_TIME },
	{ PERF_TYPE_SOFTWARE, PERF_COUNT_SW_TASK_CLOCK, ROLE_TIME },
};

/* Event numbers of Arm's PMUv3 (Arm ARM, D13.12), and those above 0x10000 that the virtual PMU adds. */
static const struct {
	u32 number, role;
} arm_numbers[] = {
	{ 0x03, ROLE_L1D_MISSES },     { 0x04, ROLE_L1D_REFERENCES }, { 0x05, ROLE_DTLB_LOAD_MISSES },
	{ 0x25, ROLE_DTLB_LOADS },     { 0x01, ROLE_L1I_MISSES },     { 0x02, ROLE_ITLB_MISSES },
	{ 0x08, ROLE_INSTRUCTIONS },   { 0x0e, ROLE_BRANCH_RETURNS }, { 0x10, ROLE_BRANCH_MISSES },
	{ 0x11, ROLE_CYCLES },	       { 0x16, ROLE_L2_REFERENCES },  { 0x17, ROLE_L2_MISSES },
	{ 0x21, ROLE_BRANCHES },       { 0x22, ROLE_BRANCH_MISSES },  { 0x23, ROLE_STALLS_FRONTEND },
	{ 0x24, ROLE_STALLS_BACKEND }, { 0x36, ROLE_LLC_LOADS },      { 0x37, ROLE_LLC_LOAD_MISSES },
	{ 0x3a, ROLE_SLOTS_RETIRING }, { 0x3d, ROLE_SLOTS_BACKEND },  { 0x3e, ROLE_SLOTS_FRONTEND },
	{ 0x10000, ROLE_SLOTS },       { 0x10002, ROLE_CALLS },	      { 0x10001, ROLE_SLOTS_BAD_SPECULATION },
};

/* Names under which kernels and vendors have them, where neither type nor number tells. In small letters, '_' for '-'.
 */
static const struct {
	const char *name;
	u32 role;
} names[] = {
	{ "cpu_cycles", ROLE_CYCLES },
	{ "cpu_clk_unhalted.thread", ROLE_CYCLES },
	{ "inst_retired", ROLE_INSTRUCTIONS },
	{ "inst_retired.any", ROLE_INSTRUCTIONS },
	{ "br_retired", ROLE_BRANCHES },
	{ "br_inst_retired.all_branches", ROLE_BRANCHES },
	{ "br_mis_pred", ROLE_BRANCH_MISSES },
	{ "br_mis_pred_retired", ROLE_BRANCH_MISSES },
	{ "br_misp_retired.all_branches", ROLE_BRANCH_MISSES },
	{ "br_return_retired", ROLE_BRANCH_RETURNS },
	{ "br_inst_retired.near_return", ROLE_BRANCH_RETURNS },
	{ "br_inst_retired.near_call", ROLE_CALLS },
	{ "l1d_cache", ROLE_L1D_REFERENCES },
	{ "l1d_cache_refill", ROLE_L1D_MISSES },
	{ "l2d_cache", ROLE_L2_REFERENCES },
	{ "l2d_cache_refill", ROLE_L2_MISSES },
	{ "l1i_cache_refill", ROLE_L1I_MISSES },
	{ "l1d_tlb", ROLE_DTLB_LOADS },
	{ "l1d_tlb_refill", ROLE_DTLB_LOAD_MISSES },
	{ "l1i_tlb_refill", ROLE_ITLB_MISSES },
	{ "ll_cache_rd", ROLE_LLC_LOADS },
	{ "ll_cache_miss_rd", ROLE_LLC_LOAD_MISSES },
	{ "stall_frontend", ROLE_STALLS_FRONTEND },
	{ "stall_backend", ROLE_STALLS_BACKEND },
	{ "op_retired", ROLE_SLOTS_RETIRING },
	{ "stall_slot_frontend", ROLE_SLOTS_FRONTEND },
	{ "stall_slot_backend", ROLE_SLOTS_BACKEND },
	{ "topdown_retiring", ROLE_SLOTS_RETIRING },
	{ "topdown_bad_spec", ROLE_SLOTS_BAD_SPECULATION },
	{ "topdown_fe_bound", ROLE_SLOTS_FRONTEND },
	{ "topdown_be_bound", ROLE_SLOTS_BACKEND },
};

static char fold(char c)
{
	return (char)(c == '-' ? '_' : c >= 'A' && c <= 'Z' ? c + ('a' - 'A') : c);
}

static bool same_name(const char *known, const char *name, size_t len)
{
	if (strlen(known) != len)
		return false;
	for (size_t i = 0; i < len; i++)
		if (fold(known[i]) != fold(name[i]))
			return false;
	return true;
}

size_t event_bare_name(const char **name)
{
	const char *slash = strchr(*name, '/'), *pmu = *name;
	size_t len;

	if (!slash)
		return strcspn(*name, ":");
	len = strcspn(slash + 1, ",/");
	if (len && !memchr(slash + 1, '=', len)) {
		*name = slash + 1;
		return len;
	}
	return (size_t)(slash - pmu);
}

u32 event_role_find(const char *name, size_t len)
{
	for (u32 i = 0; i < NR_ROLES; i++)
		if (same_name(event_role_names[i], name, len))
			return i;
	return ID_NONE;
}

enum event_machine event_machine_of(const char *arch, const char *cpuid)
{
	static const struct {
		const char *arch, *cpuid; /* what they begin with */
		enum event_machine machine;
	} rows[] = {
		{ "aarch64", "", MACHINE_ARM },	      { "arm", "", MACHINE_ARM },
		{ "ppc", "", MACHINE_POWER },	      { "", "AuthenticAMD,", MACHINE_AMD },
		{ "", "HygonGenuine,", MACHINE_AMD },
	};

	if (vpmu_simulated(cpuid).len)
		return MACHINE_SIM;
	for (u32 i = 0; i < ARRAY_LEN(rows); i++)
		if (!strncmp(arch ? arch : "", rows[i].arch, strlen(rows[i].arch)) &&
		    !strncmp(cpuid ? cpuid : "", rows[i].cpuid, strlen(rows[i].cpuid)))
			return rows[i].machine;
	return MACHINE_OTHER;
}

/* As the kernel's drivers map cache-references and cache-misses. */
u32 event_role_of_caches(enum event_machine machine, bool references)
{
	switch (machine) {
	case MACHINE_ARM:
		return references ? ROLE_L1D_REFERENCES : ROLE_L1D_MISSES;
	case MACHINE_AMD:
		return references ? ROLE_L2_REFERENCES : ROLE_L2_MISSES;
	case MACHINE_POWER:
		return references ? ROLE_L1D_LOADS : ROLE_L1D_LOAD_MISSES;
	default:
		return references ? ROLE_LLC_REFERENCES : ROLE_LLC_MISSES;
	}
}

u32 event_role_of(const struct attr *a, const char *name, enum event_machine machine)
{
	bool arm = machine == MACHINE_ARM || machine == MACHINE_SIM;
	size_t len = event_bare_name(&name);
	u32 role;

	if (a->type == PERF_TYPE_HARDWARE &&
	    ((u32)a->config == PERF_COUNT_HW_CACHE_REFERENCES || (u32)a->config == PERF_COUNT_HW_CACHE_MISSES))
		return event_role_of_caches(machine, (u32)a->config == PERF_COUNT_HW_CACHE_REFERENCES);
	for (u32 i = 0; i < ARRAY_LEN(generic); i++)
		if (a->type == generic[i].type && (u32)a->config == generic[i].config)
			return generic[i].role;
	for (u32 i = 0; arm && a->type >= PERF_TYPE_RAW && i < ARRAY_LEN(arm_numbers); i++)
		if (a->config == arm_numbers[i].number)
			return arm_numbers[i].role;
	for (u32 i = 0; i < ARRAY_LEN(names); i++)
		if (same_name(names[i].name, name, len))
			return names[i].role;
	role = event_role_find(name, len);
	return a->type >= PERF_TYPE_RAW ? role : ID_NONE;
}
