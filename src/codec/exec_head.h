/* SPDX-License-Identifier: Apache-2.0 */
/* What execve finds at the beginning of a program: an ELF header, or a script's "#!" line. Source: System V ABI,
 * chapter 4; Linux, fs/binfmt_script.c (behaviour). */
#ifndef CODEC_EXEC_HEAD_H
#define CODEC_EXEC_HEAD_H

#include "base/cursor.h"

#define EXEC_HEAD_SIZE 256 /* number of bytes of the file that are read */
#define EXEC_SCRIPTS_MAX 5 /* interpreters may be scripts themselves: a chain of this length is refused with ELOOP */

enum exec_kind {
	EXEC_NONE, /* ENOEXEC */
	EXEC_ELF,
	EXEC_SCRIPT,
};

struct exec_head {
	enum exec_kind kind;
	bool is64, little; /* ELF: its class and byte order, */
	u16 type, machine; /* ET_*, EM_* */
	struct str interp; /* SCRIPT: its interpreter, */
	struct str arg;	   /* and the rest of the line as one argument; len 0: none */
};

/* head: the file's first bytes, EXEC_HEAD_SIZE of them or as many as it has. Text points into it. */
void exec_head_decode(const void *head, size_t n, struct exec_head *out);

#endif
