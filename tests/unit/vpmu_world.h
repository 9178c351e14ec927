/* SPDX-License-Identifier: Apache-2.0 */
/* The virtual PMU's core over made-up blocks, without QEMU. What it tells others is caught here. */
#ifndef UNIT_VPMU_WORLD_H
#define UNIT_VPMU_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>
#include <string.h>

#include "base/vec.h"
#include "vpmu/core_fast.h"
#include "vpmu/truth.h"

#define BASE 0x400000

struct told {
	u64 pc, addr;
	u64 counts[NR_VPMU_COUNTS];
	struct core_at at; /* of an overflow */
};
struct world {
	struct vpmu_control control;
	struct vprocess process;
	struct vthread *t;
	u32 overflows, calls, returns, jumps;
	struct frame_event event;	   /* of the last call, return or jump */
	u32 resumes, transfers, far_jumps; /* the last two as the truth is told of them */
	u32 entries, leaves;		   /* that the sampler was told of, and where the last one was */
	u64 entered_at, left_at;
	u32 passes, passed_after; /* virtual CPUs given up, and of how many entries the sampler knew then */
	u32 runs;		  /* of accesses that it was told of */
	u64 step;		  /* between an event's overflows; 0: it has one only */
	u64 was_at;		  /* what callstack_interrupted says */
	bool fault;		  /* and of the signal */
	VEC(struct told) seen;	  /* overflows; or each operation, with truth */
};

/* Instructions, a letter each. Those that tell by the stack pointer where their access is: */
struct insn {
	char letter;
	u8 size, bytes[6];
	u8 log2;	  /* of the access's bytes */
	u32 how;	  /* INFO_*; 0: none */
	int8_t at, moves; /* from the stack pointer; what is added to that then */
};

/* truth: each operation is walked, and told. */
void setup(struct world *w, u32 models_of, bool truth);
/* With these options; attr: of the event that there is, or NULL. */
void setup_options(struct world *w, const struct vpmu_options *o, const struct attr *attr);
void teardown(struct world *w);
void arm(struct world *w, u8 count, u64 at);

const struct insn *known_as(char letter);
/* The block of these instructions at pc; rel: where its branch leads, from its end. */
const struct block *block(struct world *w, u64 pc, const char *text, s32 rel);
/* As QEMU says that it begins, and that its nth operation accesses memory. */
void enter(struct world *w, const struct block *b);
void access_at(struct world *w, u32 op, u64 addr, u32 size_log2, u32 how);
/* The count by now, of what has run. */
u64 count(struct world *w, enum vpmu_count c);

#endif
