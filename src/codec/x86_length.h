/* SPDX-License-Identifier: Apache-2.0 */
/* How long instructions of x86-64 are. That they are valid is not told, only where the next one begins. */
#ifndef CODEC_X86_LENGTH_H
#define CODEC_X86_LENGTH_H

#include "base/types.h"

struct x86_insn {
	u32 size;	 /* bytes, all of which are there */
	u32 opcode;	 /* where its opcode begins: behind its prefixes */
	bool jump_table; /* a prefix says that it jumps by a table of the compiler's (notrack) */
};

/* n: bytes of code that are there. False: it does not end in them, or is no instruction. */
bool x86_insn_decode(const u8 *code, u32 n, struct x86_insn *out);

#endif
