/* SPDX-License-Identifier: Apache-2.0 */
/* Where an ELF file has a variable of threads (TLS): in its own block, or in a slot that the dynamic linker fills. */
#ifndef RECORD_TLS_SYMBOL_H
#define RECORD_TLS_SYMBOL_H

#include "base/types.h"
#include "record/activity_prog.h"

struct tls_symbol {
	enum activity_kind kind; /* ACTIVITY_KIND_NONE: the file does not define it, or nobody can find it */
	u32 name;		 /* which of those that were looked for */
	u64 where;		 /* of a slot: its address in the file's own numbers */
	u64 first;		 /* the address, in the same numbers, of the file's beginning */
	bool musl;		 /* the program asks for musl's dynamic linker */
};

/* What is looked for. */
struct tls_name {
	const char *name;
	u64 size; /* of the variable */
	/* The name of a number of 4 bytes that the file must have as well, and its value; NULL: none. */
	const char *version;
	u32 is;
};

/* The first of the names that the file has in its table of symbols and that can be found in a thread. fd: a file that
 * anybody may have made. as_program: it is what the process executes, not a library. *left: how many bytes may be
 * read; it is reduced by what was read. False: it is no ELF file of this machine. */
bool tls_symbol_find(int fd, const struct tls_name *names, u32 nr_names, bool as_program, u64 *left,
		     struct tls_symbol *out);

#endif
