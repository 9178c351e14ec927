/* SPDX-License-Identifier: Apache-2.0 */
/* The registers in samples: their numbers in the masks of PERF_SAMPLE_REGS_USER and _INTR, and perf's names for them.
 */
#ifndef CODEC_REGS_H
#define CODEC_REGS_H

#include "base/bytes.h"
#include "base/err.h"

enum regs_arch { REGS_HERE, REGS_X86, REGS_ARM64, REGS_OTHER }; /* HERE: this machine's */

/* By the name in a recording ("x86_64"; NULL: the recording has none). */
enum regs_arch regs_arch_of(const char *name);

/* The general ones, as bits; 0 where they are not known. */
u64 regs_general(enum regs_arch arch);

/* The stack pointer and the program counter: the minimum that an unwinder needs. */
u64 regs_stack(enum regs_arch arch);

/* DWARF's number of a register; ID_NONE: it has none that an unwinder uses. */
u32 reg_dwarf(enum regs_arch arch, u32 n);

#define REG_NAME_ROOM 8
/* "AX", or NULL; room for names that are put together. */
const char *reg_name(enum regs_arch arch, u32 n, char room[REG_NAME_ROOM]);

/* Is it the second half of a register that takes two slots? It has the same name as the first half. */
bool reg_is_upper(enum regs_arch arch, u32 n);

/* "AX BX ...": the registers that can be asked for. */
void regs_list(enum regs_arch arch, struct bytes *out);
/* Parses a list of names, separated by commas, in upper or lower case, into bits; "" means all registers of the list.
 * ERR_USAGE, noted with the list; what: the option's name. */
int regs_parse(enum regs_arch arch, const char *text, const char *what, u64 *mask, const struct notify *to);

#endif
