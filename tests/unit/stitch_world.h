/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks of branch records in a world where functions are what the test says that they are. */
#ifndef UNIT_STITCH_WORLD_H
#define UNIT_STITCH_WORLD_H

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "attrib/callers.h"
#include "attrib/functions.h"
#include "attrib/lbr.h"

#define SIZE 0x1000u /* of a function: number n lies from n * SIZE on */
#define PLT(n) (0x9000000u + (n)*SIZE)
#define UNNAMED 0xa000000u /* code of which nobody knows the functions */
#define LINKER 0xb000000u
#define MOVED 1000u /* clock: from then on function 7 is where 8 was */

/* What the code says. */
struct code {
	bool cannot_jump;	/* no function jumps into another one */
	enum called called[16]; /* of each function */
	u64 calls_itself;	/* the function that does */
};

extern struct code code;

#define DEPTH 4u
#define PID 10u
#define TID 11u

struct made {
	u64 ip, words[3 * LBR_STACK];
	u32 n;
	s32 reg; /* of the newest; -1: the CPU does not tell */
	u32 tid;
	u64 clock;
	bool kernel;
};

/* The call that function a makes of b. */
#define CALL(a, b) ((a)*SIZE + 8 * (b)), ((b)*SIZE), 0
#define IN(n) ((n)*SIZE + 4)

/* A stack from function 1 to `to`, of which the registers hold the newest `n` calls. Call i to i + 1 is in register
 * (i - 1) % DEPTH, if they are told. */
struct made stack(u32 to, u32 n, bool told);

struct run {
	struct callers *callers;
	struct caller_reader *reader;
	struct lbr *lbr;
	u64 none; /* what lies before a stack is no call, even if it looks like that before the kept one */
	struct lbr_stack out;
};

void begin(struct run *r);
void end(struct run *r);
/* As the pass over all samples does, which comes before. */
void read_one(struct run *r, const struct made *m);
bool take(struct run *r, const struct made *m);
/* The sample's stack has so many calls, of which so many are its own; what was stitched is the way to function 1. */
void takes(struct run *r, const struct made *m, u32 n, u32 own);

#endif
