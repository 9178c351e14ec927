/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one instruction does to general registers, and where it loads or stores, as far as types of data can be
 * followed by it. What is not told is covered: whatever register an instruction may change otherwise is among those
 * that it clobbers, and code that is not known clobbers all. Registers have DWARF's numbers.
 */
#ifndef CODEC_STEP_H
#define CODEC_STEP_H

#include "base/types.h"

#define STEP_REGS 32
#define STEP_NONE 255u /* no register */

enum step_kind {
	STEP_OTHER,
	STEP_MOVE,   /* dst = src */
	STEP_EITHER, /* dst = src, or as it was */
	STEP_SET,    /* dst = imm, an address if `address` is set */
	STEP_SUM,    /* dst = src + index * scale + imm; without an index, or without src (0); by_index: that times
			another register */
	STEP_SCALE,  /* dst = src * imm, or an unknown number * imm without src */
	STEP_LOAD,   /* dst = the 8 bytes of the operand; dst2, if any, those behind them */
};

enum step_flow {
	STEP_ON,
	STEP_CALL,   /* and goes on behind it */
	STEP_BRANCH, /* may go to the target */
	STEP_JUMP,   /* goes to the target */
	STEP_AWAY,   /* goes somewhere else: by a table, or out of the function */
	STEP_END,    /* returns, or never goes on */
};

struct step_operand {
	u8 base, index; /* or STEP_NONE; without both disp is an address */
	u8 scale;
	s64 disp;
};

struct step {
	u8 size; /* bytes of code; 0: it is no instruction that is known */
	u8 kind, flow;
	u8 dst, dst2, src, index, scale, by_index;
	bool narrow;  /* what becomes of dst has 32 bits: a number, and no pointer */
	bool address; /* imm is one */
	bool access;  /* it loads or stores at `at` */
	bool unclear; /* it does so at several places, or at one that is not told */
	bool stack;   /* it pushes, pops, calls or returns, and does not load or store otherwise */
	bool nothing; /* it does nothing: it fills up */
	bool canary;  /* it loads what guards the stack, as glibc has it */
	s64 imm;
	u64 target; /* of STEP_BRANCH, STEP_JUMP, and STEP_CALL; 0: not told */
	struct step_operand at;
	u8 moved; /* register that goes on by `by` after all else, or STEP_NONE */
	s64 by;
	u32 clobbers; /* a bit for each register that may change otherwise */
};

/* The instruction at address pc, of which n bytes are there. */
void x86_step(const u8 *code, u32 n, u64 pc, struct step *out);
void arm_step(const u8 *code, u32 n, u64 pc, struct step *out);

#endif
