/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes, threads and their address spaces over time.
 *
 * All side-band records are applied first, in order of the recording's clock; afterwards the state is read-only and
 * answers "what was mapped in this thread at that time" for any time, from any thread, in any order.
 *
 * The clock is the records' time, or their offset in the file when the recording has no times.
 */
#ifndef STATE_PROCS_H
#define STATE_PROCS_H

#include "base/strtab.h"
#include "codec/record.h"
#include "state/dso.h"
#include "state/space.h"

struct procs;

struct procs *procs_new(struct strtab *strings, struct dsos *dsos);
void procs_free(struct procs *p);
/* State may take about so many bytes more. A record that would need more is ignored and counted.
 */
void procs_limit(struct procs *p, u64 bytes);
u64 procs_left_out(const struct procs *p);

/* Applies one side-band record; call in clock order. Records that say nothing about processes are ignored. */
void procs_apply(struct procs *p, const struct record *r, u64 clock);
/* Code that a JIT placed (state/jit.h) from that clock on; in clock order with the records. */
void procs_add_code(struct procs *p, u32 pid, u64 start, u64 len, u32 dso, u64 clock);
void procs_seal(struct procs *p);

/* What holds for a thread from `from` (inclusive) to `until` (exclusive). */
struct thread_view {
	u64 from, until;
	u32 pid, tid;
	u32 comm;	  /* string id; ID_NONE: no record named the thread, show ":TID" */
	u32 cgroup_ns;	  /* string id of its cgroup namespace, "DEVICE/0xINODE"; ID_NONE: no record says */
	bool named_later; /* comm is what the thread's first name says of the time before it */
	struct maps maps; /* user space */
	struct maps kernel;
};

/* Thread-safe after procs_seal. */
void procs_thread_at(const struct procs *p, u32 pid, u32 tid, u64 clock, struct thread_view *out);

/* What symbol look-ups take (state/dso.h): file offset for files, absolute for the rest. */
u64 vmap_addr(const struct vmap *m, const struct dsos *dsos, u64 addr);

#endif
