/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of PERF_SAMPLE_DATA_SRC (union perf_mem_data_src in <linux/perf_event.h>), and perf's words for them. */
#ifndef CODEC_DATA_SRC_H
#define CODEC_DATA_SRC_H

#include "base/bytes.h"

enum data_src_part {
	DATA_SRC_OP,	/* "LOAD" */
	DATA_SRC_LEVEL, /* "L1 hit": where the data were, or where they were not */
	DATA_SRC_SNOOP, /* "Peer": what other cores said */
	DATA_SRC_TLB,	/* "Walker hit" */
	DATA_SRC_LOCKED,
	DATA_SRC_BLOCKED,
};

/* The bits of the word that belong to this part. */
u64 data_src_part(enum data_src_part part, u64 v);
/* Those of them that say something, and not that it is not available ("N/A"). */
u64 data_src_known(enum data_src_part part, u64 v);
void data_src_put(enum data_src_part part, u64 v, struct bytes *out);

#endif
