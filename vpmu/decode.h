/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction is to the model: how control leaves it, and what it costs. One decoder per process. */
#ifndef VPMU_DECODE_H
#define VPMU_DECODE_H

#include "base/types.h"
#include "vpmu/model.h"

enum op_kind {
	OP_PLAIN,
	OP_REP, /* x86 string instruction with a repeat prefix: each iteration runs as a block of its own */
	OP_SYSCALL,
	OP_COND, /* from here on: branches */
	OP_JUMP,
	OP_JUMP_INDIRECT,
	OP_CALL,
	OP_CALL_INDIRECT,
	OP_RETURN,
};

struct decoded {
	u8 kind, cost; /* enum op_kind, op_cost */
	u8 moves;      /* REP: bytes that an iteration copies or stores; 0: it compares, scans or loads */
	u64 target;    /* COND, JUMP, CALL: where it goes; else 0 */
};

struct decoder; /* not for several threads at once */

struct decoder *decoder_new(bool arm64); /* NULL: capstone does not work here */
void decoder_free(struct decoder *d);
/* One instruction of `size` bytes (what QEMU found it to be) at pc. What is not known is PLAIN and costs nothing more.
 */
void decode(struct decoder *d, const u8 *code, u32 size, u64 pc, struct decoded *out);
/*
 * Whether the instruction leaps: sets the stack pointer to what is not computed from it. derived: registers that are,
 * as far as this block shows; DERIVED_NONE before its first instruction.
 */
#define DERIVED_NONE 0u
bool decode_leap(const struct decoder *d, const u8 *code, u32 size, u32 *derived);
/* The bytes that the instruction at `code` takes. 0: more than `max`, or capstone does not know it. */
u32 decode_size(struct decoder *d, const u8 *code, u32 max);

#endif
