/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where stacks of user space end, and why, if not in the function in which their thread began. Copies of stacks know
 * the reason (attrib/unwind.h). Of frame pointers and branch records only the symptom is known: the outermost frame is
 * another function (agg/quality.c).
 */
#ifndef ATTRIB_STACK_ENDS_H
#define ATTRIB_STACK_ENDS_H

#include "base/map.h"
#include "base/vec.h"

enum stack_end {
	STACK_WHOLE,	/* at the outermost frame */
	STACK_SHORT,	/* the copy of the stack was too small */
	STACK_EMPTY,	/* nothing was copied: the process was within exec, or had no memory any more */
	STACK_NO_INFO,	/* its code has no information about frames, and there is no frame pointer */
	STACK_UNMAPPED, /* an address in no mapping */
	STACK_MEMORY,	/* memory was needed that is not on the stack, or that was not copied */
	STACK_DEEP,	/* more frames than are kept */
	STACK_NOT_64,	/* a 32-bit process, or a machine that is not x86_64 or aarch64 */
	STACK_NO_FP,	/* frame pointers were followed, through code that has none */
	STACK_LBR,	/* branch records: too few for its calls, or they contradict each other */
	STACK_ENDS
};
const char *stack_end_text(enum stack_end end); /* in words: "too little of the stack was copied" */
const char *stack_end_name(enum stack_end end); /* as a key: "too_little_copied" */
/* By that key; STACK_ENDS: there is none. */
enum stack_end stack_end_named(const char *name);
/* What a recording would have to be made with for fewer such ends, or NULL. */
const char *stack_end_way_out(enum stack_end end);

struct stack_counts {
	u64 stacks, frames, guessed; /* guessed: frames that frame pointers were used for, instead of information */
	u64 ends[STACK_ENDS];
};

/* Adds b to a. */
void stack_counts_add(struct stack_counts *a, const struct stack_counts *b);

struct stack_cut {
	u32 file, end;
	u64 stacks;
};

/* The files in which stacks were cut: a zeroed struct is an empty one. */
struct stack_cuts {
	struct map at; /* file and end -> place in: */
	VEC(struct stack_cut) v;
};

/* file: a number by which the caller knows it. Nothing is counted for STACK_WHOLE. */
void stack_cuts_count(struct stack_cuts *c, u32 file, enum stack_end end, u64 stacks);
void stack_cuts_free(struct stack_cuts *c);

#endif
