/* SPDX-License-Identifier: Apache-2.0 */
/* Where all the code of a function comes from, as profiles for compilers name it. Addresses are linked ones. */
#ifndef STATE_SOURCE_FUNCTION_H
#define STATE_SOURCE_FUNCTION_H

#include "base/bytes.h"
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
	struct bytes text;
};

/* The function that holds the address, with what was inlined into it; the caller frees it. False: DWARF has none.
 * Thread-safe. */
bool dsos_source_function(struct dsos *d, u32 dso, u64 linked, struct source_function *out);
void source_function_free(struct source_function *f);

#endif
