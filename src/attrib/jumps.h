/* SPDX-License-Identifier: Apache-2.0 */
/* Jumps: where a function's code of x86-64 leads to other than by calls and returns. */
#ifndef ATTRIB_JUMPS_H
#define ATTRIB_JUMPS_H

#include "base/types.h"

#define JUMPS_OUT 32u

struct jumps {
	bool anywhere; /* to an address that is worked out (tail calls by pointers), or nobody can tell */
	bool runs_on;  /* from its last instruction into what follows it, as parts of hand-written functions do */
	u32 n;
	u64 to[JUMPS_OUT]; /* direct ones to what is outside the function, each once */
};

/* n bytes of code, all of the function that begins at start. Jumps by tables (switch) stay within the function, and
 * after another stack pointer was taken (longjmp, coroutines) its caller's call does not hold any longer: both lead
 * nowhere. More places outside than fit, or bytes that are no instruction: it may lead anywhere. A call that is a
 * function's last instruction does not return (abort, longjmp). */
void jumps_find(const u8 *code, u32 n, u64 start, struct jumps *out);

#endif
