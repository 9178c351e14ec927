/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolver: from a sample's raw addresses to frames, with one worker's caches in front.
 *
 * Work is done per distinct thing. Four caches, each a plain array indexed by hash where a newcomer replaces what
 * stood there. Those of addresses are smaller for a few samples; above some thousands memory does not grow with the
 * recording:
 *
 *	thread   (tid)                  -> what holds for it, while its clock range holds
 *	address  (version of space, ip) -> frame
 *	code     (dso, address in it)   -> frame; serves the same library in the next process
 *	symbol   (dso, symbol)          -> frame of the whole function
 */
#ifndef ATTRIB_RESOLVER_H
#define ATTRIB_RESOLVER_H

#include "attrib/deferred.h"
#include "attrib/hit.h"
#include "attrib/place.h"
#include "state/frames.h"

struct resolver;

/* The caches of code and symbols of resolvers that come one after the other, with the same DSOs and frames. One of
 * them may have it at a time. */
struct code_cache;
struct code_cache *code_cache_new(void);
void code_cache_free(struct code_cache *c);

struct resolver_opts {
	const struct deferred_chains *deferred; /* or NULL */
	bool by_address;    /* frames of code with line information keep their address (inlined calls, source lines) */
	bool functions;	    /* code without a name has a frame per function, where the file tells where those begin */
	bool every_address; /* with it: others keep theirs, too (places in code) */
	u64 samples;	    /* about so many will come: caches are no larger than these can fill */
	struct code_cache *code; /* NULL: one of its own */
};

/* One per worker; the state behind it is shared and read-only, apart from lazily loaded symbols. */
struct resolver *resolver_new(const struct procs *procs, struct dsos *dsos, struct frames *frames,
			      const struct resolver_opts *opts);
void resolver_free(struct resolver *r);

/* What holds for the sample's thread. Valid until the next call for another thread. */
const struct thread_view *resolver_thread(struct resolver *r, u32 pid, u32 tid, u64 clock);

/* The frame of one address. caller: the address is a return address in a stack; one in no mapping becomes [unknown] as
 * a whole. */
u32 resolver_frame(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip, bool caller);

/* The frame of a datum: its very address in the DSO; where no symbol holds it, addr as it is. */
u32 resolver_datum(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 addr);

/* The frame of an end of a branch, in whatever mode (place_mode): of its function as a whole, or (exact) of its very
 * address in the DSO. Where no symbol holds it both are that of the address. */
u32 resolver_branch_end(struct resolver *r, const struct thread_view *t, u64 addr, bool exact);

/* Brings in what resolver_frame will look at for that address. */
void resolver_prefetch(const struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip);

#define MAX_STACK 127 /* frames of a chain that are looked at, as perf's default */

/*
 * The sample's stack, innermost first: its call chain with the sample's own ip as leaf. Returns the number of frames
 * written to out, at most MAX_STACK + 1. A sample without a chain gives one frame.
 */
u32 resolver_stack(struct resolver *r, const struct thread_view *t, const struct hit *h, u32 out[MAX_STACK + 1]);

/* Only the callers of a chain that starts with a mark and the sample's own ip. At most MAX_STACK. */
u32 resolver_callers(struct resolver *r, const struct thread_view *t, const struct hit *h, u32 *out);

#endif
