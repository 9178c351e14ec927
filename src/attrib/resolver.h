/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Resolver: turns a sample's raw addresses into frames, with caches for each worker.
 *
 * Work is done once per distinct thing. There are five caches, each a plain array indexed by hash, in which a new
 * entry replaces the old one. Those for addresses are smaller if there are few samples; above some thousands of
 * samples memory does not grow with the recording:
 *
 *	thread   (tid)                  -> what holds for it, while its clock range holds
 *	address  (version of space, ip) -> frame
 *	datum    (version of space, address) -> frame
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

/* One per worker; the state that it uses is shared and read-only, except for symbols, which are loaded when they are
 * needed. */
struct resolver *resolver_new(const struct procs *procs, struct dsos *dsos, struct frames *frames,
			      const struct resolver_opts *opts);
void resolver_free(struct resolver *r);

/* The state of the sample's thread at its time. Valid until the next call for another thread. */
const struct thread_view *resolver_thread(struct resolver *r, u32 pid, u32 tid, u64 clock);

/* The frame of one address. caller: the address is a return address in a stack; if it is in no mapping, it becomes
 * [unknown] without its address. */
u32 resolver_frame(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip, bool caller);

/* The same in two steps. Who has several to find begins all of them, and then ends them: what the first step asks the
 * memory for is there by then. The thread's view stays as it is in between. */
struct address_lookup {
	const struct vmap *map;
	const struct maps *maps;
	u64 ip, addr;	   /* as sampled, and in the DSO */
	u32 address, code; /* slots of the caches */
	u32 frame_1;	   /* the frame + 1 if it is known already; else 0, and there is a map */
	char level;
	bool caller;
};
void resolver_begin(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip, bool caller,
		    struct address_lookup *l);
u32 resolver_end(struct resolver *r, const struct address_lookup *l);

/* The frame of a datum: its exact address in the DSO; if it is in no symbol, addr unchanged. */
u32 resolver_datum(struct resolver *r, const struct thread_view *t, u32 cpumode, u64 addr);
/* Is a symbol known of that frame? */
bool resolver_knows_symbol(const struct resolver *r, u32 frame);

/* The frame of one end of a branch, in any mode (place_mode): that of its whole function or, if exact, that of its
 * exact address in the DSO. If it is in no symbol, both are the frame of the address. */
u32 resolver_branch_end(struct resolver *r, const struct thread_view *t, u64 addr, bool exact);

/* Prefetches what resolver_frame will need for that address. */
void resolver_prefetch(const struct resolver *r, const struct thread_view *t, u32 cpumode, u64 ip);

#define MAX_STACK 127 /* number of frames of a chain that are used, as is perf's default */

/*
 * The sample's stack, innermost first: its call chain with the sample's own ip as leaf. Returns the number of frames
 * written to out, at most MAX_STACK + 1. A sample without a chain gives one frame.
 */
u32 resolver_stack(struct resolver *r, const struct thread_view *t, const struct hit *h, u32 out[MAX_STACK + 1]);

/* Only the callers of a chain that starts with a mark and the sample's own ip. At most MAX_STACK. */
u32 resolver_callers(struct resolver *r, const struct thread_view *t, const struct hit *h, u32 *out);

#endif
