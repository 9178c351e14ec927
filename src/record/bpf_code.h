/* SPDX-License-Identifier: Apache-2.0 */
/*
 * BPF programs that are put together instruction by instruction: one function per kind of instruction. Jumps go to
 * labels, which are numbers of the program's own below CODE_LABELS; code_link turns them into distances at the end.
 * What is longer than CODE_MAX is not kept, but counted.
 */
#ifndef RECORD_BPF_CODE_H
#define RECORD_BPF_CODE_H

#include <linux/bpf.h>

#include "base/types.h"

#define CODE_MAX 1024
#define CODE_LABELS 64

enum { R0, R1, R2, R3, R4, R5, R6, R7, R8, R9, FP };

struct code {
	struct bpf_insn insn[CODE_MAX];
	u32 n;
	u32 at[CODE_LABELS]; /* instruction of each label */
};

static inline void put(struct code *c, u8 op, u8 dst, u8 src, int16_t off, s32 imm)
{
	if (c->n < CODE_MAX)
		c->insn[c->n] = (struct bpf_insn){ op, dst, src, off, imm };
	c->n++;
}

static inline void copy(struct code *c, u8 dst, u8 src)
{
	put(c, BPF_ALU64 | BPF_MOV | BPF_X, dst, src, 0, 0);
}

static inline void set(struct code *c, u8 dst, s32 value)
{
	put(c, BPF_ALU64 | BPF_MOV | BPF_K, dst, 0, 0, value);
}

static inline void set_wide(struct code *c, u8 dst, u8 what, u64 value)
{
	put(c, BPF_LD | BPF_IMM | BPF_DW, dst, what, 0, (s32)(u32)value);
	put(c, 0, 0, 0, 0, (s32)(u32)(value >> 32));
}

static inline void set_map(struct code *c, u8 dst, int fd)
{
	set_wide(c, dst, BPF_PSEUDO_MAP_FD, (u32)fd);
}

static inline void calc(struct code *c, u8 op, u8 dst, s32 value)
{
	put(c, BPF_ALU64 | op | BPF_K, dst, 0, 0, value);
}

static inline void calc_with(struct code *c, u8 op, u8 dst, u8 src)
{
	put(c, BPF_ALU64 | op | BPF_X, dst, src, 0, 0);
}

/* size: BPF_B, BPF_H, BPF_W, BPF_DW. */
static inline void load(struct code *c, u8 size, u8 dst, u8 base, int16_t off)
{
	put(c, BPF_LDX | BPF_MEM | size, dst, base, off, 0);
}

static inline void store(struct code *c, u8 size, u8 base, int16_t off, u8 src)
{
	put(c, BPF_STX | BPF_MEM | size, base, src, off, 0);
}

static inline void store_value(struct code *c, u8 size, u8 base, int16_t off, s32 value)
{
	put(c, BPF_ST | BPF_MEM | size, base, 0, off, value);
}

/* Until the end, off is the label. */
static inline void jump(struct code *c, u8 op, u8 dst, s32 value, u32 to)
{
	put(c, BPF_JMP | op | BPF_K, dst, 0, (int16_t)to, value);
}

static inline void jump_with(struct code *c, u8 op, u8 dst, u8 src, u32 to)
{
	put(c, BPF_JMP | op | BPF_X, dst, src, (int16_t)to, 0);
}

static inline void go(struct code *c, u32 to)
{
	jump(c, BPF_JA, 0, 0, to);
}

static inline void here(struct code *c, u32 l)
{
	c->at[l] = c->n;
}

static inline void call(struct code *c, s32 helper)
{
	put(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

static inline void address(struct code *c, u8 dst, u8 base, s32 off)
{
	copy(c, dst, base);
	calc(c, BPF_ADD, dst, off);
}

static inline void code_link(struct code *c)
{
	for (u32 i = 0; i < MIN(c->n, CODE_MAX); i++) {
		u8 op = c->insn[i].code;

		if (BPF_CLASS(op) == BPF_JMP && BPF_OP(op) != BPF_CALL && BPF_OP(op) != BPF_EXIT)
			c->insn[i].off = (int16_t)(c->at[c->insn[i].off] - i - 1);
	}
}

#endif
