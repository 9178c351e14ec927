/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/spe_source.h"

#include "codec/perf_abi.h"

/* Data sources of the Neoverse and Cortex cores. */
enum {
	NEOVERSE_L1D = 0x0,
	NEOVERSE_L2 = 0x8,
	NEOVERSE_PEER_CORE = 0x9,
	NEOVERSE_LOCAL_CLUSTER = 0xa,
	NEOVERSE_SYSTEM_CACHE = 0xb,
	NEOVERSE_PEER_CLUSTER = 0xc,
	NEOVERSE_REMOTE = 0xd,
	NEOVERSE_DRAM = 0xe,
};

static const struct source {
	u8 number, place;
	u64 data_src;
} neoverse[] = {
	{ NEOVERSE_L1D, SPE_FROM_L1,
	  PERF_MEM_S(LVL, L1) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L1) | PERF_MEM_S(SNOOP, NONE) },
	{ NEOVERSE_L2, SPE_FROM_L2,
	  PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L2) | PERF_MEM_S(SNOOP, NONE) },
	{ NEOVERSE_PEER_CORE, SPE_FROM_PEER_CORE,
	  PERF_MEM_S(LVL, L2) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L2) | PERF_MEM_S(SNOOPX, PEER) },
	/* The cluster's own cache, or that of a core in it. */
	{ NEOVERSE_LOCAL_CLUSTER, SPE_FROM_CLUSTER,
	  PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L3) | PERF_MEM_S(SNOOPX, PEER) },
	{ NEOVERSE_SYSTEM_CACHE, SPE_FROM_SYSTEM_CACHE,
	  PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L3) | PERF_MEM_S(SNOOP, HIT) },
	{ NEOVERSE_PEER_CLUSTER, SPE_FROM_PEER_CLUSTER,
	  PERF_MEM_S(LVL, L3) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, L3) | PERF_MEM_S(SNOOPX, PEER) },
	{ NEOVERSE_REMOTE, SPE_FROM_REMOTE,
	  PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA) | PERF_MEM_S(REMOTE, REMOTE) | PERF_MEM_S(SNOOPX, PEER) },
	{ NEOVERSE_DRAM, SPE_FROM_DRAM,
	  PERF_MEM_S(LVL, LOC_RAM) | PERF_MEM_S(LVL, HIT) | PERF_MEM_S(LVLNUM, RAM) | PERF_MEM_S(SNOOP, NONE) },
};

/* Arm's cores (implementer 0x41) with those data sources, by the part number of MIDR_EL1. */
static const struct core {
	u16 part;
	const char *name;
} cores[] = {
	{ 0xd0c, "Neoverse-N1" }, { 0xd49, "Neoverse-N2" },   { 0xd8e, "Neoverse-N3" }, { 0xd40, "Neoverse-V1" },
	{ 0xd4f, "Neoverse-V2" }, { 0xd83, "Neoverse-V3AE" }, { 0xd84, "Neoverse-V3" }, { 0xd46, "Cortex-A510" },
	{ 0xd80, "Cortex-A520" }, { 0xd47, "Cortex-A710" },   { 0xd4d, "Cortex-A715" }, { 0xd81, "Cortex-A720" },
	{ 0xd87, "Cortex-A725" }, { 0xd41, "Cortex-A78" },    { 0xd4b, "Cortex-A78C" }, { 0xd48, "Cortex-X2" },
	{ 0xd4e, "Cortex-X3" },	  { 0xd82, "Cortex-X4" },     { 0xd85, "Cortex-X925" },
};

const char *spe_core_name(u64 midr)
{
	if ((midr >> 24 & 0xff) != 0x41)
		return NULL;
	for (u32 i = 0; i < ARRAY_LEN(cores); i++)
		if ((midr >> 4 & 0xfff) == cores[i].part)
			return cores[i].name;
	return NULL;
}

/* Stores have no data source. */
static u64 by_source(const struct spe_record *r)
{
	if (spe_is_store(r))
		return PERF_MEM_S(LVL, NA) | PERF_MEM_S(LVLNUM, NA) | PERF_MEM_S(SNOOP, NA);
	for (u32 i = 0; i < ARRAY_LEN(neoverse); i++)
		if (neoverse[i].number == r->source)
			return neoverse[i].data_src;
	return 0;
}

enum spe_place spe_load_place(const struct spe_record *r, u64 midr)
{
	for (u32 i = 0; r->has & SPE_HAS(SPE_SOURCE) && spe_core_name(midr) && i < ARRAY_LEN(neoverse); i++)
		if (neoverse[i].number == r->source)
			return neoverse[i].place;
	if (r->events & SPE_EV_LLC_REFILL)
		return SPE_FROM_BEYOND_LLC;
	if (r->events & SPE_EV_LLC_ACCESS)
		return SPE_FROM_LLC;
	if (r->events & SPE_EV_L1D_REFILL)
		return SPE_FROM_BEYOND_L1;
	return r->events & SPE_EV_L1D_ACCESS ? SPE_FROM_L1 : SPE_FROM_UNKNOWN;
}

const char *spe_place_name(enum spe_place place)
{
	static const char *const names[SPE_NR_PLACES] = {
		[SPE_FROM_L1] = "L1",
		[SPE_FROM_L2] = "L2",
		[SPE_FROM_PEER_CORE] = "peer core",
		[SPE_FROM_CLUSTER] = "local cluster",
		[SPE_FROM_SYSTEM_CACHE] = "system cache",
		[SPE_FROM_PEER_CLUSTER] = "peer cluster",
		[SPE_FROM_REMOTE] = "remote",
		[SPE_FROM_DRAM] = "DRAM",
		[SPE_FROM_BEYOND_L1] = "beyond L1",
		[SPE_FROM_LLC] = "last-level cache",
		[SPE_FROM_BEYOND_LLC] = "beyond the last-level cache",
		[SPE_FROM_UNKNOWN] = "unknown",
	};

	return names[place];
}

static u64 by_events(u64 events)
{
	u64 v = 0;

	if (events & (SPE_EV_LLC_ACCESS | SPE_EV_LLC_REFILL))
		v = PERF_MEM_S(LVL, L3) | (events & SPE_EV_LLC_REFILL ? PERF_MEM_S(LVL, MISS) : PERF_MEM_S(LVL, HIT));
	else if (events & (SPE_EV_L1D_ACCESS | SPE_EV_L1D_REFILL))
		v = PERF_MEM_S(LVL, L1) | (events & SPE_EV_L1D_REFILL ? PERF_MEM_S(LVL, MISS) : PERF_MEM_S(LVL, HIT));
	if (events & SPE_EV_REMOTE_ACCESS)
		v |= PERF_MEM_S(REMOTE, REMOTE);
	return v;
}

u64 spe_data_src(const struct spe_record *r, u64 midr)
{
	u64 v;

	if (!spe_is_load(r) && !spe_is_store(r))
		return 0;
	v = spe_is_load(r) ? PERF_MEM_S(OP, LOAD) : PERF_MEM_S(OP, STORE);
	v |= spe_core_name(midr) ? by_source(r) : by_events(r->events);
	if (r->events & SPE_EV_TLB_WALK)
		v |= PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, MISS);
	else if (r->events & SPE_EV_TLB_ACCESS)
		v |= PERF_MEM_S(TLB, WK) | PERF_MEM_S(TLB, HIT);
	return v;
}
