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

/* PERF_BR_SPEC_*, 0: not told; and PERF_BR_PRIV_*, 0: not told. */
static inline u32 branch_spec(u64 flags)
{
	return flags >> 24 & 3;
}
static inline u32 branch_priv(u64 flags)
{
	return flags >> 30 & 7;
}
/* Bits that have no meaning yet. */
#define BRANCH_FLAGS_KNOWN ((1ull << 33) - 1)

/* PERF_BR_*, and after these PERF_BR_NEW_*: 0 is unknown. */
#define BRANCH_COND 1
#define BRANCH_FIRST_NEW 15
static inline u32 branch_type(u64 flags)
{
	u32 type = flags >> 20 & 15;

	return type == BRANCH_FIRST_NEW ? type + (u32)(flags >> 26 & 15) : type;
}
/* perf's names: "IND_CALL". An unknown type has the name "". Some mean something else on Arm, where they are named
 * after that: arm64 is the recording's architecture, while perf takes the one that it runs on. */
const char *branch_type_name(u32 type, bool arm64);
const char *branch_spec_name(u32 spec); /* "SPEC_WRONG_PATH"; not told: "" */
const char *branch_priv_name(u32 priv); /* "user", "kernel", "hv"; unknown: "" */

#endif
