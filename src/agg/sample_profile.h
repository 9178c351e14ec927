/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A sample profile for compilers (AutoFDO), from the paths that programs took in one binary. For each function and
 * place in it, it has how often the place was executed; places in inlined calls are listed under the call.
 *
 * A place is a line, counted from where its function begins, and a discriminator, which tells apart what stands in one
 * line. Its count is the highest of its instructions'; the total of a function adds up all bytes that were executed.
 * A call counts for the function that it leads to at its entry, and for the place where it stands.
 */
#ifndef AGG_SAMPLE_PROFILE_H
#define AGG_SAMPLE_PROFILE_H

#include "agg/branch_traces.h"
#include "base/strtab.h"

struct profile_place {
	u32 line, discriminator;
};

/* A function, or one that was inlined into another at a place. */
struct profile_function {
	u32 parent; /* ID_NONE: none */
	struct profile_place at;
	u32 name;
	u64 total, head; /* head: calls of it */
};

struct profile_body {
	u32 function;
	struct profile_place at;
	u64 count;
};

struct profile_target {
	u32 body, name;
	u64 count;
};

struct sample_profile {
	struct strtab names;
	struct set functions_by, bodies_by, targets_by;
	VEC(struct profile_function) functions;
	VEC(struct profile_body) bodies;
	VEC(struct profile_target) targets;
	u64 passages, unknown; /* between branches; of them, those in code that no DWARF describes */
	u64 odd;	       /* names that no line of a profile can have; what has them is left out */
	bool full;	       /* functions at high addresses are left out: what DWARF says is too much */
};

/* t is sorted. at: where the binary is linked. */
void sample_profile_make(struct sample_profile *p, const struct branch_traces *t, u32 dso,
			 const struct dso_linked *at);
void sample_profile_free(struct sample_profile *p);

#endif
