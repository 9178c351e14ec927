/* SPDX-License-Identifier: Apache-2.0 */
/* The call stack of branch records in a sample, and whose it is, without the rest of the sample. */
#ifndef CODEC_SAMPLE_STACK_H
#define CODEC_SAMPLE_STACK_H

#include "codec/sample.h"

struct sample_stack {
	u64 ip, time, hw_idx;
	u32 pid, tid;
	bool has_hw_idx;
	u32 nr_branches;
	struct u64s branches; /* as in struct sample */
};

/* p: the whole record. It fails exactly where sample_decode_bytes does. */
int sample_stack_decode(const struct sample_layout *l, const u8 *p, u64 size, bool swap, struct sample_stack *out);

#endif
