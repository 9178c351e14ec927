/* SPDX-License-Identifier: Apache-2.0 */
/* Instructions of x86 that change the order in which code runs: what they do, how long they are, and where they lead
 * to. Of all others that is not told. */
#ifndef CODEC_X86_BRANCH_H
#define CODEC_X86_BRANCH_H

#include "base/types.h"

enum x86_flow {
	X86_ON, /* to the next instruction, or to the kernel and back */
	X86_CALL,
	X86_MAYBE, /* may jump */
	X86_AWAY,  /* never goes on */
};

struct x86_branch {
	enum x86_flow flow;
	u32 size;   /* bytes; 0: it is none of these, or does not end in the bytes that are there */
	s64 target; /* of a direct jump or call, from the instruction's end; INT64_MAX: none */
};

/* n: bytes of code that are there. */
void x86_branch_decode(const u8 *code, u32 n, bool is64, struct x86_branch *out);

#endif
