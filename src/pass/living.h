/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Living: the current state according to the side-band so far, as records. Threads that ended and mappings that were
 * replaced are dropped, so its size depends on what exists, not on time.
 */
#ifndef PASS_LIVING_H
#define PASS_LIVING_H

#include "base/bytes.h"
#include "base/map.h"
#include "base/vec.h"
#include "codec/activity.h"

struct living_process {
	u32 pid, threads;
	bool alone;		/* without threads, as when it was settled last */
	struct bytes maps;	/* records: MMAP, MMAP2, KSYMBOL */
	struct bytes published; /* the last sample that says what it publishes, or nothing */
};

struct living_thread {
	u32 pid, tid;
	struct bytes comm;     /* its last COMM record, or nothing */
	struct bytes activity; /* the last sample that says which activity it works for, or nothing */
};

struct living {
	struct map processes, threads; /* id -> place in: */
	VEC(struct living_process) process;
	VEC(struct living_thread) thread;
	struct map cgroups; /* ids of: */
	struct bytes cgroup;
};

/* Are records of this type used here? */
bool living_wants(u32 type);
/* Takes a whole record in this machine's byte order; records come in order of time. Records of other types, and those
 * too short for their type, are ignored. */
void living_apply(struct living *l, const u8 *record, u16 size);
/* Takes a sample of the event of activities (codec/activity.h), as a whole record, and what it speaks of. */
void living_apply_activity(struct living *l, u32 pid, u32 tid, enum activity_what what, const u8 *record, u16 size);
/* All records up to some time have been applied. Forgets processes without a known thread, unless their threads' own
 * records may still come. */
void living_settle(struct living *l);
/* Appends records that lead to the same state. */
void living_put(const struct living *l, struct bytes *out);
void living_free(struct living *l);

#endif
