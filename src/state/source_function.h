/* SPDX-License-Identifier: Apache-2.0 */
/* Where all the code of a function comes from, as profiles for compilers name it. Addresses are linked ones. */
#ifndef STATE_SOURCE_FUNCTION_H
#define STATE_SOURCE_FUNCTION_H

#include "base/vec.h"
#include "state/dso.h"

struct source_row {
	const char *function; /* as the linker knows it */
	u32 line, first_line; /* of the file; of the function */
	u32 discriminator;
};

/* Code that all comes from one place; it goes on to the next span, or to the end of a range. */
struct source_span {
	u64 start;
	u32 first, n; /* its rows, innermost function first */
};

struct source_code {
	u64 start, end;
};

struct source_function {
	u64 entry; /* 0: not known */
	VEC(struct source_code) ranges;
	VEC(struct source_span) spans; /* by address */
	VEC(struct source_row) rows;
};

/*
 * The functions that hold any of these addresses, each with what was inlined into it. An address is higher than the
 * one before. `take` is called with one function after the other, which is valid during the call; perhaps more than
 * once with a function that is in several parts. It returns false if it wants no more. Addresses that DWARF does not
 * know have none. Thread-safe.
 */
void dsos_source_functions(struct dsos *d, u32 dso, const u64 *linked, size_t n,
			   bool (*take)(void *ctx, const struct source_function *f), void *ctx);

#endif
