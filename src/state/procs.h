/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, threads and their address spaces over time.
 *
 * All side-band records are applied first, in order of the recording's clock; afterwards the state is read-only and
 * answers "what was mapped in this thread at that time" for any time, from any thread, in any order. An address space
 * is a persistent (path-copying) tree: each change makes a new root, fork shares the parent's, old roots stay valid.
 *
 * The clock is the records' time, or their offset in the file when the recording has no times.
 */
#ifndef STATE_PROCS_H
#define STATE_PROCS_H

#include "base/strtab.h"
#include "codec/record.h"
#include "state/dso.h"

/* One mapping. */
struct vmap {
	u64 start, end; /* end exclusive */
	u64 pgoff;
	u32 dso;
	u32 prot, flags;
};

struct maps; /* one version of one address space; NULL is the empty one */

struct procs;

struct procs *procs_new(struct strtab *strings, struct dsos *dsos);
void procs_free(struct procs *p);

/* Applies one side-band record; call in clock order. Records that say nothing about processes are ignored. */
void procs_apply(struct procs *p, const struct record *r, u64 clock);
void procs_seal(struct procs *p);

/* What holds for a thread from `from` (inclusive) to `until` (exclusive). */
struct thread_view {
	u64 from, until;
	u32 pid, tid;
	u32 comm;		 /* string id; ":TID" made up when no record named it */
	const struct maps *maps; /* user space */
};
void procs_thread_at(struct procs *p, u32 pid, u32 tid, u64 clock,
		     struct thread_view *out); /* thread-safe after seal */

/* The mapping that holds addr, or NULL. */
const struct vmap *maps_find(const struct maps *maps, u64 addr);
/* Kernel space, modules and BPF programs at that time. */
const struct vmap *procs_kernel_map(const struct procs *p, u64 clock, u64 addr);

/* What symbol look-ups take (state/dso.h): file offset for files, absolute for the rest. */
u64 vmap_addr(const struct vmap *m, const struct dsos *dsos, u64 addr);

#endif
