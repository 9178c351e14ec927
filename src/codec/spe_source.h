/* SPDX-License-Identifier: Apache-2.0 */
/* Where the data of a sampled load or store came from, as union perf_mem_data_src says it. */
#ifndef CODEC_SPE_SOURCE_H
#define CODEC_SPE_SOURCE_H

#include "codec/spe.h"

/*
 * 0: neither a load nor a store. midr: the CPU's MIDR_EL1, which says what the numbers of data source packets mean;
 * for unknown cores, and for 0, only the events tell the level. Sources: the Technical Reference Manuals of the cores,
 * and the perf tool, whose result this is.
 */
u64 spe_data_src(const struct spe_record *r, u64 midr);

/*
 * What had the data of a load. Cores with known data source packets tell these places apart; of others, only events
 * say whether L1 and the last-level cache had the data.
 */
enum spe_place {
	SPE_FROM_L1,
	SPE_FROM_L2,
	SPE_FROM_PEER_CORE,
	SPE_FROM_CLUSTER,
	SPE_FROM_SYSTEM_CACHE,
	SPE_FROM_PEER_CLUSTER,
	SPE_FROM_REMOTE,
	SPE_FROM_DRAM,
	SPE_FROM_BEYOND_L1, /* L1 did not have them; no more is known */
	SPE_FROM_LLC,
	SPE_FROM_BEYOND_LLC,
	SPE_FROM_UNKNOWN,
	SPE_NR_PLACES
};
/* r is a load. */
enum spe_place spe_load_place(const struct spe_record *r, u64 midr);
/* "peer core" */
const char *spe_place_name(enum spe_place place);

/* The core's name, like "Neoverse-N1"; NULL: not one whose data sources are known. */
const char *spe_core_name(u64 midr);

#endif
