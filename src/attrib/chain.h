/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Chain: a recorded call chain, taken apart.
 *
 * The kernel writes a chain as one run of words, innermost first: a mark (PERF_CONTEXT_KERNEL, _USER, ...) says where
 * the addresses behind it lie. The user part may be missing and come in a record of its own (attrib/deferred.h). Who
 * follows a chain sees its parts, one after the other, each with the mode that its addresses lie in and with how it
 * came to be; no consumer looks at marks itself.
 *
 * A word that looks like a mark and is none known is noise: the frame pointers that were followed were none. Nobody
 * knows which of the words before it were right, so the chain as a whole says nothing, as in perf. The same holds for
 * a deferred mark of an event that defers nothing.
 */
#ifndef ATTRIB_CHAIN_H
#define ATTRIB_CHAIN_H

#include "attrib/deferred.h"

#define CHAIN_WORDS 320 /* of a chain that is made here: what was recorded of the kernel, marks, and 127 calls */

enum chain_origin {
	CHAIN_RECORDED, /* as the sample holds it */
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
 * Starts at that word of a sample's chain, whose mode is cpumode until a mark says otherwise. deferred: where the
 * deferred parts of this sample's event are; NULL: it defers none. False: the chain is noise, and has no parts.
 */
bool chain_start(struct chain_walk *w, const struct u64s *chain, u32 from, u32 cpumode,
		 const struct deferred_chains *deferred);
/* The words of a recorded chain up to where user space begins, in this machine's order; at most max. */
u32 chain_kernel_part(const struct u64s *chain, u64 *words, u32 max);
/* The next part that holds an address; false at the end. */
bool chain_next(struct chain_walk *w, struct chain_part *out);

#endif
