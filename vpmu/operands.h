/* SPDX-License-Identifier: Apache-2.0 */
/* What an instruction does to memory and to the registers that addresses are made of, as far as its bytes tell. */
#ifndef VPMU_OPERANDS_H
#define VPMU_OPERANDS_H

#include "base/types.h"

/* Where an address begins. Registers by their numbers. */
struct place {
	u8 base, index, scale; /* base + index << scale */
};
enum {
	PLACE_STACK = 4,
	PLACE_FIXED = 16,
	PLACE_NONE = 17
}; /* beside registers: nothing but the distance; no such part */

struct operands {
	bool known;  /* false: it may do anything, and the rest says nothing */
	bool access; /* of 1 << shift bytes, `at` bytes from place, once: it reads memory, or writes it (store) */
	bool store;
	u8 shift;
	struct place place;
	s64 at;
	u32 writes; /* general registers, a bit each; but what is added to the stack pointer, */
	s32 moves;  /* which is this */
};

/* Only what compilers write much of is known: moves, calls and arithmetic of general registers. */
struct operands x86_operands(const u8 *code, u32 size, u64 pc);

#endif
