/* SPDX-License-Identifier: Apache-2.0 */
/* Private to decode*.c: what the architectures supply. */
#ifndef VPMU_DECODE_IMPL_H
#define VPMU_DECODE_IMPL_H

#include "vpmu/decode.h"

/* kind and target, from the bytes. */
void x86_kind(const u8 *code, u32 size, u64 pc, struct decoded *out);
void arm64_kind(const u8 *code, u32 size, u64 pc, struct decoded *out);
/* decode_leap */
bool x86_leap(const u8 *code, u32 size, u32 *derived);
bool arm64_leap(const u8 *code, u32 size, u32 *derived);
/* enum op_cost of a capstone instruction id. The bytes say what ids do not: locks, exclusives. */
u8 x86_cost(u32 id, const u8 *code, u32 size);
u8 arm64_cost(u32 id, const u8 *code, u32 size);

/*
 * Leaps: instructions that set the stack pointer to what was not computed from it. That is how programs go to another
 * stack, or back in theirs. What is computed from it (locals, however large, also by way of other registers: alloca)
 * stays on the same stack. Followed is what a block's moves, sums and loads do to whole registers; others leave them
 * as they are. The frame pointer is taken for the stack pointer's, as it is where functions end.
 */
/* The registers of one architecture. */
struct leap_registers {
	u32 *derived;
	u32 sp;
};

static inline bool leap_derived(const struct leap_registers *f, u32 reg)
{
	return *f->derived >> reg & 1;
}

/* True: reg is the stack pointer, and from elsewhere. */
static inline bool leap_set(const struct leap_registers *f, u32 reg, bool derived)
{
	if (reg == f->sp)
		return !derived;
	*f->derived = (*f->derived & ~(1u << reg)) | (u32)derived << reg;
	return false;
}

static inline struct leap_registers leap_begin(u32 *derived, u32 sp, u32 fp)
{
	if (*derived == DERIVED_NONE)
		*derived = 1u << sp | 1u << fp;
	return (struct leap_registers){ derived, sp };
}

#endif
