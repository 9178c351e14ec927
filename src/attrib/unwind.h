/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks out of stack contents: samples of `--call-graph dwarf` hold the thread's registers and a copy of the top
 * of its stack. An unwinder goes from frame to frame by what each function's file says of it (codec/cfi.h).
 *
 * Code without such information is stepped over by its frame pointer, if there is a plausible one; that is a guess,
 * and counted. A stack that does not end where its thread began says why.
 */
#ifndef ATTRIB_UNWIND_H
#define ATTRIB_UNWIND_H

#include "attrib/chain.h"
#include "attrib/hit.h"
#include "state/procs.h"

#define UNWIND_MOST_COPIED 65528 /* bytes of a stack that the kernel copies */
#define UNWIND_STACK 127	 /* frames that are kept, as of other chains */

/* Why a stack ends. */
enum unwind_end {
	UNWIND_WHOLE,	 /* at the frame that nobody called */
	UNWIND_SHORT,	 /* the copy of the stack was too small */
	UNWIND_EMPTY,	 /* nothing was copied: the process was changing its program, or had no memory any more */
	UNWIND_NO_INFO,	 /* its code says nothing of its frames, and there is no frame pointer */
	UNWIND_UNMAPPED, /* an address that no mapping holds */
	UNWIND_MEMORY,	 /* memory was needed that is not the stack's, or lies outside what was copied of it */
	UNWIND_DEEP,	 /* more frames than are kept */
	UNWIND_NOT_64,	 /* a 32-bit process, or a machine that is not x86_64 or aarch64 */
	UNWIND_ENDS
};
const char *unwind_end_text(enum unwind_end end); /* in words: "too little of the stack was copied" */
const char *unwind_end_name(enum unwind_end end); /* as a key: "too_little_copied" */

struct unwound {
	u32 n, guessed; /* frames; of them, those found by frame pointers */
	enum unwind_end end;
	u32 dso;	     /* where it ended; 0: in none */
	u64 v[UNWIND_STACK]; /* innermost first; of calls, the last byte of the call, as perf shows it */
};

struct unwind_counts {
	u64 stacks, frames, guessed;
	u64 ends[UNWIND_ENDS];
};

struct unwinder;

/* Samples of this event hold what an unwinder needs, and no chain of user space. */
static inline bool unwind_event(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_REGS_USER && e->attr.sample_type & PERF_SAMPLE_STACK_USER &&
	       e->attr.flags & ATTR_EXCLUDE_CALLCHAIN_USER;
}
bool unwind_used(const struct evlist *l);

/* One per worker; what is behind it is shared and read-only, but for information that is read when first asked for.
 * arch: as uname says the machine of the recording; NULL: nobody said, so it is this one's. */
struct unwinder *unwinder_new(const struct procs *procs, struct dsos *dsos, const char *arch);
void unwinder_free(struct unwinder *u);

/* The stack of a sample, which is h->full. False: it holds none (a kernel thread, or no registers). */
bool unwind_take(struct unwinder *u, const struct hit *h, struct unwound *out);
/* The same stack as the kernel would have written it into a call chain, in this machine's order: what was recorded of
 * the kernel, then the user part. Returns the number of words. */
u32 unwind_chain(const struct unwound *s, const struct hit *h, u64 words[CHAIN_WORDS]);
const struct unwind_counts *unwind_counted(const struct unwinder *u);

#endif
