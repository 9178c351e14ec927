/* SPDX-License-Identifier: Apache-2.0 */
/*
 * From where the functions of a file are entered, as far as its code tells: which call instructions lead to each one,
 * which functions jump into it, and whether its address goes to others, who may call it from anywhere.
 *
 * Read are all instructions of the file, of x86-64, and all words of its segments: an address that is kept anywhere
 * (tables of functions, relocations, the symbols that it exports) is one of them. Data between instructions may hide
 * some of these, so each byte that could begin a call or a jump to a function counts as one, too. Not seen are
 * addresses that are kept as a distance of 32 bits, calls of setjmp and swapcontext by an address in memory
 * (-fno-plt), and code that is made at run time.
 */
#ifndef STATE_ENTERED_H
#define STATE_ENTERED_H

#include "state/dso.h"

struct entered {
	bool anywhere;	 /* by its address, which the file's data or other code have, or in more ways than are told */
	bool several;	 /* more than one call instruction calls it */
	bool by_itself;	 /* one of them is its own */
	bool comes_back; /* a thread may come back to it without returns: it calls setjmp, or its file swapcontext */
	u64 site;	 /* the last one that does, by the address that symbol look-ups take; 0: none */
	u32 jumped_from; /* the one other function that jumps into it; ID_NONE: none */
};

/* Of a symbol that dsos_symbol_at gave. False: nobody can tell: the file that was mapped is not there, has more than
 * 64 MB of segments, or those that were asked of before have 512 MB. Thread-safe; reads the file when first asked of
 * it. */
bool dsos_entered(struct dsos *d, u32 dso, u32 sym, struct entered *out);

#endif
