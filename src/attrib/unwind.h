/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Call stacks from stack contents: samples of `--call-graph dwarf` have the thread's registers and a copy of the top
 * of its stack. An unwinder goes from frame to frame by the information in each function's file (codec/cfi.h).
 *
 * Code without such information is stepped over by its frame pointer, if there is a plausible one; that is a guess,
 * and counted. If a stack does not end where its thread began, the reason is recorded.
 */
#ifndef ATTRIB_UNWIND_H
#define ATTRIB_UNWIND_H

#include "attrib/chain.h"
#include "attrib/hit.h"
#include "attrib/stack_ends.h"
#include "state/current.h"
#include "state/procs.h"

#define UNWIND_MOST_COPIED 65528 /* bytes of a stack that the kernel copies */
#define UNWIND_STACK 127	 /* frames that are kept, as in other chains */

struct unwound {
	u32 n, guessed; /* frames; of them, those found by frame pointers */
	enum stack_end end;
	u32 dso;	     /* where it ended; 0: in none */
	u64 v[UNWIND_STACK]; /* innermost first; for callers the last byte of the call, as perf shows it */
};

struct unwinder;

/* Do samples of this event have everything that an unwinder needs, but no chain of user space? */
static inline bool unwind_event(const struct event *e)
{
	return e->attr.sample_type & PERF_SAMPLE_REGS_USER && e->attr.sample_type & PERF_SAMPLE_STACK_USER &&
	       e->attr.flags & ATTR_EXCLUDE_CALLCHAIN_USER;
}
bool unwind_used(const struct evlist *l);

/* One per worker; the state that it uses is shared and read-only, except for information that is read when it is first
 * needed. arch: the recording's machine as in uname; NULL: not known, so this machine's is used. */
struct unwinder *unwinder_new(const struct procs *procs, struct dsos *dsos, const char *arch);
void unwinder_free(struct unwinder *u);

/* An unwinder for a recorder, which knows only what is mapped now. It can only be used with unwind_sample, for samples
 * of this machine. unwound.dso is the number of a file (current_code). */
struct unwinder *unwinder_of_now(struct current *current);
/* False: the sample has no registers of a program. out->v[0] is the program counter in any case, and out->n may be 0.
 * It is not counted. */
bool unwind_sample(struct unwinder *u, const struct sample_layout *l, const struct sample *s, struct unwound *out);

/* Counts a stack that unwind_sample gave. */
void unwind_count(struct stack_counts *c, const struct unwound *s);

/* The stack of a sample, which is h->full. False: it has none (a kernel thread, or no registers). */
bool unwind_take(struct unwinder *u, const struct hit *h, struct unwound *out);
/* The same stack in the form of a call chain of the kernel, in this machine's byte order: the recorded part of the
 * kernel, then the user part. cpumode: of ip, where the sample was taken. Returns the number of words. */
u32 unwind_chain(const struct unwound *s, u32 cpumode, u64 ip, const struct u64s *recorded, u64 words[CHAIN_WORDS]);
const struct stack_counts *unwind_counted(const struct unwinder *u);
/* By DSO; of the stacks that unwind_take gave. */
const struct stack_cuts *unwind_cuts(const struct unwinder *u);

#endif
