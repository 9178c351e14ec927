/* SPDX-License-Identifier: Apache-2.0 */
/* Shared cache lines as text, with a verdict in words for each, or as JSON. */
#ifndef VIEW_C2C_H
#define VIEW_C2C_H

#include "agg/shared_lines.h"
#include "base/bytes.h"

struct c2c_opts {
	u32 most;     /* the largest number of lines that are shown; 0: all shared ones */
	bool all;     /* also lines that one thread uses, or to which nobody stores */
	bool sources; /* show source lines of instructions, if DWARF has them */
	bool totals;  /* only the table of all samples */
	bool quiet;   /* no lines that begin with # */
};

/* p's strings grow, because names are demangled and lines looked up. */
void c2c_text(const struct profile *p, const struct shared_lines *s, const struct c2c_opts *o, struct bytes *out);
void c2c_json(const struct profile *p, const struct shared_lines *s, const struct c2c_opts *o, struct bytes *out);

#endif
