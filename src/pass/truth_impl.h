/* SPDX-License-Identifier: Apache-2.0 */
/* Private to pass/truth*.c. */
#ifndef PASS_TRUTH_IMPL_H
#define PASS_TRUTH_IMPL_H

#include "attrib/place.h"
#include "codec/vpmu_truth.h"
#include "pass/truth.h"

struct truth_thread { /* a thread in one program */
	u32 pid, tid;
	u32 comm; /* string id, or ID_NONE */
	u64 begun;
	bool ended;
	u64 counts[NR_VPMU_COUNTS];
};

struct truth_function {
	u32 dso, sym;
	u64 start; /* sym ID_NONE: where the function begins (resolver_opts.functions); else, or 0: all of the DSO's
		      code of which nothing tells whose it is */
	u64 counts[NR_VPMU_COUNTS];
};

struct truth_line {
	u32 dso, file, line; /* file: string id */
	u64 counts[NR_VPMU_COUNTS];
};

struct truth_address { /* an instruction */
	u32 dso, sym;
	u64 addr; /* as symbol look-ups take it: in a file, its offset */
	u64 counts[NR_VPMU_COUNTS];
};

struct truth_node {
	u32 parent; /* index, or ID_NONE */
	u32 dso, sym;
	u64 addr; /* of a function without a symbol */
	u64 counts[NR_VPMU_COUNTS];
};

/* All records but the windows, added up and named. */
struct truth_sums {
	struct session *s;
	const u8 *records; /* as collected */
	u64 size;
	struct strtab files;
	VEC(struct truth_thread) threads;
	VEC(struct truth_function) functions;
	VEC(struct truth_line) lines;
	VEC(struct truth_address) addresses;
	VEC(struct truth_node) nodes;
	u64 totals[NR_VPMU_COUNTS];
	u64 damaged; /* records that could not be decoded */
};

/* Steps through the records: false at the end. */
bool truth_next(struct truth_sums *u, u64 *offset, struct vpmu_truth *out);
/* Where the thread's code at pc is. */
void truth_place(const struct truth_sums *u, const struct vpmu_truth *r, u64 time, u64 pc, struct place *out);

void truth_json(struct truth_sums *u, const struct truth_about *about, struct bytes *out);

#endif
