/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chain: a recorded call chain, taken apart.
 *
 * The kernel writes a chain as one sequence of words, innermost first: a mark (PERF_CONTEXT_KERNEL, _USER, ...) says
 * in which mode the addresses after it are. The user part may be missing and come in a separate record
 * (attrib/deferred.h). Code that follows a chain gets its parts, one after the other, each with the mode of its
 * addresses and with its origin; it never handles marks itself.
 *
 * A word that looks like a mark but is not a known one is noise: what was followed were not frame pointers. It is not
 * known which of the words before it were right, so the whole chain is ignored, as in perf. The same is done for a
 * deferred mark of an event that does not defer.
 */
#ifndef ATTRIB_CHAIN_H
#define ATTRIB_CHAIN_H

#include "attrib/deferred.h"

#define CHAIN_WORDS 320 /* of a chain that is made here: the recorded part of the kernel, marks, and 127 calls */

enum chain_origin {
	CHAIN_RECORDED, /* as in the sample */
	CHAIN_DEFERRED, /* from a record that came later */
};

struct chain_part {
	const struct u64s *words; /* addresses are those from `at` on, before `end` */
	u32 at, end;
	u32 cpumode; /* PERF_RECORD_MISC_*: where they lie */
	u8 origin;   /* enum chain_origin */
};

struct chain_walk {
	const struct u64s *words;
	const struct deferred_chains *deferred;
	u32 at, cpumode;
	u8 origin;
};

/*
 * Starts at this word of a sample's chain, whose mode is cpumode until a mark says otherwise. deferred: the deferred
 * parts for this sample's event; NULL: it does not defer. False: the chain is noise, and has no parts.
 */
bool chain_start(struct chain_walk *w, const struct u64s *chain, u32 from, u32 cpumode,
		 const struct deferred_chains *deferred);
/* Copies the words of a recorded chain up to the beginning of user space, in this machine's byte order; at most
 * max. */
u32 chain_kernel_part(const struct u64s *chain, u64 *words, u32 max);
/* The next part that has an address; false at the end. */
bool chain_next(struct chain_walk *w, struct chain_part *out);

#endif
