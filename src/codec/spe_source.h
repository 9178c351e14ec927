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

/* The core's name, like "Neoverse-N1"; NULL: not one whose data sources are known. */
const char *spe_core_name(u64 midr);

#endif
