/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Cache lines that several threads use, from the rows of a profile of loads and stores: which threads use which bytes,
 * how often another core had to hand the line over, and whether the threads share data or only the line.
 */
#ifndef AGG_SHARED_LINES_H
#define AGG_SHARED_LINES_H

#include "agg/profile.h"

#define SHARED_LINE_BYTES 64

/* The keys by which the profile's rows have to be split, in this order. */
#define SHARED_LINE_KEYS "pid,tid,cpu,mem_op,mem,snoop,locked,daddr,symbol_daddr,dso_daddr,symbol_iaddr"

/* What one instruction of one thread did to the bytes at one offset. */
struct line_use {
	u32 offset; /* in the line */
	u32 tid, comm;
	u32 datum;  /* frame of the address: its symbol, if it is in one */
	u32 object; /* DSO of the address */
	u32 code;   /* frame of the instruction */
	u64 loads, stores;
	u64 handed; /* loads that were answered by another core, which had changed the line (x86), or had it (Arm) */
	u64 missed; /* stores whose line was not in L1 */
	u64 locked;
	u64 cost; /* cycles that the sampled loads took */
};

enum line_verdict {
	LINE_ALONE, /* one thread uses it */
	LINE_READ,  /* several load from it, and no store was sampled */
	LINE_FALSE, /* they use different bytes, and at least one stores: false sharing */
	LINE_TRUE,  /* they use the same bytes, and at least one stores */
	LINE_BOTH,  /* each of it */
	NR_LINE_VERDICTS
};

struct shared_line {
	u64 address; /* of its first byte, in that process */
	u32 pid;
	u32 nr_threads, nr_writers, nr_cpus;
	u64 loads, stores, handed, missed, locked, cost;
	enum line_verdict verdict;
	double false_share;	   /* the share of the contended accesses that is by threads using different bytes */
	VEC(struct line_use) uses; /* by offset, thread and code */
};

struct shared_lines {
	VEC(struct shared_line) lines;		 /* those that were handed over most often first, then by cost */
	u64 loads, stores, handed, missed, cost; /* of all samples */
	u64 nowhere;				 /* samples without an address */
};

/* The profile's rows are split by SHARED_LINE_KEYS, with costs. Zeroes *out first; free it with shared_lines_free. */
void shared_lines_make(const struct profile *p, struct shared_lines *out);
void shared_lines_free(struct shared_lines *s);

#endif
