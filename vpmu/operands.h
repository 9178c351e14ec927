/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction does to memory and to the stack pointer, as far as its bytes tell. */
#ifndef VPMU_OPERANDS_H
#define VPMU_OPERANDS_H

#include "base/types.h"

struct operands {
	bool known;  /* false: it may do anything, and the rest says nothing */
	bool access; /* of 1 << shift bytes, once: it reads memory, or writes it (store) */
	bool store;
	u8 shift;
	enum { AT_ANY, AT_STACK, AT_FIXED } where; /* the stack pointer, or 0, and `at`; AT_ANY: registers tell */
	s64 at;
	s32 moves; /* what it adds to the stack pointer: who writes that otherwise is not known */
};

/* Only what compilers write much of is known: moves, calls and arithmetic of general registers. */
struct operands x86_operands(const u8 *code, u32 size, u64 pc);

#endif
