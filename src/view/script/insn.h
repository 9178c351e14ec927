/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Single instructions, by capstone. The library is loaded when somebody asks: its tables would cost every command a
 * millisecond at its start.
 */
#ifndef VIEW_SCRIPT_INSN_H
#define VIEW_SCRIPT_INSN_H

#include "base/bytes.h"
#include "base/err.h"

#define INSN_MAX 15 /* bytes; x86's longest */

struct insn_decoder;

/* NULL: there is no such library; *why says what to do. */
struct insn_decoder *insn_decoder_new(const char **why);
void insn_decoder_free(struct insn_decoder *d);

/*
 * How many of the n bytes at code the instruction takes that begins there; 0: it is not known, or of a machine (EM_*)
 * that is not. text (may be NULL) gets "mov    %rsp,%rbp", x86 in AT&T's syntax as perf has it.
 */
u32 insn_decode(struct insn_decoder *d, u16 machine, const u8 *code, u32 n, u64 pc, struct bytes *text);

#endif
