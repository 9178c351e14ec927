/* SPDX-License-Identifier: Apache-2.0 */
/* The flags of a branch record: a bit-field in the kernel, here as a word in this machine's order. */
#ifndef CODEC_BRANCH_FLAGS_H
#define CODEC_BRANCH_FLAGS_H

#include "base/types.h"

static inline bool branch_missed(u64 flags)
{
	return flags & 1;
}
/* Neither missed nor predicted: the CPU does not tell. */
static inline bool branch_predicted(u64 flags)
{
	return flags >> 1 & 1;
}
static inline bool branch_in_tx(u64 flags)
{
	return flags >> 2 & 1;
}
static inline bool branch_aborts(u64 flags)
{
	return flags >> 3 & 1;
}

/* PERF_BR_*, and after these PERF_BR_NEW_*: 0 is unknown. */
#define BRANCH_COND 1
#define BRANCH_FIRST_NEW 15
static inline u32 branch_type(u64 flags)
{
	u32 type = flags >> 20 & 15;

	return type == BRANCH_FIRST_NEW ? type + (u32)(flags >> 26 & 15) : type;
}
/* perf's name of it: "IND_CALL". An unknown type has the name "". */
const char *branch_type_name(u32 type);

#endif
