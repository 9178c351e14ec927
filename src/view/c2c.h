/* SPDX-License-Identifier: Apache-2.0 */
/* Shared lines of memory as text, with a verdict in words for each, or as JSON. */
#ifndef VIEW_C2C_H
#define VIEW_C2C_H

#include "agg/shared_lines.h"
#include "base/bytes.h"

struct c2c_opts {
	u32 most;     /* lines that are shown; 0: all of which something is to be said */
	bool all;     /* those that one thread uses, or that nobody stores to, as well */
	bool sources; /* source lines of instructions, where DWARF has them */
	bool totals;  /* only the table of all samples */
	bool quiet;   /* no lines that begin with # */
};

/* p's strings grow: names are demangled, lines looked for. */
void c2c_text(const struct profile *p, const struct shared_lines *s, const struct c2c_opts *o, struct bytes *out);
void c2c_json(const struct profile *p, const struct shared_lines *s, const struct c2c_opts *o, struct bytes *out);

#endif
