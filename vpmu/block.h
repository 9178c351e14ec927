/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Blocks of guest code as lists of operations.
 *
 * QEMU translates a block anew when its code buffer was full, when the code changed, and for each set of CPU flags.
 * One block per address and bytes is kept, for the life of the process: threads hold pointers to them. Blocks do not
 * change once made, so all threads read them without locks; making them is serialised by QEMU, which holds its memory
 * map's lock whenever it translates.
 */
#ifndef VPMU_BLOCK_H
#define VPMU_BLOCK_H

#include "vpmu/decode.h"

struct op {
	u64 pc;
	u16 stall; /* slots beyond its own that it always costs; backend */
	u8 size;
	u8 kind;      /* enum op_kind; branches are last in their block */
	u8 followers; /* accesses that its own stands for; see access_run.h */
	u8 access;    /* OP_*, and log2 of bytes, of such an access, its own or one that follows */
	int8_t after; /* bytes from the first one's to its own */
};
enum {
	OP_SHIFT = 7,
	OP_STORE = 8,
	OP_FOLLOWS = 16 /* another's stands for it */,
	OP_KNOWN = 32 /* it has one, and no other */,
	OP_LOCKED = 64 /* atomic */
};

#define NO_PC UINT64_MAX
#define NO_LINE (UINT64_MAX - 1) /* nobody has it, nor seeks it: caches know UINT64_MAX as nothing */

/* Counts of what blocks and their ends are: added up at once, and apart before SUM_MAX are there. */
typedef u16 sums __attribute__((vector_size(16)));
#define SUM_MAX UINT16_MAX
/* The last two are not the block's to say. */
enum { SUM_BRANCH, SUM_CALL, SUM_RETURN, SUM_STALL, SUM_TAKEN, SUM_WRONG };

struct block {
	/* What running it needs, one cache line: */
	u64 pc; /* of the first operation */
	/* Where control goes from a block that can be counted in line: on to `end`, elsewhere. NO_PC: it does not, or
	 * cannot. */
	u64 plain_next, plain_other;
	u32 slots;		   /* that it costs always */
	u32 branch;		   /* predict_key of the last operation; 0: that is not OP_COND */
	sums sums;		   /* SUM_* of the block: 0 or 1 each, but for stall slots */
	u64 first_line, last_line; /* of its code, where those are all; else NO_LINE is the last one */
	/* and the rest: */
	u64 end;       /* behind the last operation */
	u32 stall;     /* slots among those that it costs always */
	u8 more_lines; /* that its bytes are on, 64 each, beyond the first */
	u8 kind;       /* of the last operation */
	bool anywhere; /* control may go anywhere from it: indirect, return, syscall */
	bool frames;   /* callstack.c is to be told */
	/* Where control usually goes: `end`, the target. NO_PC: nowhere without being looked at closely. */
	u64 next, other;
	bool call, returns;
	bool leaps;	     /* it may go on on another stack: see decode_leap */
	u32 nr;		     /* operations */
	u32 events_max;	     /* most that running it adds to any other count than slots, but for its accesses */
	u32 repeats;	     /* OP_REP: what an iteration after the first one costs; in slots / model.repeat_bytes */
	u32 id;		     /* from 0, in the order in which they were made */
	u32 first_op;	     /* number of its first operation among those of all blocks */
	struct block *older; /* whose hash is the same */
	struct op ops[];
};

struct code; /* all blocks of a process */

/* runs: of accesses are to be found. NULL as decoder_new. */
struct code *code_new(bool arm64, const struct model *model, u32 vpmu_models, bool runs);
void code_free(struct code *c);

/* One instruction of a block to be made. */
struct code_insn {
	u64 pc;
	const u8 *bytes;
	u32 size;
};
/*
 * x86: QEMU shows an instruction that lies across a page's end as the last one of a block, which it ends before that:
 * it runs as a block of its own. host: where it is. False as well if the rest cannot be read, or capstone does not
 * know it.
 */
bool code_goes_on(struct code *c, const struct code_insn *insn, const void *host);
/* The block of these instructions (nr > 0): the one that is there already, or a new one. */
const struct block *code_block(struct code *c, const struct code_insn *insns, u32 nr);

u32 code_nr_blocks(const struct code *c);
const struct block *code_get(const struct code *c, u32 id);
u32 code_nr_ops(const struct code *c);

#endif
