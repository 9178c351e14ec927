/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The simulated cores: sizes and costs, one table each. They are plausible, not measured: what the model promises is
 * that the same program costs the same on every machine, and that what is slow for a reason is slow here for the same
 * reason. It does not predict silicon.
 */
#ifndef VPMU_MODEL_H
#define VPMU_MODEL_H

#include "codec/vpmu.h"

/* What an instruction costs beyond its slot, by what it does. */
enum op_cost {
	COST_NONE,
	COST_MUL,    /* integer multiplication of general registers, crc32 */
	COST_DIV,    /* integer division */
	COST_FP,     /* floating point, SIMD or not: add, multiply, compare, min and max, round, convert, estimate */
	COST_FP_DIV, /* division */
	COST_SQRT,   /* square root */
	COST_SERIALISE, /* waits for what came before: cpuid, rdtsc, fences, isb */
	COST_ATOMIC,	/* locked, xchg with memory, exclusive; not ldar, stlr */
	COST_PAUSE,	/* spin loop hint */
	COST_SLOW,	/* microcoded or transcendental: x87 sine, rdrand, xsave */
	NR_OP_COSTS,
};

struct cache_shape {
	u32 sets; /* a power of two */
	u32 ways; /* for L1 and TLB: at most CACHE_WAYS_MAX in all sets */
};

/* Costs are in cycles that nothing hides: what is left of a latency after an out-of-order core did what it could. */
struct model {
	const char *name;
	u32 width; /* slots per cycle */
	u32 mhz;
	struct cache_shape l1i, l1d, l2, llc; /* lines of 64 bytes */
	struct cache_shape dtlb;	      /* pages of 4 KiB */
	u32 history_bits;		      /* of the branch predictor: two to this power counters */
	u32 target_bits;		      /* of the table of indirect jumps by address */
	u32 indirect_bits;		      /* of that by address and history */
	u32 return_depth;		      /* of the return stack */
	u32 mispredict;			      /* cycles: bad speculation */
	u32 taken_slots;	   /* slots: a taken branch ends a group of fetched instructions; frontend */
	u32 fetch[4];		   /* by the level where the line was found; frontend */
	u32 load[4];		   /* likewise; backend */
	u32 store[4];		   /* store buffers hide more */
	u32 peer_load, peer_store; /* another core had changed the line (vpmu/coherence.h) */
	u32 tlb_load, tlb_store;   /* a page walk */
	u32 op[NR_OP_COSTS];	   /* backend */
	/* Repeated string instructions, backend, which only x86 has: to begin; bytes that are copied or stored in a
	 * cycle; an iteration that compares, scans or loads. */
	u32 repeat_start, repeat_bytes, repeat_each;
};

extern const struct model core_models[NR_VPMU_CORES];

#endif
