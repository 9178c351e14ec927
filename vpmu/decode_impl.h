/* SPDX-License-Identifier: Apache-2.0 */
/* Private to decode*.c: what the architectures supply. */
#ifndef VPMU_DECODE_IMPL_H
#define VPMU_DECODE_IMPL_H

#include "vpmu/decode.h"

/* kind and target, from the bytes. */
void x86_kind(const u8 *code, u32 size, u64 pc, struct decoded *out);
void arm64_kind(const u8 *code, u32 size, u64 pc, struct decoded *out);
/* enum op_cost of a capstone instruction id. The bytes say what ids do not: locks, exclusives. */
u8 x86_cost(u32 id, const u8 *code, u32 size);
u8 arm64_cost(u32 id, const u8 *code, u32 size);

#endif
